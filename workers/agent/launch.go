package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/durabench/durabench/drivers"
)

// startTimeout bounds how long a new agent takes until it answers.
const startTimeout = 30 * time.Second

// Command is the name of the hidden command of a binary that serves as an agent: exe agent --dir DIR.
const Command = "agent"

// Launch returns a client of the agent that serves dir with this setup: the one that lives, or a new one, started from exe with the
// arguments "agent --dir DIR". A new agent is detached: it has a session of its own, so that neither the end of the worker nor Ctrl-C
// on a terminal reaches it. It gets the credentials in a file that only its user can read, never as an argument or in its environment.
// Its command is started by start, which may place it and pass it files; nil just starts it.
func Launch(ctx context.Context, exe, dir string, setup Setup, credentials drivers.Credentials, start func(*exec.Cmd) error) (*Client, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the run's directory: %w", err)
	}
	// Of several workers that want an agent at once, one starts it and the others find it.
	lock, err := lockFileWhenFree(ctx, filepath.Join(dir, launchLockFile))
	if err != nil {
		return nil, fmt.Errorf("launch the agent: %w", err)
	}
	defer lock.Close()

	client, err := Dial(ctx, dir)
	switch {
	case err == nil:
		return adopt(client, dir, setup)
	case !errors.Is(err, ErrNoAgent):
		return nil, err
	}
	if err := writeSetup(dir, setup, credentials); err != nil {
		return nil, fmt.Errorf("write the run's set-up: %w", err)
	}
	ended, err := spawn(exe, dir, start)
	if err != nil {
		return nil, err
	}
	return await(ctx, dir, ended)
}

// adopt takes a living agent if it is the one that would be started.
func adopt(client *Client, dir string, setup Setup) (*Client, error) {
	info := client.Info()
	if info.RunID != setup.RunID || info.Setup != setup.digest() {
		client.Close()
		return nil, fmt.Errorf("the agent of %s (process %d) serves run %s with another set-up", dir, info.PID, info.RunID)
	}
	return client, nil
}

// spawn starts the agent's process. The channel gets how it ended, if it ends while this process lives.
func spawn(exe, dir string, start func(*exec.Cmd) error) (<-chan error, error) {
	output, err := os.OpenFile(filepath.Join(dir, outputFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the agent's output: %w", err)
	}
	defer output.Close()
	cmd := exec.Command(exe, Command, "--dir", dir)
	cmd.Dir = dir
	cmd.Env = environment()
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if start == nil {
		start = (*exec.Cmd).Start
	}
	if err := start(cmd); err != nil {
		return nil, fmt.Errorf("start the agent %s: %w", exe, err)
	}
	ended := make(chan error, 1)
	// The child is collected when it ends, so that it is not taken for a living one.
	go func() { ended <- cmd.Wait() }()
	return ended, nil
}

// environment is what an agent inherits: where things are and how to speak, but nothing that a worker was told in confidence.
func environment() []string {
	kept := []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "TZ", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "GOMAXPROCS", "GOTRACEBACK", "GORACE", "GOCOVERDIR",
	}
	var env []string
	for _, name := range kept {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for _, pair := range os.Environ() {
		if strings.HasPrefix(pair, "LC_") {
			env = append(env, pair)
		}
	}
	return env
}

// await waits until a new agent answers.
func await(ctx context.Context, dir string, ended <-chan error) (*Client, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("it did not answer within %v", startTimeout))
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, launchError(dir, context.Cause(ctx))
		case err := <-ended:
			if err == nil {
				err = errors.New("it ended at once")
			}
			return nil, launchError(dir, err)
		case <-tick.C:
		}
		client, err := Dial(ctx, dir)
		if err == nil {
			return client, nil
		}
		if !errors.Is(err, ErrNoAgent) && ctx.Err() == nil {
			return nil, launchError(dir, err)
		}
	}
}

// launchError adds the agent's last words to why it could not be had.
func launchError(dir string, err error) error {
	if words := LastWords(dir); words != "" {
		return fmt.Errorf("launch the agent: %w; its last words:\n%s", err, words)
	}
	return fmt.Errorf("launch the agent: %w", err)
}

// LastWords returns the last lines of what the agent of dir printed and logged, for errors.
func LastWords(dir string) string {
	var words []string
	for _, name := range []string{outputFile, logFile} {
		if lines := lastLines(filepath.Join(dir, name), 10); lines != "" {
			words = append(words, lines)
		}
	}
	return strings.Join(words, "\n")
}

// lastLines returns up to n lines from the last kilobytes of a file.
func lastLines(path string, n int) string {
	const most = 4096
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	data := make([]byte, min(size, most))
	if _, err := file.ReadAt(data, size-int64(len(data))); err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
