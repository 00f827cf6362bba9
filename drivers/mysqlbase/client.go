package mysqlbase

import (
	"context"
	"database/sql/driver"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// client carries operations over one connection for each thread.
type client struct {
	database *database
	all      []*session
	free     chan *session // as many as threads: nobody waits while there are no more callers than threads
	closed   chan struct{}
	closing  sync.Once
	// gathering is held by who takes all sessions.
	gathering sync.Mutex
	searching atomic.Pointer[search] // nil for none
	budget    atomic.Int64           // mhnsw_ef_search that sessions are to have; 0 for the server's own
}

// take returns a session that is ready for the context's operations.
func (c *client) take(ctx context.Context) (*session, error) {
	select {
	case <-c.closed:
		return nil, drivers.ErrClosed
	default:
	}
	var s *session
	select {
	case s = <-c.free:
	default:
		select {
		case s = <-c.free:
		case <-c.closed:
			return nil, drivers.ErrClosed
		case <-ctx.Done():
			return nil, overError(ctx)
		}
	}
	if err := s.begin(ctx); err != nil {
		c.give(s)
		return nil, err
	}
	return s, nil
}

// give hands a session back.
func (c *client) give(s *session) {
	s.arguments.reset()
	c.free <- s
	select {
	case <-c.closed:
		c.sweep()
	default:
	}
}

// run runs one operation on a session.
func (c *client) run(ctx context.Context, what string, do func(s *session) error) error {
	s, err := c.take(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	err = s.end(ctx, do(s))
	c.give(s)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Create inserts the row.
func (c *client) Create(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	err := c.run(ctx, "create", func(s *session) error {
		if err := s.addRow(key, row); err != nil {
			return err
		}
		_, err := s.exec(s.statements[create])
		return err
	})
	if numberOf(err) == errorDuplicate {
		return drivers.ErrExists
	}
	return err
}

// Read selects the row and leaves its columns in rec: numbers as eight bytes, all else as the server gives it.
func (c *client) Read(ctx context.Context, key corpus.Key, rec *drivers.Record) error {
	rec.Reset()
	found := false
	err := c.run(ctx, "read", func(s *session) error {
		if err := s.arguments.key(c.database.schema, key); err != nil {
			return err
		}
		return s.query(s.statements[read], func(cells []driver.Value) error {
			found = true
			return fill(rec, cells)
		})
	})
	if err != nil {
		rec.Reset()
		return err
	}
	if !found {
		return drivers.ErrNotFound
	}
	return nil
}

// Update sets all columns of the row.
func (c *client) Update(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	return c.change(ctx, "update", func(s *session) (int64, error) {
		if err := s.addRowFirst(key, row); err != nil {
			return 0, err
		}
		return s.exec(s.statements[update])
	})
}

// Delete deletes the row.
func (c *client) Delete(ctx context.Context, key corpus.Key) error {
	return c.change(ctx, "delete", func(s *session) (int64, error) {
		if err := s.arguments.key(c.database.schema, key); err != nil {
			return 0, err
		}
		return s.exec(s.statements[remove])
	})
}

// change runs an operation on a row that has to be there.
func (c *client) change(ctx context.Context, what string, do func(*session) (int64, error)) error {
	var rows int64
	err := c.run(ctx, what, func(s *session) (err error) {
		rows, err = do(s)
		return err
	})
	if err == nil && rows == 0 {
		return drivers.ErrNotFound
	}
	return err
}

// Decode converts the columns into values.
func (c *client) Decode(rec *drivers.Record, row *corpus.Row) error {
	return c.database.schema.decode(rec, row)
}

// Close closes the client's connections; operations in flight end with an error.
func (c *client) Close() error {
	c.closing.Do(func() {
		close(c.closed)
		for _, s := range c.all {
			s.close(false)
		}
		c.sweep()
	})
	return nil
}

// sweep closes the sessions that nobody uses.
func (c *client) sweep() {
	for {
		select {
		case s := <-c.free:
			s.close(true)
		default:
			return
		}
	}
}
