package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durabench/durabench/infra/home"
	"github.com/durabench/durabench/workers/serve"
)

// serving keeps one worker of this machine serving a host: this process does it when no other does, and takes over within seconds when
// the one that did is gone. A lock file decides, so that two commands at once are one worker and not two.
type serving struct {
	cancel context.CancelFunc
	done   chan struct{}
	active atomic.Bool
	err    atomic.Pointer[error]
}

// serveHost starts keeping the host served until stop is called.
func (s *session) serveHost(host string) (*serving, error) {
	path, err := s.servingLock(host)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	k := &serving{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		k.keep(ctx, s, host, path)
	}()
	return k, nil
}

// servingLock is the file whose lock the worker of a host holds. Another server or namespace is another worker.
func (s *session) servingLock(host string) (string, error) {
	work, err := home.Work()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(work, 0o700); err != nil {
		return "", fmt.Errorf("make the work directory: %w", err)
	}
	sum := sha256.Sum256([]byte(s.server.Address + "\x00" + s.server.Namespace + "\x00" + host))
	return filepath.Join(work, "worker-"+hex.EncodeToString(sum[:6])+".lock"), nil
}

func (k *serving) keep(ctx context.Context, s *session, host, path string) {
	for ctx.Err() == nil {
		lock, err := tryLock(path)
		if err != nil {
			k.err.Store(&err)
			return
		}
		if lock != nil {
			k.active.Store(true)
			err := serve.Run(ctx, s.client, serve.Options{
				Host: host, Control: true, Temporal: s.server.Name(), Namespace: s.server.Namespace, Logger: s.app.logger(),
			})
			k.active.Store(false)
			_ = lock.Close() // frees the lock
			if err != nil {
				k.err.Store(&err)
				return
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

// tryLock returns the locked file, or nil when another process holds the lock.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the worker's lock: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, f.Close()
	}
	_ = f.Close()
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// served tells whether another process of this machine serves the host.
func (s *session) served(host string) (bool, error) {
	path, err := s.servingLock(host)
	if err != nil {
		return false, err
	}
	lock, err := tryLock(path)
	if lock == nil {
		return err == nil, err
	}
	return false, lock.Close()
}

// failure is why the host is not served any more, nil while all is well.
func (k *serving) failure() error {
	if err := k.err.Load(); err != nil {
		return *err
	}
	return nil
}

// stop ends this process's part in serving. Measuring goes on in agents.
func (k *serving) stop() {
	k.cancel()
	<-k.done
}
