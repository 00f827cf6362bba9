package mariadb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/conformance"
	"github.com/durabench/durabench/drivers/drivertest"
	_ "github.com/durabench/durabench/drivers/mariadb"
	"github.com/durabench/durabench/infra/process"
)

// servers are the servers of this test binary, one per tier and profile, started when they are first asked for.
var servers struct {
	sync.Mutex
	byKey map[string]*process.Running
	dir   string
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, running := range servers.byKey {
		if err := process.Stop(context.Background(), running.Dir, false); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	if servers.dir != "" {
		_ = os.RemoveAll(servers.dir)
	}
	os.Exit(code)
}

func engine(tb testing.TB) drivers.Engine {
	tb.Helper()
	return drivertest.Engine(tb, "mariadb")
}

// connect opens a connection of database/sql's beside the driver's.
func connect(endpoint string, credentials drivers.Credentials) (*sql.DB, error) {
	address, database, _ := strings.Cut(strings.TrimPrefix(endpoint, "mysql://"), "/")
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName = "tcp", address, database
	config.User, config.Passwd = credentials.User, credentials.Password
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// ready connects as a run does.
func ready(ctx context.Context, running *process.Running) error {
	db, err := connect(running.Endpoint, running.Credentials)
	if err != nil {
		return err
	}
	return errors.Join(db.PingContext(ctx), db.Close())
}

// directory makes a directory that the account of a server may pass through, which it may not through those of testing.
func directory(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "durabench-mariadb-")
	if err == nil {
		err = os.Chmod(dir, 0o711)
	}
	drivertest.Must(tb, err)
	return dir
}

// start starts a server in a directory of its own, or skips the test where MariaDB is not installed on a developer's machine.
func start(tb testing.TB, dir string, change func(*process.Options)) *process.Running {
	tb.Helper()
	options := process.Options{
		Engine: "MariaDB", Server: engine(tb).Server, RunID: "test", Dir: dir, Tier: drivers.TierOS, Connections: 150, Ready: ready,
		Resources: drivers.Resources{MemoryBytes: 1 << 30, CPUs: 2},
	}
	if change != nil {
		change(&options)
	}
	return drivertest.Start(tb, options)
}

// server returns the shared server of a tier and profile.
func server(tb testing.TB, tier drivers.Tier, profile drivers.Profile) *process.Running {
	tb.Helper()
	return shared(tb, fmt.Sprintf("%s-%v", tier, profile.Optimised), func(o *process.Options) { o.Tier, o.Profile = tier, profile })
}

// searchServer returns the shared server that has vectors.
func searchServer(tb testing.TB) *process.Running {
	tb.Helper()
	return shared(tb, "searches", func(o *process.Options) { o.Binary = drivertest.Trixie(tb, "mariadbd") })
}

// shared returns the server of that name, which is started when it is first asked for.
func shared(tb testing.TB, key string, change func(*process.Options)) *process.Running {
	tb.Helper()
	servers.Lock()
	defer servers.Unlock()
	if running := servers.byKey[key]; running != nil {
		return running
	}
	if servers.dir == "" {
		servers.dir, servers.byKey = directory(tb), make(map[string]*process.Running)
	}
	running := start(tb, servers.dir+"/"+key, change)
	servers.byKey[key] = running
	return running
}

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Harness{
		Engine: engine(t),
		Configure: func(t *testing.T, config *drivers.Config) {
			running := server(t, config.Tier, config.Profile)
			if config.Searches {
				running = searchServer(t)
			}
			config.Endpoint, config.Credentials = running.Endpoint, running.Credentials
		},
		Stall:   stall,
		Refuses: refuses,

		RefusesSearch: refusesSearch,
		ShortVectors:  "MariaDB checks that the square of a vector's length is finite",
		Splits:        map[string]int{conformance.BatchCreate: 21_845, conformance.BatchRead: 10_000, conformance.BatchDelete: 10_000},
	})
}

// refusesSearch tells what MariaDB lacks.
func refusesSearch(s *query.Search) bool {
	if s.Metric != query.Cosine && s.Metric != query.Euclidean || s.Iterative != "" {
		return true
	}
	return s.Index != nil && (s.Index.Vector.Strategy != query.HNSW || s.Index.Vector.Quantisation != "")
}

