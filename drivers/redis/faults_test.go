package redis_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
	"github.com/durabench/durabench/drivers/respbase/resptest"
	"github.com/durabench/durabench/infra/process"
)

func TestEndpointsThatCannotBeUsedSayWhy(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	drivertest.Must(t, err)
	closed := listener.Addr().String()
	drivertest.Must(t, listener.Close())
	base := servers.Config(t, 1, 1, nil)
	address := strings.TrimSuffix(strings.TrimPrefix(base.Endpoint, "redis://"), "/0")
	for _, test := range []struct {
		name   string
		change func(*drivers.Config)
		want   []string
	}{
		{"wrong password", func(c *drivers.Config) { c.Credentials.Password = "not-the-password" }, []string{address, "WRONGPASS", "check the user and the password"}},
		{"no password", func(c *drivers.Config) { c.Credentials.Password = "" }, []string{address, "NOAUTH", "check the user and the password"}},
		{"unknown user", func(c *drivers.Config) { c.Credentials.User = "nobody" }, []string{address, "WRONGPASS"}},
		{"unknown database", func(c *drivers.Config) { c.Endpoint = "redis://" + address + "/999" }, []string{address, "database 999", "out of range", "name a database"}},
		{"nobody listens", func(c *drivers.Config) { c.Endpoint = closed }, []string{closed, "connection refused", "check that the server runs"}},
		{"no endpoint", func(c *drivers.Config) { c.Endpoint = "" }, []string{"needs an endpoint", "redis://host"}},
		{"another scheme", func(c *drivers.Config) { c.Endpoint = "mysql://localhost/" }, []string{"cannot be read", "redis://host"}},
		{"not an address", func(c *drivers.Config) { c.Endpoint = "a b" }, []string{"no form that redis knows"}},
		{"an option that is none", func(c *drivers.Config) { c.Options = map[string]string{"pipelining": "on"} }, []string{"pipelining", `"auto", "off"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := base
			test.change(&config)
			begin := time.Now()
			_, err := servers.Registered(t).Open(t.Context(), config)
			drivertest.Says(t, err, config, test.want...)
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// A server that accepts and says nothing must not hold a run up.
func TestAServerThatSaysNothingIsGivenUp(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	drivertest.Must(t, err)
	defer listener.Close()
	config := servers.Config(t, 1, 1, func(c *drivers.Config) { c.Endpoint = listener.Addr().String() })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = servers.Registered(t).Open(ctx, config)
	drivertest.Says(t, err, config, listener.Addr().String())
	if class := drivers.ErrorClassOf(err); class != drivers.ClassTimeout {
		t.Errorf("class %q of %v", class, err)
	}
}

func TestOnlyOurKeysAreTouched(t *testing.T) {
	config := servers.Config(t, 1, 1, nil)
	c := resptest.Control(t, config)
	defer c.Close()
	resptest.Run(t, c, "FLUSHALL")
	theirs := []string{"record:1", "durabench", "Durabench:1", "other:durabench:1", "durabench*"}
	for _, key := range theirs {
		resptest.Run(t, c, "SET", key, "precious")
	}
	for n := range 2500 {
		resptest.Run(t, c, "SET", fmt.Sprintf("durabench:old %d", n), "x")
	}
	database := drivertest.Open(t, servers.Registered(t), config)
	count := func(want int64) {
		t.Helper()
		got, err := database.(drivers.Counter).Count(t.Context())
		drivertest.Must(t, err)
		if got != want {
			t.Errorf("count %d, want %d", got, want)
		}
	}
	count(2500)
	drivertest.Must(t, database.Prepare(t.Context()))
	count(0)
	drivertest.Must(t, drivertest.Clients(t, database, config)[0].(drivers.Loader).Load(t.Context(), 0, 3000, 0))
	count(3000)
	for _, key := range theirs {
		if value, err := resptest.Run(t, c, "GET", key).ToString(); err != nil || value != "precious" {
			t.Errorf("%s holds %q, %v", key, value, err)
		}
	}
	resptest.Run(t, c, "FLUSHALL")
	drivertest.Must(t, database.Prepare(t.Context()))
	count(0)
}

func TestSocketsAreThoseThatTheServerCounts(t *testing.T) {
	for _, test := range []struct {
		pipelining       string
		clients, threads int
		want             int
	}{{"auto", 8, 4, 8}, {"off", 8, 4, 32}, {"auto", 3, 1, 3}, {"off", 3, 1, 3}} {
		config := servers.Config(t, test.clients, test.threads, func(c *drivers.Config) { c.Options = map[string]string{"pipelining": test.pipelining} })
		database := drivertest.Open(t, servers.Registered(t), config)
		all := drivertest.Clients(t, database, config)
		// Under load, too, there are no more.
		var group sync.WaitGroup
		for _, client := range all {
			for range test.threads {
				group.Go(func() {
					var key corpus.KeyBuffer
					var record drivers.Record
					for n := range uint64(50) {
						_ = client.Read(t.Context(), config.Corpus.Key(&key, n), &record)
					}
				})
			}
		}
		group.Wait()
		c := resptest.Control(t, config)
		list, err := resptest.Run(t, c, "CLIENT", "LIST").ToString()
		drivertest.Must(t, err)
		seen, others := 0, 0
		for line := range strings.Lines(list) {
			switch {
			case strings.Contains(line, " name=durabench "):
				seen++
			case !strings.Contains(line, "cmd=client|list"):
				others++
			}
		}
		if sockets := database.(drivers.Socketer).Sockets(); sockets != test.want || seen != test.want || servers.Registered(t).Connections(config) != test.want || others != 0 {
			t.Errorf("%+v: %d sockets by the driver, %d declared, %d and %d others by the server:\n%s", test, sockets, servers.Registered(t).Connections(config), seen, others, list)
		}
		for _, client := range all {
			drivertest.Must(t, client.Close())
		}
		for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if list, err = resptest.Run(t, c, "CLIENT", "LIST").ToString(); err == nil && !strings.Contains(list, "name=durabench") {
				break
			}
		}
		c.Close()
	}
}

func TestTooManyConnectionsAreRefusedBeforeTheLoad(t *testing.T) {
	config := servers.Config(t, 16, 2, func(c *drivers.Config) { c.Options = map[string]string{"pipelining": "off"} })
	c := resptest.Control(t, config)
	defer c.Close()
	resptest.Run(t, c, "CONFIG", "SET", "maxclients", "20")
	defer resptest.Run(t, c, "CONFIG", "SET", "maxclients", "10000")
	database := drivertest.Open(t, servers.Registered(t), config)
	drivertest.Says(t, database.(drivers.Preflighter).Preflight(t.Context()), config,
		"16 clients × 2 threads need 33 connections", "19 left", "maxclients 20", "1 in use", "to at least 34", `pipelining = "auto"`, "which needs 17")
	config.Options = nil
	drivertest.Must(t, drivertest.Open(t, servers.Registered(t), config).(drivers.Preflighter).Preflight(t.Context()))
	// And should it come to that all the same, the refusal is of class connection.
	config.Clients = 30
	var err error
	for i := 0; i < config.Clients && err == nil; i++ {
		var client drivers.Client
		if client, err = database.Client(t.Context(), i); err == nil {
			defer client.Close()
		}
	}
	drivertest.Says(t, err, config, "max number of clients", "raise maxclients")
}

func TestTiersAreReadBack(t *testing.T) {
	running := servers.Of(t, drivers.TierProcess, drivers.Profile{})
	config := servers.Config(t, 1, 1, func(c *drivers.Config) { c.Endpoint, c.Credentials = running.Endpoint, running.Credentials })
	c := resptest.Control(t, config)
	defer c.Close()
	database := drivertest.Open(t, servers.Registered(t), config)
	for _, test := range []struct {
		appendfsync, onRewrite string
		want                   drivers.Tier
		asked                  drivers.Tier
		says                   string
	}{
		{"always", "no", drivers.TierOS, drivers.TierProcess, "appendfsync always"},
		{"always", "yes", drivers.TierProcess, drivers.TierOS, "no-appendfsync-on-rewrite"},
		{"everysec", "no", drivers.TierNone, drivers.TierProcess, "server's memory alone; set appendfsync no"},
		{"no", "no", drivers.TierProcess, drivers.TierOS, "appendfsync no"},
	} {
		resptest.Run(t, c, "CONFIG", "SET", "appendfsync", test.appendfsync, "no-appendfsync-on-rewrite", test.onRewrite)
		settings, err := database.Settings(t.Context())
		drivertest.Must(t, err)
		drivertest.Must(t, settings.Require(test.want))
		drivertest.Says(t, settings.Require(test.asked), config, string(test.want), test.says)
		for _, s := range settings.Values {
			if s.Why == "" {
				t.Errorf("setting %s does not say why", s.Name)
			}
		}
	}
	// A user who may not read the configuration gets no tier, unless INFO tells enough.
	resptest.Run(t, c, "ACL", "SETUSER", "limited", "on", ">secret", "~*", "+@all", "-config")
	defer resptest.Run(t, c, "ACL", "DELUSER", "limited")
	config.Credentials = drivers.Credentials{User: "limited", Password: "secret"}
	settings, err := drivertest.Open(t, servers.Registered(t), config).Settings(t.Context())
	drivertest.Must(t, err)
	drivertest.Says(t, settings.Require(drivers.TierProcess), config, "does not confirm", "cannot be read", "NOPERM")

	memory := servers.Config(t, 1, 1, nil)
	c = resptest.Control(t, memory)
	defer c.Close()
	resptest.Run(t, c, "ACL", "SETUSER", "limited", "on", ">secret", "~*", "+@all", "-config")
	defer resptest.Run(t, c, "ACL", "DELUSER", "limited")
	memory.Credentials = drivers.Credentials{User: "limited", Password: "secret"}
	settings, err = drivertest.Open(t, servers.Registered(t), memory).Settings(t.Context())
	drivertest.Must(t, err)
	drivertest.Must(t, settings.Require(drivers.TierNone))
}

func TestALostConnectionIsOfItsClassAndReplaced(t *testing.T) {
	for _, pipelining := range []string{"auto", "off"} {
		config := servers.Config(t, 1, 4, func(c *drivers.Config) { c.Options = map[string]string{"pipelining": pipelining} })
		database := drivertest.Open(t, servers.Registered(t), config)
		client := drivertest.Clients(t, database, config)[0]
		drivertest.Must(t, client.(drivers.Loader).Load(t.Context(), 0, 1, 0))
		c := resptest.Control(t, config)
		resptest.Run(t, c, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		c.Close()
		var key corpus.KeyBuffer
		var record drivers.Record
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
		if most := servers.Registered(t).Connections(config); failures > most {
			t.Errorf("%s: %d reads failed, with %d connections", pipelining, failures, most)
		}
	}
}

func TestRefusalsAreErrorsOfTheOperation(t *testing.T) {
	config := servers.Config(t, 1, 2, nil)
	c := resptest.Control(t, config)
	defer c.Close()
	client := drivertest.Clients(t, drivertest.Open(t, servers.Registered(t), config), config)[0]
	drivertest.Must(t, client.(drivers.Loader).Load(t.Context(), 0, 1, 0))
	resptest.Run(t, c, "CONFIG", "SET", "maxmemory", "1")
	defer resptest.Run(t, c, "CONFIG", "SET", "maxmemory", "0")
	var key corpus.KeyBuffer
	var row corpus.Row
	var record drivers.Record
	config.Corpus.Row(&row, 0, 1)
	err := client.Update(t.Context(), config.Corpus.Key(&key, 0), &row)
	drivertest.Says(t, err, config, "OOM")
	if class := drivers.ErrorClassOf(err); class != drivers.ClassOther {
		t.Errorf("class %q of %v", class, err)
	}
	drivertest.Must(t, client.Read(t.Context(), config.Corpus.Key(&key, 0), &record))
}

func TestThePasswordIsOnNoCommandLine(t *testing.T) {
	running := servers.Of(t, drivers.TierNone, drivers.Profile{})
	if strings.Contains(strings.Join(running.Command, " "), running.Credentials.Password) {
		t.Error("the password is on the command line")
	}
	info, err := os.Stat(filepath.Join(running.Dir, "server", "server.conf"))
	drivertest.Must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the configuration file has mode %o", info.Mode().Perm())
	}
}

// Tier process says that what was acknowledged survives kill -9 of the server. So the server is killed in the middle of writes, and every row
// that was acknowledged must be there when it is started again.
func TestAcknowledgedRowsSurviveKill9(t *testing.T) {
	for _, tier := range []drivers.Tier{drivers.TierProcess, drivers.TierOS} {
		t.Run(string(tier), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "server")
			tune := func(o *process.Options) { o.Tier = tier }
			running := servers.Start(t, dir, tune)
			defer func() { drivertest.Must(t, process.Stop(context.Background(), dir, false)) }()
			config := servers.Config(t, 2, 8, func(c *drivers.Config) {
				c.Endpoint, c.Credentials, c.Tier = running.Endpoint, running.Credentials, tier
			})
			all := drivertest.Clients(t, drivertest.Open(t, servers.Registered(t), config), config)
			workers := config.Clients * config.Threads
			acknowledged := make([]atomic.Int64, workers)
			var group sync.WaitGroup
			for worker := range workers {
				group.Go(func() {
					var key corpus.KeyBuffer
					var row corpus.Row
					for n := uint64(0); ; n++ {
						index := n*uint64(workers) + uint64(worker)
						config.Corpus.Row(&row, index, 0)
						if err := all[worker%len(all)].Create(t.Context(), config.Corpus.Key(&key, index), &row); err != nil {
							return
						}
						acknowledged[worker].Add(1)
					}
				})
			}
			time.Sleep(500 * time.Millisecond)
			drivertest.Must(t, syscall.Kill(running.PID, syscall.SIGKILL))
			group.Wait()

			again := servers.Start(t, dir, tune)
			if !again.Restarted || again.Endpoint != running.Endpoint {
				t.Fatalf("restarted %v at %s", again.Restarted, again.Endpoint)
			}
			client := drivertest.Clients(t, drivertest.Open(t, servers.Registered(t), config), config)[0]
			var key corpus.KeyBuffer
			var record drivers.Record
			rows := int64(0)
			for worker := range workers {
				n := acknowledged[worker].Load()
				rows += n
				for i := range uint64(n) {
					index := i*uint64(workers) + uint64(worker)
					if err := client.Read(t.Context(), config.Corpus.Key(&key, index), &record); err != nil {
						t.Fatalf("row %d was acknowledged and is lost: %v", index, err)
					}
				}
			}
			if rows == 0 {
				t.Error("nothing was written before the kill")
			}
			t.Logf("%d acknowledged rows survived", rows)
		})
	}
}

// A user that may touch rows alone has no indexes, and needs none.
func TestAUserOfRowsAlone(t *testing.T) {
	config := servers.Config(t, 1, 1, nil)
	c := resptest.Control(t, config)
	defer c.Close()
	resptest.Run(t, c, "ACL", "SETUSER", "limited", "on", ">secret", "~durabench:*", "+@all")
	defer resptest.Run(t, c, "ACL", "DELUSER", "limited")
	drivertest.Must(t, drivertest.Open(t, servers.Registered(t), config).Prepare(t.Context()))
	config.Credentials = drivers.Credentials{User: "limited", Password: "secret"}
	database := drivertest.Open(t, servers.Registered(t), config)
	client := drivertest.Clients(t, database, config)[0]
	drivertest.Must(t, drivers.LoadRows(t.Context(), client, config.Corpus, 0, 3, 0))
	config.Searches = true
	_, err := servers.Registered(t).Open(t.Context(), config)
	drivertest.Says(t, err, config, "read which indexes there are", "NOPERM")
}
