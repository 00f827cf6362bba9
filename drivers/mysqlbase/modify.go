package mysqlbase

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// transaction runs do between BEGIN and COMMIT, or rolls back what it did. The server has rolled back by itself after a deadlock, and then has nothing
// to roll back.
func (s *session) transaction(do func() error) error {
	if err := s.say("BEGIN"); err != nil {
		return err
	}
	if err := do(); err != nil {
		if broken(err) {
			return err // the connection is given up, and the transaction with it
		}
		return errors.Join(err, s.say("ROLLBACK"))
	}
	return s.say("COMMIT")
}

// say runs a statement without parameters and rows.
func (s *session) say(sql string) error {
	s.requests++
	_, err := s.conn.(driver.ExecerContext).ExecContext(context.Background(), sql, nil)
	return err
}

// Modify selects the row for update and updates it, in one transaction of four requests, and a fifth that prepares the SELECT the first time.
func (c *client) Modify(ctx context.Context, key corpus.Key, rec *drivers.Record, next *corpus.Row) error {
	rec.Reset()
	err := c.run(ctx, "modify", func(s *session) error {
		return s.transaction(func() error {
			statement, err := s.prepared(ctx, lock, c.database.schema.lockSQL)
			if err != nil {
				return err
			}
			if err := s.arguments.key(c.database.schema, key); err != nil {
				return err
			}
			found := false
			err = s.query(statement, func(cells []driver.Value) error {
				found = true
				return fill(rec, cells)
			})
			if err != nil {
				return err
			}
			if !found {
				return drivers.ErrNotFound
			}
			s.arguments.reset()
			if err := s.addRowFirst(key, next); err != nil {
				return err
			}
			_, err = s.exec(s.statements[update])
			return err
		})
	})
	if errors.Is(err, drivers.ErrNotFound) {
		return drivers.ErrNotFound
	}
	return err
}

var _ drivers.Modifier = (*client)(nil)
