package redis_test

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
				drivertest.With(b, servers.Registered(b), config, false, func(clients []drivers.Client) {
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
	drivertest.With(tb, servers.Registered(tb), config, true, func(clients []drivers.Client) {
		if err := clients[0].(drivers.Loader).Load(tb.Context(), 0, compareRows, 0); err != nil {
			tb.Fatal(err)
		}
	})
	return config
}

const (
	compareRows   = 10_000
	compareRounds = 5
)
