package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

const (
	// shared is the mode of directories that the server may write to as whichever account its image gives it. Nobody else is in the container.
	shared = 0o1777
	// readable is the mode of the engine's files, for the same reason.
	readable = 0o644
	// longestFile bounds what is read back from a container.
	longestFile = 4 << 10
)

// file is something to be put into a container.
type file struct {
	path    string // absolute, below volumeDir
	mode    int64
	content string
	folder  bool
}

// foundation is what a fresh volume gets. The password comes last, so that it is there only when all else is.
func foundation(password string) []file {
	return []file{
		{path: serverDir, mode: shared, folder: true},
		{path: dataDir, mode: shared, folder: true},
		{path: passwordFile, mode: 0o600, content: password},
	}
}

// serverFiles are the engine's files.
func serverFiles(contents map[string]string) []file {
	var files []file
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		files = append(files, file{path: path.Join(serverDir, name), mode: readable, content: contents[name]})
	}
	return files
}

// put copies files into a container, running or not.
func (c *Client) put(ctx context.Context, id string, files []file) error {
	if len(files) == 0 {
		return nil
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range files {
		header := tar.Header{
			Typeflag: tar.TypeReg, Name: strings.TrimPrefix(f.path, volumeDir+"/"), Mode: f.mode, Size: int64(len(f.content)), ModTime: time.Now(),
		}
		if f.folder {
			header.Typeflag = tar.TypeDir
			header.Name += "/"
		}
		if err := w.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := io.WriteString(w, f.content); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := c.api.CopyToContainer(ctx, id, volumeDir, &archive, container.CopyToContainerOptions{}); err != nil {
		return fmt.Errorf("copy files into the container: %w", err)
	}
	return nil
}

// get reads a short file of a container; found is false when it is not there.
func (c *Client) get(ctx context.Context, id, name string) (content string, found bool, err error) {
	stream, _, err := c.api.CopyFromContainer(ctx, id, name)
	if errdefs.IsNotFound(err) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read %s of the container: %w", name, err)
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	archive := tar.NewReader(stream)
	if _, err := archive.Next(); err != nil {
		return "", false, fmt.Errorf("read %s of the container: %w", name, err)
	}
	text, err := io.ReadAll(io.LimitReader(archive, longestFile))
	if err != nil {
		return "", false, fmt.Errorf("read %s of the container: %w", name, err)
	}
	return string(text), true, nil
}

// footing is what a container's volume holds of earlier starts: the password, and whether a server was ever ready on it. Without a password it is fresh.
func (c *Client) footing(ctx context.Context, id string) (password string, ready bool, err error) {
	password, found, err := c.get(ctx, id, passwordFile)
	if err != nil || !found {
		return "", false, err
	}
	_, ready, err = c.get(ctx, id, readyFile)
	return password, ready, err
}

// markReady writes down that there is data on the volume.
func (c *Client) markReady(ctx context.Context, id string) error {
	return c.put(ctx, id, []file{{path: readyFile, mode: 0o600, content: time.Now().UTC().Format(time.RFC3339) + "\n"}})
}
