//go:build compare

package redis_test

import (
	"context"
	"encoding/csv"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
	"github.com/durabench/durabench/infra/process"
)

// compareEnv is how many seconds each turn takes, 1 without it: DURABENCH_COMPARE=2 go test -tags compare -run TestCompare -v ./drivers/redis
// Its value is how many seconds each turn lasts, about.
const compareEnv = "DURABENCH_COMPARE"

// TestCompareWithRedisBenchmark runs redis-benchmark and our loop in turn on the same server, with the same connections and pipelining, reading one
// and the same value, and prints the rates and their ratios. It fails when reads come to less than 0.9 of redis-benchmark's. Both have one thread:
// redis-benchmark by default, we by GOMAXPROCS, unless that is set in the environment.
func TestCompareWithRedisBenchmark(t *testing.T) {
	seconds, _ := strconv.Atoi(os.Getenv(compareEnv))
	window := time.Duration(max(seconds, 1)) * time.Second
	if os.Getenv("GOMAXPROCS") == "" {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	running := servers.Of(t, drivers.TierNone, drivers.Profile{})
	config := comparison(t, running)
	for _, shape := range [][2]int{{4, 1}, {4, 8}, {16, 8}, {8, 32}} {
		for _, mode := range []struct {
			pipelining           string
			connections, perTurn int // of redis-benchmark
		}{
			{"auto", shape[0], shape[1]},
			{"off", shape[0] * shape[1], 1},
		} {
			if shape[1] == 1 && mode.pipelining == "off" {
				continue // the same
			}
			rates, ratios := make([][]float64, 2), []float64{}
			requests := 20_000
			for range compareRounds {
				theirs, took := benchmark(t, running, mode.connections, mode.perTurn, requests)
				requests = max(1000, int(float64(requests)*window.Seconds()/took.Seconds()))
				ours := rate(t, config, shape, mode.pipelining, window)
				rates[0], rates[1] = append(rates[0], theirs), append(rates[1], ours)
				ratios = append(ratios, ours/theirs)
			}
			t.Logf("%2d × %2d in flight, pipelining %-4s, %d turns of %v: redis-benchmark -c %d -P %d %.0f/s, durabench %.0f/s, %.2f of it (%.2f)",
				shape[0], shape[1], mode.pipelining, compareRounds, window, mode.connections, mode.perTurn, median(rates[0]), median(rates[1]), median(ratios), ratios)
			if median(ratios) < 0.9 {
				t.Errorf("%d × %d, pipelining %s: reads come to %.2f of redis-benchmark's, want at least 0.9", shape[0], shape[1], mode.pipelining, median(ratios))
			}
		}
	}
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// rate reads one row for the window and returns how many reads were done per second. It is one row because redis-benchmark reads one key, or else
// keys of its own making.
func rate(t *testing.T, config drivers.Config, shape [2]int, pipelining string, window time.Duration) (perSecond float64) {
	config.Clients, config.Threads = shape[0], shape[1]
	config.Options = map[string]string{"pipelining": pipelining}
	drivertest.With(t, servers.Registered(t), config, false, func(clients []drivers.Client) {
		counts := make([]int64, shape[0]*shape[1])
		begin := time.Now()
		deadline := begin.Add(window)
		var group sync.WaitGroup
		for worker := range counts {
			client := clients[worker%len(clients)]
			group.Go(func() {
				ctx, cancel := context.WithCancel(t.Context()) // as a leg's workers have it
				defer cancel()
				var key corpus.KeyBuffer
				var record drivers.Record
				n := int64(0)
				for ; n%16 != 0 || time.Now().Before(deadline); n++ {
					if err := client.Read(ctx, config.Corpus.Key(&key, 1), &record); err != nil {
						t.Error(err)
						return
					}
				}
				counts[worker] = n
			})
		}
		group.Wait()
		took, total := time.Since(begin), int64(0)
		for _, n := range counts {
			total += n
		}
		perSecond = float64(total) / took.Seconds()
	})
	return perSecond
}

// benchmark runs redis-benchmark reading the same row.
func benchmark(t *testing.T, running *process.Running, connections, pipelined, requests int) (perSecond float64, took time.Duration) {
	t.Helper()
	endpoint, err := url.Parse(running.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var buffer corpus.KeyBuffer
	template, err := corpus.ParseTemplate(value)
	if err != nil {
		t.Fatal(err)
	}
	c, err := corpus.New(1, template, corpus.KeyString26, false)
	if err != nil {
		t.Fatal(err)
	}
	key := "durabench:" + c.Key(&buffer, 1).Text()
	cmd := exec.Command("redis-benchmark", "-h", endpoint.Hostname(), "-p", endpoint.Port(), "-a", running.Credentials.Password,
		"-c", strconv.Itoa(connections), "-P", strconv.Itoa(pipelined), "-n", strconv.Itoa(requests), "--csv", "GET", key)
	begin := time.Now()
	output, err := cmd.Output()
	took = time.Since(begin)
	if err != nil {
		t.Fatalf("redis-benchmark: %v\n%s", err, output)
	}
	rows, err := csv.NewReader(strings.NewReader(string(output))).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("redis-benchmark printed %q: %v", output, err)
	}
	perSecond, err = strconv.ParseFloat(rows[1][1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return perSecond, took
}
