package surrealdb_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/conformance"
	"github.com/durabench/durabench/drivers/drivertest"
	_ "github.com/durabench/durabench/drivers/surrealdb"
	"github.com/durabench/durabench/infra/ci"
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
	return drivertest.Engine(tb, "surrealdb")
}

// modules is where scripts/test-deps.sh installs what the relay needs.
func modules() string { return drivertest.Tool("surrealdb-relay") }

// relay describes the real engine behind the relay as the registration describes the real server: with its files, environment and arguments. It says of
// indexes that nothing is being compacted, as servers from 3.3 on do.
func relay(tb testing.TB) *drivers.Server {
	tb.Helper()
	script, err := filepath.Abs("testdata/relay/relay.mjs")
	if err != nil {
		tb.Fatal(err)
	}
	server := *engine(tb).Server
	server.Binaries = []string{"node"}
	server.Install = "install Node.js"
	command := server.Command
	server.Command = func(l drivers.Launch) (line []string) {
		for _, word := range command(l) {
			line = append(line, word)
			if word == l.Binary {
				line = append(line, script, "--modules", modules())
			}
		}
		return append(line, "--settled")
	}
	return &server
}

// start starts a server in a directory of its own, or skips the test where the relay is not installed on a developer's machine.
func start(tb testing.TB, dir string, change func(*process.Options)) *process.Running {
	tb.Helper()
	if _, err := os.Stat(filepath.Join(modules(), "node_modules")); err != nil {
		ci.Need(tb, fmt.Errorf("run scripts/test-deps.sh: %w", err))
	}
	options := process.Options{
		Engine: "SurrealDB", Server: relay(tb), RunID: "test", Dir: dir, Tier: drivers.TierNone, Connections: 150,
		Resources: drivers.Resources{MemoryBytes: 1 << 30, CPUs: 4},
		Ready: func(ctx context.Context, running *process.Running) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.Replace(running.Endpoint, "ws:", "http:", 1)+"/health", nil)
			if err != nil {
				return err
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return err
			}
			return response.Body.Close()
		},
	}
	if change != nil {
		change(&options)
	}
	return drivertest.Start(tb, options)
}

// server returns the shared server of a tier and profile.
func server(tb testing.TB, tier drivers.Tier, profile drivers.Profile) *process.Running {
	tb.Helper()
	servers.Lock()
	defer servers.Unlock()
	key := fmt.Sprintf("%s-%v", tier, profile.Optimised)
	if running := servers.byKey[key]; running != nil {
		return running
	}
	if servers.dir == "" {
		dir, err := os.MkdirTemp("", "durabench-surrealdb-")
		if err != nil {
			tb.Fatal(err)
		}
		servers.dir, servers.byKey = dir, make(map[string]*process.Running)
	}
	running := start(tb, filepath.Join(servers.dir, key), func(o *process.Options) { o.Tier, o.Profile = tier, profile })
	servers.byKey[key] = running
	return running
}

// single has the four operations alone, so that the suite leaves out scans.
type single struct{ drivers.Client }

func TestConformance(t *testing.T) {
	for _, connections := range []string{"client", "thread"} {
		t.Run(connections, func(t *testing.T) {
			engine := engine(t)
			if connections == "thread" {
				engine.Ability = (*single)(nil) // scans go over connections as all else does: once is enough
			}
			conformance.Run(t, conformance.Harness{
				Engine:    engine,
				Conflicts: "transactions are optimistic: of two that write one record at the same time, one is refused",
				// In memory, transactions lose each other's writes (docs/engines.md).
				Isolates: func(config *drivers.Config) {
					config.Tier, config.Profile = drivers.TierProcess, drivers.Profile{Persisted: true}
				},
				Configure: func(t *testing.T, config *drivers.Config) {
					running := server(t, config.Tier, config.Profile)
					config.Endpoint, config.Credentials = running.Endpoint, running.Credentials
					if config.Options == nil {
						config.Options = map[string]string{"connections": connections}
					}
				},
				RefusesSearch: refusesSearch,
				SearchRows:    500, // the engine in the tests puts none into a graph
				LacksSearch: func(s *query.Search) string {
					if s.Kind() == query.DiskANN {
						return "servers before 3.1 have no DiskANN"
					}
					return ""
				},
				OtherWords: otherWords,
				Mistakes:   mistakes,
				NoPlans: func(index query.Index) string {
					if index.Kind == query.CountAll {
						return "the plan is called CountScan with an index and without"
					}
					return ""
				},
				Trees: 500,
			})
		})
	}
}

// refusesSearch tells what SurrealDB has no vector indexes for.
func refusesSearch(s *query.Search) bool {
	if s.Iterative != "" {
		return true
	}
	if s.Index == nil {
		return false
	}
	switch v := s.Index.Vector; v.Strategy {
	case query.HNSW:
		return v.Metric == query.InnerProduct || v.Quantisation != ""
	case query.DiskANN:
		return v.Metric == query.Manhattan || v.Quantisation != ""
	}
	return true
}

// otherWords tells of the one letter whose lower case depends on its place: Σ is ς at the end of a word to SurrealDB.
func otherWords(text string) string {
	if strings.ContainsAny(text, "Σσς") {
		return "SurrealDB writes Σ at the end of a word as ς"
	}
	return ""
}

// mistakes tells of the scans that SurrealDB may answer wrongly on an index, see TestFaultsOfTheEngineAreSeen.
func mistakes(s *query.Scan) string {
	switch {
	case s.Limit > 0 || s.Offset > 0:
		return "the limit goes to the scan of the index, under the filter that comes after"
	case s.Where != nil && boundsFirst(s.Where):
		return "the upper bound of the first column leaves out the entries that have it and a second column"
	}
	return ""
}

// boundsFirst tells that a condition has a bound for one of the columns that the suite's composite indexes begin with.
func boundsFirst(p *query.Predicate) bool {
	bounds := p.Op == query.Between || p.Op == query.Lte || p.Op == query.Gt
	return bounds && slices.Contains([]string{"city", "price"}, p.Path.String()) || slices.ContainsFunc(p.Args, boundsFirst)
}
