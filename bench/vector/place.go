package vector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/durabench/durabench/bench/wholefile"
)

// place is where a truth and its checkpoint are kept.
type place struct {
	dir, digest string
}

// errNotThere says that a file is not there, or damaged.
var errNotThere = errors.New("not there")

func (p place) path(suffix string) string { return filepath.Join(p.dir, "truth-"+p.digest+suffix) }

// lock waits until nobody else computes the truth. A process that is killed leaves no lock behind.
func (p place) lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.OpenFile(p.path(".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { f.Close() }, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// truth reads the truth.
func (p place) truth() (*Truth, error) {
	data, err := os.ReadFile(p.path(".nn"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNotThere
	}
	if err != nil {
		return nil, err
	}
	t, done, err := decode(data)
	if err != nil || t.Digest != p.digest || done != t.Rows {
		return nil, errNotThere
	}
	return t, nil
}

// put keeps the truth and removes the checkpoint.
func (p place) put(t *Truth) error {
	if err := p.write(".nn", encode(t, t.Rows)); err != nil {
		return fmt.Errorf("keep the truth: %w", err)
	}
	if err := os.Remove(p.path(".part")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the checkpoint: %w", err)
	}
	return nil
}

// checkpoint keeps how far the sweep has come.
func (p place) checkpoint(s *sweep) error {
	if err := p.write(".part", encode(s.truth(), s.done)); err != nil {
		return fmt.Errorf("keep a checkpoint: %w", err)
	}
	return nil
}

// resume brings the sweep to where the checkpoint is, if there is one, and removes what kills have left half written. For who has the lock.
func (p place) resume(s *sweep) error {
	halves, err := filepath.Glob(wholefile.Unfinished(p.path("")))
	if err != nil {
		return err
	}
	for _, half := range halves {
		if err := os.Remove(half); err != nil {
			return fmt.Errorf("remove half a file: %w", err)
		}
	}
	data, err := os.ReadFile(p.path(".part"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	t, done, err := decode(data)
	if err != nil || t.Digest != p.digest {
		return nil // damaged: from the start
	}
	s.done = done
	for f, a := range t.Answers {
		s.matches[f].Store(a.Matches)
		for q, list := range a.Nearest {
			s.nearest[f][q].restore(list, a.Band[q])
		}
	}
	return nil
}

// write writes a file that nobody reads half of, even after a power failure.
func (p place) write(suffix string, content []byte) error {
	return wholefile.Write(p.path(suffix), content, 0o600)
}
