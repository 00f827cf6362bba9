// Package sqlite is the engine SQLite, embedded in the agent: SQLite's own C code where cgo is on, its translation to Go elsewhere. The
// result says which.
//
// The database is one file in write-ahead logging mode, used as a server program embeds SQLite: many connections that read, and one that
// writes. SQLite lets any number read while one writes, but never two write; were every thread to write on a connection of its own,
// they would wait for each other in SQLite's busy handler, which sleeps up to 100 ms and may let one thread wait for seconds
// while another goes first again and again. So the threads queue for the writer, first come first served. That queue stands in the place of
// SQLite's own lock, and the wait in it is part of an operation's latency, as the wait for the lock would be. Readers never wait for
// the writer.
//
// Each operation is one transaction. At tier os a write is acknowledged when its part of the log is flushed to the device
// (synchronous=FULL). At tier process it is acknowledged when the operating system has it (synchronous=NORMAL): killing the agent loses
// nothing, and after an operating system crash the last transactions may be gone but the database is whole. OFF would be as safe
// from kill -9 but may leave a damaged file after a crash, which no other engine's tier process does.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/durabench/durabench/drivers"
)

var engine = drivers.Engine{
	Name:            "sqlite",
	Title:           "SQLite",
	Family:          drivers.FamilyEmbedded,
	Modes:           []drivers.ServerMode{drivers.Embedded},
	Tiers:           []drivers.Tier{drivers.TierProcess, drivers.TierOS},
	Tier:            tier,
	Ability:         (*client)(nil),
	DatabaseAbility: (*database)(nil),
	Options: []drivers.Option{{
		Name:   optionReaders,
		Values: []string{readersAuto},
		Check:  checkReaders,
		Help:   "connections that read, for each client: a number, or auto: one for each thread as long as all clients together have no more than 64, or four for each processor where that is more",
	}},
}

func init() {
	engine.Open = open // here, because open looks up the engine's options
	drivers.Register(engine)
}

// tier: without --sync commits are not flushed, which is what SQLite's authors recommend for write-ahead logging. The file is always on disk,
// so --persisted changes nothing.
func tier(profile drivers.Profile) (drivers.Tier, error) {
	if profile.Sync {
		return drivers.TierOS, nil
	}
	return drivers.TierProcess, nil
}

// The option for the number of reader connections.
const (
	optionReaders = "readers"
	readersAuto   = "auto"
	mostReaders   = 1024 // of one client: each takes two file descriptors and a page cache
)

func checkReaders(value string) error {
	if value == readersAuto {
		return nil
	}
	if n, err := strconv.Atoi(value); err != nil || n < 1 || n > mostReaders {
		return fmt.Errorf("allowed are %q and numbers from 1 to %d", readersAuto, mostReaders)
	}
	return nil
}

// readersEach is how many connections each client reads on. One for each thread leaves no thread waiting for another. Beyond some
// dozens there is nothing to gain: a read is work for a processor, not a wait for a server, and each connection has a page cache of its own
// to warm and to keep.
func readersEach(config drivers.Config) int {
	if value := engine.Option(config.Options, optionReaders); value != readersAuto {
		n, _ := strconv.Atoi(value) // CheckOptions has seen it
		return max(1, n)
	}
	most := max(64, 4*runtime.GOMAXPROCS(0))
	return max(1, min(config.Threads, most/max(1, config.Clients)))
}

const fileName = "durabench.sqlite"

func open(_ context.Context, config drivers.Config) (drivers.Database, error) {
	if problems := engine.CheckOptions(config.Options); len(problems) > 0 {
		return nil, errors.New(problems[0])
	}
	if config.Corpus == nil {
		return nil, errors.New("open sqlite: the configuration has no corpus")
	}
	schema, err := newSchema(config.Corpus)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(config.Dir); err != nil {
		return nil, fmt.Errorf("open sqlite: directory for the database: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("open sqlite: %s is not a directory", config.Dir)
	}
	if config.Tier == "" {
		config.Tier, _ = tier(config.Profile)
	}
	d := &database{config: config, schema: schema, path: filepath.Join(config.Dir, fileName), filesystem: filesystemOf(config.Dir), sizes: make(map[string]int64)}
	switch config.Tier {
	case drivers.TierOS:
		if d.filesystem.volatile {
			return nil, drivers.Unsupported{Why: fmt.Sprintf(
				"%s is on %s, which is memory: nothing there survives an operating system crash; choose a --data-dir on a disk or leave out --sync", config.Dir, d.filesystem.name)}
		}
	case drivers.TierProcess:
	default:
		return nil, drivers.Unsupported{Why: fmt.Sprintf("sqlite cannot give durability tier %q: its tiers are %q with --sync and %q without", config.Tier, drivers.TierOS, drivers.TierProcess)}
	}
	if d.writer, err = d.openWriter(); err != nil {
		return nil, fmt.Errorf("open sqlite: %s: %w", d.path, err)
	}
	return d, nil
}
