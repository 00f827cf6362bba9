package mysqlbase

import (
	"context"
	"fmt"
	"strings"

	"github.com/durabench/durabench/drivers"
)

// readBack is what is read back of the server, and why. Settings that a server does not have are left out.
var readBack = []drivers.Setting{
	{Name: "innodb_flush_log_at_trx_commit", Why: "1: the log is flushed to the device at each commit; 2: handed to the operating system; 0: kept in the server for up to a second"},
	{Name: "innodb_doublewrite", Why: "off: a crash of the operating system can leave torn pages that nothing mends"},
	{Name: "innodb_flush_method", Why: "how pages and log reach the device, and whether through the page cache"},
	{Name: "innodb_flush_log_at_timeout", Why: "seconds between flushes that no commit waits for"},
	{Name: "log_bin", Why: "every change is written a second time, for replicas"},
	{Name: "sync_binlog", Why: "1: that second log is flushed at each commit as well"},
	{Name: "binlog_format", Why: "how much goes to that log"},
	{Name: "binlog_row_image", Why: "how much of a changed row goes to that log"},
	{Name: "innodb_buffer_pool_size", Why: "the server's own cache of pages"},
	{Name: "innodb_buffer_pool_instances", Why: "parts of the cache with locks of their own"},
	{Name: "innodb_log_file_size", Why: "log before changed pages have to be written"},
	{Name: "innodb_redo_log_capacity", Why: "log before changed pages have to be written"},
	{Name: "innodb_log_buffer_size", Why: "memory for log that is not written yet"},
	{Name: "innodb_io_capacity", Why: "page writes per second that the server thinks the device takes in the background"},
	{Name: "innodb_io_capacity_max", Why: "the same when it is behind"},
	{Name: "innodb_change_buffering", Why: "changes of secondary indexes that are put off"},
	{Name: "innodb_adaptive_hash_index", Why: "a hash index over pages that are read often"},
	{Name: "mhnsw_max_cache_size", Why: "memory for the graph of a vector index: searches read from the table again what does not fit"},
	{Name: "innodb_page_size", Why: "bytes of a page"},
	{Name: "innodb_file_per_table", Why: "whether the table has a file of its own"},
	{Name: "innodb_lock_wait_timeout", Why: "seconds after which an operation that waits for a row is refused"},
	{Name: "transaction_isolation", Why: "stricter levels lock more"},
	{Name: "tx_isolation", Why: "stricter levels lock more"},
	{Name: "autocommit", Why: "every operation is a transaction of its own"},
	{Name: "sql_mode", Why: "what is refused and what is altered silently"},
	{Name: "time_zone", Why: "moments are written in UTC"},
	{Name: "character_set_client", Why: "the encoding of requests"},
	{Name: "collation_connection", Why: "how texts of requests are compared"},
	{Name: "max_connections", Why: "bounds clients × threads"},
	{Name: "max_allowed_packet", Why: "bytes of the largest request or answer"},
	{Name: "max_prepared_stmt_count", Why: "prepared statements of all connections together"},
	{Name: "thread_handling", Why: "a thread per connection or a pool of them"},
	{Name: "query_cache_type", Why: "answers are kept, so that reads need not be done"},
	{Name: "innodb_ft_min_token_size", Why: "shorter words are not in full-text indexes"},
	{Name: "innodb_ft_max_token_size", Why: "longer words are not in full-text indexes"},
	{Name: "innodb_ft_enable_stopword", Why: "off in the session: common words are in full-text indexes too"},
	{Name: "div_precision_increment", Why: "decimal places of averages beyond those of what is averaged: of the session, for answers that can be checked"},
	{Name: "max_sort_length", Why: "bytes of a text by which rows are ordered: the session has as many as the longest text"},
	{Name: "performance_schema", Why: "statements are watched, which costs time in each"},
	{Name: "general_log", Why: "logging every statement costs time in each"},
	{Name: "slow_query_log", Why: "logs slow statements"},
	{Name: "version_comment", Why: "who built the server"},
	{Name: "version_compile_machine", Why: "for which processor"},
}

