package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/durabench/durabench/infra/pidspace"
)

// reapGrace is how long an agent has to end by itself, after the word and again after the signal.
const reapGrace = 10 * time.Second

// Reap ends the agent of a run's directory if one lives: by word, then by signal, then by force. Afterwards none lives and its
// credentials are gone. The process is known by its number and its start, so no other one that took its number is ever hit.
func Reap(ctx context.Context, dir string) error {
	err := reap(ctx, dir)
	return errors.Join(err, RemoveCredentials(dir))
}

// Living returns the process of the agent that serves a run's directory, if one lives.
func Living(dir string) (pid int, lives bool) {
	var self identity
	if err := readJSON(filepath.Join(dir, identityFile), &self); err != nil || !alive(self) {
		return 0, false
	}
	return self.PID, true
}

func reap(ctx context.Context, dir string) error {
	var self identity
	err := readJSON(filepath.Join(dir, identityFile), &self)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the agent: %w", err)
	}
	if client, err := Dial(ctx, dir); err == nil {
		_ = client.Quit(ctx) // the signals follow if it did not hear
		client.Close()
		if gone(ctx, self, closeTimeout+reapGrace) {
			return nil
		}
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if !alive(self) {
			break
		}
		if err := syscall.Kill(self.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end the agent, process %d: %w", self.PID, err)
		}
		if signal == syscall.SIGKILL {
			ctx = context.WithoutCancel(ctx) // there is no harder way, so there is no hurry
		}
		gone(ctx, self, reapGrace)
	}
	if alive(self) {
		return fmt.Errorf("end the agent: process %d lives on", self.PID)
	}
	// It could not clear up after itself. Its last threads may keep its lock for a moment; if it stays taken, a new agent has come
	// meanwhile, and what is there is its own.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	lock, err := lockFileWhenFree(bounded, filepath.Join(dir, lockFile))
	if err != nil {
		return nil
	}
	defer lock.Close()
	removeOldSocket(dir)
	return nil
}

// alive tells whether the process that an identity names still runs.
func alive(self identity) bool {
	if self.PID <= 0 || self.PID == os.Getpid() || self.Space != "" && self.Space != pidspace.Here() {
		return false
	}
	start, err := processStart(self.PID)
	return err == nil && start == self.StartTime
}

// gone waits until the process has ended.
func gone(ctx context.Context, self identity, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for alive(self) {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return false
		case <-tick.C:
		}
	}
	return true
}
