package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
)

// Logs returns the last lines of what the server of a run has written, its errors among them; all of it when tail is 0. A server that has stopped
// has a log as long as its container is there.
func (c *Client) Logs(ctx context.Context, runID string, tail int) (string, error) {
	all, err := c.containers(ctx, ofRun(runID))
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", fmt.Errorf("read the log of run %s: %w", runID, ErrNoContainer)
	}
	password, _, err := c.get(ctx, all[0].ID, passwordFile)
	if err != nil {
		return "", err
	}
	return c.logOf(ctx, all[0].ID, password, tail)
}

// logOf reads the end of a container's log. Should the server have written the password, it is not in the text.
func (c *Client) logOf(ctx context.Context, id, password string, tail int) (text string, err error) {
	lines := "all"
	if tail > 0 {
		lines = strconv.Itoa(tail)
	}
	stream, err := c.api.ContainerLogs(ctx, id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: lines})
	if err != nil {
		return "", fmt.Errorf("read the log of container %s: %w", id, err)
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	var log bytes.Buffer
	if _, err := stdcopy.StdCopy(&log, &log, stream); err != nil {
		return "", fmt.Errorf("read the log of container %s: %w", id, err)
	}
	text = strings.TrimRight(log.String(), "\n")
	if password != "" {
		text = strings.ReplaceAll(text, password, "***")
	}
	return text, nil
}
