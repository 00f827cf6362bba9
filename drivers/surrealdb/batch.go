package surrealdb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// batchBytes is how much of a batch goes into one request: half of what a server takes in one frame (SURREAL_WEBSOCKET_MAX_FRAME_SIZE, 16 MiB).
const batchBytes = 8 << 20

// The queries of batches, each one statement and so one transaction.
const (
	readBatchQuery   = "SELECT * FROM $ids"
	updateBatchQuery = "FOR $row IN $rows { IF array::is_empty(UPDATE $row.id CONTENT $row RETURN NULL) { THROW '" + missing + "' } }"
	deleteBatchQuery = "DELETE $ids RETURN NULL"
)

// missing is thrown by an update of a batch whose key is not there.
const missing = "durabench: no such record"

// CreateBatch inserts the rows.
func (c *client) CreateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	requests, err = c.batch(ctx, insertQuery, keys, rows, nil)
	if exists(err) {
		err = drivers.ErrExists
	}
	if err != nil {
		return requests, fmt.Errorf("create batch: %w", err)
	}
	return requests, nil
}

// UpdateBatch replaces the rows one by one in the server.
func (c *client) UpdateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	requests, err = c.batch(ctx, updateBatchQuery, keys, rows, nil)
	var refused *serverError
	if errors.As(err, &refused) && strings.Contains(refused.message, missing) {
		err = drivers.ErrNotFound
	}
	if err != nil {
		return requests, fmt.Errorf("update batch: %w", err)
	}
	return requests, nil
}

// DeleteBatch deletes the records.
func (c *client) DeleteBatch(ctx context.Context, keys []corpus.Key) (requests int, err error) {
	if requests, err = c.batch(ctx, deleteBatchQuery, keys, nil, nil); err != nil {
		return requests, fmt.Errorf("delete batch: %w", err)
	}
	return requests, nil
}

// ReadBatch selects the records by their keys.
func (c *client) ReadBatch(ctx context.Context, keys []corpus.Key, answer *drivers.Answer) (requests int, err error) {
	answer.Reset()
	if requests, err = c.batch(ctx, readBatchQuery, keys, nil, answer); err != nil {
		return requests, fmt.Errorf("read batch: %w", err)
	}
	return requests, nil
}

// batch sends keys, or keyed rows, in as many requests as it takes.
func (c *client) batch(ctx context.Context, query string, keys []corpus.Key, rows []*corpus.Row, answer *drivers.Answer) (requests int, err error) {
	for from := 0; from < len(keys); requests++ {
		n, err := c.part(ctx, query, keys[from:], rows[min(from, len(rows)):], answer)
		if err != nil {
			return requests + 1, err
		}
		from += n
	}
	return requests, nil
}

// part sends the first of the keys or rows, and returns how many.
func (c *client) part(ctx context.Context, query string, keys []corpus.Key, rows []*corpus.Row, answer *drivers.Answer) (n int, err error) {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return 0, err
	}
	defer c.link.Give(seat)
	list := seat.Request // memory that is free until the message is made
	for n = 0; n < len(keys) && len(list) < batchBytes; n++ {
		if len(rows) > 0 {
			list, err = c.database.schema.appendKeyedRow(list, keys[n], rows[n])
		} else {
			list, err = c.database.schema.appendKey(list, keys[n])
		}
		if err != nil {
			return 0, err
		}
	}
	parameter := "ids"
	if len(rows) > 0 {
		parameter = "rows"
	}
	message := appendText(appendQuery(seat.Record.Bytes, seat.ID, query, 1), parameter)
	message = append(appendHead(message, majorArray, uint64(n)), list...)
	seat.Request = list[:0]
	result, err := c.ask(ctx, seat, message)
	if err != nil || query == updateBatchQuery {
		return n, err
	}
	items := scanner{data: seat.Record.Bytes[:result.to], at: result.from}
	got, err := items.count(majorArray)
	switch {
	case err != nil:
		return n, err
	case got < n && query == insertQuery:
		return n, fmt.Errorf("the server took %d rows of %d", got, n)
	case got < n:
		return n, drivers.ErrNotFound
	case answer != nil:
		return n, c.gather(seat, items, got, answer)
	}
	return n, nil
}

