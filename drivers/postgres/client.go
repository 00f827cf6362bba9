package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// client carries operations over one connection or several, as the option connections says.
type client struct {
	database *database
	link     wire.Link
	piped    bool // over one connection

	preparing sync.Mutex // held while a scan or a search is prepared, off the clock
	readied   readied
	searches  searches
}

// Create inserts the row.
func (c *client) Create(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	defer c.link.Give(seat)
	if err := c.writeRow(ctx, seat, create, key, row); err != nil {
		if codeOf(err) == uniqueViolation {
			return drivers.ErrExists
		}
		return fmt.Errorf("create: %w", err)
	}
	return nil
}

// Read selects the row and leaves its columns in rec in the binary form of their types.
func (c *client) Read(ctx context.Context, key corpus.Key, rec *drivers.Record) error {
	rec.Reset()
	seat, err := c.link.Take(ctx)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	defer c.link.Give(seat)
	if err := c.sendKey(ctx, seat, read, key); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if seat.Rows == 0 {
		return drivers.ErrNotFound
	}
	// The answer changes hands without being copied.
	*rec, seat.Record = seat.Record, *rec
	return nil
}

// Update sets all columns of the row.
func (c *client) Update(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	defer c.link.Give(seat)
	if err := c.writeRow(ctx, seat, update, key, row); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	return found(seat)
}

// Delete deletes the row.
func (c *client) Delete(ctx context.Context, key corpus.Key) error {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	defer c.link.Give(seat)
	if err := c.sendKey(ctx, seat, remove, key); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return found(seat)
}

// found tells from the number of rows concerned whether the key was there.
func found(seat *wire.Seat) error {
	if seat.Rows == 0 {
		return drivers.ErrNotFound
	}
	return nil
}

// writeRow runs a statement that takes the key and all columns.
func (c *client) writeRow(ctx context.Context, seat *wire.Seat, kind int, key corpus.Key, row *corpus.Row) (err error) {
	seat.Kind = kind
	seat.Request = append(seat.Request, c.database.statements[kind].head...)
	if seat.Request, err = c.database.schema.appendCells(seat.Request, key, row); err != nil {
		return err
	}
	if seat.Request, err = end(seat.Request, 0); err != nil {
		return err
	}
	return c.link.Do(ctx, seat)
}

// sendKey runs a statement that takes the key alone.
func (c *client) sendKey(ctx context.Context, seat *wire.Seat, kind int, key corpus.Key) (err error) {
	seat.Kind = kind
	seat.Request = append(seat.Request, c.database.statements[kind].head...)
	if seat.Request, err = c.database.schema.appendKey(seat.Request, key); err != nil {
		return err
	}
	if seat.Request, err = end(seat.Request, 0); err != nil {
		return err
	}
	return c.link.Do(ctx, seat)
}

// Decode converts the columns into values.
func (c *client) Decode(rec *drivers.Record, row *corpus.Row) error {
	return c.database.schema.decode(rec, row)
}

// Close closes the client's connections.
func (c *client) Close() error { return errors.Join(c.link.Close(), c.searches.close()) }
