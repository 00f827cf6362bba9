package sqlite

import (
	"context"
	"time"

	"github.com/durabench/durabench/drivers"
)

// writer is the one connection that writes. Threads take turns; a channel hands the turn to the one that has waited longest.
type writer struct {
	on         *connection
	schema     *schema
	statements [writes]*statement // compiled at first use: the table may not be there when the database is opened
	read       *statement         // of Modify; compiled at first use
	turn       chan struct{}      // holds a token while nobody writes
	done       chan struct{}      // closed when the writer is
}

// write is a kind of write.
type write int

const (
	insert write = iota
	update
	remove
	load
	writes // their number
)

func newWriter(on *connection, schema *schema) *writer {
	w := &writer{on: on, schema: schema, turn: make(chan struct{}, 1), done: make(chan struct{})}
	w.turn <- struct{}{}
	return w
}

func (w *writer) sql(kind write) string {
	return [writes]string{insert: w.schema.insert, update: w.schema.update, remove: w.schema.remove, load: w.schema.load}[kind]
}

// take waits for the turn.
func (w *writer) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-w.turn:
		return nil
	case <-w.done:
		return drivers.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *writer) give() { w.turn <- struct{}{} }

// run makes one write in its turn.
func (w *writer) run(ctx context.Context, kind write, params []byte) (changes int, err error) {
	if err := w.take(ctx); err != nil {
		return 0, err
	}
	changes, err = w.now(ctx, kind, params)
	w.give()
	return changes, err
}

// now makes one write; the caller has the turn.
func (w *writer) now(ctx context.Context, kind write, params []byte) (changes int, err error) {
	if w.statements[kind] == nil {
		if w.statements[kind], err = w.on.prepare(w.sql(kind)); err != nil {
			return 0, err
		}
	}
	changes, err = w.statements[kind].run(params)
	if err == nil || !busy(err) {
		return changes, err
	}
	err = retry(ctx, func() error {
		changes, err = w.statements[kind].run(params)
		return err
	})
	return changes, err
}

// exclusive lends the connection to f for its turn.
func (w *writer) exclusive(ctx context.Context, f func(*connection) error) error {
	if err := w.take(ctx); err != nil {
		return err
	}
	defer w.give()
	return f(w.on)
}

// close waits for the turn and never gives it back.
func (w *writer) close() error {
	<-w.turn
	close(w.done)
	for _, s := range append(w.statements[:], w.read) {
		if s != nil {
			s.finalize()
		}
	}
	return w.on.close()
}

// busyPatience is how long a lock of another process is waited for.
const busyPatience = 5 * time.Second

// retry runs f again while another process has the database locked; within this one nobody does. SQLite's own busy handler would do the
// same, but without hearing the context.
func retry(ctx context.Context, f func() error) error {
	deadline := time.Now().Add(busyPatience)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		err := f()
		if err == nil || !busy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
