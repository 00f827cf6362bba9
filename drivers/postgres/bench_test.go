package postgres_test

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

// BenchmarkRead reads rows of 1 KB in ten columns with clients × threads in flight; ns/op is the time of the whole divided by the reads, and
// cpu-ns/op what this process used of the CPU for each.
func BenchmarkRead(b *testing.B) {
	running := server(b, drivers.TierOS, drivers.Profile{})
	config := comparison(b, running, wideRow)
	for _, shape := range [][2]int{{1, 1}, {4, 1}, {4, 8}, {16, 8}} {
		for _, connections := range []string{"thread", "client"} {
			b.Run(fmt.Sprintf("%dx%d/%s", shape[0], shape[1], connections), func(b *testing.B) {
				config := config
				config.Clients, config.Threads = shape[0], shape[1]
				config.Options = map[string]string{"connections": connections}
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

var wideRow = map[string]any{
	"active": "bool", "age": "int:0..120", "balance": "decimal", "created": "datetime", "name": "string:20", "ratio": "float:0..1",
	"tags": []any{"string:10", "string:10"}, "text": "string:850", "token": "uuid",
}

// comparison is a loaded table.
func comparison(tb testing.TB, running *process.Running, value map[string]any) drivers.Config {
	tb.Helper()
	template, err := corpus.ParseTemplate(value)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := corpus.New(1, template, corpus.KeyInteger, false)
	if err != nil {
		tb.Fatal(err)
	}
	config := drivers.Config{
		Endpoint: running.Endpoint, Credentials: running.Credentials, Clients: 1, Threads: 1, Tier: drivers.TierOS, Corpus: c, Logger: slog.New(slog.DiscardHandler),
	}
	withClients(tb, config, true, func(clients []drivers.Client) {
		if err := clients[0].(drivers.Loader).Load(tb.Context(), 0, compareRows, 0); err != nil {
			tb.Fatal(err)
		}
	})
	conn := control(tb, config)
	defer conn.Close(context.Background())
	run(tb, conn, "VACUUM ANALYZE durabench.record")
	return config
}

// withClients opens a database and its clients.
func withClients(tb testing.TB, config drivers.Config, prepare bool, f func([]drivers.Client)) {
	tb.Helper()
	database, err := engine(tb).Open(tb.Context(), config)
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
	compareRows   = 100_000 // as many as pgbench has at scale 1
	compareRounds = 5
)
