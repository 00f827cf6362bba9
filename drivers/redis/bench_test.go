package redis_test

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
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
