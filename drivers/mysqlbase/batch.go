package mysqlbase

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// How batches are carried, each with a prepared statement for as many rows as there are, split where a request would have too many values or bytes:
//
//	create   INSERT of all rows
//	read     SELECT … WHERE id IN (…)
//	update   MySQL: UPDATE … JOIN (VALUES …); MariaDB: INSERT … ON DUPLICATE KEY UPDATE in a transaction, that is rolled back when a row was not there
//	         (schema.replaceSQL)
//	delete   DELETE … WHERE id IN (…)
const (
	// mostValues is how many values a prepared statement can have: the protocol counts them in 16 bits.
	mostValues = 65535
	// mostKeys is how long a list of keys gets. With lists some times as long the servers give up to look up each key in the index and read the whole
	// table: MySQL by range_optimizer_max_mem_size, MariaDB by optimizer_max_sel_args.
	mostKeys = 10_000
	// valueBytes is about how many bytes of a request go with each value beside its own: its type, its length, its bit among the NULLs.
	valueBytes = 12
	// packetBytes are left free in a request for all else.
	packetBytes = 1024
)

// bounds are of one request.
type bounds struct{ rows, bytes int }

// rowBounds are those of a request that writes whole rows.
func (d *database) rowBounds() bounds {
	return bounds{rows: max(1, mostValues/(len(d.schema.columns)+1)), bytes: d.packet - packetBytes}
}

// keyBounds are those of a request with a list of keys.
func (d *database) keyBounds() bounds { return bounds{rows: mostKeys, bytes: d.packet - packetBytes} }

// gather makes the arguments of one request out of items from one on, as many as it takes, and returns the first that is not in it. Where the bytes bound
// it, they are a power of two, because a statement for each number that happens to fit would be prepared and hardly used again. A single item is taken
// however large it is, for the server to refuse.
func (s *session) gather(from, to int, most bounds, add func(i int) error) (next int, err error) {
	s.arguments.reset()
	size := 0
	var whole struct{ next, values, text int } // of the last power of two
	for next = from; next < to && next-from < most.rows; next++ {
		values := len(s.arguments.values)
		if n := next - from; n&(n-1) == 0 {
			whole.next, whole.values, whole.text = next, values, len(s.arguments.text)
		}
		if err := add(next); err != nil {
			return from, fmt.Errorf("row %d: %w", next, err)
		}
		if size += sizeOfValues(s.arguments.values[values:]); size > most.bytes && next > from {
			s.arguments.values, s.arguments.text = s.arguments.values[:whole.values], s.arguments.text[:whole.text]
			return whole.next, nil
		}
	}
	return next, nil
}

// sizeOfValues is about how many bytes values have in a request.
func sizeOfValues(values []driver.Value) (size int) {
	for _, value := range values {
		if b, ok := value.([]byte); ok {
			size += len(b)
		}
		size += valueBytes
	}
	return size
}

// addRow adds a key and the row's columns.
func (s *session) addRow(key corpus.Key, row *corpus.Row) error {
	return errors.Join(s.arguments.key(s.database.schema, key), s.arguments.row(s.database.schema, row))
}

// addRowFirst adds the row's columns and then the key.
func (s *session) addRowFirst(key corpus.Key, row *corpus.Row) error {
	return errors.Join(s.arguments.row(s.database.schema, row), s.arguments.key(s.database.schema, key))
}

// runSized runs the statement of a kind for so many rows with the arguments gathered.
func (s *session) runSized(ctx context.Context, kind operation, rows int) (int64, error) {
	statement, err := s.prepared(ctx, sized{kind, rows}, func() string { return s.database.schema.sizedSQL(kind, rows) })
	if err != nil {
		return 0, err
	}
	return s.exec(statement)
}

// runBatch runs a batch on a session and returns how many requests it took.
func (c *client) runBatch(ctx context.Context, what string, do func(s *session) error) (requests int, err error) {
	err = c.run(ctx, what, func(s *session) error {
		before := s.requests
		err := do(s)
		requests = s.requests - before
		return err
	})
	return requests, err
}

// CreateBatch inserts the rows.
func (c *client) CreateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	if len(keys) != len(rows) {
		return 0, fmt.Errorf("create batch of %d keys and %d rows", len(keys), len(rows))
	}
	requests, err = c.runBatch(ctx, "create batch", func(s *session) error {
		for from := 0; from < len(keys); {
			next, err := s.gather(from, len(keys), c.database.rowBounds(), func(i int) error { return s.addRow(keys[i], rows[i]) })
			if err != nil {
				return err
			}
			if _, err := s.runSized(ctx, createMany, next-from); err != nil {
				return err
			}
			from = next
		}
		return nil
	})
	if numberOf(err) == errorDuplicate {
		return requests, drivers.ErrExists
	}
	return requests, err
}

