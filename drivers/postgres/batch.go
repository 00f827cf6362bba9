package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// How batches are carried:
//
//	create   COPY in binary, one transaction per request of up to copyBytes
//	read     one SELECT … WHERE id = ANY (array)
//	update   the prepared UPDATE once for each row, pipelined before one Sync: one round trip and one transaction for up to updateRows
//	delete   one DELETE … WHERE id = ANY (array)
const (
	copyBytes  = 64 << 20
	updateRows = 1000 // their confirmations fit in the socket's buffers, so that neither side waits for the other to read
)

// CreateBatch copies the rows into the table.
func (c *client) CreateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	if len(keys) != len(rows) {
		return 0, fmt.Errorf("create batch of %d keys and %d rows", len(keys), len(rows))
	}
	for from := 0; from < len(keys); requests++ {
		next, err := c.copyRows(ctx, c.database.loadSQL.copy, from, copyBytes, len(keys), func(i int) (corpus.Key, *corpus.Row) { return keys[i], rows[i] })
		if codeOf(err) == uniqueViolation {
			return requests + 1, drivers.ErrExists
		}
		if err != nil {
			return requests + 1, fmt.Errorf("create batch: %w", err)
		}
		from = next
	}
	return requests, nil
}

// copyRows sends rows from one on, until there are so many bytes or rows, in one COPY, and returns the first row that is not in it. The statements, the
// data and the end of the data go out in one request: a server that refuses the statements passes over the data that follows.
func (c *client) copyRows(ctx context.Context, sql string, from, bytes, to int, row func(i int) (corpus.Key, *corpus.Row)) (next int, err error) {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return from, err
	}
	defer c.link.Give(seat)
	seat.Kind = load
	seat.Request = appendMessage(seat.Request, 'Q', sql+"\x00")
	seat.Request = appendMessage(seat.Request, 'd', "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	for next = from; next < to && len(seat.Request) < bytes; next++ {
		key, cells := row(next)
		at := len(seat.Request)
		seat.Request = append(seat.Request, 'd', 0, 0, 0, 0)
		seat.Request = binary.BigEndian.AppendUint16(seat.Request, uint16(len(c.database.schema.columns)+1))
		if seat.Request, err = c.database.schema.appendCells(seat.Request, key, cells); err != nil {
			return from, fmt.Errorf("row %d: %w", next, err)
		}
		binary.BigEndian.PutUint32(seat.Request[at+1:], uint32(len(seat.Request)-at-1))
	}
	seat.Request = appendMessage(seat.Request, 'd', "\xff\xff")
	seat.Request = appendMessage(seat.Request, 'c', "")
	if err := c.link.Do(ctx, seat); err != nil {
		return from, err
	}
	if seat.Rows != int64(next-from) {
		return from, fmt.Errorf("the server took %d rows of %d", seat.Rows, next-from)
	}
	return next, nil
}

// ReadBatch selects the rows of the keys.
func (c *client) ReadBatch(ctx context.Context, keys []corpus.Key, answer *drivers.Answer) (requests int, err error) {
	err = c.receive(ctx, c.link, answer, func(request []byte) ([]byte, error) {
		request = append(request, c.database.statements[fetch].head...)
		if request, err = c.database.schema.appendKeys(request, keys); err != nil {
			return request, err
		}
		return end(request, 0)
	})
	if err == nil && answer.Rows != int64(len(keys)) {
		err = drivers.ErrNotFound
	}
	if err != nil {
		return 1, fmt.Errorf("read batch: %w", err)
	}
	return 1, nil
}

// DecodeBatch takes the cells apart.
func (c *client) DecodeBatch(answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	return c.decodeRows(answer, true, each)
}

// UpdateBatch updates the rows one by one in one transaction per request.
func (c *client) UpdateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	if len(keys) != len(rows) {
		return 0, fmt.Errorf("update batch of %d keys and %d rows", len(keys), len(rows))
	}
	for from := 0; from < len(keys); from += updateRows {
		to := min(from+updateRows, len(keys))
		requests++
		if err := c.updateRows(ctx, keys[from:to], rows[from:to]); err != nil {
			return requests, fmt.Errorf("update batch: %w", err)
		}
	}
	return requests, nil
}

