// Package mysqlbase is what the engines that speak MySQL's protocol share: MySQL and MariaDB differ in a name, an image, a collation and a few
// settings (Product).
//
// github.com/go-sql-driver/mysql signs in, prepares statements and speaks the protocol. It is used below database/sql, whose pool and
// conversions would stand between the clock and the server: a session (session.go) is one connection of the driver's with its statements
// prepared. MySQL's protocol has no pipelining that servers make use of, so every operation in flight has a connection of its own.
package mysqlbase

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// Product is what tells one engine of the family from another.
type Product struct {
	Name   string // as -d takes it
	Title  string
	Modes  []drivers.ServerMode
	Server *drivers.Server
	// MariaDB tells the family's two branches apart: they have different names for the same collation, and different JSON.
	MariaDB bool
}

// Engine returns the registration of a product.
func (p Product) Engine() drivers.Engine {
	return drivers.Engine{
		Name:            p.Name,
		Title:           p.Title,
		Family:          drivers.FamilyRelational,
		Modes:           p.Modes,
		Tiers:           []drivers.Tier{drivers.TierOS, drivers.TierProcess},
		Tier:            tierOf,
		Ability:         &client{database: &database{product: p}},
		DatabaseAbility: &database{product: p},
		Connections:     connections,
		SearchedVectors: p.searchedVectors(),
		Server:          p.Server,
		Open: func(ctx context.Context, config drivers.Config) (drivers.Database, error) {
			return open(ctx, p, config)
		},
	}
}

// tierOf maps a profile to a tier. Both vendors ship a server that flushes every commit, so that is the default too; --persisted without
// --sync asks for what other engines give by it.
func tierOf(profile drivers.Profile) (drivers.Tier, error) {
	if profile.Persisted && !profile.Sync {
		return drivers.TierProcess, nil
	}
	return drivers.TierOS, nil
}

func connections(config drivers.Config) int { return config.Clients * config.Threads }

// database is an open server.
type database struct {
	product  Product
	endpoint endpoint
	corpus   *corpus.Corpus
	schema   *schema
	load     drivers.Config
	logger   *slog.Logger
	packet   int          // the server's max_allowed_packet, in bytes
	minToken int          // its innodb_ft_min_token_size, in characters
	maxToken int          // and innodb_ft_max_token_size
	version  string       // of the server, as it says it
	sockets  atomic.Int64 // measured connections
	closed   atomic.Bool
}

// open makes sure that the server is there and can hold what the corpus makes.
func open(ctx context.Context, p Product, config drivers.Config) (drivers.Database, error) {
	if config.Corpus == nil {
		return nil, fmt.Errorf("%s needs a corpus", p.Name)
	}
	engine := p.Engine()
	if problems := engine.CheckOptions(config.Options); len(problems) > 0 {
		return nil, errors.New(problems[0])
	}
	schema, err := newSchema(p, config.Corpus, config.Searches)
	if err != nil {
		return nil, err
	}
	e, err := parseEndpoint(p, config.Endpoint, config.Credentials)
	if err != nil {
		return nil, err
	}
	d := &database{product: p, endpoint: e, corpus: config.Corpus, schema: schema, load: config, logger: config.Logger}
	return d, d.control(ctx, "open", func(c *controller) error {
		rows, err := c.query("SELECT @@version, @@max_allowed_packet, @@innodb_ft_min_token_size, @@innodb_ft_max_token_size")
		if err != nil {
			return err
		}
		if _, err := fmt.Sscan(strings.Join(rows[0][1:], " "), &d.packet, &d.minToken, &d.maxToken); err != nil {
			return fmt.Errorf("read the server's limits %q: %w", rows[0][1:], err)
		}
		d.version = rows[0][0]
		return p.checkBranch(d.version)
	})
}

// checkBranch refuses the family's other branch, whose collations have other names.
func (p Product) checkBranch(version string) error {
	found, other := isMariaDB(version), "mariadb"
	if p.MariaDB {
		other = "mysql"
	}
	if found != p.MariaDB {
		return drivers.Unsupported{Why: fmt.Sprintf("the server is %s, which is the engine %s and not %s", version, other, p.Name)}
	}
	return nil
}

// Version returns the server's version.
func (d *database) Version(ctx context.Context) (version string, err error) {
	err = d.control(ctx, "read the version", func(c *controller) error {
		rows, err := c.query("SELECT @@version")
		if err == nil {
			version = rows[0][0]
		}
		return err
	})
	return version, err
}

// Client opens a client's connections, one for each thread.
func (d *database) Client(ctx context.Context, i int) (drivers.Client, error) {
	if d.closed.Load() {
		return nil, drivers.ErrClosed
	}
	if i == 0 {
		if err := d.checkTable(ctx); err != nil {
			return nil, fmt.Errorf("client %d: %w", i, err)
		}
	}
	c := &client{database: d, free: make(chan *session, d.load.Threads), closed: make(chan struct{})}
	for range d.load.Threads {
		s := &session{database: d, budget: &c.budget}
		if err := s.connect(ctx); err != nil {
			return nil, fmt.Errorf("client %d: %w", i, errors.Join(err, c.Close()))
		}
		c.all = append(c.all, s)
		c.free <- s
	}
	return c, nil
}

// Sockets returns the number of measured connections that are open.
func (d *database) Sockets() int { return int(d.sockets.Load()) }

// Carries says how operations in flight are carried.
func (d *database) Carries() string { return "one connection per thread" }

// Close ends the use of the database. No connection is open beside those of clients.
func (d *database) Close() error {
	d.closed.Store(true)
	return nil
}
