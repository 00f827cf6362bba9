package redis_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/process"
)

// BenchmarkRead reads rows of 1 KB with clients × threads in flight; ns/op is the time of the whole divided by the reads, and cpu-ns/op
// what this process used of the CPU for each.
func BenchmarkRead(b *testing.B) {
	running := servers.Of(b, drivers.TierNone, drivers.Profile{})
	config := comparison(b, running)
	for _, shape := range [][2]int{{1, 1}, {4, 8}, {16, 8}, {8, 32}} {
		for _, pipelining := range []string{"auto", "off"} {
			b.Run(fmt.Sprintf("%dx%d/%s", shape[0], shape[1], pipelining), func(b *testing.B) {
				config := config
				config.Clients, config.Threads = shape[0], shape[1]
				config.Options = map[string]string{"pipelining": pipelining}
				withClients(b, config, false, func(clients []drivers.Client) {
					workers := shape[0] * shape[1]
					b.ReportAllocs()
					before := cpuTime()
					b.ResetTimer()
					var group sync.WaitGroup
					for worker := range workers {
						client := clients[worker%len(clients)]
						group.Go(func() {
							ctx, cancel := context.WithCancel(b.Context())
							defer cancel()
							var key corpus.KeyBuffer
							var record drivers.Record
							for n := worker; n < b.N; n += workers {
								if err := client.Read(ctx, config.Corpus.Key(&key, uint64(n)%compareRows), &record); err != nil {
									b.Error(err)
									return
								}
							}
						})
					}
					group.Wait()
					b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
				})
			})
		}
	}
}

// cpuTime is what this process has used of the CPU, in user and in kernel mode.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// value is a row of about 1 KB.
var value = map[string]any{"name": "string:20", "text": "string:950", "token": "uuid"}

// comparison is a loaded server.
func comparison(tb testing.TB, running *process.Running) drivers.Config {
	tb.Helper()
	template, err := corpus.ParseTemplate(value)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := corpus.New(1, template, corpus.KeyString26, false)
	if err != nil {
		tb.Fatal(err)
	}
	config := drivers.Config{
		Endpoint: running.Endpoint, Credentials: running.Credentials, Clients: 1, Threads: 1, Tier: drivers.TierNone, Corpus: c, Logger: slog.New(slog.DiscardHandler),
	}
	withClients(tb, config, true, func(clients []drivers.Client) {
		if err := clients[0].(drivers.Loader).Load(tb.Context(), 0, compareRows, 0); err != nil {
			tb.Fatal(err)
		}
	})
	return config
}

// withClients opens a database and its clients.
func withClients(tb testing.TB, config drivers.Config, prepare bool, f func([]drivers.Client)) {
	tb.Helper()
	database, err := servers.Registered(tb).Open(tb.Context(), config)
	if err != nil {
		tb.Fatal(err)
	}
	defer database.Close()
	if prepare {
		if err := database.Prepare(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	}
	var clients []drivers.Client
	for i := range config.Clients {
		client, err := database.Client(tb.Context(), i)
		if err != nil {
			tb.Fatal(err)
		}
		defer client.Close()
		clients = append(clients, client)
	}
	f(clients)
}

const (
	compareRows   = 10_000
	compareRounds = 5
)