// ReadBatch selects the rows of the keys.
func (c *client) ReadBatch(ctx context.Context, keys []corpus.Key, answer *drivers.Answer) (requests int, err error) {
	answer.Reset()
	requests, err = c.runBatch(ctx, "read batch", func(s *session) error {
		for from := 0; from < len(keys); {
			next, err := s.gather(from, len(keys), c.database.keyBounds(), func(i int) error { return s.arguments.key(c.database.schema, keys[i]) })
			if err != nil {
				return err
			}
			statement, err := s.prepared(ctx, sized{readMany, next - from}, func() string { return c.database.schema.sizedSQL(readMany, next-from) })
			if err != nil {
				return err
			}
			if err := s.receive(statement, answer); err != nil {
				return err
			}
			from = next
		}
		return nil
	})
	if err == nil && answer.Rows != int64(len(keys)) {
		err = drivers.ErrNotFound
	}
	return requests, err
}

// UpdateBatch replaces the rows.
func (c *client) UpdateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	if len(keys) != len(rows) {
		return 0, fmt.Errorf("update batch of %d keys and %d rows", len(keys), len(rows))
	}
	requests, err = c.runBatch(ctx, "update batch", func(s *session) error {
		for from := 0; from < len(keys); {
			next, err := s.gather(from, len(keys), c.database.rowBounds(), func(i int) error { return s.addRow(keys[i], rows[i]) })
			if err != nil {
				return err
			}
			if n := next - from; c.database.product.MariaDB && n > 1 {
				err = c.replaceInserting(ctx, s, keys[from:next], rows[from:next])
			} else {
				err = s.replace(ctx, n, keys[from], rows[from])
			}
			if err != nil {
				return err
			}
			from = next
		}
		return nil
	})
	return requests, err
}

// replace replaces the n rows gathered, of which the first is given.
func (s *session) replace(ctx context.Context, n int, key corpus.Key, row *corpus.Row) (err error) {
	var found int64
	if n > 1 {
		found, err = s.runSized(ctx, replaceMany, n)
	} else {
		s.arguments.reset()
		if err = s.addRowFirst(key, row); err == nil {
			found, err = s.exec(s.statements[update])
		}
	}
	if err == nil && found != int64(n) {
		err = drivers.ErrNotFound
	}
	return err
}

// replaceInserting replaces the rows gathered, by a statement that would add those that are not there.
func (c *client) replaceInserting(ctx context.Context, s *session, keys []corpus.Key, rows []*corpus.Row) error {
	err := s.transaction(func() error {
		changed, err := s.runSized(ctx, replaceMany, len(keys))
		if err == nil && changed != int64(2*len(keys)) {
			err = errUnsure
		}
		return err
	})
	if errors.Is(err, errUnsure) {
		return c.replaceSurely(ctx, s, keys, rows)
	}
	return err
}

// errUnsure says that of the rows of a batch some were not there or had their new values already: a row that was changed counts as two, both
// others as one.
var errUnsure = errors.New("rows were not there, or as they are to be already")

// replaceSurely replaces rows when all of them are there, which it looks up first.
func (c *client) replaceSurely(ctx context.Context, s *session, keys []corpus.Key, rows []*corpus.Row) error {
	return s.transaction(func() error {
		for from := 0; from < len(keys); {
			next, err := s.gather(from, len(keys), c.database.keyBounds(), func(i int) error { return s.arguments.key(c.database.schema, keys[i]) })
			if err != nil {
				return err
			}
			statement, err := s.prepared(ctx, sized{lockMany, next - from}, func() string { return c.database.schema.sizedSQL(lockMany, next-from) })
			if err != nil {
				return err
			}
			there := 0
			if err := s.query(statement, func([]driver.Value) error { there++; return nil }); err != nil {
				return err
			}
			if there != next-from {
				return drivers.ErrNotFound
			}
			from = next
		}
		if _, err := s.gather(0, len(keys), bounds{rows: len(keys), bytes: c.database.packet}, func(i int) error { return s.addRow(keys[i], rows[i]) }); err != nil {
			return err
		}
		_, err := s.runSized(ctx, replaceMany, len(keys))
		return err
	})
}

// DeleteBatch deletes the rows of the keys.
func (c *client) DeleteBatch(ctx context.Context, keys []corpus.Key) (requests int, err error) {
	deleted := int64(0)
	requests, err = c.runBatch(ctx, "delete batch", func(s *session) error {
		for from := 0; from < len(keys); {
			next, err := s.gather(from, len(keys), c.database.keyBounds(), func(i int) error { return s.arguments.key(c.database.schema, keys[i]) })
			if err != nil {
				return err
			}
			n, err := s.runSized(ctx, removeMany, next-from)
			if err != nil {
				return err
			}
			deleted += n
			from = next
		}
		return nil
	})
	if err == nil && deleted != int64(len(keys)) {
		return requests, drivers.ErrNotFound
	}
	return requests, err
}

// DecodeBatch takes the cells apart.
func (c *client) DecodeBatch(answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	return c.database.schema.cells().Rows(answer, true, each)
}

// MaxBatch returns 0: what is too much for one request is split.
func (c *client) MaxBatch() int { return 0 }

var _ drivers.Batcher = (*client)(nil)