// Settings reads back a connection that is set up like the measured ones.
func (d *database) Settings(ctx context.Context) (settings drivers.Settings, err error) {
	err = d.control(ctx, "read back the settings", func(c *controller) error {
		names := make([]string, len(readBack))
		for i, s := range readBack {
			names[i] = "'" + s.Name + "'"
		}
		rows, err := c.query("SHOW VARIABLES WHERE Variable_name IN (" + strings.Join(names, ", ") + ")")
		if err != nil {
			return err
		}
		got := make(map[string]string)
		for _, row := range rows {
			got[row[0]] = row[1]
		}
		if settings.Tier, settings.Reason, err = tierIn(got); err != nil {
			return err
		}
		for _, s := range readBack {
			if value, known := got[s.Name]; known {
				settings.Values = append(settings.Values, drivers.Setting{Name: s.Name, Value: value, Why: s.Why})
			}
		}
		cipher, err := c.query("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
		if err != nil {
			return err
		}
		value := "off"
		if len(cipher) > 0 && cipher[0][1] != "" {
			value = cipher[0][1]
		}
		settings.Values = append(settings.Values, drivers.Setting{Name: "tls", Value: value, Why: "encryption costs time on both sides of every operation"})
		settings.Values = append(settings.Values, drivers.Setting{Name: "connection", Value: d.endpoint.network, Why: "a Unix-domain socket is quicker than TCP"})
		engine, err := c.query(fmt.Sprintf("SELECT engine FROM information_schema.tables WHERE table_schema = '%s' AND table_name = '%s'", d.endpoint.database, drivers.Table))
		if err != nil {
			return err
		}
		storage := "not made yet"
		if len(engine) > 0 {
			storage = engine[0][0]
		}
		if storage != "InnoDB" && storage != "not made yet" {
			settings.Tier, settings.Reason = "", "the table is kept by "+storage
		}
		settings.Values = append(settings.Values, drivers.Setting{Name: "storage engine", Value: storage, Why: "who keeps the table: the durability tier is that of InnoDB"})
		return nil
	})
	return settings, err
}

// tierIn tells the durability tier that settings give, and from what.
//
//   - os: InnoDB flushes its log at each commit (innodb_flush_log_at_trx_commit 1, or MariaDB's 3) and mends torn pages
//     (innodb_doublewrite), and the binary log, where there is one, is flushed with it (sync_binlog 1): else the two can disagree after a crash
//     of the operating system, and a commit that only one of them has is lost.
//   - process: the log is handed to the operating system before the commit is acknowledged (2), so it is there after kill -9 of the server.
//   - none: the log of a commit may be in the server's own memory for up to a second (0).
func tierIn(got map[string]string) (drivers.Tier, string, error) {
	flush, doublewrite, binary := got["innodb_flush_log_at_trx_commit"], strings.ToUpper(got["innodb_doublewrite"]), got["log_bin"]
	if flush == "" || doublewrite == "" {
		return "", "", fmt.Errorf("the server does not tell innodb_flush_log_at_trx_commit and innodb_doublewrite")
	}
	reason := fmt.Sprintf("innodb_flush_log_at_trx_commit %s, innodb_doublewrite %s, log_bin %s", flush, doublewrite, binary)
	binaryOn := strings.EqualFold(binary, "ON") || binary == "1"
	if binaryOn {
		reason += ", sync_binlog " + got["sync_binlog"]
	}
	torn := doublewrite == "OFF" || doublewrite == "0" || doublewrite == "DETECT_ONLY"
	switch {
	case flush == "0":
		return drivers.TierNone, reason, nil
	case flush == "2" || torn || binaryOn && got["sync_binlog"] != "1":
		return drivers.TierProcess, reason, nil
	}
	return drivers.TierOS, reason, nil
}
