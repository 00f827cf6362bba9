package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// searches are a client's connections for searches, and the search that they are set up for.
type searches struct {
	current atomic.Pointer[search] // nil for none
	made    atomic.Int64

	mu     sync.Mutex
	link   wire.Link // nil before the first search
	closed bool
}

// name names another search in the sessions.
func (x *searches) name() string { return "n" + strconv.FormatInt(x.made.Add(1), 10) }

// ready sets the connections up for the search: it opens them, or takes the search before it from them. A connection that is opened anew later is set up
// for the current search.
func (x *searches) ready(ctx context.Context, c *client, s *search) (wire.Link, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, drivers.ErrClosed
	}
	before := x.current.Swap(s)
	if x.link == nil {
		link, err := c.connect(ctx, c.dialForSearches)
		if err != nil {
			x.current.Store(nil)
			return nil, err
		}
		x.link = link
		return link, nil
	}
	err := x.settle(ctx, c, before, s)
	if err == nil {
		err = c.prepareOn(ctx, x.link, s.parsed)
	}
	if err != nil {
		// What the connections have been told is not known: the next search has new ones.
		link := x.link
		x.link = nil
		x.current.Store(nil)
		return nil, errors.Join(err, link.Close())
	}
	return x.link, nil
}

// settle takes the search before from each connection and gives it the settings of the next.
func (x *searches) settle(ctx context.Context, c *client, before, s *search) error {
	sql := s.settingSQL(before)
	return c.everySeat(ctx, x.link, func(seat *wire.Seat) error {
		seat.Request = appendMessage(seat.Request, 'Q', sql+"\x00")
		if err := x.link.Do(ctx, seat); err != nil {
			return err
		}
		var got []string
		from := 0
		for _, end := range seat.Record.Ends {
			end = max(end, from) // NULL
			got = append(got, string(seat.Record.Bytes[from:end]))
			from = end
		}
		return s.check(got[min(loaded, len(got)):])
	})
}

func (x *searches) close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	if x.link == nil {
		return nil
	}
	return x.link.Close()
}

// dialForSearches opens a connection for searches.
func (c *client) dialForSearches(ctx context.Context) (net.Conn, error) {
	d := c.database
	if d.closed.Load() {
		return nil, drivers.ErrClosed
	}
	conn, err := d.connect(ctx, d.config)
	if err != nil {
		return nil, err
	}
	if s := c.searches.current.Load(); s != nil {
		if err := s.settle(ctx, conn); err != nil {
			return nil, errors.Join(err, closeNow(conn))
		}
		if _, err := conn.Prepare(ctx, s.parsed.name, s.parsed.sql, s.parsed.types); err != nil {
			return nil, errors.Join(err, closeNow(conn))
		}
	}
	return d.measured(ctx, conn)
}

// libraryQuery loads the library that knows pgvector's settings; it returns so many values.
const (
	libraryQuery = "SELECT '[0]'::vector"
	loaded       = 1
)

// settingSQL takes the search before and its settings from a session, if there is one, sets those of the next, and asks for them in the last
// statement.
func (s *search) settingSQL(before *search) string {
	var b strings.Builder
	b.WriteString(libraryQuery)
	if before != nil {
		// A session that was opened a moment ago may not have it, but each can forget all that it has prepared: that is searches only.
		b.WriteString("; DEALLOCATE ALL")
		for _, one := range before.settings {
			fmt.Fprintf(&b, "; RESET %s", one.name)
		}
	}
	for _, one := range s.settings {
		fmt.Fprintf(&b, "; SET %s = %s", one.name, one.value)
	}
	separator := "; SELECT "
	for _, one := range s.settings {
		fmt.Fprintf(&b, "%scurrent_setting('%s')", separator, one.name)
		separator = ", "
	}
	return b.String()
}

// check compares what was read back.
func (s *search) check(got []string) error {
	if len(got) != len(s.settings) {
		return fmt.Errorf("%d settings are read back, want %d", len(got), len(s.settings))
	}
	for i, want := range s.settings {
		if got[i] != want.value {
			return fmt.Errorf("%s reads back %q after it was set to %q", want.name, got[i], want.value)
		}
	}
	return nil
}

// settle gives a connection that is not measured yet the settings.
func (s *search) settle(ctx context.Context, conn *pgconn.PgConn) error {
	if len(s.settings) == 0 {
		return nil
	}
	rows, err := ask(ctx, conn, s.settingSQL(nil))
	if err == nil {
		err = s.check(rows[0])
	}
	if err != nil {
		return fmt.Errorf("set up %s: %w", s.parsed.what, err)
	}
	return nil
}
