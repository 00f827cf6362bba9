// Package postgres benchmarks PostgreSQL over its own protocol.
//
// Rows are in the table durabench.record: a key column and a column for each value, of the type that fits it; arrays and objects are jsonb,
// vectors real[], or pgvector's own type where they will be searched (vector.go). The four operations are statements prepared once per connection, with values bound and received in binary. Signing in is pgx's
// work (pgconn); the operations themselves are written and read by this package, so that an operation allocates nothing.
//
// # Connections
//
// The option "connections" says how clients × threads operations are in flight:
//
//   - thread, the default: a connection for each of them.
//   - client: one connection per client, with the requests of its threads pipelined over it. Each has a Sync of its own, so it is a
//     transaction of its own and fails alone.
//
// PostgreSQL works on the requests of a connection one after another, in one process. So pipelined operations wait for each other in the
// server: reads cannot use more cores than there are clients, and of the commits that wait for the disk only one per client can share a flush
// with those of others. It saves most of the system calls and process switches, though, which is what single-key reads on few cores
// consist of. Measured with DURABENCH_COMPARE=2 go test -tags compare -run TestCompare -v ./drivers/postgres on two virtual CPUs that PostgreSQL 15 shared
// with the load; operations per second as a share of those of pgbench -M prepared with as many clients as there are operations in flight,
// turn about on one server, medians of 5 turns of 3 s:
//
//	in flight                                  4 × 1   4 × 8   16 × 8
//	pgbench -S           pgbench -S -j 2        1.13    1.13     1.25
//	                     read, thread           0.93    1.10     1.30
//	                     read, client           0.94    1.38     3.14
//	pgbench UPDATE -j 2  durable, thread        0.93    0.93     0.96
//	                     durable, client        1.00    0.63     0.98
//	pgbench 1 KB -j 2    read, thread           0.86    0.83     1.03
//	                     read, client           0.82    1.02     1.92
//
// Two other sessions on the same machine, busier, had durable updates of "client" at 0.31 and 0.38 for 4 × 8. Half of the load's CPU time
// goes into writing to the socket, and hardly any of it into this package.
//
// The default is what holds for both: with a connection per thread the server has all operations before it and is free in what it does with
// them, and its rates are those that users of PostgreSQL know. "client" is for more operations in flight than the server has connections for.
//
// # Searches
//
// Searches for nearest neighbours have connections of their own, as many as a client has beside them and from its first search on, because what
// they set in their sessions would change the plans of other statements. They set how much of an index is looked at, and enable_seqscan
// off: at some size of the table the planner would find reading all of it cheaper than what was asked for. It stays free to find the rows of a
// selective filter by an index on the filter's column, and the plan of a search says what it does. An exact search is written so that
// no index on vectors can serve it, and sets nothing.
//
// # Lost connections
//
// Nothing is retried. A lost connection fails the operations on it with class connection; the next operation opens a new one, within its own
// time. An operation whose context is over has its connection closed (thread), after the server was asked to give the operation up, or is
// left to end by itself (client).
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// The option that says how operations in flight are carried.
const (
	optionConnections = "connections"
	perThread         = "thread"
	perClient         = "client"
)

var engine = drivers.Engine{
	Name:            "postgres",
	Title:           "PostgreSQL",
	Family:          drivers.FamilyRelational,
	Modes:           []drivers.ServerMode{drivers.Process, drivers.Docker, drivers.Endpoint},
	Tiers:           []drivers.Tier{drivers.TierOS, drivers.TierProcess},
	Tier:            tierOf,
	Ability:         (*client)(nil),
	DatabaseAbility: (*database)(nil),
	Options: []drivers.Option{{
		Name:   optionConnections,
		Values: []string{perThread, perClient},
		Help: "thread: a connection for each operation in flight. client: one connection per client, on which the requests of its threads are pipelined; " +
			"the server works on the requests of a connection one after another",
	}},
	Connections:     connections,
	SearchedVectors: "as pgvector's vector(n) where they are searched, as real[] where not",
	Server:          server,
}

func init() {
	engine.Open = open
	drivers.Register(engine)
}

// tierOf maps a profile to a tier. PostgreSQL is durable as its vendor ships it, so that is the default too; --persisted without
// --sync asks for what other engines give by it.
func tierOf(profile drivers.Profile) (drivers.Tier, error) {
	if profile.Persisted && !profile.Sync {
		return drivers.TierProcess, nil
	}
	return drivers.TierOS, nil
}