// refuses tells which scans need an index.
func refuses(s *query.Scan) bool {
	engine, _ := drivers.Lookup("mariadb")
	return engine.Ability.(drivers.IndexNeeder).NeedsIndex(s, query.Index{}) != ""
}

// stall locks the table from a connection of its own.
func stall(t *testing.T, config drivers.Config) (release func()) {
	conn := control(t, config)
	run(t, conn, "LOCK TABLES record WRITE")
	return func() { run(t, conn, "UNLOCK TABLES") }
}

// control opens one connection beside the driver's.
func control(tb testing.TB, config drivers.Config) *sql.Conn {
	tb.Helper()
	db, err := connect(config.Endpoint, config.Credentials)
	drivertest.Must(tb, err)
	conn, err := db.Conn(context.Background())
	drivertest.Must(tb, err)
	tb.Cleanup(func() { _ = errors.Join(conn.Close(), db.Close()) })
	return conn
}

func run(tb testing.TB, conn *sql.Conn, sql string) {
	tb.Helper()
	if _, err := conn.ExecContext(context.Background(), sql); err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
}

// one returns the only value of an answer.
func one(tb testing.TB, conn *sql.Conn, sql string) (value string) {
	tb.Helper()
	if err := conn.QueryRowContext(context.Background(), sql).Scan(&value); err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	return value
}

// small is a configuration on the shared server.
func small(tb testing.TB, clients, threads int, change func(*drivers.Config)) drivers.Config {
	tb.Helper()
	running := server(tb, drivers.TierOS, drivers.Profile{})
	config := drivers.Config{Endpoint: running.Endpoint, Credentials: running.Credentials, Clients: clients, Threads: threads, Tier: drivers.TierOS}
	return drivertest.Small(tb, config, change)
}

func TestEndpointsThatCannotBeUsedSayWhy(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	drivertest.Must(t, err)
	closed := listener.Addr().String()
	drivertest.Must(t, listener.Close())
	base := small(t, 1, 1, nil)
	for _, test := range []struct {
		name   string
		change func(*drivers.Config)
		want   []string
	}{
		{"wrong password", func(c *drivers.Config) { c.Credentials.Password = "not-the-password" }, []string{"1045", "check the user and the password"}},
		{"unknown user", func(c *drivers.Config) { c.Credentials.User = "nobody-of-that-name" }, []string{"nobody-of-that-name", "1045"}},
		{"nobody listens", func(c *drivers.Config) { c.Endpoint = "mysql://" + closed + "/x" }, []string{closed, "connection refused", "check that the server runs"}},
		{"no endpoint", func(c *drivers.Config) { c.Endpoint = "" }, []string{"needs an endpoint", "mariadb://host"}},
		{"another scheme", func(c *drivers.Config) { c.Endpoint = "postgres://localhost/" }, []string{"no form that mariadb knows"}},
		{"a parameter that is none", func(c *drivers.Config) { c.Endpoint += "?sslmode=disable" }, []string{"sslmode"}},
		{"a database that is none", func(c *drivers.Config) { c.Endpoint = "mysql://localhost/a;b" }, []string{`"a;b"`, "letters"}},
		{"an option that is none", func(c *drivers.Config) { c.Options = map[string]string{"connections": "many"} }, []string{"connections"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := base
			test.change(&config)
			_, err := engine(t).Open(t.Context(), config)
			drivertest.Says(t, err, config, test.want...)
		})
	}
}

func TestEveryFormOfEndpointOpens(t *testing.T) {
	base := small(t, 1, 1, nil)
	address := strings.Split(strings.TrimPrefix(base.Endpoint, "mysql://"), "/")[0]
	socket := one(t, control(t, base), "SELECT CONCAT(@@datadir, @@socket)")
	for _, endpoint := range []string{address, address + "/durabench", "mariadb://" + address, "mysql://" + address + "/durabench?tls=false", "mysql:///durabench?socket=" + socket} {
		config := base
		config.Endpoint = endpoint
		if version, err := drivertest.Open(t, engine(t), config).Version(t.Context()); err != nil || !strings.Contains(version, "MariaDB") {
			t.Errorf("%s: version %q, %v", endpoint, version, err)
		}
	}
}

func TestTooManyConnectionsAreRefusedBeforeTheLoad(t *testing.T) {
	config := small(t, 128, 48, nil)
	drivertest.Says(t, drivertest.Open(t, engine(t), config).(drivers.Preflighter).Preflight(t.Context()), config, "128 clients × 48 threads need 6145 connections", "max_connections 170", "at least")
	config = small(t, 4, 4, nil)
	drivertest.Must(t, drivertest.Open(t, engine(t), config).(drivers.Preflighter).Preflight(t.Context()))
}

