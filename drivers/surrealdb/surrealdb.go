// Package surrealdb benchmarks SurrealDB 3 over its own protocol: RPC in CBOR over WebSocket.
package surrealdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// The option that says how operations in flight are carried.
const (
	optionConnections = "connections"
	auto              = "auto"
	perClient         = "client"
	perThread         = "thread"
)

// vendorRequests is how many requests of one connection a server works on at once, unless SURREAL_WEBSOCKET_MAX_CONCURRENT_REQUESTS says otherwise.
// It does not read further ones before.
const vendorRequests = 24

// The option that says what an endpoint's server keeps the data in.
const (
	optionDatastore = settingDatastore
	untold          = "untold"
)

var engine = drivers.Engine{
	Name:   "surrealdb",
	Title:  "SurrealDB",
	Family: drivers.FamilyMultiModel,
	Modes:  []drivers.ServerMode{drivers.Process, drivers.Docker, drivers.Endpoint},
	Tiers:  []drivers.Tier{drivers.TierNone, drivers.TierProcess, drivers.TierOS},
	Tier:   tierOf,

	Ability:         (*client)(nil),
	DatabaseAbility: (*database)(nil),
	Options: []drivers.Option{{
		Name:   optionConnections,
		Values: []string{auto, perClient, perThread},
		Help: fmt.Sprintf("client: one connection per client, with the requests of its threads in flight on it. thread: a connection for each operation in flight. "+
			"auto: client with up to %d threads, which is what a server works on at once of one connection, else thread", vendorRequests),
	}, {
		Name:   optionDatastore,
		Values: []string{untold, "memory", "rocksdb://?sync=every", "surrealkv://?sync=never"},
		Check:  checkDatastore,
		Help: "what an endpoint's server was started with (its PATH argument; the path itself may be left out): SurrealDB lets nobody read it back, " +
			"and the durability tier follows from it",
	}, retriesOption},
	Connections: connections,
	Server:      server,
}

func init() {
	engine.Open = open
	drivers.Register(engine)
}

// tierOf maps a profile to a tier: in memory as the vendor ships it, unless more is asked for.
func tierOf(profile drivers.Profile) (drivers.Tier, error) {
	switch {
	case profile.Sync:
		return drivers.TierOS, nil
	case profile.Persisted:
		return drivers.TierProcess, nil
	}
	return drivers.TierNone, nil
}

// multiplexed tells whether the threads of a client share its connection.
func multiplexed(config drivers.Config) bool {
	switch config.Options[optionConnections] {
	case perClient:
		return true
	case perThread:
		return false
	}
	return config.Threads <= vendorRequests
}

func connections(config drivers.Config) int {
	if multiplexed(config) {
		return config.Clients
	}
	return config.Clients * config.Threads
}

// database is an open server.
type database struct {
	server   endpoint
	schema   *schema
	load     drivers.Config
	logger   *slog.Logger
	token    atomic.Pointer[string] // shown by connections after the first
	sockets  atomic.Int64           // measured connections
	retries  int                    // how often a request is sent again
	repeated atomic.Int64           // requests that were sent again
	closed   atomic.Bool
}

// open makes sure that the server is there.
func open(ctx context.Context, config drivers.Config) (drivers.Database, error) {
	if config.Corpus == nil {
		return nil, errors.New("surrealdb needs a corpus")
	}
	if problems := engine.CheckOptions(config.Options); len(problems) > 0 {
		return nil, errors.New(problems[0])
	}
	server, err := parseEndpoint(config.Endpoint, config.Credentials)
	if err != nil {
		return nil, err
	}
	d := &database{server: server, schema: newSchema(config.Corpus), load: config, logger: config.Logger, retries: retries(config.Options)}
	version, err := d.Version(ctx)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if major, _, _ := strings.Cut(version, "."); major < "3" {
		return nil, fmt.Errorf("open: the server at %s is SurrealDB %s: version 3 or later is needed", server.address, version)
	}
	return d, nil
}

// Version returns the server's version.
func (d *database) Version(ctx context.Context) (string, error) {
	if d.closed.Load() {
		return "", drivers.ErrClosed
	}
	conn, err := d.signIn(ctx)
	if err != nil {
		return "", fmt.Errorf("read the version: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	answer, err := d.call(ctx, conn, "version")
	if err = errors.Join(err, conn.Close()); err != nil {
		return "", fmt.Errorf("read the version: %w", err)
	}
	s := scanner{data: answer}
	version, err := s.value()
	// A text, or among what else there is to know.
	if m, is := version.(map[string]any); is {
		version = m["version"]
	}
	text, is := version.(string)
	if err != nil || !is {
		return "", fmt.Errorf("read the version: the server answers %v: %w", version, err)
	}
	return strings.TrimPrefix(text, "surrealdb-"), nil
}

// Client opens a client's connections.
func (d *database) Client(ctx context.Context, i int) (drivers.Client, error) {
	if d.closed.Load() {
		return nil, drivers.ErrClosed
	}
	c := &client{database: d}
	var err error
	// One operation at a time is the same either way, and takes one goroutine less without a pipe.
	if multiplexed(d.load) && d.load.Threads > 1 {
		c.link, err = wire.NewPipe(ctx, wire.Protocol{Dial: d.dial, Parse: receive, Owner: owner, Unasked: unasked}, d.load.Threads)
	} else {
		c.link, err = wire.NewDirect(ctx, wire.Protocol{Dial: d.dial, Parse: receive, Owner: owner, Unasked: unasked}, d.load.Threads)
	}
	if err != nil {
		return nil, fmt.Errorf("client %d: %w", i, err)
	}
	return c, nil
}

// Sockets returns the number of measured connections that are open.
func (d *database) Sockets() int { return int(d.sockets.Load()) }

// Carries says how operations in flight are carried.
func (d *database) Carries() string {
	if multiplexed(d.load) {
		return "one connection per client, on which the requests of its threads are in flight together and answered in any order"
	}
	return "one connection per thread"
}

// Close ends the use of the database. No connection is open beside those of clients.
func (d *database) Close() error {
	d.closed.Store(true)
	return nil
}
