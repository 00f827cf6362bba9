// Package respbase is what the engines share that speak Redis's protocol, RESP: Redis, Valkey, KeyDB, Dragonfly. An engine is a Product.
//
// A row is one string value, in the corpus's binary form, under the prefix "durabench:" and the key's bytes. Only keys with the prefix are ever
// touched. Create is SET NX, update SET XX, so that each tells in one round trip whether the key was there; read is GET and delete is DEL, which
// frees a value of this size as quickly as UNLINK does.
//
// How operations are carried is the option "pipelining", and is never mixed:
//
//   - auto: one connection per client. The requests of its threads are in flight on it together; those that come at the same time go out in
//     one write. Nothing waits to be sent until others come.
//   - off: a connection per thread, each with one request at a time.
//
// The measured connections are this package's own (drivers/wire). rueidis, which does the rest (scanning, settings), was tried for them first:
// with automatic pipelining on one connection per client it came to 0.33 to 0.40 of redis-benchmark's reads per second at 4 × 8 and
// 16 × 8, because it writes nearly each request by itself, and to 0.15 at 8 × 32.
//
// Measured with DURABENCH_COMPARE=2 go test -tags compare -run TestCompare -v ./drivers/redis on two virtual CPUs that Redis 7.0 shared with the load; reads
// of 1 KB per second as a share of redis-benchmark's with -c clients -P threads (or -c clients·threads for "off"), turn about on one server,
// medians of 5 turns of 2 s, both with one thread:
//
//	in flight       4 × 1   4 × 8   16 × 8   8 × 32
//	auto             1.18    0.96     1.09     0.92
//	off                      1.19     1.43     1.25
//
// With GOMAXPROCS at 2, Go's second thread takes the server's CPU time and auto comes to 0.82, 0.83 and 0.71: where the server has no CPUs of
// its own, the agent should have fewer.
package respbase

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// The option that says how operations in flight are carried.
const (
	optionPipelining = "pipelining"
	pipeliningAuto   = "auto"
	pipeliningOff    = "off"
)

// Product is what tells one engine of the family from another.
type Product struct {
	Name, Title string
	// Modes are the ways to have the server, the preferred first.
	Modes []drivers.ServerMode
	// Server describes the engine's own server.
	Server *drivers.Server
	// InMemory tells that the product keeps no log of its commands, so that no tier above none can be had of it.
	InMemory bool
	// MostWords is how many words the product's server takes in one command; 0 for usualWords.
	MostWords int
	// Vectors tells that the product has vector sets and a query engine, as Redis from 8 on has.
	Vectors bool
}

// usualWords is how many words the servers of the family take in one command. Redis from 7.0 on and Valkey take more, but what is measured may be older,
// and the same batch is to be the same requests.
const usualWords = 1 << 20

// Engine returns the product's registration.
func (p Product) Engine() drivers.Engine {
	if p.MostWords == 0 {
		p.MostWords = usualWords
	}
	engine := drivers.Engine{
		Name:            p.Name,
		Title:           p.Title,
		Family:          drivers.FamilyKeyValue,
		Modes:           p.Modes,
		Tiers:           p.tiers(),
		Tier:            p.tierOf,
		Ability:         (*client)(nil),
		DatabaseAbility: (*database)(nil),
		Options: []drivers.Option{{
			Name:   optionPipelining,
			Values: []string{pipeliningAuto, pipeliningOff},
			Help:   "auto: one connection per client, with the requests of its threads in flight on it. off: a connection for each operation in flight",
		}},
		Connections: connections,
		Server:      p.Server,
	}
	if p.Vectors {
		engine.Ability, engine.DatabaseAbility = (*vectorClient)(nil), (*vectorDatabase)(nil)
	}
	engine.Open = func(ctx context.Context, config drivers.Config) (drivers.Database, error) {
		if problems := engine.CheckOptions(config.Options); len(problems) > 0 {
			return nil, errors.New(problems[0])
		}
		d, err := open(ctx, p, config)
		if err != nil || !p.Vectors {
			return d, err
		}
		return openVectors(ctx, d)
	}
	return engine
}

func (p Product) tiers() []drivers.Tier {
	if p.InMemory {
		return []drivers.Tier{drivers.TierNone}
	}
	return []drivers.Tier{drivers.TierNone, drivers.TierProcess, drivers.TierOS}
}