func TestRowsLargerThanARequestAreRefusedBeforeTheLoad(t *testing.T) {
	template, err := corpus.ParseTemplate(map[string]any{"large": "bytes:33554432"})
	drivertest.Must(t, err)
	c, err := corpus.New(7, template, corpus.KeyInteger, false)
	drivertest.Must(t, err)
	config := small(t, 1, 1, func(config *drivers.Config) { config.Corpus = c })
	drivertest.Says(t, drivertest.Open(t, engine(t), config).(drivers.Preflighter).Preflight(t.Context()), config, "33554", "max_allowed_packet")
}

func TestSocketsAreThoseThatTheServerCounts(t *testing.T) {
	config := small(t, 8, 4, nil)
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	conn := control(t, config)
	const count = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'durabench' AND id <> CONNECTION_ID()"
	before := one(t, conn, count)
	all := drivertest.Clients(t, database, config)
	if seen, sockets := one(t, conn, count), database.(drivers.Socketer).Sockets(); before != "0" || seen != "32" || sockets != 32 || engine(t).Connections(config) != 32 {
		t.Errorf("%s before, %s by the server, %d by the driver, %d declared", before, seen, sockets, engine(t).Connections(config))
	}
	for _, client := range all {
		drivertest.Must(t, client.Close())
	}
	if sockets := database.(drivers.Socketer).Sockets(); sockets != 0 {
		t.Errorf("%d sockets after close", sockets)
	}
}

func TestTiersAreSetAndReadBack(t *testing.T) {
	for _, tier := range []drivers.Tier{drivers.TierOS, drivers.TierProcess} {
		running := server(t, tier, drivers.Profile{})
		config := small(t, 1, 1, func(c *drivers.Config) {
			c.Endpoint, c.Credentials, c.Tier = running.Endpoint, running.Credentials, tier
		})
		settings, err := drivertest.Open(t, engine(t), config).Settings(t.Context())
		drivertest.Must(t, err)
		drivertest.Must(t, settings.Require(tier))
		values := make(map[string]string)
		for _, s := range settings.Values {
			values[s.Name] = s.Value
			if s.Why == "" {
				t.Errorf("setting %s does not say why", s.Name)
			}
		}
		for _, name := range []string{"innodb_flush_log_at_trx_commit", "innodb_doublewrite", "log_bin", "sync_binlog", "innodb_buffer_pool_size", "max_connections", "sql_mode", "tls", "storage engine"} {
			if values[name] == "" {
				t.Errorf("setting %s is missing", name)
			}
		}
	}
}

