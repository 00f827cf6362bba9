package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// errLocked says that another process holds a lock.
var errLocked = errors.New("in use by another process")

// lockFileNow takes the lock on the file at path, or fails at once. The kernel frees it when the process ends, however it ends.
func lockFileNow(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s is %w", path, errLocked)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file, nil
}

// lockFileWhenFree waits for the lock on the file at path.
func lockFileWhenFree(ctx context.Context, path string) (*os.File, error) {
	for {
		file, err := lockFileNow(path)
		if !errors.Is(err, errLocked) {
			return file, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", err, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
