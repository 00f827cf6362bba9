package sqlite

import (
	"context"
	"fmt"
	"runtime"
	"strconv"

	"github.com/durabench/durabench/drivers"
)

// pragma is a setting of a connection, with the reason for it.
type pragma struct {
	name, value, why string
}

// pragmas are what a connection is set to. What is not here is as SQLite has it.
func (d *database) pragmas(writes bool) []pragma {
	all := []pragma{{"journal_mode", "WAL", "readers and the writer do not wait for each other; a commit appends to one log"}}
	if d.config.Tier == drivers.TierOS {
		all = append(all, pragma{"synchronous", "FULL", "a commit waits until the log is flushed to the device"})
		if runtime.GOOS == "darwin" {
			all = append(all,
				pragma{"fullfsync", "1", "without it macOS's fsync leaves the data in the disk's own cache"},
				pragma{"checkpoint_fullfsync", "1", "the same for moving the log into the file"})
		}
	} else {
		all = append(all, pragma{"synchronous", "NORMAL", "a commit does not wait for the device; checkpoints do, so the file stays whole"})
	}
	if d.config.Profile.Optimised {
		all = append(all, d.optimisations()...)
	}
	if writes {
		all = append(all, pragma{"recursive_triggers", "1", "where a load replaces rows, a full-text index hears of the old ones; without such an index there are no triggers"})
	} else {
		all = append(all, pragma{"query_only", "1", "this connection reads; a write on it would be a mistake of the driver"})
	}
	return all
}

const (
	// assumedMemory is reckoned with where the host's memory is not known.
	assumedMemory = 1 << 30
	// defaultCache is SQLite's own page cache for a connection.
	defaultCache = 2 << 20
	// mostCache bounds one connection's page cache.
	mostCache = 1 << 30
	// mostMap is the most that SQLite maps unless it is compiled otherwise.
	mostMap = 0x7fff0000
)

// optimisations divides a quarter of the memory over the connections' page caches and lets half of it be mapped: the operating system
// needs the rest to cache the files, and the agent to work.
func (d *database) optimisations() []pragma {
	memory, source := d.config.Resources.MemoryBytes, "of the host's memory"
	if memory <= 0 {
		memory, source = assumedMemory, "of 1 GiB, for the host's memory is not known"
	}
	connections := int64(readersEach(d.config)*max(1, d.config.Clients) + 1)
	cache := min(max(memory/4/connections, defaultCache), mostCache)
	return []pragma{
		{"cache_size", strconv.FormatInt(-cache>>10, 10), "page cache of a connection: a quarter " + source + ", divided over the connections (negative: KiB)"},
		{"mmap_size", strconv.FormatInt(min(memory/2, mostMap), 10), "pages of the file are read where they are mapped instead of being copied: half " + source + ", at most 2 GiB"},
		{"wal_autocheckpoint", "10000", "the log is moved into the file every 40 MB instead of 4 MB: fewer stalls of the writer"},
	}
}

// configure sets the pragmas and makes sure that SQLite took the journal mode: it answers with the old one where it cannot change it.
func (c *connection) configure(pragmas []pragma) error {
	for _, p := range pragmas {
		answer, err := c.text(fmt.Sprintf("PRAGMA %s=%s", p.name, p.value))
		if err != nil {
			return fmt.Errorf("set %s: %w", p.name, err)
		}
		if p.name == "journal_mode" && answer != "wal" {
			return fmt.Errorf("set journal_mode to WAL: SQLite stays at %q; the directory's file system may lack shared memory or locks", answer)
		}
	}
	return nil
}

// readBack are the pragmas that Settings reports, with what they do to the numbers.
var readBack = []pragma{
	{"journal_mode", "", "wal: readers and the writer do not wait for each other"},
	{"synchronous", "", "2 (FULL): commits are flushed to the device; 1 (NORMAL): only checkpoints are"},
	{"fullfsync", "", "1: macOS flushes the disk's own cache too; elsewhere without effect"},
	{"page_size", "", "bytes that are read, cached and logged together"},
	{"cache_size", "", "page cache of each connection: KiB when negative, else pages"},
	{"mmap_size", "", "bytes of the file that are mapped instead of read"},
	{"wal_autocheckpoint", "", "pages of log after which a commit also moves the log into the file"},
	{"auto_vacuum", "", "0: pages of deleted rows stay in the file for new ones"},
	{"temp_store", "", "where SQLite sorts: 0 and 1 in files, 2 in memory"},
}

// Settings reads back what the writer says, on whose connection every write is made, and what a reader says where it matters to reads.
func (d *database) Settings(ctx context.Context) (drivers.Settings, error) {
	settings := drivers.Settings{Values: []drivers.Setting{
		{Name: "library", Value: library, Why: "SQLite in C takes about two thirds of the processor time of its translation to Go"},
		{Name: "source_id", Value: librarySource()},
		{Name: "file_system", Value: d.filesystem.name, Why: "where the files are; empty when it is of no known kind"},
		{Name: "readers", Value: strconv.Itoa(readersEach(d.config)), Why: "connections that read, for each client"},
	}}
	values := make(map[string]string)
	err := d.writer.exclusive(ctx, func(c *connection) error {
		for _, p := range readBack {
			value, err := c.text("PRAGMA " + p.name)
			if err != nil {
				return fmt.Errorf("read back %s: %w", p.name, err)
			}
			values[p.name] = value
			settings.Values = append(settings.Values, drivers.Setting{Name: p.name, Value: value, Why: p.why})
		}
		return nil
	})
	if err != nil {
		return drivers.Settings{}, err
	}
	settings.Tier, err = d.tierOf(values)
	if err != nil {
		return drivers.Settings{}, err
	}
	r, err := d.openReader()
	if err != nil {
		return drivers.Settings{}, fmt.Errorf("read back a reader's settings: %w", err)
	}
	defer r.close()
	for _, name := range []string{"query_only", "cache_size", "mmap_size"} {
		value, err := r.on.text("PRAGMA " + name)
		if err != nil {
			return drivers.Settings{}, fmt.Errorf("read back a reader's %s: %w", name, err)
		}
		settings.Values = append(settings.Values, drivers.Setting{Name: "reader." + name, Value: value})
	}
	return settings, nil
}

// tierOf says what the settings amount to.
func (d *database) tierOf(values map[string]string) (drivers.Tier, error) {
	if mode := values["journal_mode"]; mode != "wal" {
		return "", fmt.Errorf("journal_mode is %q, not wal: another program has changed the database", mode)
	}
	synchronous, err := strconv.Atoi(values["synchronous"])
	if err != nil {
		return "", fmt.Errorf("read back synchronous: %w", err)
	}
	const full = 2
	if synchronous < full || d.filesystem.volatile || runtime.GOOS == "darwin" && values["fullfsync"] != "1" {
		return drivers.TierProcess, nil
	}
	return drivers.TierOS, nil
}
