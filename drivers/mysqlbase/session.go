package mysqlbase

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/durabench/durabench/drivers"
)

// abandonTimeout bounds asking the server to give up an operation whose caller is gone.
const abandonTimeout = 2 * time.Second

// session is a measured connection with its statements prepared. It is used by one goroutine at a time and belongs to its client for good: a
// connection that broke is replaced before the next operation.
type session struct {
	database   *database
	arguments  arguments
	cells      []driver.Value
	statements [operations]driver.Stmt
	kept       kept
	requests   int           // sent since the session was made, without those that connect
	conn       driver.Conn   // nil while there is none
	id         string        // the server's number of the connection
	budget     *atomic.Int64 // the client's
	budgeted   int64         // what of it the session has

	socket  net.Conn
	watched <-chan struct{} // Done of the context that ends operations now; nil for none
	unwatch func() bool
	closing sync.Mutex // between an operation that connects anew and Close
	closed  bool
}

// connect opens the connection and prepares the statements.
func (s *session) connect(ctx context.Context) error {
	d := s.database
	var socket net.Conn
	conn, err := d.dial(ctx, true, func(c net.Conn) { socket = c })
	if err != nil {
		return err
	}
	give := func(err error) error { return errors.Join(d.explain(err), conn.Close()) }
	for i, sql := range d.schema.statements() {
		if s.statements[i], err = conn.(driver.ConnPrepareContext).PrepareContext(ctx, sql); err != nil {
			return give(fmt.Errorf("prepare %q: %w", shorten(sql), err))
		}
	}
	rows, err := queryText(conn, "SELECT CONNECTION_ID()")
	if err != nil {
		return give(err)
	}
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.closed {
		return errors.Join(drivers.ErrClosed, conn.Close())
	}
	s.conn, s.socket, s.id = conn, socket, rows[0][0]
	d.sockets.Add(1)
	return nil
}

// begin readies the session for operations under the context, whose end closes the connection under them. A worker has one context for all
// of its operations, so that mostly nothing is to be done.
func (s *session) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return overError(ctx)
	}
	if ctx.Done() != s.watched && !s.forget() {
		s.drop() // the end of the last context has closed the connection
	}
	if s.conn == nil {
		s.forget()
		if err := s.connect(ctx); err != nil {
			if ctx.Err() != nil { // which took the connection with it
				return overError(ctx)
			}
			return err
		}
	}
	if ctx.Done() != s.watched {
		if ctx.Done() != nil {
			socket := s.socket
			s.unwatch = context.AfterFunc(ctx, func() { _ = socket.Close() })
		}
		s.watched = ctx.Done()
	}
	if s.budget.Load() != s.budgeted {
		return s.end(ctx, s.setBudget())
	}
	return nil
}

// forget ends the watch over a context. It is false when that context has ended and taken the connection with it.
func (s *session) forget() (whole bool) {
	whole = s.unwatch == nil || s.unwatch()
	s.watched, s.unwatch = nil, nil
	return whole
}

// end looks at how an operation went: a connection that cannot go on is given up.
func (s *session) end(ctx context.Context, err error) error {
	if ctx.Err() != nil && (err == nil || broken(err)) {
		// The connection is closed, or is about to be.
		s.abandon(err != nil)
		if err == nil {
			return nil
		}
		return overError(ctx)
	}
	if err != nil && broken(err) {
		s.abandon(false)
	}
	return classify(err)
}

// broken tells that the connection is of no more use.
func broken(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, io.ErrUnexpectedEOF) ||
		drivers.ErrorClassOf(err) == drivers.ClassConnection || errors.Is(err, mysql.ErrMalformPkt) || errors.Is(err, mysql.ErrPktSync)
}

// abandon closes the connection, and asks the server to give up what it may still be doing for it.
func (s *session) abandon(busy bool) {
	s.forget()
	id := s.id
	s.drop()
	if !busy || s.database.closed.Load() {
		return
	}
	s.database.kill(id)
}

// kill has the server give up what it does for a connection, if it can be reached.
func (d *database) kill(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
	defer cancel()
	_ = d.control(ctx, "abandon an operation", func(c *controller) error {
		_, err := c.query("KILL CONNECTION " + id)
		return err
	})
}

// drop closes the connection.
func (s *session) drop() {
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.conn == nil {
		return
	}
	_ = s.socket.Close() // first: the driver would say goodbye to a server that may not listen
	_ = s.conn.Close()
	s.conn, s.kept, s.budgeted = nil, kept{}, 0
	s.database.sockets.Add(-1)
}

