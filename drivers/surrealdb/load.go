package surrealdb

import (
	"context"
	"fmt"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// A load goes out in chunks: so many bytes, or so many rows when rows are small.
const (
	chunkBytes = 512 << 10
	chunkRows  = 1000
)

// The two ways to load a chunk, each one statement and so one transaction.
const (
	insertQuery = "INSERT INTO " + drivers.Table + " $rows RETURN NULL"
	upsertQuery = "FOR $row IN $rows { UPSERT $row.id CONTENT $row RETURN NONE }"
)

// loadAttempts is how often a chunk is tried: SurrealDB lets transactions of different keys collide now and then, and a load is not measured.
const loadAttempts = 8

// Load inserts the rows, and only where a key is there already replaces the rows of the chunk instead.
func (c *client) Load(ctx context.Context, from, to uint64, version uint32) error {
	for from < to {
		next, err := c.loadChunk(ctx, insertQuery, from, to, version)
		if exists(err) {
			next, err = c.loadChunk(ctx, upsertQuery, from, to, version)
		}
		if err != nil {
			return fmt.Errorf("load rows from %d: %w", from, err)
		}
		from = next
	}
	return nil
}

// loadChunk sends one chunk, again as long as it collides with another transaction, and returns the first row that is not in it.
func (c *client) loadChunk(ctx context.Context, query string, from, to uint64, version uint32) (next uint64, err error) {
	pause := time.Millisecond
	for range loadAttempts {
		next, err = c.tryChunk(ctx, query, from, to, version)
		if drivers.ErrorClassOf(err) != drivers.ClassConflict {
			return next, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return from, ctx.Err()
		}
		pause *= 2
	}
	return from, fmt.Errorf("after %d attempts: %w", loadAttempts, err)
}

func (c *client) tryChunk(ctx context.Context, query string, from, to uint64, version uint32) (next uint64, err error) {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return from, err
	}
	defer c.link.Give(seat)
	var key corpus.KeyBuffer
	var row corpus.Row
	var rows []byte
	for next = from; next < to && next-from < chunkRows && len(rows) < chunkBytes; next++ {
		c.database.load.Corpus.Row(&row, next, version)
		if rows, err = c.database.schema.appendKeyedRow(rows, c.database.load.Corpus.Key(&key, next), &row); err != nil {
			return from, fmt.Errorf("row %d: %w", next, err)
		}
	}
	message := appendText(appendQuery(seat.Record.Bytes, seat.ID, query, 1), "rows")
	message = append(appendHead(message, majorArray, next-from), rows...)
	result, err := c.ask(ctx, seat, message)
	if err != nil || query == upsertQuery {
		return next, err
	}
	written := scanner{data: result.in(seat.Record.Bytes)}
	n, err := written.count(majorArray)
	if err == nil && uint64(n) != next-from {
		err = fmt.Errorf("the server took %d rows of %d", n, next-from)
	}
	return next, err
}

var _ drivers.Loader = (*client)(nil)
