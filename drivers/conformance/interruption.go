package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/durabench/durabench/drivers"
)

// testCancelledBefore starts operations whose context is over already.
func testCancelledBefore(t *testing.T, h Harness) {
	s := h.open(t, plain(t))
	c := s.caller(0)
	must(t, c.create(t.Context(), 0, 0))

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	for _, test := range []struct {
		ctx  context.Context
		want drivers.ErrorClass
	}{{cancelled, drivers.ClassCancelled}, {expired, drivers.ClassTimeout}} {
		for _, operation := range c.operations(0, 1) {
			err := within(t, operation.name, func() error { return operation.run(test.ctx) })
			if class := drivers.ErrorClassOf(err); class != test.want {
				t.Errorf("%s with a context that is over: class %q of %v, want %q", operation.name, class, err, test.want)
			}
		}
		s.usable(c, 100)
	}
	must(t, c.check(t.Context(), 0, 0))
	wantMiss(t, "read of the row whose create was cancelled", c.read(t.Context(), 1))
}

type operation struct {
	name string
	run  func(context.Context) error
}

// operations are the four: on an old row that is there, on a new row for create.
func (c *caller) operations(old, new uint64) []operation {
	return []operation{
		{"create", func(ctx context.Context) error { return c.create(ctx, new, 0) }},
		{"read", func(ctx context.Context) error { return c.read(ctx, old) }},
		{"update", func(ctx context.Context) error { return c.update(ctx, old, 1) }},
		{"delete", func(ctx context.Context) error { return c.delete(ctx, old) }},
	}
}

// usable walks a fresh row through its life: the client is as good as new.
func (s *session) usable(c *caller, index uint64) {
	s.t.Helper()
	ctx := s.t.Context()
	err := within(s.t, "operations after an interruption", func() error {
		for _, step := range []func() error{
			func() error { return c.create(ctx, index, 0) },
			func() error { return c.check(ctx, index, 0) },
			func() error { return c.update(ctx, index, 1) },
			func() error { return c.check(ctx, index, 1) },
			func() error { return c.delete(ctx, index) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatalf("the client is not usable after an interruption: %v", err)
	}
}

// testCancelledUnderLoad cancels again and again while all threads are at work, then wants every row to be one whole version, and every answer
// to belong to its question: a driver that mixes up answers after an interruption fails here.
func testCancelledUnderLoad(t *testing.T, h Harness) {
	s := h.open(t, plain(t), load(2, 4))
	const rounds = 15
	s.everyone(func(number int, c *caller) error { return c.create(t.Context(), uint64(number), 0) })
	for round := range rounds {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(round)*300*time.Microsecond, cancel)
		s.everyone(func(number int, c *caller) error {
			for {
				index := uint64(number)
				err := c.update(ctx, index, uint32(round))
				if err == nil {
					err = c.read(ctx, index)
				}
				if err == nil {
					err = c.whole(index, rounds)
				}
				if class := drivers.ErrorClassOf(err); class == drivers.ClassCancelled {
					return nil
				}
				if err != nil {
					return fmt.Errorf("round %d: %w, which is not of class %q", round, err, drivers.ClassCancelled)
				}
			}
		})
		cancel()
		// A cancelled update may or may not have reached the database, and may still be on its way; it must be one or the other.
		s.everyone(func(number int, c *caller) error {
			if err := c.read(t.Context(), uint64(number)); err != nil {
				return fmt.Errorf("round %d: read: %w", round, err)
			}
			return c.whole(uint64(number), rounds)
		})
	}
	s.usable(s.caller(0), 1000)
}

// testStalled interrupts operations that the server certainly has not answered.
func testStalled(t *testing.T, h Harness) {
	s := h.open(t, plain(t), load(2, 2))
	c, ctx := s.caller(0), t.Context()
	must(t, c.create(ctx, 0, 0))
	for _, test := range []struct {
		name  string
		begin func() (context.Context, context.CancelFunc)
		want  drivers.ErrorClass
	}{
		{"Deadline", func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, 150*time.Millisecond) }, drivers.ClassTimeout},
		{"Cancel", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(150*time.Millisecond, cancel)
			return ctx, cancel
		}, drivers.ClassCancelled},
	} {
		t.Run(test.name, func(t *testing.T) {
			release := h.Stall(t, s.config)
			limited, cancel := test.begin()
			defer cancel()
			start := time.Now()
			// All threads at once: none may wait longer because another waits too.
			s.everyone(func(number int, c *caller) error {
				err := c.update(limited, 0, 0)
				if class := drivers.ErrorClassOf(err); class != test.want {
					return fmt.Errorf("update on a stalled server: class %q of %v, want %q", class, err, test.want)
				}
				return nil
			})
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("operations came back %s after the start, want about 150ms", took.Round(time.Millisecond))
			}
			release()
			for i := range s.clients {
				s.usable(s.caller(i), 1000+uint64(i))
			}
			must(t, c.check(ctx, 0, 0))
		})
	}
}

// testUseAfterClose wants an error, soon, from everything that is used after it was closed.
func testUseAfterClose(t *testing.T, h Harness) {
	s := h.open(t, plain(t), load(2, 2))
	c, other := s.caller(0), s.caller(1)
	must(t, c.create(t.Context(), 0, 0))
	must(t, c.client.Close())
	fails := func(what string, run func() error) {
		t.Helper()
		err := within(t, what, run)
		if err == nil {
			t.Errorf("%s after close succeeds", what)
		} else if errors.Is(err, drivers.ErrNotFound) || errors.Is(err, drivers.ErrExists) {
			t.Errorf("%s after close gives %v, which looks like an answer", what, err)
		}
	}
	for _, operation := range c.operations(0, 1) {
		fails(operation.name, func() error { return operation.run(t.Context()) })
	}
	_ = within(t, "second close", c.client.Close) // may be an error, may not hang
	// The other client is not concerned.
	must(t, other.check(t.Context(), 0, 0))
	must(t, other.client.Close())
	s.closed = true
	must(t, within(t, "close of the database", s.database.Close))
	fails("prepare", func() error { return s.database.Prepare(t.Context()) })
	fails("client", func() error {
		_, err := s.database.Client(t.Context(), 0)
		return err
	})
	_ = within(t, "second close of the database", s.database.Close)
}