// close ends the session for good. An operation in flight is cut off and drops the connection itself.
func (s *session) close(idle bool) {
	s.closing.Lock()
	s.closed = true
	socket := s.socket
	open := s.conn != nil
	s.closing.Unlock()
	if idle {
		s.forget()
		s.drop()
	} else if open {
		_ = socket.Close()
	}
}

// exec runs a prepared statement with the session's arguments and returns how many rows it found or added.
func (s *session) exec(statement driver.Stmt) (int64, error) {
	s.requests++
	//lint:ignore SA1019 the form with a context would hand every operation to another goroutine and back
	result, err := statement.Exec(s.arguments.values)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// query runs a prepared statement with the session's arguments and hands each row's cells to each. They are valid during the call.
func (s *session) query(statement driver.Stmt, each func(cells []driver.Value) error) error {
	s.requests++
	//lint:ignore SA1019 as above
	rows, err := statement.Query(s.arguments.values)
	if err != nil {
		return err
	}
	for len(s.cells) < len(rows.Columns()) {
		s.cells = append(s.cells, nil)
	}
	return eachRow(rows, s.cells[:len(rows.Columns())], each)
}

// eachRow hands each row to each, in the memory of cells, and closes the rows.
func eachRow(rows driver.Rows, cells []driver.Value, each func(cells []driver.Value) error) (err error) {
	defer func() {
		if closing := rows.Close(); err == nil {
			err = closing
		}
	}()
	for {
		switch err := rows.Next(cells); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := each(cells); err != nil {
			return err
		}
	}
}

// dial opens a connection and signs in, in the database of the run or in none.
func (d *database) dial(ctx context.Context, inDatabase bool, opened func(net.Conn)) (driver.Conn, error) {
	if d.closed.Load() {
		return nil, drivers.ErrClosed
	}
	config := d.endpoint.config(d.product)
	if inDatabase {
		config.DBName = d.endpoint.database
	}
	if length := d.schema.sortLength(); length > 0 {
		config.Params["max_sort_length"] = strconv.Itoa(length)
	}
	config.MaxAllowedPacket = d.packet // 0 before it is known: then the driver asks the server
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{Timeout: connectTimeout, KeepAlive: time.Minute}).DialContext(ctx, network, address)
		if err == nil && opened != nil {
			opened(conn)
		}
		return conn, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("endpoint of %s: %w", d.product.Name, err)
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, d.explain(errors.Join(ctx.Err(), err))
		}
		return nil, d.explain(err)
	}
	return conn, nil
}

// controller is a connection of its own for what is not measured.
type controller struct {
	conn driver.Conn
}

// query runs a statement without parameters and returns its rows as text; NULL is the empty string.
func (c *controller) query(sql string) ([][]string, error) { return queryText(c.conn, sql) }

// control runs do on a connection of its own. The end of the context closes it.
func (d *database) control(ctx context.Context, what string, do func(*controller) error) error {
	return d.controlIn(ctx, what, false, do)
}

// controlIn is control in the run's database or in none.
func (d *database) controlIn(ctx context.Context, what string, inDatabase bool, do func(*controller) error) error {
	if d.closed.Load() {
		return fmt.Errorf("%s: %w", what, drivers.ErrClosed)
	}
	var socket net.Conn
	conn, err := d.dial(ctx, inDatabase, func(c net.Conn) { socket = c })
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = socket.Close() })
	err = do(&controller{conn})
	if !stop() && err != nil {
		err = overError(ctx)
	}
	closing := conn.Close()
	if err != nil {
		return fmt.Errorf("%s: %w", what, classify(err))
	}
	if closing != nil && !errors.Is(closing, net.ErrClosed) {
		return fmt.Errorf("%s: close: %w", what, closing)
	}
	return nil
}

// queryText runs a statement without parameters and returns its rows as text.
func queryText(conn driver.Conn, sql string) (found [][]string, err error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(context.Background(), sql, nil)
	if err != nil {
		return nil, err
	}
	err = eachRow(rows, make([]driver.Value, len(rows.Columns())), func(cells []driver.Value) error {
		row := make([]string, len(cells))
		for i, cell := range cells {
			row[i] = text(cell)
		}
		found = append(found, row)
		return nil
	})
	return found, err
}

// text is a value of the text protocol as it is written.
func text(value driver.Value) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}

// overError is the error of an operation whose context has ended.
func overError(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// shorten keeps SQL fit for an error's text.
func shorten(sql string) string {
	const most = 120
	if len(sql) <= most {
		return sql
	}
	return sql[:most] + "…"
}
