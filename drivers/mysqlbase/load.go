package mysqlbase

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

const (
	// mostValues is how many values a prepared statement can have: the protocol counts them in 16 bits.
	mostValues = 65535
	// chunkRows and chunkBytes bound what goes out in one statement.
	chunkRows  = 256
	chunkBytes = 1 << 20
)

// Load writes the rows in chunks, each one statement and so one transaction, on a measured connection.
func (c *client) Load(ctx context.Context, from, to uint64, version uint32) error {
	err := c.run(ctx, "load", func(s *session) error { return s.load(ctx, from, to, version) })
	if err != nil {
		return fmt.Errorf("rows %d to %d at version %d: %w", from, to, version, err)
	}
	return nil
}

func (s *session) load(ctx context.Context, from, to uint64, version uint32) (err error) {
	d := s.database
	most := uint64(max(1, min(chunkRows, mostValues/(len(d.schema.columns)+1))))
	prepared := make(map[uint64]driver.Stmt)
	defer func() {
		for _, statement := range prepared {
			if closing := statement.Close(); err == nil && closing != nil {
				err = closing
			}
		}
	}()
	keys := make([]corpus.KeyBuffer, most)
	rows := make([]corpus.Row, most)
	for from < to {
		s.arguments.reset()
		n, size := uint64(0), 0
		for n < most && from+n < to && size < min(chunkBytes, d.packet/2) {
			row := &rows[n]
			d.corpus.Row(row, from+n, version)
			before := len(s.arguments.values)
			if err := errors.Join(s.arguments.key(d.schema, d.corpus.Key(&keys[n], from+n)), s.arguments.row(d.schema, row)); err != nil {
				return fmt.Errorf("row %d: %w", from+n, err)
			}
			size += sizeOfValues(s.arguments.values[before:])
			n++
		}
		statement := prepared[n]
		if statement == nil {
			if statement, err = s.conn.(driver.ConnPrepareContext).PrepareContext(ctx, d.schema.loadSQL(int(n))); err != nil {
				return err
			}
			prepared[n] = statement
		}
		if _, err := s.exec(statement); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// sizeOfValues is about how many bytes values have in a request.
func sizeOfValues(values []driver.Value) (size int) {
	for _, value := range values {
		if b, ok := value.([]byte); ok {
			size += len(b)
		}
		size += 9
	}
	return size
}

var _ drivers.Loader = (*client)(nil)
