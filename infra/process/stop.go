package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// stopGrace is how long a server may take to stop by itself: time for a last checkpoint.
	stopGrace = 30 * time.Second
	// giveUpGrace is the same for a server that never became ready.
	giveUpGrace = 3 * time.Second
	// killGrace is how long killed processes may take to be gone.
	killGrace = 10 * time.Second
	pollEvery = 20 * time.Millisecond
	// goneGrace is how long the end of a child that is gone takes to be known.
	goneGrace = 100 * time.Millisecond
)

// Stop stops the server in the directory: it is asked, given time until ctx is over but at most half a minute, and then killed with all of its
// processes. The directory is removed unless keep is set. Stopping what does not run is no error.
func Stop(ctx context.Context, dir string, keep bool) (err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s := &server{paths: pathsOf(dir), log: slog.New(slog.DiscardHandler)}
	s.Dir = dir
	if err := s.acquire(); err != nil {
		return fmt.Errorf("stop the server in %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, s.unlock()) }()
	if s.state, err = readState(dir); err != nil {
		return err
	}
	if err := s.stop(ctx); err != nil {
		return fmt.Errorf("stop the server in %s: %w", dir, err)
	}
	if keep {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the directory of the server: %w", err)
	}
	return nil
}

// Living returns the main process of the server of a directory, if it or any other process of the directory lives.
func Living(dir string) (pid int, lives bool, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return 0, false, err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	s := &server{paths: pathsOf(dir), log: slog.New(slog.DiscardHandler)}
	s.Dir = dir
	if s.state, err = readState(dir); err != nil {
		return 0, false, err
	}
	if s.state.alive() {
		return s.state.PID, true, nil
	}
	for _, p := range s.family() {
		if p.alive() {
			return p.pid, true, nil
		}
	}
	return 0, false, nil
}

// stop stops the server and whatever processes of the directory there are, and writes down that none runs.
func (s *server) stop(ctx context.Context) error {
	family := s.family()
	if s.state.alive() {
		signal := syscall.Signal(s.state.StopSignal)
		if signal == 0 {
			signal = syscall.SIGTERM
		}
		if err := syscall.Kill(s.state.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal process %d: %w", s.state.PID, err)
		}
		grace, cancel := context.WithTimeout(ctx, stopGrace)
		gone(grace, func() bool { return !s.state.alive() })
		cancel()
	}
	// Those that are left: all when it did not stop by itself, orphans when it died, and what a start left that was cut off before it
	// could write down its process.
	for _, p := range append(family, s.family()...) {
		if p.alive() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
	if s.state.alive() {
		_ = syscall.Kill(-s.state.PID, syscall.SIGKILL)
	}
	limit, cancel := context.WithTimeout(context.Background(), killGrace)
	defer cancel()
	ended := gone(limit, func() bool {
		for _, p := range family {
			if p.alive() {
				return false
			}
		}
		return !s.state.alive()
	})
	if !ended {
		return fmt.Errorf("process %d and its children are still there %s after they were killed", s.state.PID, killGrace)
	}
	if s.state.PID == 0 {
		return nil
	}
	s.state.PID, s.state.Started = 0, ""
	return s.state.write(s.Dir)
}

// family returns the processes of the server: its main process with all that descend from it, and those found by the directory.
func (s *server) family() []proc {
	all, err := processes()
	if err != nil {
		return nil
	}
	member := make(map[int]bool)
	if s.state.alive() {
		member[s.state.PID] = true
	}
	var family []proc
	// Children are not always after their parents in the list.
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !member[p.pid] && member[p.parent] {
				member[p.pid], grown = true, true
			}
		}
	}
	for _, p := range all {
		if p.pid != os.Getpid() && (member[p.pid] || p.belongsTo(s)) {
			family = append(family, p)
		}
	}
	return family
}

// gone waits until the condition holds; false when time was up before.
func gone(ctx context.Context, condition func() bool) bool {
	for !condition() {
		select {
		case <-ctx.Done():
			return condition()
		case <-time.After(pollEvery):
		}
	}
	return true
}
