package mysqlbase

import (
	"context"
	"fmt"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

const (
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

func (s *session) load(ctx context.Context, from, to uint64, version uint32) error {
	d := s.database
	most := d.rowBounds()
	most = bounds{rows: min(chunkRows, most.rows), bytes: min(chunkBytes, most.bytes)}
	keys := make([]corpus.KeyBuffer, most.rows)
	rows := make([]corpus.Row, most.rows)
	for from < to {
		n, err := s.gather(0, int(min(to-from, uint64(most.rows))), most, func(i int) error {
			d.corpus.Row(&rows[i], from+uint64(i), version)
			return s.addRow(d.corpus.Key(&keys[i], from+uint64(i)), &rows[i])
		})
		if err != nil {
			return err
		}
		if err := s.loadChunk(ctx, n); err != nil {
			return err
		}
		from += uint64(n)
	}
	return nil
}

// loadChunk writes the rows gathered: first as if none of them were there, and if one is, in place of all of them that are.
func (s *session) loadChunk(ctx context.Context, n int) error {
	_, err := s.runSized(ctx, createMany, n)
	if numberOf(err) != errorDuplicate {
		return err
	}
	all := s.arguments.values
	defer func() { s.arguments.values = all }()
	return s.transaction(func() error {
		width := len(all) / n
		s.arguments.values = nil
		for i := range n {
			s.arguments.values = append(s.arguments.values, all[i*width])
		}
		if _, err := s.runSized(ctx, removeMany, n); err != nil {
			return err
		}
		s.arguments.values = all
		_, err := s.runSized(ctx, createMany, n)
		return err
	})
}

var _ drivers.Loader = (*client)(nil)
