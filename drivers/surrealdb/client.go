package surrealdb

import (
	"context"
	"fmt"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// client carries operations over one connection or several, as the option connections says.
type client struct {
	database *database
	link     wire.Link
}

// The queries of the four operations. Those that write return one NULL for each record that was there to be written to, so that nothing but
// the number comes back.
const (
	createQuery = "CREATE $id CONTENT $row RETURN NULL"
	readQuery   = "SELECT * FROM $id"
	updateQuery = "UPDATE $id CONTENT $row RETURN NULL"
	deleteQuery = "DELETE $id RETURN NULL"
)

// Create creates the record.
func (c *client) Create(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	done, err := c.write(ctx, createQuery, key, row)
	switch {
	case exists(err):
		return drivers.ErrExists
	case err != nil:
		return fmt.Errorf("create: %w", err)
	case !done:
		return fmt.Errorf("create: the server did not confirm the record %q", key)
	}
	return nil
}

// Read selects the record and leaves the answer in rec as it came; its two ends are those of what precedes the record and of the record.
func (c *client) Read(ctx context.Context, key corpus.Key, rec *drivers.Record) error {
	rec.Reset()
	seat, err := c.link.Take(ctx)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	defer c.link.Give(seat)
	result, err := c.run(ctx, seat, readQuery, key, nil)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	records := scanner{data: seat.Record.Bytes[:result.to], at: result.from}
	n, err := records.count(majorArray)
	switch {
	case err != nil:
		return fmt.Errorf("read: %w", err)
	case n == 0:
		return drivers.ErrNotFound
	case n > 1:
		return fmt.Errorf("read: the server gives %d records for one key", n)
	}
	// The answer changes hands without being copied.
	*rec, seat.Record = seat.Record, *rec
	rec.Ends = append(rec.Ends, records.at, result.to)
	return nil
}

// Update replaces the record's content.
func (c *client) Update(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	done, err := c.write(ctx, updateQuery, key, row)
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	if !done {
		return drivers.ErrNotFound
	}
	return nil
}

// Delete deletes the record.
func (c *client) Delete(ctx context.Context, key corpus.Key) error {
	done, err := c.write(ctx, deleteQuery, key, nil)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if !done {
		return drivers.ErrNotFound
	}
	return nil
}

// write runs a query on one record and tells whether it was there to be written to.
func (c *client) write(ctx context.Context, query string, key corpus.Key, row *corpus.Row) (done bool, err error) {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return false, err
	}
	defer c.link.Give(seat)
	result, err := c.run(ctx, seat, query, key, row)
	if err != nil {
		return false, err
	}
	written := scanner{data: result.in(seat.Record.Bytes)}
	n, err := written.count(majorArray)
	return n > 0, err
}

// run runs a query of one statement on a record, with the row if there is one, and finds the result in the seat's record.
func (c *client) run(ctx context.Context, seat *wire.Seat, query string, key corpus.Key, row *corpus.Row) (result span, err error) {
	message, err := c.compose(seat, query, key, row)
	if err != nil {
		return result, err
	}
	return c.ask(ctx, seat, message)
}

// compose makes the message of a query on a record. It is masked on its way into the request, so it is made elsewhere first: where the answer
// will go.
func (c *client) compose(seat *wire.Seat, query string, key corpus.Key, row *corpus.Row) (message []byte, err error) {
	parameters := 1
	if row != nil {
		parameters = 2
	}
	message = appendQuery(seat.Record.Bytes, seat.ID, query, parameters)
	if message, err = c.database.schema.appendKey(appendText(message, "id"), key); err != nil || row == nil {
		return message, err
	}
	return c.database.schema.appendRow(appendText(message, "row"), row)
}

// ask sends a message and finds the result of its one statement in the answer.
func (c *client) ask(ctx context.Context, seat *wire.Seat, message []byte) (result span, err error) {
	request(seat, message)
	for try := 0; ; try++ {
		if err = c.link.Do(ctx, seat); err == nil {
			result, err = only(seat.Record.Bytes, seat.ID)
		}
		if !c.again(ctx, seat, try, err) {
			return result, err
		}
	}
}

// request makes a message whose memory is the seat's record the seat's request. The answer takes its place.
func request(seat *wire.Seat, message []byte) {
	seat.Request = appendFrame(seat.Request, frameBinary, message)
	seat.Record.Bytes = message[:0]
}

// Decode converts the record into values.
func (c *client) Decode(rec *drivers.Record, row *corpus.Row) error {
	if len(rec.Ends) != 2 || rec.Ends[0] > rec.Ends[1] || rec.Ends[1] > len(rec.Bytes) {
		return fmt.Errorf("the record's ends are %v of %d bytes", rec.Ends, len(rec.Bytes))
	}
	s := scanner{data: rec.Bytes[:rec.Ends[1]], at: rec.Ends[0]}
	if _, err := c.database.schema.decodeRow(&s, row); err != nil {
		return err
	}
	if s.at != len(s.data) {
		return fmt.Errorf("the answer has %d bytes after the record", len(s.data)-s.at)
	}
	return nil
}

// Close closes the client's connections.
func (c *client) Close() error { return c.link.Close() }
