//go:build compare

package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// compareEnv is how many seconds each turn takes, 1 without it: DURABENCH_COMPARE=2 go test -tags compare -run TestCompare -v ./drivers/postgres
// Its value may also be how many seconds each turn lasts.
const compareEnv = "DURABENCH_COMPARE"

// TestCompareWithPgbench runs pgbench and our loop in turn on the same server, with the same number of operations in flight, and prints the rates
// and their ratios. It fails when single-key reads of the default way of carrying come to less than 0.9 of pgbench's, with the one thread that
// it has by default. With a thread per CPU it is shown too.
func TestCompareWithPgbench(t *testing.T) {
	seconds, _ := strconv.Atoi(os.Getenv(compareEnv))
	window := time.Duration(max(seconds, 1)) * time.Second
	running := private(t, func(o *process.Options) { o.Connections = 500 })
	pgbench(t, running, "-i", "-q")
	shapes := [][2]int{{4, 1}, {4, 8}, {16, 8}}
	threads := strconv.Itoa(min(4, runtime.NumCPU()))

	// The row that pgbench reads by itself: one number out of a row of about 100 bytes.
	config := comparison(t, running, map[string]any{"abalance": "int"})
	updates := script(t, "UPDATE durabench.record SET abalance = :id, seal = :id WHERE id = :id;")
	for _, shape := range shapes {
		inFlight := strconv.Itoa(shape[0] * shape[1])
		ratios := compare(t, shape, window, []turn{
			{"pgbench -S", func() float64 { return pgbenchRate(t, running, window, "-S", "-c", inFlight) }},
			{"pgbench -S -j", func() float64 { return pgbenchRate(t, running, window, "-S", "-j", threads, "-c", inFlight) }},
			{"read, thread", func() float64 { return rate(t, config, shape, "thread", window, false) }},
			{"read, client", func() float64 { return rate(t, config, shape, "client", window, false) }},
		})
		if ratios["read, thread"] < 0.9 {
			t.Errorf("%d × %d: reads come to %.2f of pgbench's, want at least 0.9", shape[0], shape[1], ratios["read, thread"])
		}
		compare(t, shape, window, []turn{
			{"pgbench update", func() float64 {
				return pgbenchRate(t, running, window, "-n", "-f", updates, "-j", threads, "-c", inFlight)
			}},
			{"update, thread", func() float64 { return rate(t, config, shape, "thread", window, true) }},
			{"update, client", func() float64 { return rate(t, config, shape, "client", window, true) }},
		})
	}

	// A row of 1 KB in ten columns, read whole by both.
	config = comparison(t, running, drivertest.WideRow)
	reads := script(t, "SELECT * FROM durabench.record WHERE id = :id;")
	for _, shape := range shapes {
		inFlight := strconv.Itoa(shape[0] * shape[1])
		compare(t, shape, window, []turn{
			{"pgbench 1 KB", func() float64 {
				return pgbenchRate(t, running, window, "-n", "-f", reads, "-j", threads, "-c", inFlight)
			}},
			{"1 KB, thread", func() float64 { return rate(t, config, shape, "thread", window, false) }},
			{"1 KB, client", func() float64 { return rate(t, config, shape, "client", window, false) }},
		})
	}
}

// script writes a script for pgbench, which sets id to the key of a random row.
func script(t *testing.T, statement string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.sql")
	if err := os.WriteFile(path, fmt.Appendf(nil, "\\set id random(1, %d)\n%s\n", compareRows, statement), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// turn is one of the programs that are compared.
type turn struct {
	name string
	rate func() float64 // operations per second
}

// compare runs the programs one after another, round after round, so that what else the machine does falls on all of them alike. It prints
// rates and ratios to the first program, and returns the ratios: medians of those of the rounds.
func compare(t *testing.T, shape [2]int, window time.Duration, turns []turn) map[string]float64 {
	t.Helper()
	result := make(map[string]float64)
	rates, ratios := make([][]float64, len(turns)), make([][]float64, len(turns))
	for range compareRounds {
		for i, turn := range turns {
			rates[i] = append(rates[i], turn.rate())
			ratios[i] = append(ratios[i], rates[i][len(rates[i])-1]/rates[0][len(rates[0])-1])
		}
	}
	median := func(values []float64) float64 {
		values = slices.Sorted(slices.Values(values))
		return values[len(values)/2]
	}
	for i, turn := range turns {
		result[turn.name] = median(ratios[i])
		t.Logf("%2d × %d in flight, %d turns of %v: %-15s %7.0f/s, %.2f of %s (%.2f)", shape[0], shape[1], compareRounds, window,
			turn.name, median(rates[i]), median(ratios[i]), turns[0].name, ratios[i])
	}
	return result
}

// rate runs reads or updates of random rows for the window and returns how many were done per second.
func rate(t *testing.T, config drivers.Config, shape [2]int, connections string, window time.Duration, write bool) (perSecond float64) {
	config.Clients, config.Threads = shape[0], shape[1]
	config.Options = map[string]string{"connections": connections}
	drivertest.With(t, engine(t), config, false, func(clients []drivers.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		counts := make([]int64, shape[0]*shape[1])
		begin := time.Now()
		deadline := begin.Add(window)
		var group sync.WaitGroup
		for worker := range counts {
			client := clients[worker%len(clients)]
			group.Go(func() {
				ctx, cancel := context.WithCancel(ctx) // as a leg's workers have it
				defer cancel()
				var key corpus.KeyBuffer
				var row corpus.Row
				var record drivers.Record
				n, at := int64(0), uint64(worker)*7919
				for ; n%16 != 0 || time.Now().Before(deadline); n++ {
					at = at*6364136223846793005 + 1442695040888963407
					index := (at >> 33) % compareRows
					var err error
					if write {
						config.Corpus.Row(&row, index, uint32(n)&0xffff)
						err = client.Update(ctx, config.Corpus.Key(&key, index), &row)
					} else {
						err = client.Read(ctx, config.Corpus.Key(&key, index), &record)
					}
					if err != nil {
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

var transactionsPerSecond = regexp.MustCompile(`tps = ([0-9.]+)`)

func pgbenchRate(t *testing.T, running *process.Running, window time.Duration, args ...string) float64 {
	t.Helper()
	clients, err := strconv.Atoi(args[len(args)-1])
	if err != nil {
		t.Fatal(err)
	}
	// Its window begins before its connections are made, whose time it leaves out of the rate.
	seconds := int(window.Seconds()) + clients/16
	args = append(args, "-M", "prepared", "-T", strconv.Itoa(seconds))
	output := pgbench(t, running, args...)
	found := transactionsPerSecond.FindStringSubmatch(output)
	if found == nil {
		t.Fatalf("pgbench %v printed no tps:\n%s", args, output)
	}
	tps, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return tps
}

// pgbench runs the pgbench that belongs to the server.
func pgbench(t *testing.T, running *process.Running, args ...string) string {
	t.Helper()
	endpoint, err := url.Parse(running.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := filepath.EvalSymlinks(running.Binary)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(filepath.Dir(binary), "pgbench"), args...)
	cmd.Env = append(os.Environ(), "PGHOST="+endpoint.Hostname(), "PGPORT="+endpoint.Port(), "PGDATABASE="+strings.Trim(endpoint.Path, "/"),
		"PGUSER="+running.Credentials.User, "PGPASSWORD="+running.Credentials.Password, "PGSSLMODE=disable")
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("pgbench %v: %v\n%s", args, err, output)
	}
	return string(output)
}
