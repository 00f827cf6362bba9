package respbase

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/durabench/durabench/drivers"
)

// readBack is what is read back of the server's configuration, and why. What a server does not know is left out.
var readBack = []drivers.Setting{
	{Name: "appendonly", Why: "no: nothing is written to disk, but for snapshots"},
	{Name: "appendfsync", Why: "when the log of commands is flushed: always, everysec or no; it matters with appendonly"},
	{Name: "no-appendfsync-on-rewrite", Why: "yes: nothing is flushed while the log is rewritten in the background"},
	{Name: "save", Why: "snapshots: each forks the server and writes everything"},
	{Name: "auto-aof-rewrite-percentage", Why: "growth of the log at which it is rewritten in the background"},
	{Name: "maxmemory", Why: "bytes at which keys are evicted or writes refused; 0 is no limit"},
	{Name: "maxmemory-policy", Why: "anything but noeviction may drop rows"},
	{Name: "io-threads", Why: "threads that read and write sockets; commands run on one"},
	{Name: "io-threads-do-reads", Why: "whether those threads also read and parse"},
	{Name: "server-threads", Why: "KeyDB: threads that serve clients and run commands, one at a time"},
	{Name: "min-clients-per-thread", Why: "KeyDB: clients that come to one thread before the next gets any"},
	{Name: "hz", Why: "how often background work runs"},
	{Name: "activerehashing", Why: "spends a share of the time on resizing tables"},
	{Name: "activedefrag", Why: "moves values in memory while commands run"},
	{Name: "lazyfree-lazy-user-del", Why: "yes: DEL frees large values in the background"},
	{Name: "maxclients", Why: "bounds the number of connections"},
	{Name: "tcp-backlog", Why: "connections that may wait to be accepted"},
	{Name: "databases", Why: "number of databases"},
	{Name: "slowlog-log-slower-than", Why: "microseconds from which commands are logged"},
	{Name: "vset-force-single-threaded-execution", Why: "yes: searches of vector sets run one after another"},
	{Name: "search-workers", Why: "threads of the query engine that run searches"},
	{Name: "search-timeout", Why: "milliseconds after which the query engine answers with what it has; searches here have no such limit"},
	{Name: "latency-tracking", Why: "a histogram of each command costs a little time in it"},
}

// Settings reads back the configuration, and from INFO what it tells of the server.
func (d *database) Settings(ctx context.Context) (settings drivers.Settings, err error) {
	err = d.control(ctx, "read back the settings", func(c rueidis.Client) error {
		info, err := readInfo(ctx, c)
		if err != nil {
			return err
		}
		got, denied, err := readConfig(ctx, c)
		if err != nil {
			return err
		}
		settings.Tier, settings.Reason = tierIn(got, info, denied)
		for _, s := range readBack {
			if value, known := got[s.Name]; known {
				settings.Values = append(settings.Values, drivers.Setting{Name: s.Name, Value: value, Why: s.Why})
			}
		}
		if denied != nil {
			settings.Values = append(settings.Values, drivers.Setting{Name: "configuration", Value: "unreadable: " + denied.Error(), Why: "the server does not let this user read its settings"})
		}
		for _, fact := range []drivers.Setting{
			{Name: "aof_enabled", Why: "whether commands are logged to disk, from INFO"},
			{Name: "loading", Why: "1: the server is still reading its data"},
			{Name: "role", Why: "a replica takes no writes"},
			{Name: "connected_slaves", Why: "replicas that every write is sent to"},
			{Name: "mem_allocator", Why: "the allocator decides how much memory values take"},
			{Name: "multiplexing_api", Why: "how sockets are waited for"},
			{Name: "io_threads_active", Why: "whether the I/O threads are at work"},
			{Name: "thread_count", Why: "Dragonfly: threads, each with a share of the keys"},
		} {
			if value, known := info[fact.Name]; known {
				fact.Value = value
				settings.Values = append(settings.Values, fact)
			}
		}
		encryption := "off"
		if d.server.tls != nil {
			encryption = "on"
		}
		settings.Values = append(settings.Values,
			drivers.Setting{Name: "tls", Value: encryption, Why: "encryption costs time on both sides of every operation"},
			drivers.Setting{Name: "connection", Value: d.server.network, Why: "a Unix-domain socket is quicker than TCP"})
		return nil
	})
	return settings, err
}

// readConfig reads the configuration, as far as the server knows the names. denied is why it does not let us.
func readConfig(ctx context.Context, c rueidis.Client) (got map[string]string, denied, err error) {
	got = make(map[string]string)
	for _, s := range readBack {
		pairs, err := c.Do(ctx, c.B().ConfigGet().Parameter(s.Name).Build()).AsStrMap()
		if refusal, is := rueidis.IsRedisErr(err); is {
			return got, refusal, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", s.Name, err)
		}
		if value, known := pairs[s.Name]; known {
			got[s.Name] = value
		}
	}
	return got, nil, nil
}

// readInfo reads all sections of INFO.
func readInfo(ctx context.Context, c rueidis.Client) (map[string]string, error) {
	text, err := c.Do(ctx, c.B().Info().Build()).ToString()
	if err != nil {
		return nil, fmt.Errorf("read INFO: %w", err)
	}
	info := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			info[name] = value
		}
	}
	return info, nil
}

// tierIn tells the durability tier that settings give, and why. The server logs commands to a file (appendonly) in the same turn of its loop in which
// it runs them, before it answers. So does each thread of KeyDB: it flushes what all have logged, under their common lock, before it answers its own
// clients (beforeSleep in server.cpp of 6.3.4).
//
//   - os: with appendfsync always it also flushes the file before it answers, unless no-appendfsync-on-rewrite lets it pass while the
//     file is rewritten.
//   - process: with appendfsync no it has handed the commands to the operating system before it answers, so they are there after kill -9.
//   - none: with appendfsync everysec it has not, when it answers during the flush of each second. Then it puts off writing until the
//     flush is through, for up to two seconds (flushAppendOnlyFile in aof.c), and what it acknowledged meanwhile is in its own memory alone.
//     That is why the profile for tier process sets appendfsync no: it is the safer one of the two against kill -9, although the weaker one
//     against a crash of the operating system, which this tier does not promise anything about.
func tierIn(got, info map[string]string, denied error) (drivers.Tier, string) {
	switch {
	case info["dragonfly_version"] != "":
		return drivers.TierNone, "Dragonfly keeps no log of commands"
	case denied != nil && info["aof_enabled"] == "0":
		return drivers.TierNone, "INFO says that commands are not logged"
	case denied != nil:
		return "", "its settings cannot be read: " + denied.Error()
	case got["appendonly"] == "":
		return "", "it does not tell its setting appendonly"
	case got["appendonly"] == "no":
		return drivers.TierNone, "appendonly no"
	case got["appendfsync"] == "always" && got["no-appendfsync-on-rewrite"] == "yes":
		return drivers.TierProcess, "appendfsync always, but no-appendfsync-on-rewrite yes lets commands pass unflushed while the log is rewritten"
	case got["appendfsync"] == "always":
		return drivers.TierOS, "appendonly yes, appendfsync always"
	case got["appendfsync"] == "no":
		return drivers.TierProcess, "appendonly yes, appendfsync no"
	case got["appendfsync"] == "everysec":
		return drivers.TierNone, "appendfsync everysec: what is acknowledged during the flush of each second, for up to 2 s, is in the server's memory alone; " +
			"set appendfsync no for tier process, or always for tier os"
	}
	return "", fmt.Sprintf("appendfsync is %q, which is not known", got["appendfsync"])
}