// gather appends records to an answer that may have some already.
func (c *client) gather(seat *wire.Seat, items scanner, n int, answer *drivers.Answer) error {
	for range n {
		from := items.at
		if items.null() {
			return drivers.ErrNotFound
		}
		if err := items.skip(); err != nil {
			return err
		}
		row := seat.Record.Bytes[from:items.at]
		if answer.Keep {
			answer.Bytes = append(answer.Bytes, row...)
			answer.Ends = append(answer.Ends, len(answer.Bytes))
		}
		if err := answer.Row(int64(len(row))); err != nil {
			return err
		}
	}
	return nil
}

// DecodeBatch reads the records.
func (c *client) DecodeBatch(answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	return c.database.schema.decodeRows(answer, true, each)
}

// MaxBatch returns 0: batches are split.
func (c *client) MaxBatch() int { return 0 }

// modifyQuery reads and replaces a record in one transaction, in one request.
const modifyQuery = "BEGIN; SELECT * FROM $id; UPDATE $id CONTENT $row RETURN NULL; COMMIT"

// Modify runs both statements in a transaction.
func (c *client) Modify(ctx context.Context, key corpus.Key, rec *drivers.Record, next *corpus.Row) error {
	rec.Reset()
	seat, err := c.link.Take(ctx)
	if err != nil {
		return fmt.Errorf("modify: %w", err)
	}
	defer c.link.Give(seat)
	read, written, err := c.modify(ctx, seat, key, next)
	switch {
	case err != nil:
		return fmt.Errorf("modify: %w", err)
	case written == 0:
		return drivers.ErrNotFound
	}
	*rec, seat.Record = seat.Record, *rec
	rec.Ends = append(rec.Ends, read.from, read.to)
	return nil
}

func (c *client) modify(ctx context.Context, seat *wire.Seat, key corpus.Key, next *corpus.Row) (read span, written int, err error) {
	message, err := c.compose(seat, modifyQuery, key, next)
	if err != nil {
		return read, 0, err
	}
	request(seat, message)
	for try := 0; ; try++ {
		if err = c.link.Do(ctx, seat); err == nil {
			read, written, err = modified(seat)
		}
		if !c.again(ctx, seat, try, err) {
			return read, written, err
		}
	}
}

// modified reads the answer to modifyQuery: the records that were read, and the number of those that were written.
func modified(seat *wire.Seat) (read span, written int, err error) {
	arrays := 0
	err = statements(seat.Record.Bytes, seat.ID, func(_ int, result span) error {
		s := scanner{data: seat.Record.Bytes[:result.to], at: result.from}
		if s.null() { // of BEGIN and COMMIT
			return nil
		}
		n, err := s.count(majorArray)
		if arrays++; arrays == 1 {
			read = span{s.at, result.to}
		} else {
			written = n
		}
		return err
	})
	if err == nil && (arrays != 2 || written > 1) {
		err = fmt.Errorf("the answer has %d arrays, and %d records were written", arrays, written)
	}
	return read, written, err
}

// rangeQuery reads a run of records in the order of their keys.
const rangeQuery = "SELECT * FROM " + rangeFrom + " LIMIT $most"

// Range reads records from a key on.
func (c *client) Range(ctx context.Context, from corpus.Key, most int64, answer *drivers.Answer) error {
	answer.Reset()
	params, err := c.database.schema.appendKey(appendText(appendHead(nil, majorMap, 2), "after"), from)
	if err == nil {
		err = c.fetch(ctx, rangeQuery, appendInt(appendText(params, "most"), most), answer, nil)
	}
	if err != nil {
		return fmt.Errorf("range: %w", err)
	}
	return nil
}

// DecodeRange reads the records.
func (c *client) DecodeRange(answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	return c.database.schema.decodeRows(answer, true, each)
}

var (
	_ drivers.Batcher  = (*client)(nil)
	_ drivers.Ranger   = (*client)(nil)
	_ drivers.Modifier = (*client)(nil)
)