func connections(config drivers.Config) int {
	n := config.Clients * config.Threads
	if option(config) == perClient {
		n = config.Clients
	}
	if config.Searches {
		n *= 2 // searches have their own
	}
	return n
}

func option(config drivers.Config) string {
	// Not through engine: it refers to this function.
	if value, set := config.Options[optionConnections]; set {
		return value
	}
	return perThread
}

// database is an open server.
type database struct {
	config     *pgconn.Config
	tier       drivers.Tier // that sessions are set up for
	corpus     *corpus.Corpus
	schema     *schema
	statements [prepared]statement
	loadSQL    loadSQL
	load       drivers.Config
	logger     *slog.Logger
	notices    map[string]string // what the server remarked on the build of an index, by its name
	sockets    atomic.Int64      // measured connections
	closed     atomic.Bool
}

// open makes sure that the server is there and can hold what the corpus makes.
func open(ctx context.Context, config drivers.Config) (drivers.Database, error) {
	if config.Corpus == nil {
		return nil, errors.New("postgres needs a corpus")
	}
	if problems := engine.CheckOptions(config.Options); len(problems) > 0 {
		return nil, errors.New(problems[0])
	}
	s, err := newSchema(config.Corpus, config.Searches)
	if err != nil {
		return nil, err
	}
	server, err := parseEndpoint(config.Endpoint, config.Credentials)
	if err != nil {
		return nil, err
	}
	if config.Tier == "" {
		if config.Tier, err = tierOf(config.Profile); err != nil {
			return nil, err
		}
	}
	d := &database{
		config: server, tier: config.Tier, corpus: config.Corpus, schema: s, statements: s.statements(), loadSQL: s.loadSQL(), load: config, logger: config.Logger,
		notices: make(map[string]string),
	}
	return d, d.control(ctx, "open", func(conn *pgconn.PgConn) error {
		rows, err := ask(ctx, conn, "SHOW server_encoding")
		if err != nil {
			return err
		}
		if encoding := rows[0][0]; encoding != "UTF8" && encoding != "SQL_ASCII" {
			return fmt.Errorf("database %q is encoded in %s, which cannot hold every text: name one that was created with ENCODING 'UTF8'", server.Database, encoding)
		}
		return nil
	})
}

// Version returns the server's version.
func (d *database) Version(ctx context.Context) (version string, err error) {
	err = d.control(ctx, "read the version", func(conn *pgconn.PgConn) error {
		rows, err := ask(ctx, conn, "SHOW server_version")
		if err == nil {
			version = rows[0][0]
		}
		return err
	})
	return version, err
}

// Client opens a client's connections.
func (d *database) Client(ctx context.Context, i int) (drivers.Client, error) {
	if d.closed.Load() {
		return nil, drivers.ErrClosed
	}
	// One operation at a time is the same either way, and takes one goroutine less without a pipe.
	c := &client{database: d, piped: option(d.load) == perClient && d.load.Threads > 1}
	var err error
	if c.link, err = c.connect(ctx, c.dial); err != nil {
		return nil, fmt.Errorf("client %d: %w", i, err)
	}
	return c, nil
}

// connect opens connections for the client's threads.
func (c *client) connect(ctx context.Context, dial func(context.Context) (net.Conn, error)) (wire.Link, error) {
	protocol := wire.Protocol{Dial: dial, Parse: parse, Abandon: abandon}
	if c.piped {
		return wire.NewPipe(ctx, protocol, c.database.load.Threads)
	}
	return wire.NewDirect(ctx, protocol, c.database.load.Threads)
}

// Sockets returns the number of measured connections that are open.
func (d *database) Sockets() int { return int(d.sockets.Load()) }

// Carries says how operations in flight are carried.
func (d *database) Carries() string {
	carries := "one connection per thread"
	if option(d.load) == perClient {
		carries = "one connection per client; its threads' requests are pipelined over it and worked on one after another"
	}
	if d.load.Searches {
		carries += "; searches have as many connections of their own"
	}
	return carries
}

// Close ends the use of the database. No connection is open beside those of clients.
func (d *database) Close() error {
	d.closed.Store(true)
	return nil
}
