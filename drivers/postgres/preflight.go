package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/durabench/durabench/drivers/wire"
)

// controlConnections are those beside the measured ones: one at a time, to count rows and read settings.
const controlConnections = 1

// Preflight makes sure that the server can be written to and has connections enough.
func (d *database) Preflight(ctx context.Context) error {
	if err := wire.CheckFiles(connections(d.load)); err != nil {
		return fmt.Errorf("preflight: %w", err)
	}
	return d.control(ctx, "preflight", func(conn *pgconn.PgConn) error {
		rows, err := ask(ctx, conn, "SELECT pg_is_in_recovery(), current_setting('transaction_read_only')")
		if err != nil {
			return err
		}
		if rows[0][0] == "t" {
			return fmt.Errorf("the server at %s is a standby, which takes no writes: name the primary", addresses(d.config))
		}
		if rows[0][1] == "on" {
			return fmt.Errorf("transactions at %s are read only (default_transaction_read_only): use a user or a database that may write", addresses(d.config))
		}
		if err := d.checkExtension(ctx, conn); err != nil {
			return err
		}
		return d.waitForConnections(ctx, conn)
	})
}

// leaving is how long connections that were closed just before may take the server to end.
const leaving = time.Second

// tooFew says that the server has too few connections left.
type tooFew struct{ error }

// waitForConnections checks the connections, and looks again while those that were closed just before may still count.
func (d *database) waitForConnections(ctx context.Context, conn *pgconn.PgConn) error {
	for deadline := time.Now().Add(leaving); ; {
		err := d.checkConnections(ctx, conn)
		if !errors.As(err, new(tooFew)) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// checkConnections compares the connections that the run needs with those that the server, the database and the user have left.
func (d *database) checkConnections(ctx context.Context, conn *pgconn.PgConn) error {
	// Other users' sessions are seen without their kind by users without privileges; those with a database are taken for clients.
	const others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datid IS NOT NULL AND coalesce(backend_type, 'client backend') = 'client backend'"
	rows, err := ask(ctx, conn, "SELECT current_setting('max_connections'), current_setting('superuser_reserved_connections'), "+
		"coalesce(current_setting('reserved_connections', true), '0'), (SELECT count(*) "+others+"), "+
		"(SELECT datconnlimit FROM pg_database WHERE datname = current_database()), (SELECT count(*) "+others+" AND datname = current_database()), "+
		"(SELECT rolconnlimit FROM pg_roles WHERE rolname = session_user), (SELECT count(*) "+others+" AND usename = session_user)")
	if err != nil {
		return err
	}
	var n [8]int
	for i := range n {
		if n[i], err = strconv.Atoi(rows[0][i]); err != nil {
			return fmt.Errorf("read the server's limits of connections: %w", err)
		}
	}
	maximum, reserved, used := n[0], n[1]+n[2], n[3]
	measured := connections(d.load)
	needed := measured + controlConnections
	use := "measured"
	if d.load.Searches {
		use = "measured, half of them for searches"
	}
	plan := fmt.Sprintf("%d clients × %d threads need %d connections (%d %s, %d to control)", d.load.Clients, d.load.Threads, needed, measured, use, controlConnections)
	advice := "use fewer clients or threads"
	if option(d.load) == perThread && d.load.Threads > 1 {
		advice += fmt.Sprintf(`, or set connections = "client" in [engine], which needs %d`, d.load.Clients+controlConnections)
	}
	if left := maximum - reserved - used; needed > left {
		return tooFew{fmt.Errorf("%s, but the server at %s has %d left: max_connections %d, less %d reserved, less %d in use; raise max_connections to at least %d, %s",
			plan, addresses(d.config), max(left, 0), maximum, reserved, used, needed+reserved+used, advice)}
	}
	for _, limit := range []struct {
		what       string
		limit, use int
	}{{"the database", n[4], n[5]}, {"the user", n[6], n[7]}} {
		if limit.limit >= 0 && needed > limit.limit-limit.use {
			return tooFew{fmt.Errorf("%s, but %s at %s may have %d, of which %d are in use: raise its CONNECTION LIMIT, %s",
				plan, limit.what, addresses(d.config), limit.limit, limit.use, advice)}
		}
	}
	return nil
}
