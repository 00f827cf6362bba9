package respbase

import (
	"context"
	"fmt"
	"strconv"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/kvscan"
	"github.com/durabench/durabench/drivers/wire"
)

// How batches are carried: in as few commands as the server takes words in one, each of which is a request.
//
//	create   MSETNX, which sets all keys or none
//	read     MGET
//	update   a SET … XX for each row: MSET would also make keys that are not there. All go out together, and so are one request
//	delete   DEL

// commands cuts n keys, each with so many words, into commands, and hands each to send.
func (c *client) commands(n, words int, send func(from, to int) error) (requests int, err error) {
	most := (c.database.product.MostWords - 1) / words // one is the name of the command
	for from := 0; from < n; from += most {
		requests++
		if err := send(from, min(from+most, n)); err != nil {
			return requests, err
		}
	}
	return requests, nil
}

// CreateBatch sets the keys if none of them is there, or none of those in a command.
func (c *client) CreateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	if len(keys) != len(rows) {
		return 0, fmt.Errorf("create batch of %d keys and %d rows", len(keys), len(rows))
	}
	return c.commands(len(keys), 2, func(from, to int) error {
		done, err := c.command(ctx, single, func(seat *wire.Seat) {
			seat.Request = appendCommand(seat.Request, "MSETNX", 2*(to-from))
			for i := from; i < to; i++ {
				seat.Request = appendKey(seat.Request, keys[i])
				c.appendRow(seat, rows[i])
			}
		})
		if err != nil {
			return fmt.Errorf("create batch: %w", err)
		}
		if done == 0 {
			return drivers.ErrExists
		}
		return nil
	})
}

// ReadBatch gets the values.
func (c *client) ReadBatch(ctx context.Context, keys []corpus.Key, answer *drivers.Answer) (requests int, err error) {
	answer.Reset()
	return c.commands(len(keys), 1, func(from, to int) error { return c.readKeys(ctx, keys[from:to], answer) })
}

// readKeys gets the values of as many keys as one command takes.
func (c *client) readKeys(ctx context.Context, keys []corpus.Key, answer *drivers.Answer) error {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return fmt.Errorf("read batch: %w", err)
	}
	defer c.link.Give(seat)
	seat.Kind = list
	seat.Request = appendCommand(seat.Request, "MGET", len(keys))
	for _, key := range keys {
		seat.Request = appendKey(seat.Request, key)
	}
	if err := c.link.Do(ctx, seat); err != nil {
		return fmt.Errorf("read batch: %w", err)
	}
	if len(seat.Record.Ends) != len(keys) {
		return fmt.Errorf("read batch: %d values for %d keys", len(seat.Record.Ends), len(keys))
	}
	var ordered []byte
	start := 0
	for i, end := range seat.Record.Ends {
		if end < 0 {
			return drivers.ErrNotFound
		}
		ordered = keys[i].AppendOrdered(ordered[:0])
		if err := kvscan.Take(answer, ordered, seat.Record.Bytes[start:end], true); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// DecodeBatch takes the cells apart.
func (c *client) DecodeBatch(answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	return kvscan.Decode(c.database.load.Corpus, answer, true, each)
}

// UpdateBatch sets each key if it is there.
func (c *client) UpdateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	if len(keys) != len(rows) {
		return 0, fmt.Errorf("update batch of %d keys and %d rows", len(keys), len(rows))
	}
	done, err := c.command(ctx, several, func(seat *wire.Seat) {
		seat.Left = len(keys)
		for i := range keys {
			c.appendSet(seat, keys[i], rows[i], "$2\r\nXX\r\n")
		}
	})
	if err != nil {
		return 1, fmt.Errorf("update batch: %w", err)
	}
	if done != int64(len(keys)) {
		return 1, drivers.ErrNotFound
	}
	return 1, nil
}

// DeleteBatch deletes the keys.
func (c *client) DeleteBatch(ctx context.Context, keys []corpus.Key) (requests int, err error) {
	return c.commands(len(keys), 1, func(from, to int) error {
		done, err := c.command(ctx, single, func(seat *wire.Seat) {
			seat.Request = appendCommand(seat.Request, "DEL", to-from)
			for _, key := range keys[from:to] {
				seat.Request = appendKey(seat.Request, key)
			}
		})
		if err != nil {
			return fmt.Errorf("delete batch: %w", err)
		}
		if done != int64(to-from) {
			return drivers.ErrNotFound
		}
		return nil
	})
}

// MaxBatch returns 0: what is too much for one command is split.
func (c *client) MaxBatch() int { return 0 }

// Modify exchanges the value by a SET … XX GET, which is one command, and so a transaction. What is written does not depend on what was read.
func (c *client) Modify(ctx context.Context, key corpus.Key, rec *drivers.Record, next *corpus.Row) error {
	rec.Reset()
	seat, err := c.link.Take(ctx)
	if err != nil {
		return fmt.Errorf("modify: %w", err)
	}
	defer c.link.Give(seat)
	seat.Request = appendKey(appendCommand(seat.Request, "SET", 4), key)
	c.appendRow(seat, next)
	seat.Request = append(seat.Request, "$2\r\nXX\r\n$3\r\nGET\r\n"...)
	if err := c.link.Do(ctx, seat); err != nil {
		return fmt.Errorf("modify: %w", err)
	}
	if seat.Rows == 0 {
		return drivers.ErrNotFound
	}
	*rec, seat.Record = seat.Record, *rec
	return nil
}

// command sends what fill puts into the request and returns what the answers add up to.
func (c *client) command(ctx context.Context, kind int, fill func(*wire.Seat)) (done int64, err error) {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return 0, err
	}
	defer c.link.Give(seat)
	seat.Kind = kind
	fill(seat)
	err = c.link.Do(ctx, seat)
	return seat.Rows, err
}

// appendCommand appends the beginning of a command with so many arguments.
func appendCommand(dst []byte, name string, arguments int) []byte {
	dst = append(dst, '*')
	dst = strconv.AppendInt(dst, int64(arguments)+1, 10)
	return appendBulk(append(dst, "\r\n"...), []byte(name))
}

var (
	_ drivers.Batcher  = (*client)(nil)
	_ drivers.Modifier = (*client)(nil)
)