// Somebody may change the server under a run's feet: the tier is what it says now, and a table that InnoDB does not keep has none.
func TestTierIsReadBackAndNotRemembered(t *testing.T) {
	config := small(t, 1, 1, nil)
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	conn := control(t, config)
	tier := func() drivers.Tier {
		settings, err := database.Settings(t.Context())
		drivertest.Must(t, err)
		return settings.Tier
	}
	for value, want := range map[string]drivers.Tier{"0": drivers.TierNone, "2": drivers.TierProcess, "1": drivers.TierOS} {
		run(t, conn, "SET GLOBAL innodb_flush_log_at_trx_commit = "+value)
		if got := tier(); got != want {
			t.Errorf("innodb_flush_log_at_trx_commit %s gives tier %q", value, got)
		}
	}
	run(t, conn, "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	run(t, conn, "ALTER TABLE record ENGINE=Aria")
	if got := tier(); got != "" {
		t.Errorf("a table that InnoDB does not keep has tier %q", got)
	}
	drivertest.Must(t, database.Prepare(t.Context()))
}

func TestATableThatIsNotOursIsLeftAlone(t *testing.T) {
	config := small(t, 1, 1, nil)
	conn := control(t, config)
	for _, theirs := range []string{"CREATE TABLE record (x INT)", "CREATE VIEW record AS SELECT 1 AS x"} {
		run(t, conn, "DROP TABLE IF EXISTS record")
		run(t, conn, theirs)
		drivertest.Says(t, drivertest.Open(t, engine(t), config).Prepare(t.Context()), config, "not a table of durabench's")
		if got := one(t, conn, "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'record' AND table_schema = 'durabench'"); got != "1" {
			t.Errorf("%s: it is gone", theirs)
		}
		run(t, conn, "DROP VIEW IF EXISTS record")
		run(t, conn, "DROP TABLE IF EXISTS record")
	}
}

func TestATableOfAnotherSpecIsRefused(t *testing.T) {
	config := small(t, 1, 1, nil)
	drivertest.Must(t, drivertest.Open(t, engine(t), config).Prepare(t.Context()))
	template, err := corpus.ParseTemplate(map[string]any{"name": "string:11", "number": "int"})
	drivertest.Must(t, err)
	other, err := corpus.New(7, template, corpus.KeyInteger, false)
	drivertest.Must(t, err)
	config.Corpus = other
	_, err = drivertest.Open(t, engine(t), config).Client(t.Context(), 0)
	drivertest.Says(t, err, config, "another value template")
}

func TestALostConnectionIsOfItsClassAndReplaced(t *testing.T) {
	config := small(t, 1, 4, nil)
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	client := drivertest.Clients(t, database, config)[0]
	var key corpus.KeyBuffer
	var row corpus.Row
	var record drivers.Record
	config.Corpus.Row(&row, 0, 0)
	drivertest.Must(t, client.Create(t.Context(), config.Corpus.Key(&key, 0), &row))
	conn := control(t, config)
	own := one(t, conn, "SELECT CONNECTION_ID()")
	rows, err := conn.QueryContext(t.Context(), "SELECT id FROM information_schema.processlist WHERE db = 'durabench'")
	drivertest.Must(t, err)
	var ids []string
	for rows.Next() {
		var id string
		drivertest.Must(t, rows.Scan(&id))
		if id != own {
			ids = append(ids, id)
		}
	}
	drivertest.Must(t, rows.Err())
	if len(ids) != 4 {
		t.Fatalf("connections %v, want 4", ids)
	}
	for _, id := range ids {
		run(t, conn, "KILL "+id)
	}
	time.Sleep(100 * time.Millisecond)
	failures := 0
	for range 10 {
		err := client.Read(t.Context(), config.Corpus.Key(&key, 0), &record)
		if err == nil {
			continue
		}
		failures++
		if class := drivers.ErrorClassOf(err); class != drivers.ClassConnection {
			t.Errorf("class %q of %v", class, err)
		}
	}
	if failures > 4 {
		t.Errorf("%d reads failed, with 4 connections", failures)
	}
	drivertest.Must(t, client.Decode(&record, &row))
}

func TestRefusalsHaveTheirClass(t *testing.T) {
	config := small(t, 1, 1, nil)
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	conn := control(t, config)
	run(t, conn, "SET GLOBAL innodb_lock_wait_timeout = 1")
	client := drivertest.Clients(t, database, config)[0]
	run(t, conn, "SET GLOBAL innodb_lock_wait_timeout = 50")
	var key corpus.KeyBuffer
	var row corpus.Row
	config.Corpus.Row(&row, 0, 0)
	drivertest.Must(t, client.Create(t.Context(), config.Corpus.Key(&key, 0), &row))
	run(t, conn, "BEGIN")
	run(t, conn, "UPDATE record SET number = 1")
	err := client.Update(t.Context(), config.Corpus.Key(&key, 0), &row)
	run(t, conn, "ROLLBACK")
	if class := drivers.ErrorClassOf(err); class != drivers.ClassConflict {
		t.Errorf("class %q of %v", class, err)
	}
	drivertest.Must(t, client.Update(t.Context(), config.Corpus.Key(&key, 0), &row))
	// Keys of another kind are refused before they are sent, and are no reason to lose the connection.
	drivertest.Says(t, client.Delete(t.Context(), corpus.Key{}), config, "the table's key is of kind")
	drivertest.Must(t, client.Delete(t.Context(), config.Corpus.Key(&key, 0)))
}

// A fresh data directory has a root account without a password, which anybody on the machine could use.
func TestNoAccountIsOpen(t *testing.T) {
	config := small(t, 1, 1, nil)
	for _, user := range []string{"root", "", "mariadb.sys", "mysql"} {
		db, err := connect(config.Endpoint, drivers.Credentials{User: user})
		drivertest.Must(t, err)
		if err := db.Ping(); err == nil {
			t.Errorf("account %q lets anybody in", user)
		}
		_ = db.Close()
	}
}
