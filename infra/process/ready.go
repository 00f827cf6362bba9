package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/durabench/durabench/drivers"
)

const (
	firstPause   = 20 * time.Millisecond
	longestPause = 250 * time.Millisecond
	// attemptTimeout bounds one attempt to connect, so that a server that swallows the first is asked again.
	attemptTimeout = 5 * time.Second
	// tailLines and tailBytes are how much of a log an error carries.
	tailLines, tailBytes = 20, 16 << 10
)

// waitReady connects until it succeeds, the server exits or time is up. exited is nil for a server that is not our child.
func (s *server) waitReady(ctx context.Context, running *Running, exited <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, s.ReadyTimeout)
	defer cancel()
	begin := time.Now()
	var last error
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		attempt, cancelAttempt := context.WithTimeout(ctx, attemptTimeout)
		// The server's end ends the attempt too: what it cannot answer any more is not waited for.
		done := make(chan error, 1)
		go func() { done <- s.ready(attempt, running) }()
		var err error
		select {
		case err = <-done:
			cancelAttempt()
		case status := <-exited:
			cancelAttempt()
			<-done
			return s.exitError(status)
		}
		if err == nil {
			return nil
		}
		if errors.As(err, new(drivers.Unsupported)) {
			return fmt.Errorf("start %s: %w", s.Engine, err) // it answers, and will not answer otherwise
		}
		// An attempt that was cut off says less than the one before.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case status := <-exited:
			return s.exitError(status)
		case <-ctx.Done():
			return fmt.Errorf("start %s: %w after %s at %s: %w%s", s.Engine, ErrNotReady, time.Since(begin).Round(time.Millisecond), running.Endpoint,
				errors.Join(context.Cause(ctx), last), s.logTail())
		case <-time.After(pause):
		}
		if exited == nil && !s.state.alive() {
			return s.exitError(errGone)
		}
	}
}

func (s *server) ready(ctx context.Context, running *Running) error {
	if s.Ready != nil {
		return s.Ready(ctx, running)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(running.Host, strconv.Itoa(running.Port)))
	if err != nil {
		return err
	}
	return conn.Close()
}

// exitError is the error of a server that exited before it was ready.
func (s *server) exitError(status error) error {
	why := "exit status 0"
	if status != nil {
		why = status.Error()
	}
	tail := s.logTail()
	kind := ErrExited
	if killed(status) {
		kind = ErrNotReady // by somebody: it says nothing of the server
	}
	err := fmt.Errorf("start %s: %w: it exited at once, %s%s", s.Engine, kind, why, tail)
	if strings.Contains(strings.ToLower(tail), errAddressInUse.Error()) {
		return fmt.Errorf("%w\n%w: port %d", err, errAddressInUse, s.launch.Port)
	}
	return err
}

// errGone tells that a server that is not our child is gone, and nobody knows how.
var errGone = errors.New("it is gone")

// killed tells whether a server did not end by itself, as far as is known.
func killed(status error) bool {
	var exit *exec.ExitError
	if errors.As(status, &exit) {
		wait, ok := exit.Sys().(syscall.WaitStatus)
		return ok && wait.Signaled() && wait.Signal() == syscall.SIGKILL
	}
	return errors.Is(status, errGone)
}

// logTail is the end of the server's log, ready to be put behind an error.
func (s *server) logTail() string {
	text := readTail(s.paths.log)
	if text == "" {
		return "; its log " + s.paths.log + " is empty"
	}
	return fmt.Sprintf("%s; the last lines of %s:\n%s", adviceOn(text, s.Dir), s.paths.log, text)
}

// adviceOn says what to do about faults that are known by their text.
func adviceOn(text, dir string) string {
	switch {
	case strings.Contains(text, "No space left on device"):
		return "; the disk that holds " + dir + " is full: free some space, or choose another directory"
	case strings.Contains(text, "Read-only file system"):
		return "; " + dir + " is on a file system that cannot be written to: choose another directory"
	}
	return ""
}

func readTail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	text := make([]byte, min(info.Size(), tailBytes))
	n, _ := f.ReadAt(text, info.Size()-int64(len(text)))
	return lastLines(string(text[:n]))
}

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