// tierOf maps a profile to a tier: in memory as the vendor ships it, unless more is asked for.
func (p Product) tierOf(profile drivers.Profile) (drivers.Tier, error) {
	switch {
	case p.InMemory && (profile.Sync || profile.Persisted):
		return "", fmt.Errorf("%s cannot be made durable: it keeps no log of its writes, only snapshots: leave out --sync and --persisted", p.Title)
	case profile.Sync:
		return drivers.TierOS, nil
	case profile.Persisted:
		return drivers.TierProcess, nil
	}
	return drivers.TierNone, nil
}

func pipelining(config drivers.Config) string {
	if value, set := config.Options[optionPipelining]; set {
		return value
	}
	return pipeliningAuto
}

func connections(config drivers.Config) int {
	if pipelining(config) == pipeliningOff {
		return config.Clients * config.Threads
	}
	return config.Clients
}

// database is an open server.
type database struct {
	product  Product
	server   endpoint
	template *corpus.Template
	load     drivers.Config
	alone    atomic.Bool  // the server's database held nothing else when it was prepared
	sockets  atomic.Int64 // measured connections
	closed   atomic.Bool
}

// open makes sure that the server is there and is one that this driver can use.
func open(ctx context.Context, product Product, config drivers.Config) (*database, error) {
	if config.Corpus == nil {
		return nil, fmt.Errorf("%s needs a corpus", product.Name)
	}
	server, err := parseEndpoint(product, config.Endpoint, config.Credentials)
	if err != nil {
		return nil, err
	}
	d := &database{product: product, server: server, template: config.Corpus.Template(), load: config}
	return d, d.control(ctx, "open", func(c rueidis.Client) error {
		info, err := readInfo(ctx, c)
		if err != nil {
			return err
		}
		if info["cluster_enabled"] == "1" {
			return drivers.Unsupported{Why: fmt.Sprintf("%s at %s is a node of a cluster: only single servers can be measured", product.Title, server.address)}
		}
		return nil
	})
}

// Version returns the server's version, with its name when it is not the engine's own: relatives serve the same protocol.
func (d *database) Version(ctx context.Context) (version string, err error) {
	err = d.control(ctx, "read the version", func(c rueidis.Client) error {
		info, err := readInfo(ctx, c)
		if err != nil {
			return err
		}
		var product string
		if product, version = identify(info); version == "" {
			return errors.New("the server's INFO names no version")
		}
		if product != d.product.Title {
			version = product + " " + version
		}
		return nil
	})
	return version, err
}

// identify tells from INFO which product a server is, and its version. Relatives name a version of Redis too, for clients that look for one. KeyDB
// has no name in there, but a section that no other has.
func identify(info map[string]string) (product, version string) {
	for _, relative := range []string{"Valkey", "Dragonfly"} {
		if number := info[strings.ToLower(relative)+"_version"]; number != "" {
			return relative, strings.TrimPrefix(number, "df-v")
		}
	}
	if _, is := info["mvcc_depth"]; is {
		return "KeyDB", info["redis_version"]
	}
	return "Redis", info["redis_version"]
}

// Client opens a client's connections.
func (d *database) Client(ctx context.Context, i int) (drivers.Client, error) {
	c, err := d.client(ctx, i)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (d *database) client(ctx context.Context, i int) (*client, error) {
	if d.closed.Load() {
		return nil, drivers.ErrClosed
	}
	protocol := wire.Protocol{Dial: d.dial, Parse: parse}
	c := &client{database: d}
	var err error
	// One operation at a time is the same either way, and takes one goroutine less without a pipe.
	if pipelining(d.load) == pipeliningAuto && d.load.Threads > 1 {
		c.link, err = wire.NewPipe(ctx, protocol, d.load.Threads)
	} else {
		c.link, err = wire.NewDirect(ctx, protocol, d.load.Threads)
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
	if pipelining(d.load) == pipeliningOff {
		return "one connection per thread, without pipelining"
	}
	return "one connection per client, with the requests of its threads pipelined over it"
}

// Close ends the use of the database. No connection is open beside those of clients.
func (d *database) Close() error {
	d.closed.Store(true)
	return nil
}
