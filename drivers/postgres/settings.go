package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/durabench/durabench/drivers"
)

// readBack is what is read back of the server, and why. Settings that a server does not know are left out.
var readBack = []drivers.Setting{
	{Name: "fsync", Why: "off: nothing is flushed to the device, and a crash of the operating system can destroy the database"},
	{Name: "synchronous_commit", Why: "off: a commit is acknowledged before its log is written, let alone flushed"},
	{Name: "full_page_writes", Why: "whole pages in the log after each checkpoint: without, a crash of the operating system can leave torn pages"},
	{Name: "wal_sync_method", Why: "how the log is flushed to the device"},
	{Name: "wal_level", Why: "how much is written to the log"},
	{Name: "commit_delay", Why: "microseconds that a commit waits for others to share its flush"},
	{Name: "commit_siblings", Why: "open transactions that must be there for commit_delay to apply"},
	{Name: "synchronous_standby_names", Why: "standbys that a commit waits for"},
	{Name: "wal_compression", Why: "trades CPU time for less log"},
	{Name: "wal_buffers", Why: "memory for log that is not written yet"},
	{Name: "max_wal_size", Why: "log between two checkpoints: small values mean frequent checkpoints under writes"},
	{Name: "checkpoint_timeout", Why: "time between two checkpoints, which write all changed pages"},
	{Name: "checkpoint_completion_target", Why: "share of that time over which a checkpoint spreads its writes"},
	{Name: "shared_buffers", Why: "the server's own cache of pages"},
	{Name: "effective_cache_size", Why: "what the planner takes the caches to hold"},
	{Name: "work_mem", Why: "memory of each sort or hash before it spills to disk"},
	{Name: "maintenance_work_mem", Why: "memory of index builds and vacuum"},
	{Name: "random_page_cost", Why: "tilts the planner between index and sequential scans"},
	{Name: "effective_io_concurrency", Why: "reads in advance in bitmap scans"},
	{Name: "jit", Why: "compiles expensive queries, which delays them first"},
	{Name: "plan_cache_mode", Why: "whether prepared statements are planned once or each time"},
	{Name: "autovacuum", Why: "cleans up behind updates and deletes, also while a leg runs"},
	{Name: "max_connections", Why: "bounds clients × threads; each connection is a process"},
	{Name: "max_worker_processes", Why: "bounds parallel queries and index builds"},
	{Name: "max_parallel_maintenance_workers", Why: "processes that help to build one index"},
	{Name: "max_parallel_workers_per_gather", Why: "processes that one query may use"},
	{Name: "huge_pages", Why: "fewer misses in address translation with a large shared_buffers"},
	{Name: "data_checksums", Why: "every page is checked when read and summed when written"},
	{Name: "default_transaction_isolation", Why: "stricter levels track conflicts and may refuse commits"},
	{Name: "statement_timeout", Why: "ends operations that take longer"},
	{Name: "log_min_duration_statement", Why: "-1 unless slow statements are logged"},
	{Name: "log_statement", Why: "logging every statement costs time in each"},
	{Name: "shared_preload_libraries", Why: "extensions that run in every statement"},
	{Name: "server_encoding", Why: "text is converted unless it is UTF8"},
	{Name: "lc_collate", Why: "how text is compared; keys are compared by bytes"},
	{Name: "block_size", Why: "bytes of a page"},
}

// Settings reads back a session that is set up like the measured ones.
func (d *database) Settings(ctx context.Context) (settings drivers.Settings, err error) {
	err = d.control(ctx, "read back the settings", func(conn *pgconn.PgConn) error {
		got := make(map[string]string)
		names := make([]string, len(readBack))
		for i, s := range readBack {
			names[i] = "'" + s.Name + "'"
		}
		rows, err := ask(ctx, conn, "SELECT name, current_setting(name, true) FROM unnest(ARRAY["+strings.Join(names, ", ")+"]) AS name")
		if err != nil {
			return err
		}
		for _, row := range rows {
			got[row[0]] = row[1]
		}
		if settings.Tier, err = tierIn(got); err != nil {
			return err
		}
		settings.Reason = fmt.Sprintf("fsync %s, synchronous_commit %s, full_page_writes %s", got["fsync"], got["synchronous_commit"], got["full_page_writes"])
		for _, s := range readBack {
			if value, known := got[s.Name]; known && (value != "" || s.Name == "synchronous_standby_names" || s.Name == "shared_preload_libraries") {
				settings.Values = append(settings.Values, drivers.Setting{Name: s.Name, Value: value, Why: s.Why})
			}
		}
		facts := []struct{ name, why, sql string }{
			{"ssl", "encryption costs time on both sides of every operation",
				"SELECT CASE WHEN ssl THEN version || ' ' || cipher ELSE 'off' END FROM pg_stat_ssl WHERE pid = pg_backend_pid()"},
			{"connection", "a Unix-domain socket is quicker than TCP", "SELECT CASE WHEN inet_client_addr() IS NULL THEN 'unix socket' ELSE 'tcp' END"},
			{"table", "unlogged and temporary tables lose their rows in a crash",
				fmt.Sprintf("SELECT coalesce((SELECT CASE relpersistence WHEN 'p' THEN 'logged' WHEN 'u' THEN 'unlogged' ELSE relpersistence::text END FROM pg_class WHERE oid = to_regclass('%s')), 'not made yet')", tableName)},
		}
		if d.schema.searched {
			facts = append(facts, struct{ name, why, sql string }{"pgvector", "what finds nearest neighbours",
				"SELECT coalesce((SELECT extversion FROM pg_extension WHERE extname = '" + extension + "'), 'not created yet')"})
		}
		for _, fact := range facts {
			rows, err := ask(ctx, conn, fact.sql)
			if err != nil {
				return err
			}
			value := "unknown"
			if len(rows) > 0 {
				value = rows[0][0]
			}
			if fact.name == "table" && value != "logged" && value != "not made yet" {
				settings.Tier, settings.Reason = drivers.TierNone, "the table is "+value
			}
			settings.Values = append(settings.Values, drivers.Setting{Name: fact.name, Value: value, Why: fact.why})
		}
		return nil
	})
	return settings, err
}

// tierIn tells the durability tier that settings give.
//
//   - os: the log of a commit is flushed before it is acknowledged. That takes synchronous_commit other than off (on, local, remote_write and
//     remote_apply all flush here) and fsync on; and full_page_writes, without which a crash can leave pages that the log cannot mend.
//   - process: the log is handed to the operating system before the commit is acknowledged, so it is there after kill -9 of the server, which
//     replays it. That is synchronous_commit other than off with fsync off.
//   - none: with synchronous_commit off, acknowledged commits are for a while only in the server's own memory, whatever fsync is.
//     (PostgreSQL's crash safety is another matter: it never loses more than those, and never half a transaction.)
func tierIn(got map[string]string) (drivers.Tier, error) {
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if got[name] == "" {
			return "", fmt.Errorf("the server does not tell its setting %s", name)
		}
	}
	switch {
	case got["synchronous_commit"] == "off":
		return drivers.TierNone, nil
	case got["fsync"] == "on" && got["full_page_writes"] == "on":
		return drivers.TierOS, nil
	}
	return drivers.TierProcess, nil
}
