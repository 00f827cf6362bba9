package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/durabench/durabench/drivers"
)

// everyone runs f in clients × threads goroutines at once, each with a caller of its own.
func (s *session) everyone(f func(number int, c *caller) error) {
	s.t.Helper()
	var group sync.WaitGroup
	for i := range s.clients {
		for thread := range s.config.Threads {
			number := i*s.config.Threads + thread
			c := s.caller(i)
			group.Go(func() {
				if err := f(number, c); err != nil {
					s.t.Errorf("client %d thread %d: %v", i, thread, err)
				}
			})
		}
	}
	err := within(s.t, "all callers", func() error { group.Wait(); return nil })
	must(s.t, err)
}

// testConcurrent gives every thread of every client rows of its own, walks them through their life, and checks every answer.
func testConcurrent(t *testing.T, h Harness) {
	for _, shape := range [][2]int{{1, 16}, {16, 1}, {4, 8}} {
		t.Run(fmt.Sprintf("%dx%d", shape[0], shape[1]), func(t *testing.T) {
			s := h.open(t, plain(t), load(shape[0], shape[1]))
			ctx, callers := t.Context(), uint64(shape[0]*shape[1])
			const each = 16
			s.everyone(func(number int, c *caller) error {
				for n := range uint64(each) {
					// Strided, so that neighbouring keys are in flight on different connections.
					index := n*callers + uint64(number)
					steps := []func() error{
						func() error { return c.create(ctx, index, 0) },
						func() error { return c.check(ctx, index, 0) },
						func() error { return c.update(ctx, index, 1) },
						func() error { return c.check(ctx, index, 1) },
					}
					if n%3 == 0 {
						steps = append(steps, func() error { return c.delete(ctx, index) }, func() error {
							if err := c.read(ctx, index); !errors.Is(err, drivers.ErrNotFound) {
								return fmt.Errorf("read after delete: %v", err)
							}
							return nil
						}, func() error { return c.create(ctx, index, 2) }, func() error { return c.update(ctx, index, 1) })
					}
					for i, step := range steps {
						if err := step(); err != nil {
							return fmt.Errorf("row %d, step %d: %w", index, i, err)
						}
					}
				}
				return nil
			})
			s.count(int64(callers * each))
			// Everyone reads the others' rows too.
			s.everyone(func(number int, c *caller) error {
				for n := uint64(number % 3); n < callers*each; n += 3 {
					if err := c.check(ctx, n, 1); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// testSameKey lets all callers work on one row: each answer must be one whole version, and of racing creates and deletes one succeeds.
func testSameKey(t *testing.T, h Harness) {
	s := h.open(t, plain(t), load(3, 4), h.isolated)
	ctx := t.Context()
	for round := range uint64(10) {
		var created, deleted atomic.Int64
		s.everyone(func(_ int, c *caller) error {
			err := h.settle(func() error { return c.create(ctx, round, 0) })
			if err == nil {
				created.Add(1)
			} else if !errors.Is(err, drivers.ErrExists) {
				return fmt.Errorf("create: %w", err)
			}
			return nil
		})
		s.everyone(func(number int, c *caller) error {
			for range 5 {
				if err := h.settle(func() error { return c.update(ctx, round, uint32(number)) }); err != nil {
					return fmt.Errorf("update: %w", err)
				}
				if err := c.read(ctx, round); err != nil {
					return fmt.Errorf("read: %w", err)
				}
				if err := c.whole(round, s.config.Clients*s.config.Threads); err != nil {
					return err
				}
			}
			return nil
		})
		s.everyone(func(_ int, c *caller) error {
			err := h.settle(func() error { return c.delete(ctx, round) })
			if err == nil {
				deleted.Add(1)
			} else if !errors.Is(err, drivers.ErrNotFound) {
				return fmt.Errorf("delete: %w", err)
			}
			return nil
		})
		if created.Load() != 1 || deleted.Load() != 1 {
			t.Fatalf("row %d: %d creates and %d deletes succeeded, want 1 of each", round, created.Load(), deleted.Load())
		}
	}
}

// settle runs a write again as long as it conflicts with another, on engines that refuse writes for that.
func (h Harness) settle(write func() error) error {
	for {
		err := write()
		if h.Conflicts == "" || drivers.ErrorClassOf(err) != drivers.ClassConflict {
			return err
		}
	}
}

// whole wants the record to be the row at one of the versions, not a mixture.
func (c *caller) whole(index uint64, versions int) error {
	if err := c.client.Decode(&c.record, &c.got); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	sealed := &c.got.Columns[len(c.got.Columns)-1]
	gotIndex, version := c.corpus.Unseal(sealed.Int())
	if gotIndex != index || version >= uint32(versions) {
		return fmt.Errorf("row %d: the answer's seal is of row %d version %d", index, gotIndex, version)
	}
	return c.verify(&c.record, index, version)
}

// testLeaks opens and closes databases under load and looks for goroutines and open files left behind, sockets included.
func testLeaks(t *testing.T, h Harness) {
	cycle := func() {
		s := h.open(t, plain(t), load(4, 4))
		ctx, cancel := context.WithCancel(t.Context())
		s.everyone(func(number int, c *caller) error {
			if err := c.create(ctx, uint64(number), 0); err != nil {
				return err
			}
			return c.check(ctx, uint64(number), 0)
		})
		cancel()
		s.everyone(func(number int, c *caller) error {
			_ = c.read(ctx, uint64(number)) // cancelled: the error is another test's matter
			return nil
		})
		s.close()
	}
	cycle() // what a harness or a library starts once and keeps is not a leak
	before, files := goleak.IgnoreCurrent(), openFiles()
	for range 3 {
		cycle()
	}
	if err := goleak.Find(before); err != nil {
		t.Errorf("goroutines are left after close: %v", err)
	}
	// A socket may take a moment to go.
	deadline := time.Now().Add(patience)
	for openFiles() > files && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if now := openFiles(); now > files {
		t.Errorf("%d more files or sockets are open after three databases were opened and closed", now-files)
	}
}

// openFiles is how many files and sockets this process has open; 0 where the system does not tell.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
