package respbase

import (
	"context"
	"fmt"
	"strconv"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// While there is an index, a write of a row is a script that also writes its copies, so that there is never the one without the other. Without an
// index, writes are the commands that they are anywhere.

// setScript sets a row on a condition and then runs the commands that follow, each after the number of its words. It returns whether the row was set, or
// with GET what was there before.
const setScript = `local done
if ARGV[2] == 'GET' then done = redis.call('SET', KEYS[1], ARGV[1], 'XX', 'GET')
elseif ARGV[2] == '' then done = redis.call('SET', KEYS[1], ARGV[1])
else done = redis.call('SET', KEYS[1], ARGV[1], ARGV[2]) end
if not done then return false end
local at = 3
while at <= #ARGV do
local words = tonumber(ARGV[at])
redis.call(unpack(ARGV, at + 1, at + words))
at = at + words + 1
end
return done`

// deleteScript deletes a row and its copies: those of vector sets are elements, named by the arguments, of the keys before the last of the numbers; the
// other keys are deleted.
const deleteScript = `if redis.call('DEL', KEYS[1]) == 0 then return 0 end
local sets = tonumber(ARGV[1])
for i = 2, 1 + sets do redis.call('VREM', KEYS[i], ARGV[2]) end
for i = 2 + sets, #KEYS do redis.call('DEL', KEYS[i]) end
return 1`

// copyKey is the key that has the copy of a row: the set's, or the hash's own.
func (c *copier) copyKey(row []byte) []byte {
	if c.index.Vector.Strategy == query.VectorSet {
		return []byte(setPrefix + c.index.Name)
	}
	return append([]byte(mirrorOf(c.index)), row...)
}

// appendSetScript appends the script that sets a row and its copies.
func (c *client) appendSetScript(seat *wire.Seat, copiers []*copier, key corpus.Key, row *corpus.Row, condition string) {
	ordered := key.AppendOrdered(nil)
	words := 0
	var body []byte
	for _, copier := range copiers {
		n := copier.words()
		words += 1 + n
		body = copier.appendWords(appendBulk(body, strconv.AppendInt(nil, int64(n), 10)), ordered, row)
	}
	seat.Request = appendCommand(seat.Request, "EVAL", 5+len(copiers)+words)
	seat.Request = appendBulk(seat.Request, []byte(setScript))
	seat.Request = appendBulk(seat.Request, strconv.AppendInt(nil, int64(1+len(copiers)), 10))
	seat.Request = appendKey(seat.Request, key)
	for _, copier := range copiers {
		seat.Request = appendBulk(seat.Request, copier.copyKey(ordered))
	}
	c.appendRow(seat, row)
	seat.Request = append(appendBulk(seat.Request, []byte(condition)), body...)
}

// appendDeleteScript appends the script that deletes a row and its copies.
func appendDeleteScript(dst []byte, copiers []*copier, key corpus.Key) []byte {
	ordered := key.AppendOrdered(nil)
	dst = appendCommand(dst, "EVAL", 5+len(copiers))
	dst = appendBulk(dst, []byte(deleteScript))
	dst = appendBulk(dst, strconv.AppendInt(nil, int64(1+len(copiers)), 10))
	dst = appendKey(dst, key)
	sets := 0
	for _, set := range []bool{true, false} {
		for _, copier := range copiers {
			if set == (copier.index.Vector.Strategy == query.VectorSet) {
				dst = appendBulk(dst, copier.copyKey(ordered))
				if set {
					sets++
				}
			}
		}
	}
	return appendBulk(appendBulk(dst, strconv.AppendInt(nil, int64(sets), 10)), ordered)
}

// scripts sends a script for each of n rows, all of them together, and returns how many rows they concerned.
func (c *vectorClient) scripts(ctx context.Context, n int, fill func(seat *wire.Seat, i int)) (int64, error) {
	if n == 0 {
		return 0, nil
	}
	return c.command(ctx, several, func(seat *wire.Seat) {
		seat.Left = n
		for i := range n {
			fill(seat, i)
		}
	})
}

// setCopied sets one row and its copies, on a condition.
func (c *vectorClient) setCopied(ctx context.Context, copiers []*copier, key corpus.Key, row *corpus.Row, condition string) (done bool, err error) {
	n, err := c.scripts(ctx, 1, func(seat *wire.Seat, _ int) { c.appendSetScript(seat, copiers, key, row, condition) })
	return n > 0, err
}

// Create sets the row and its copies if it is not there.
func (c *vectorClient) Create(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	copiers := *c.vectors.present.Load()
	if len(copiers) == 0 {
		return c.client.Create(ctx, key, row)
	}
	done, err := c.setCopied(ctx, copiers, key, row, "NX")
	switch {
	case err != nil:
		return fmt.Errorf("create: %w", err)
	case !done:
		return drivers.ErrExists
	}
	return nil
}

// Update sets the row and its copies if it is there.
func (c *vectorClient) Update(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	copiers := *c.vectors.present.Load()
	if len(copiers) == 0 {
		return c.client.Update(ctx, key, row)
	}
	done, err := c.setCopied(ctx, copiers, key, row, "XX")
	switch {
	case err != nil:
		return fmt.Errorf("update: %w", err)
	case !done:
		return drivers.ErrNotFound
	}
	return nil
}

// Delete deletes the row and its copies.
func (c *vectorClient) Delete(ctx context.Context, key corpus.Key) error {
	copiers := *c.vectors.present.Load()
	if len(copiers) == 0 {
		return c.client.Delete(ctx, key)
	}
	done, err := c.scripts(ctx, 1, func(seat *wire.Seat, _ int) { seat.Request = appendDeleteScript(seat.Request, copiers, key) })
	switch {
	case err != nil:
		return fmt.Errorf("delete: %w", err)
	case done == 0:
		return drivers.ErrNotFound
	}
	return nil
}

// Modify exchanges the row and its copies.
func (c *vectorClient) Modify(ctx context.Context, key corpus.Key, rec *drivers.Record, next *corpus.Row) error {
	copiers := *c.vectors.present.Load()
	if len(copiers) == 0 {
		return c.client.Modify(ctx, key, rec, next)
	}
	rec.Reset()
	seat, err := c.link.Take(ctx)
	if err != nil {
		return fmt.Errorf("modify: %w", err)
	}
	defer c.link.Give(seat)
	c.appendSetScript(seat, copiers, key, next, "GET")
	if err := c.link.Do(ctx, seat); err != nil {
		return fmt.Errorf("modify: %w", err)
	}
	if seat.Rows == 0 {
		return drivers.ErrNotFound
	}
	*rec, seat.Record = seat.Record, *rec
	return nil
}

// Load sets many rows, with their copies.
func (c *vectorClient) Load(ctx context.Context, from, to uint64, version uint32) error {
	copiers := *c.vectors.present.Load()
	if len(copiers) == 0 {
		return c.client.Load(ctx, from, to, version)
	}
	const most = 100 // rows in a request
	var row corpus.Row
	var key corpus.KeyBuffer
	for from < to {
		n := min(to-from, most)
		done, err := c.scripts(ctx, int(n), func(seat *wire.Seat, i int) {
			index := from + uint64(i)
			c.database.load.Corpus.Row(&row, index, version)
			c.appendSetScript(seat, copiers, c.database.load.Corpus.Key(&key, index), &row, "")
		})
		if err == nil && done != int64(n) {
			err = fmt.Errorf("the server confirms %d of %d rows", done, n)
		}
		if err != nil {
			return fmt.Errorf("load rows from %d: %w", from, err)
		}
		from += n
	}
	return nil
}

// CreateBatch sets each row and its copies if it is not there: here not all rows or none.
func (c *vectorClient) CreateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	return c.batch(ctx, "create", keys, rows, "NX", drivers.ErrExists, func() (int, error) { return c.client.CreateBatch(ctx, keys, rows) })
}

