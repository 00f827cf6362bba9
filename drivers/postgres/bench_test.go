package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
	"github.com/durabench/durabench/infra/process"
)

// BenchmarkRead reads rows of 1 KB in ten columns with clients × threads in flight; ns/op is the time of the whole divided by the reads, and
// cpu-ns/op what this process used of the CPU for each.
func BenchmarkRead(b *testing.B) {
	running := server(b, drivers.TierOS, drivers.Profile{})
	config := comparison(b, running, drivertest.WideRow)
	for _, shape := range [][2]int{{1, 1}, {4, 1}, {4, 8}, {16, 8}} {
		for _, connections := range []string{"thread", "client"} {
			b.Run(fmt.Sprintf("%dx%d/%s", shape[0], shape[1], connections), func(b *testing.B) {
				config := config
				config.Clients, config.Threads = shape[0], shape[1]
				config.Options = map[string]string{"connections": connections}
				drivertest.With(b, engine(b), config, false, func(clients []drivers.Client) {
					workers := shape[0] * shape[1]
					b.ReportAllocs()
					before := drivertest.CPUTime()
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
					b.ReportMetric(float64(drivertest.CPUTime()-before)/float64(b.N), "cpu-ns/op")
				})
			})
		}
	}
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
	drivertest.With(tb, engine(tb), config, true, func(clients []drivers.Client) {
		if err := clients[0].(drivers.Loader).Load(tb.Context(), 0, compareRows, 0); err != nil {
			tb.Fatal(err)
		}
	})
	conn := control(tb, config)
	defer conn.Close(context.Background())
	run(tb, conn, "VACUUM ANALYZE durabench.record")
	return config
}

const (
	compareRows   = 100_000 // as many as pgbench has at scale 1
	compareRounds = 5
)
