package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
	"github.com/durabench/durabench/infra/process"
)

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
	address := strings.TrimPrefix(strings.Split(base.Endpoint, "/postgres?")[0], "postgres://")
	for _, test := range []struct {
		name   string
		change func(*drivers.Config)
		want   []string
	}{
		{"wrong password", func(c *drivers.Config) { c.Credentials.Password = "not-the-password" }, []string{address, "password authentication failed", "28P01", "check the user and the password"}},
		{"unknown user", func(c *drivers.Config) { c.Credentials.User = "nobody-of-that-name" }, []string{address, "nobody-of-that-name", "28P01"}},
		{"unknown database", func(c *drivers.Config) { c.Endpoint = "postgres://" + address + "/no_such?sslmode=disable" }, []string{address, "no_such", "3D000", "name a database"}},
		{"nobody listens", func(c *drivers.Config) { c.Endpoint = "postgres://" + closed + "/postgres" }, []string{closed, "connection refused", "check that the server runs"}},
		{"no endpoint", func(c *drivers.Config) { c.Endpoint = "" }, []string{"needs an endpoint", "postgres://host"}},
		{"another scheme", func(c *drivers.Config) { c.Endpoint = "mysql://localhost/" }, []string{"no form that postgres knows"}},
		{"a setting that is none", func(c *drivers.Config) { c.Endpoint = "host=localhost port=none" }, []string{"endpoint", "port"}},
		{"an option that is none", func(c *drivers.Config) { c.Options = map[string]string{"connections": "many"} }, []string{"connections", `"thread", "client"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := base
			test.change(&config)
			begin := time.Now()
			_, err := engine(t).Open(t.Context(), config)
			drivertest.Says(t, err, config, test.want...)
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestEveryFormOfEndpointOpens(t *testing.T) {
	config := small(t, 1, 1, nil)
	address := strings.TrimPrefix(strings.Split(config.Endpoint, "/postgres?")[0], "postgres://")
	host, port, err := net.SplitHostPort(address)
	drivertest.Must(t, err)
	for _, endpoint := range []string{
		"postgres://" + address + "/postgres", "postgresql://" + address + "/postgres?sslmode=prefer&connect_timeout=3",
		fmt.Sprintf("host=%s port=%s dbname=postgres sslmode=disable", host, port), "postgres://ignored:ignored@" + address + "/postgres",
	} {
		config.Endpoint = endpoint
		version, err := drivertest.Open(t, engine(t), config).Version(t.Context())
		if err != nil || version == "" {
			t.Errorf("%s: version %q, %v", endpoint, version, err)
		}
	}
}

func TestTooManyConnectionsAreRefusedBeforeTheLoad(t *testing.T) {
	running := private(t, func(o *process.Options) {
		described := *o.Server
		command := described.Command
		described.Command = func(l drivers.Launch) []string { return append(command(l), "-c", "max_connections=20") }
		o.Server = &described
	})
	on := func(c *drivers.Config) { c.Endpoint, c.Credentials = running.Endpoint, running.Credentials }
	config := small(t, 128, 1, on)
	err := drivertest.Open(t, engine(t), config).(drivers.Preflighter).Preflight(t.Context())
	drivertest.Says(t, err, config, "128 clients × 1 threads need 129 connections", "17 left", "max_connections 20", "3 reserved", "0 in use", "to at least 132", "fewer clients")

	config = small(t, 4, 8, on)
	drivertest.Says(t, drivertest.Open(t, engine(t), config).(drivers.Preflighter).Preflight(t.Context()), config, "need 33 connections", `connections = "client"`, "which needs 5")
	config.Options = map[string]string{"connections": "client"}
	drivertest.Must(t, drivertest.Open(t, engine(t), config).(drivers.Preflighter).Preflight(t.Context()))

	// Others' connections count.
	other := control(t, config)
	defer other.Close(context.Background())
	config = small(t, 16, 1, on)
	drivertest.Says(t, drivertest.Open(t, engine(t), config).(drivers.Preflighter).Preflight(t.Context()), config, "16 left", "1 in use")

	// As do limits of the user and the database.
	run(t, other, "CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 3")
	run(t, other, "CREATE DATABASE narrow CONNECTION LIMIT 4 OWNER few")
	config = small(t, 3, 1, on)
	config.Credentials = drivers.Credentials{User: "few", Password: "few"}
	drivertest.Says(t, drivertest.Open(t, engine(t), config).(drivers.Preflighter).Preflight(t.Context()), drivers.Config{}, "the user", "may have 3", "CONNECTION LIMIT")
	config = small(t, 4, 1, on)
	config.Endpoint = strings.Replace(config.Endpoint, "/postgres?", "/narrow?", 1)
	drivertest.Says(t, drivertest.Open(t, engine(t), config).(drivers.Preflighter).Preflight(t.Context()), config, "the database", "may have 4", "CONNECTION LIMIT")

	// And should it come to that all the same, the refusal is of class connection.
	config = small(t, 18, 1, on)
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	var refusal error
	for i := range config.Clients {
		client, err := database.Client(t.Context(), i)
		if err != nil {
			refusal = err
			break
		}
		defer client.Close()
	}
	// The user is a superuser, whom the last three are reserved for.
	if refusal != nil && drivers.ErrorClassOf(refusal) != drivers.ClassConnection {
		t.Errorf("class %q of %v", drivers.ErrorClassOf(refusal), refusal)
	}
}

func TestSocketsAreThoseThatTheServerCounts(t *testing.T) {
	for _, test := range []struct {
		connections      string
		clients, threads int
		want             int
	}{{"thread", 8, 4, 32}, {"client", 8, 4, 8}, {"thread", 3, 1, 3}, {"client", 3, 1, 3}} {
		config := small(t, test.clients, test.threads, func(c *drivers.Config) { c.Options = map[string]string{"connections": test.connections} })
		database := drivertest.Open(t, engine(t), config)
		drivertest.Must(t, database.Prepare(t.Context()))
		all := drivertest.Clients(t, database, config)
		conn := control(t, config)
		want := fmt.Sprint(test.want)
		var seen []string
		// A connection that was closed just before takes the server a moment to end.
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			seen = run(t, conn, "SELECT count(*), count(*) FILTER (WHERE application_name = 'durabench') FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")[0]
			if seen[0] == want || time.Now().After(deadline) {
				break
			}
		}
		if sockets := database.(drivers.Socketer).Sockets(); sockets != test.want || seen[0] != want || seen[1] != want || engine(t).Connections(config) != test.want {
			t.Errorf("%+v: %d sockets by the driver, %d declared, %v by the server", test, sockets, engine(t).Connections(config), seen)
		}
		_ = conn.Close(context.Background())
		for _, client := range all {
			drivertest.Must(t, client.Close())
		}
		if sockets := database.(drivers.Socketer).Sockets(); sockets != 0 {
			t.Errorf("%+v: %d sockets after close", test, sockets)
		}
		gone(t, config)
	}
}

// gone waits until the server has noticed that our connections are closed.
func gone(t *testing.T, config drivers.Config) {
	t.Helper()
	conn := control(t, config)
	defer conn.Close(context.Background())
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := run(t, conn, "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'durabench%'")[0][0]
		if left == "0" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s sessions are left", left)
		}
	}
}

func TestTiersAreSetAndReadBack(t *testing.T) {
	for _, test := range []struct {
		server, asked, got drivers.Tier
	}{
		{drivers.TierOS, drivers.TierOS, drivers.TierOS},
		{drivers.TierProcess, drivers.TierProcess, drivers.TierProcess},
		{drivers.TierNone, drivers.TierNone, drivers.TierNone},
		// What a session can set, it sets, on whatever server.
		{drivers.TierOS, drivers.TierNone, drivers.TierNone},
		{drivers.TierNone, drivers.TierProcess, drivers.TierProcess},
		// What belongs to the server, it only reads.
		{drivers.TierOS, drivers.TierProcess, drivers.TierOS},
		{drivers.TierProcess, drivers.TierOS, drivers.TierProcess},
	} {
		running := server(t, test.server, drivers.Profile{})
		config := small(t, 2, 2, func(c *drivers.Config) {
			c.Endpoint, c.Credentials, c.Tier = running.Endpoint, running.Credentials, test.asked
		})
		database := drivertest.Open(t, engine(t), config)
		settings, err := database.Settings(t.Context())
		drivertest.Must(t, err)
		if settings.Tier != test.got || (settings.Require(test.asked) == nil) != (test.got == test.asked) {
			t.Errorf("%+v: settings give %q, require says %v", test, settings.Tier, settings.Require(test.asked))
		}
		values := make(map[string]string)
		for _, s := range settings.Values {
			values[s.Name] = s.Value
			if s.Why == "" {
				t.Errorf("setting %s does not say why", s.Name)
			}
		}
		for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "shared_buffers", "max_connections", "work_mem", "effective_cache_size",
			"max_wal_size", "checkpoint_timeout", "random_page_cost", "autovacuum", "jit", "server_encoding", "data_checksums", "ssl", "connection", "table"} {
			if values[name] == "" {
				t.Errorf("setting %s is missing", name)
			}
		}
	}
}

// Somebody may have set things for the user or the database: what a measured session has is what counts.
func TestSessionSettingsAreThoseOfMeasuredConnections(t *testing.T) {
	config := small(t, 1, 3, nil)
	conn := control(t, config)
	defer conn.Close(context.Background())
	run(t, conn, fmt.Sprintf("ALTER ROLE %s SET synchronous_commit = off", config.Credentials.User))
	defer run(t, conn, fmt.Sprintf("ALTER ROLE %s RESET synchronous_commit", config.Credentials.User))
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	settings, err := database.Settings(t.Context())
	drivertest.Must(t, err)
	drivertest.Must(t, settings.Require(drivers.TierOS))
	// An unlogged table is lost in a crash, whatever the settings.
	run(t, conn, "ALTER TABLE durabench.record SET UNLOGGED")
	settings, err = database.Settings(t.Context())
	drivertest.Must(t, err)
	drivertest.Says(t, settings.Require(drivers.TierOS), config, "unlogged")
}

func TestATableThatIsNotOursIsLeftAlone(t *testing.T) {
	config := small(t, 1, 1, nil)
	conn := control(t, config)
	defer conn.Close(context.Background())
	for _, theirs := range []string{
		"CREATE TABLE durabench.record (precious text)", "CREATE VIEW durabench.record AS SELECT 1 AS precious", "CREATE TABLE durabench.record (precious text); COMMENT ON TABLE durabench.record IS 'orders'",
	} {
		run(t, conn, "DROP SCHEMA IF EXISTS durabench CASCADE; CREATE SCHEMA durabench; "+theirs)
		err := drivertest.Open(t, engine(t), config).Prepare(t.Context())
		drivertest.Says(t, err, config, "durabench.record", "not a table of durabench's", "rename or drop it yourself")
		run(t, conn, "SELECT precious FROM durabench.record")
	}
	run(t, conn, "DROP SCHEMA durabench CASCADE; CREATE SCHEMA durabench; CREATE TABLE durabench.other (a int)")
	drivertest.Must(t, drivertest.Open(t, engine(t), config).Prepare(t.Context()))
	drivertest.Must(t, drivertest.Open(t, engine(t), config).Prepare(t.Context()))
	run(t, conn, "SELECT a FROM durabench.other")
	run(t, conn, "DROP TABLE durabench.other")
}

func TestATableOfAnotherSpecIsRefused(t *testing.T) {
	config := small(t, 1, 1, nil)
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	for _, value := range []map[string]any{{"name": "int", "number": "int"}, {"other": "string:10", "number": "int"}} {
		template, err := corpus.ParseTemplate(value)
		drivertest.Must(t, err)
		c, err := corpus.New(7, template, corpus.KeyInteger, false)
		drivertest.Must(t, err)
		other := config
		other.Corpus = c
		_, err = drivertest.Open(t, engine(t), other).Client(t.Context(), 0)
		drivertest.Says(t, err, config, "made for another spec", "load the rows again")
	}
	conn := control(t, config)
	defer conn.Close(context.Background())
	run(t, conn, "DROP SCHEMA durabench CASCADE")
	_, err := database.Client(t.Context(), 0)
	drivertest.Says(t, err, config, "durabench.record is not there", "load the rows first")
}

func TestDatabasesInOtherEncodingsAreRefused(t *testing.T) {
	config := small(t, 1, 1, nil)
	conn := control(t, config)
	defer conn.Close(context.Background())
	run(t, conn, "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	defer run(t, conn, "DROP DATABASE latin")
	config.Endpoint = strings.Replace(config.Endpoint, "/postgres?", "/latin?", 1)
	_, err := engine(t).Open(t.Context(), config)
	drivertest.Says(t, err, config, "LATIN1", "ENCODING 'UTF8'")
}

func TestLabelsWithNULAreRefusedAtOpen(t *testing.T) {
	for _, value := range []map[string]any{{"city": "string_enum:a\x00b,c"}, {"deep": []any{"string_enum:a\x00b"}}} {
		template, err := corpus.ParseTemplate(value)
		drivertest.Must(t, err)
		c, err := corpus.New(7, template, corpus.KeyInteger, false)
		drivertest.Must(t, err)
		config := small(t, 1, 1, func(config *drivers.Config) { config.Corpus = c })
		_, err = engine(t).Open(t.Context(), config)
		drivertest.Says(t, err, config, "NUL", "leave it out")
		if !errors.As(err, new(drivers.Unsupported)) {
			t.Errorf("%v is not of type Unsupported", err)
		}
	}
	// A backslash and the text u0000 are no NUL.
	template, err := corpus.ParseTemplate(map[string]any{"city": `string_enum:\u0000`})
	drivertest.Must(t, err)
	c, err := corpus.New(7, template, corpus.KeyInteger, false)
	drivertest.Must(t, err)
	drivertest.Open(t, engine(t), small(t, 1, 1, func(config *drivers.Config) { config.Corpus = c }))
}

func TestALostConnectionIsOfItsClassAndReplaced(t *testing.T) {
	for _, connections := range []string{"thread", "client"} {
		t.Run(connections, func(t *testing.T) {
			config := small(t, 1, 4, func(c *drivers.Config) { c.Options = map[string]string{"connections": connections} })
			database := drivertest.Open(t, engine(t), config)
			drivertest.Must(t, database.Prepare(t.Context()))
			client := drivertest.Clients(t, database, config)[0]
			var key corpus.KeyBuffer
			var row corpus.Row
			var record drivers.Record
			config.Corpus.Row(&row, 0, 0)
			drivertest.Must(t, client.Create(t.Context(), config.Corpus.Key(&key, 0), &row))
			conn := control(t, config)
			defer conn.Close(context.Background())
			run(t, conn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'durabench'")
			gone(t, config)
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
			if most := engine(t).Connections(config); failures > most {
				t.Errorf("%d reads failed, with %d connections", failures, most)
			}
			drivertest.Must(t, client.Decode(&record, &row))
		})
	}
}

func TestRefusalsHaveTheirClass(t *testing.T) {
	config := small(t, 1, 2, nil)
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	conn := control(t, config)
	defer conn.Close(context.Background())
	run(t, conn, fmt.Sprintf("ALTER ROLE %s SET statement_timeout = '100ms'", config.Credentials.User))
	all := drivertest.Clients(t, database, config)
	run(t, conn, fmt.Sprintf("ALTER ROLE %s RESET statement_timeout", config.Credentials.User))
	var key corpus.KeyBuffer
	var row corpus.Row
	config.Corpus.Row(&row, 0, 0)
	run(t, conn, "BEGIN; LOCK TABLE durabench.record")
	err := all[0].Create(t.Context(), config.Corpus.Key(&key, 0), &row)
	run(t, conn, "ROLLBACK")
	if class := drivers.ErrorClassOf(err); class != drivers.ClassTimeout {
		t.Errorf("class %q of %v", class, err)
	}
	drivertest.Must(t, all[0].Create(t.Context(), config.Corpus.Key(&key, 0), &row))
	// Absent values cannot be stored, and are no reason to lose the connection.
	row.SetAbsent(&row.Columns[0])
	err = all[0].Update(t.Context(), config.Corpus.Key(&key, 0), &row)
	drivertest.Says(t, err, config, "null value", "23502")
	// Keys of another kind are refused before they are sent.
	err = all[0].Delete(t.Context(), corpus.Key{})
	drivertest.Says(t, err, config, "the table's key is bigint")
}