// UpdateBatch sets each row and its copies if it is there.
func (c *vectorClient) UpdateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	return c.batch(ctx, "update", keys, rows, "XX", drivers.ErrNotFound, func() (int, error) { return c.client.UpdateBatch(ctx, keys, rows) })
}

// batch sets rows and their copies, on a condition that is missed when it is not that of every row; without an index, plain does it.
func (c *vectorClient) batch(ctx context.Context, what string, keys []corpus.Key, rows []*corpus.Row, condition string, missed error, plain func() (int, error)) (int, error) {
	copiers := *c.vectors.present.Load()
	if len(copiers) == 0 {
		return plain()
	}
	if len(keys) != len(rows) {
		return 0, fmt.Errorf("%s batch of %d keys and %d rows", what, len(keys), len(rows))
	}
	done, err := c.scripts(ctx, len(keys), func(seat *wire.Seat, i int) { c.appendSetScript(seat, copiers, keys[i], rows[i], condition) })
	if err != nil {
		return 1, fmt.Errorf("%s batch: %w", what, err)
	}
	if done != int64(len(keys)) {
		return 1, missed
	}
	return 1, nil
}

// DeleteBatch deletes the rows and their copies.
func (c *vectorClient) DeleteBatch(ctx context.Context, keys []corpus.Key) (requests int, err error) {
	copiers := *c.vectors.present.Load()
	if len(copiers) == 0 {
		return c.client.DeleteBatch(ctx, keys)
	}
	done, err := c.scripts(ctx, len(keys), func(seat *wire.Seat, i int) { seat.Request = appendDeleteScript(seat.Request, copiers, keys[i]) })
	if err != nil {
		return 1, fmt.Errorf("delete batch: %w", err)
	}
	if done != int64(len(keys)) {
		return 1, drivers.ErrNotFound
	}
	return 1, nil
}

var (
	_ drivers.Loader   = (*vectorClient)(nil)
	_ drivers.Batcher  = (*vectorClient)(nil)
	_ drivers.Modifier = (*vectorClient)(nil)
)
