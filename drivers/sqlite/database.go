package sqlite

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/durabench/durabench/drivers"
)

// database is the open file.
type database struct {
	config     drivers.Config
	schema     *schema
	path       string
	filesystem filesystem
	writer     *writer
	sizes      map[string]int64 // of indexes that were built here, in bytes, by name; for whoever has the writer's turn
	closed     atomic.Bool
}

// Version returns SQLite's version and which build of it this is.
func (d *database) Version(context.Context) (string, error) {
	return libraryVersion() + ", " + library, nil
}

// applicationID marks the file as one of ours: "dbnc".
const applicationID = 0x64626e63

// openWriter opens the connection that writes and makes the file ours.
func (d *database) openWriter() (*writer, error) {
	c, err := openConnection(d.path)
	if err != nil {
		return nil, err
	}
	if err := d.claim(c); err != nil {
		c.close()
		return nil, err
	}
	if err := c.configure(d.pragmas(true)); err != nil {
		c.close()
		return nil, err
	}
	return newWriter(c, d.schema), nil
}

// claim marks a new file as ours and refuses one that holds something else.
func (d *database) claim(c *connection) error {
	id, err := c.text("PRAGMA application_id")
	if err != nil {
		return err
	}
	if id == strconv.Itoa(applicationID) {
		return nil
	}
	if tables, err := c.text("SELECT count(*) FROM sqlite_schema"); err != nil {
		return err
	} else if tables != "0" {
		return fmt.Errorf("the file is a database that durabench has not made: remove it or choose another --data-dir")
	}
	return c.execute(fmt.Sprintf("PRAGMA application_id=%d", applicationID))
}

// Prepare leaves an empty table, and a file without the pages of an earlier one: those would spare this run the growth of its file.
func (d *database) Prepare(ctx context.Context) error {
	return d.writer.exclusive(ctx, func(c *connection) error {
		words, err := wordsTables(c)
		if err != nil {
			return err
		}
		clear(d.sizes)
		statements := []string{d.schema.drop, d.schema.create, "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"}
		for _, table := range words {
			statements = append([]string{"DROP TABLE " + quote(table)}, statements...)
		}
		for _, sql := range statements {
			if err := retry(ctx, func() error { return c.execute(sql) }); err != nil {
				return fmt.Errorf("prepare table %s: %w", drivers.Table, err)
			}
		}
		return nil
	})
}

// Count counts the rows.
func (d *database) Count(ctx context.Context) (n int64, err error) {
	err = d.writer.exclusive(ctx, func(c *connection) error {
		text, err := c.text(d.schema.count)
		if err != nil {
			return fmt.Errorf("count rows: %w", err)
		}
		n, err = strconv.ParseInt(text, 10, 64)
		return err
	})
	return n, err
}

// Client opens a client with its connections for reading.
func (d *database) Client(context.Context, int) (drivers.Client, error) {
	if d.closed.Load() {
		return nil, drivers.ErrClosed
	}
	n := readersEach(d.config)
	c := &client{database: d, readers: make(chan *reader, n), done: make(chan struct{})}
	for range n {
		r, err := d.openReader()
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("open reader %d of %d: %s: %w", c.open+1, n, d.path, err)
		}
		c.readers <- r
		c.open++
	}
	return c, nil
}

// Close closes the writer; when it is the last connection, SQLite moves its log into the database's file.
func (d *database) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	return d.writer.close()
}

// Carries describes how operations are in flight.
func (d *database) Carries() string {
	n := readersEach(d.config)
	return fmt.Sprintf("in the agent: %d connections read for each client's %d threads, and one connection writes for all; SQLite takes one writer at a time, "+
		"so writes queue for it, first come first served, and the wait is in their latency", n, d.config.Threads)
}
