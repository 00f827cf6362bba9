package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// flock is a held lock on a file; the kernel gives it up when the process ends.
// It is a bare descriptor and no os.File, whose lock would vanish with the
// garbage.
type flock struct{ fd int }

// errLocked says that somebody else holds the lock.
var errLocked = errors.New("locked by another process")

// tryLock takes a lock (unix.LOCK_SH or unix.LOCK_EX) now or says errLocked.
func tryLock(path string, how int) (*flock, error) {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock %s: %w", path, err)
	}
	for {
		err = unix.Flock(fd, how|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		return &flock{fd}, nil
	}
	_ = unix.Close(fd)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// waitLock takes a lock, waiting for whoever holds it. It calls waiting every
// few seconds while it does.
func waitLock(ctx context.Context, path string, how int, waiting func(time.Duration)) (*flock, error) {
	started := time.Now()
	next := started.Add(time.Second)
	for {
		l, err := tryLock(path, how)
		if !errors.Is(err, errLocked) {
			return l, err
		}
		if now := time.Now(); waiting != nil && now.After(next) {
			waiting(now.Sub(started))
			next = now.Add(tick)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for lock %s: %w", path, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// release gives the lock up. It may be called more than once.
func (l *flock) release() {
	if l != nil && l.fd >= 0 {
		_ = unix.Close(l.fd)
		l.fd = -1
	}
}
