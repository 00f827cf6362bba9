// Package mongodb benchmarks MongoDB through its own driver, go.mongodb.org/mongo-driver/v2.
//
// Rows are documents with typed fields: 64-bit integers, doubles, decimals (Decimal128), dates, UUIDs and binary data (document.go). Documents are
// encoded here, straight into BSON, and answers are kept as the BSON that came, so that the driver's reflection is not on the clock. Each client
// has a driver client of its own whose pool holds exactly one connection for each thread, opened before the load. The driver's retries are
// off: an operation that failed is a failed operation.
package mongodb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// The option that says how decimals are stored.
const (
	optionDecimals = "decimals"
	asDecimal128   = "decimal128"
	asUnits        = "units"
)

var engine = drivers.Engine{
	Name:            "mongodb",
	Title:           "MongoDB",
	Family:          drivers.FamilyDocument,
	Modes:           []drivers.ServerMode{drivers.Docker, drivers.Endpoint},
	Tiers:           []drivers.Tier{drivers.TierNone, drivers.TierOS},
	Tier:            tierOf,
	Ability:         (*client)(nil),
	DatabaseAbility: (*database)(nil),
	Options: []drivers.Option{{
		Name:   optionDecimals,
		Values: []string{asDecimal128, asUnits},
		Help:   "decimal128: MongoDB's own decimal type. units: whole numbers of 10⁻⁴, as money is often stored",
	}},
	Connections: func(config drivers.Config) int { return config.Clients * config.Threads },
	Server:      server,
}

func init() {
	engine.Open = open
	drivers.Register(engine)
}

// tierOf maps a profile to a tier. A single server acknowledges a write, by default, when it is in its memory, and the journal follows within a tenth of
// a second. Only a write that waits for the journal survives kill -9, and then it survives a crash of the operating system too.
func tierOf(profile drivers.Profile) (drivers.Tier, error) {
	if profile.Sync || profile.Persisted {
		return drivers.TierOS, nil
	}
	return drivers.TierNone, nil
}

// database is an open server.
type database struct {
	config  *options.ClientOptions // of clients, but for pool and monitor
	name    string                 // of the MongoDB database
	address string                 // for texts
	tier    drivers.Tier
	corpus  *corpus.Corpus
	schema  *schema
	load    drivers.Config
	logger  *slog.Logger
	control *mongo.Client
	sockets atomic.Int64 // measured connections
	closed  atomic.Bool
}

// open makes sure that the server is there and can hold what the corpus makes.
func open(ctx context.Context, config drivers.Config) (drivers.Database, error) {
	if config.Corpus == nil {
		return nil, errors.New("mongodb needs a corpus")
	}
	if problems := engine.CheckOptions(config.Options); len(problems) > 0 {
		return nil, errors.New(problems[0])
	}
	s, err := newSchema(config.Corpus, engine.Option(config.Options, optionDecimals) == asUnits)
	if err != nil {
		return nil, err
	}
	if config.Tier == "" {
		if config.Tier, err = tierOf(config.Profile); err != nil {
			return nil, err
		}
	}
	d := &database{tier: config.Tier, corpus: config.Corpus, schema: s, load: config, logger: config.Logger}
	if d.config, d.name, d.address, err = parseEndpoint(config.Endpoint, config.Credentials); err != nil {
		return nil, err
	}
	d.config.SetWriteConcern(concern(config.Tier)).SetReadConcern(readconcern.Local())
	// The control client looks at the server now and then; the clients of the load are watched by it alone as far as that can be had.
	control := *d.config
	if d.control, err = mongo.Connect(control.SetMaxPoolSize(2)); err != nil {
		return nil, d.explain(err)
	}
	if err := d.control.Ping(ctx, nil); err != nil {
		return nil, errors.Join(d.explain(err), d.Close())
	}
	return d, nil
}

// concern is how writes of the tier are acknowledged: after the journal was flushed, or from memory.
func concern(tier drivers.Tier) *writeconcern.WriteConcern {
	journal := tier == drivers.TierOS
	return &writeconcern.WriteConcern{W: 1, Journal: &journal}
}

// Version returns the server's version.
func (d *database) Version(ctx context.Context) (string, error) {
	info, err := d.run(ctx, "admin", "buildInfo")
	if err != nil {
		return "", fmt.Errorf("read the version: %w", err)
	}
	version, ok := info.Lookup("version").StringValueOK()
	if !ok {
		return "", errors.New("read the version: the server does not tell it")
	}
	return version, nil
}

// run runs a command without parameters.
func (d *database) run(ctx context.Context, database, command string) (bson.Raw, error) {
	if d.closed.Load() {
		return nil, drivers.ErrClosed
	}
	answer, err := d.control.Database(database).RunCommand(ctx, bson.D{{Key: command, Value: 1}}).Raw()
	return answer, classify(err)
}

// rows is the collection of the rows, as the control client sees it.
func (d *database) rows() *mongo.Collection {
	return d.control.Database(d.name).Collection(drivers.Table)
}

// Sockets returns the number of measured connections that are open. The driver has one or two more for each client to watch the server.
func (d *database) Sockets() int { return int(d.sockets.Load()) }

// Carries says how operations in flight are carried.
func (d *database) Carries() string { return "one connection per thread, in a pool of the client's" }

// Close closes the control client's connections.
func (d *database) Close() error {
	if d.closed.Swap(true) || d.control == nil {
		return nil
	}
	return d.control.Disconnect(context.Background())
}
