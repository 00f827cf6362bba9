package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// cancelTimeout bounds asking the server to give up an operation whose caller is gone.
const cancelTimeout = 2 * time.Second

// session is a measured connection, signed in, set up and with its statements prepared. From there on this package speaks the protocol
// on it, because pgconn's way through an operation costs several times the allocations of the answer. Close ends it without a word, which the
// server takes for the end of the session.
type session struct {
	*wire.Counted
	hijacked *pgconn.HijackedConn
}

// dial opens a connection of the client for operations and scans.
func (c *client) dial(ctx context.Context) (net.Conn, error) {
	d := c.database
	if d.closed.Load() {
		return nil, drivers.ErrClosed
	}
	conn, err := d.connect(ctx, d.config)
	if err != nil {
		return nil, err
	}
	if err := d.prepareStatements(ctx, conn); err != nil {
		return nil, errors.Join(err, closeNow(conn))
	}
	for _, s := range c.readied.all() {
		if _, err := conn.Prepare(ctx, s.name, s.sql, s.types); err != nil {
			return nil, errors.Join(fmt.Errorf("prepare %s again: %w", s.what, err), closeNow(conn))
		}
	}
	return d.measured(ctx, conn)
}

// measured makes a connection one that this package speaks the protocol on.
func (d *database) measured(ctx context.Context, conn *pgconn.PgConn) (net.Conn, error) {
	if err := conn.SyncConn(ctx); err != nil {
		return nil, errors.Join(err, closeNow(conn))
	}
	hijacked, err := conn.Hijack()
	if err != nil {
		return nil, errors.Join(err, closeNow(conn))
	}
	hijacked.Frontend = nil // its buffers, which nobody needs any more
	return &session{Counted: wire.Count(hijacked.Conn, &d.sockets), hijacked: hijacked}, nil
}

// abandon asks the server to give up the operation it works on for a connection.
func abandon(conn net.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), cancelTimeout)
	defer cancel()
	if pg, err := pgconn.Construct(conn.(*session).hijacked); err == nil {
		_ = pg.CancelRequest(ctx) // the connection is closed next in any case
	}
}

// connect signs in and sets up a session as the measured ones are: what a session can set of the durability tier is set, and read back.
func (d *database) connect(ctx context.Context, config *pgconn.Config) (*pgconn.PgConn, error) {
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, explain(config, err)
	}
	if err := d.setTier(ctx, conn); err != nil {
		return nil, errors.Join(fmt.Errorf("set up a session at %s: %w", addresses(config), err), closeNow(conn))
	}
	return conn, nil
}

// setTier sets synchronous_commit, the only part of the tier that belongs to a session, where the server's value does not fit the tier.
func (d *database) setTier(ctx context.Context, conn *pgconn.PgConn) error {
	wantOff := d.tier == drivers.TierNone
	for _, last := range []bool{false, true} {
		rows, err := ask(ctx, conn, "SHOW synchronous_commit")
		if err != nil {
			return err
		}
		got := rows[0][0]
		if (got == "off") == wantOff {
			return nil
		}
		want := "on"
		if wantOff {
			want = "off"
		}
		if last {
			return fmt.Errorf("synchronous_commit reads back %q after it was set to %q, so durability tier %q cannot be had here", got, want, d.tier)
		}
		if _, err := conn.Exec(ctx, "SET synchronous_commit = "+want).ReadAll(); err != nil {
			return err
		}
	}
	return nil
}

// prepareStatements prepares the four operations and makes sure that the table has the columns of this corpus.
func (d *database) prepareStatements(ctx context.Context, conn *pgconn.PgConn) error {
	for kind, s := range d.statements {
		parameters := []uint32{d.schema.keyOID}
		switch kind {
		case create, update:
			for _, c := range d.schema.columns {
				parameters = append(parameters, c.oid)
			}
		case fetch, erase:
			parameters[0] = arrayOf[d.schema.keyOID]
		case ranged:
			parameters = append(parameters, oidInt8)
		}
		description, err := conn.Prepare(ctx, s.name, s.sql, parameters)
		switch code := codeOf(err); {
		case code == "42P01" || code == "3F000":
			return fmt.Errorf("table %s is not there: load the rows first", tableName)
		case code == "42703" || code == "42804" || code == "42883":
			return fmt.Errorf("table %s was made for another spec: %w; load the rows again", tableName, err)
		case err != nil:
			return fmt.Errorf("prepare %q: %w", s.sql, err)
		}
		if kind != read {
			continue
		}
		vector, err := d.schema.vectorOID(ctx, conn)
		if err != nil {
			return err
		}
		for i, field := range description.Fields {
			if want := d.schema.columns[i]; field.DataTypeOID != cmp.Or(want.oid, vector) {
				return fmt.Errorf("table %s was made for another spec: column %s is of type %d, want %s; load the rows again",
					tableName, want.name, field.DataTypeOID, want.sql)
			}
		}
	}
	return nil
}

// control runs f on a connection of its own, which is closed after, so that no socket beside the measured ones is open while a leg runs.
func (d *database) control(ctx context.Context, what string, f func(*pgconn.PgConn) error) error {
	return d.heeding(ctx, what, nil, f)
}

// heeding is control with an ear for what the server has to say beside its answers.
func (d *database) heeding(ctx context.Context, what string, notice func(text string), f func(*pgconn.PgConn) error) error {
	if d.closed.Load() {
		return fmt.Errorf("%s: %w", what, drivers.ErrClosed)
	}
	config := d.config.Copy()
	config.RuntimeParams["application_name"] = applicationName + " control"
	if notice != nil {
		config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notice(n.Message) }
	}
	conn, err := d.connect(ctx, config)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := errors.Join(f(conn), closeNow(conn)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// closeNow closes a connection in good order, but does not wait for a server that hangs.
func closeNow(conn *pgconn.PgConn) error {
	ctx, cancel := context.WithTimeout(context.Background(), cancelTimeout)
	defer cancel()
	if conn.IsClosed() {
		return nil
	}
	return conn.Close(ctx)
}
