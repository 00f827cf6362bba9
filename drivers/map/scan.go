package mapdb

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/kvscan"
)

// CanScan refuses what a hash map has nothing for.
func (c *client) CanScan(s *query.Scan) error { return kvscan.Can("a hash map", s) }

// PrepareScan keeps the scan.
func (c *client) PrepareScan(_ context.Context, s *query.Scan) (drivers.Statement, error) {
	if c.closed.Load() {
		return nil, drivers.ErrClosed
	}
	if err := c.CanScan(s); err != nil {
		return nil, err
	}
	return kvscan.New(c.database.template, s), nil
}

// Scan goes through the shards. All that is asked of a count of all rows is the maps' own sizes.
func (c *client) Scan(ctx context.Context, statement drivers.Statement, answer *drivers.Answer) error {
	if c.closed.Load() {
		return drivers.ErrClosed
	}
	s, d := statement.(*kvscan.Scan), c.database
	if s.Project == query.Count && s.Where == nil && s.Limit == 0 && s.Offset == 0 {
		answer.Reset()
		n, err := d.Count(ctx)
		answer.Count, answer.Size = n, 8
		return err
	}
	return s.Run(answer, func(visit func(key, value []byte) error) error {
		if d.integers != nil {
			return walk(ctx, d.integers, func(key int64, row *stored) error {
				var ordered [8]byte
				binary.BigEndian.PutUint64(ordered[:], uint64(key))
				return visit(ordered[:], row.binary)
			})
		}
		return walk(ctx, d.texts, func(key string, row *stored) error { return visit([]byte(key), row.binary) })
	})
}

// entry is a row as a walk sees it.
type entry[K comparable] struct {
	key K
	row *stored
}

// walk visits all rows, shard by shard. A shard is locked while its rows are listed, which are never changed, and not while they are visited.
func walk[K comparable](ctx context.Context, t *table[K], visit func(key K, row *stored) error) error {
	var entries []entry[K]
	for i := range t.shards {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &t.shards[i]
		entries = entries[:0]
		s.RLock()
		for key, row := range s.rows {
			entries = append(entries, entry[K]{key, row})
		}
		s.RUnlock()
		for n, e := range entries {
			if n%1024 == 1023 && ctx.Err() != nil {
				return ctx.Err()
			}
			if err := visit(e.key, e.row); err != nil {
				return err
			}
		}
	}
	return nil
}

// DecodeScan takes the cells apart.
func (c *client) DecodeScan(statement drivers.Statement, answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	return statement.(*kvscan.Scan).DecodeScan(c.database.corpus, answer, each)
}

// DecodeGroups has nothing to decode: scans with aggregates are refused.
func (c *client) DecodeGroups(drivers.Statement, *drivers.Answer) ([]query.Group, error) {
	return nil, errors.New("map: there are no groups")
}

var _ drivers.Scanner = (*client)(nil)
