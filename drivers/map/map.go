// Package mapdb is the engine "map": a sharded concurrent map in the agent's own memory. It is the floor that every other engine is
// seen against: what it costs to keep rows and find them again with no database at all.
//
// A row is stored as one immutable encoded copy. A read hands out a reference to it, so that a read costs the look-up alone; an update puts
// another copy in its place, and whoever still holds the old one holds it unchanged.
//
// The map is split in shards, each a Go map behind a lock of its own. Those locks are not the driver's in the sense of the contract: they are the
// engine, as latches are in any database. There are several times as many shards as threads that can run, so two operations seldom
// meet. An operation never waits for anything else, which is why a context has nothing to interrupt and is not looked at.
package mapdb

import (
	"context"
	"fmt"
	"hash/maphash"
	"runtime"
	"sync/atomic"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

func init() {
	drivers.Register(drivers.Engine{
		Name:            "map",
		Title:           "Map",
		Family:          drivers.FamilyEmbedded,
		Modes:           []drivers.ServerMode{drivers.Embedded},
		Tiers:           []drivers.Tier{drivers.TierNone},
		Tier:            tier,
		Ability:         (*client)(nil),
		DatabaseAbility: (*database)(nil),
		Open:            open,
	})
}

func tier(profile drivers.Profile) (drivers.Tier, error) {
	switch {
	case profile.Sync:
		return "", drivers.Unsupported{Why: "map keeps its rows in the agent's memory, so its only tier is none: leave out --sync"}
	case profile.Persisted:
		return "", drivers.Unsupported{Why: "map keeps its rows in the agent's memory and cannot write them to disk: leave out --persisted"}
	}
	return drivers.TierNone, nil
}

func open(_ context.Context, config drivers.Config) (drivers.Database, error) {
	if config.Tier == "" {
		var err error
		if config.Tier, err = tier(config.Profile); err != nil {
			return nil, err
		}
	}
	if config.Tier != drivers.TierNone {
		return nil, drivers.Unsupported{Why: fmt.Sprintf("map cannot give durability tier %q: its only tier is %q", config.Tier, drivers.TierNone)}
	}
	if config.Corpus == nil {
		return nil, fmt.Errorf("open map: the configuration has no corpus")
	}
	d := &database{corpus: config.Corpus, template: config.Corpus.Template(), seed: maphash.MakeSeed()}
	if processors := runtime.GOMAXPROCS(0); config.Corpus.KeyKind() == corpus.KeyInteger {
		d.integers = newTable[int64](processors)
	} else {
		d.texts = newTable[string](processors)
	}
	return d, nil
}

// database is the map. Everything but the shards' content is fixed when it is opened.
type database struct {
	corpus   *corpus.Corpus
	template *corpus.Template
	seed     maphash.Seed
	closed   atomic.Bool
	mark     atomic.Pointer[string] // of Mark; nil before the first
	// One of the two is there, by the kind of key; uuid keys are texts of 16 bytes.
	integers *table[int64]
	texts    *table[string]
}

// Version names the Go release: its map is the store.
func (d *database) Version(context.Context) (string, error) { return runtime.Version() + " map", nil }

// Settings reports the only tier there is, and the number of shards.
func (d *database) Settings(context.Context) (drivers.Settings, error) {
	if d.closed.Load() {
		return drivers.Settings{}, drivers.ErrClosed
	}
	shards := 0
	if d.integers != nil {
		shards = len(d.integers.shards)
	} else {
		shards = len(d.texts.shards)
	}
	return drivers.Settings{Tier: drivers.TierNone, Values: []drivers.Setting{{
		Name: "shards", Value: fmt.Sprint(shards), Why: "operations on different shards never wait for each other",
	}}}, nil
}

// Prepare empties the map.
func (d *database) Prepare(context.Context) error {
	if d.closed.Load() {
		return drivers.ErrClosed
	}
	d.clear()
	return nil
}

// Client returns a client; all work on the same shards.
func (d *database) Client(context.Context, int) (drivers.Client, error) {
	if d.closed.Load() {
		return nil, drivers.ErrClosed
	}
	return &client{database: d}, nil
}

// Count adds up the shards.
func (d *database) Count(context.Context) (int64, error) {
	if d.closed.Load() {
		return 0, drivers.ErrClosed
	}
	if d.integers != nil {
		return d.integers.count(), nil
	}
	return d.texts.count(), nil
}

func (d *database) clear() {
	if d.integers != nil {
		d.integers.clear()
	} else {
		d.texts.clear()
	}
}

// Close forgets all rows.
func (d *database) Close() error {
	d.closed.Store(true)
	d.clear()
	return nil
}