func (c *client) updateRows(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) error {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return err
	}
	defer c.link.Give(seat)
	seat.Kind = batch
	for i := range keys {
		if seat.Request, err = c.appendUpdate(seat.Request, keys[i], rows[i]); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		if i < len(keys)-1 {
			seat.Request = seat.Request[:len(seat.Request)-syncLength] // one Sync, at the end
		}
	}
	if err := c.link.Do(ctx, seat); err != nil {
		return err
	}
	if seat.Rows != int64(len(keys)) {
		return drivers.ErrNotFound
	}
	return nil
}

// syncLength is how much of tail belongs to the Sync message.
const syncLength = 5

// appendUpdate appends the request of one update.
func (c *client) appendUpdate(dst []byte, key corpus.Key, row *corpus.Row) (_ []byte, err error) {
	start := len(dst)
	dst = append(dst, c.database.statements[update].head...)
	if dst, err = c.database.schema.appendCells(dst, key, row); err != nil {
		return dst, err
	}
	return end(dst, start)
}

// DeleteBatch deletes the rows of the keys.
func (c *client) DeleteBatch(ctx context.Context, keys []corpus.Key) (requests int, err error) {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete batch: %w", err)
	}
	defer c.link.Give(seat)
	seat.Kind = erase
	seat.Request = append(seat.Request, c.database.statements[erase].head...)
	if seat.Request, err = c.database.schema.appendKeys(seat.Request, keys); err == nil {
		seat.Request, err = end(seat.Request, 0)
	}
	if err == nil {
		err = c.link.Do(ctx, seat)
	}
	if err == nil && seat.Rows != int64(len(keys)) {
		err = drivers.ErrNotFound
	}
	if err != nil {
		return 1, fmt.Errorf("delete batch: %w", err)
	}
	return 1, nil
}

// MaxBatch returns 0: what is too much for one request is split.
func (c *client) MaxBatch() int { return 0 }

// appendKeys appends a one-dimensional array of keys, as a parameter.
func (s *schema) appendKeys(dst []byte, keys []corpus.Key) (_ []byte, err error) {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, 1) // dimensions
	dst = binary.BigEndian.AppendUint32(dst, 0) // no NULLs
	dst = binary.BigEndian.AppendUint32(dst, s.keyOID)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(keys)))
	dst = binary.BigEndian.AppendUint32(dst, 1) // first index
	for _, key := range keys {
		if dst, err = s.appendKey(dst, key); err != nil {
			return dst, err
		}
	}
	if len(dst)-start > math.MaxInt32 {
		return dst, fmt.Errorf("keys of %d bytes: a message to PostgreSQL holds at most 2 GiB", len(dst)-start)
	}
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst, nil
}

// Range selects rows in the order of their keys.
func (c *client) Range(ctx context.Context, from corpus.Key, most int64, answer *drivers.Answer) error {
	err := c.receive(ctx, c.link, answer, func(request []byte) (_ []byte, err error) {
		request = append(request, c.database.statements[ranged].head...)
		if request, err = c.database.schema.appendKey(request, from); err != nil {
			return request, err
		}
		return end(appendSized8(request, uint64(most)), 0)
	})
	if err != nil {
		return fmt.Errorf("range: %w", err)
	}
	return nil
}

// DecodeRange takes the cells apart.
func (c *client) DecodeRange(answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	return c.decodeRows(answer, true, each)
}

// Modify selects the row for update and updates it, pipelined before one Sync: one round trip and one transaction. What is written does not
// depend on what was read, so that nothing has to be waited for in between, and a connection that is shared cannot be left in the middle
// of a transaction.
func (c *client) Modify(ctx context.Context, key corpus.Key, rec *drivers.Record, next *corpus.Row) error {
	rec.Reset()
	seat, err := c.link.Take(ctx)
	if err != nil {
		return fmt.Errorf("modify: %w", err)
	}
	defer c.link.Give(seat)
	seat.Kind = update
	seat.Request = append(seat.Request, c.database.statements[lock].head...)
	if seat.Request, err = c.database.schema.appendKey(seat.Request, key); err == nil {
		seat.Request, err = end(seat.Request, 0)
	}
	if err == nil {
		seat.Request, err = c.appendUpdate(seat.Request[:len(seat.Request)-syncLength], key, next)
	}
	if err == nil {
		err = c.link.Do(ctx, seat)
	}
	if err != nil {
		return fmt.Errorf("modify: %w", err)
	}
	if err := found(seat); err != nil {
		return err
	}
	*rec, seat.Record = seat.Record, *rec
	return nil
}

var (
	_ drivers.Batcher  = (*client)(nil)
	_ drivers.Ranger   = (*client)(nil)
	_ drivers.Modifier = (*client)(nil)
)
