//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers/drivertest"
)

// nearest is a workload of searches: exact, on indexes of every engine's own kind, with filters, alone and under load.
const nearest = `
seed = 7
vector_warmup_seconds = 1

[value]
embedding = "vector:16:clustered:40"
number = "int:1..1000"
shade = "string_enum:red,green,blue"

[[scans]]
id = "knn"
iterations = 100
clients = 2
threads = 2

[[scans.runs]]
name = "exact"
iterations = 40

[scans.runs.vector_query]
field = "embedding"
top_k = 10
index_strategy = { kind = "bruteforce" }
holdout = { count = 40, seed = 42 }
filters = [{ name = "tenth", field = "number", op = "lte", value = 100 }, { name = "red", where = { shade = "red", number = { gt = 500 } } }]

[[scans.runs]]
name = "hnsw"

[scans.runs.vector_query]
field = "embedding"
top_k = 10
index_strategy = { kind = "hnsw", m = 16, ef_construction = 100, ef_search = [16, 64] }
recall_targets = [0.9]
churn = 0.25
churn_rounds = 2
holdout = { count = 40, seed = 42 }
filter_index = true
filters = [{ name = "tenth", field = "number", op = "lte", value = 100 }]

[[scans.runs]]
name = "set"

[scans.runs.vector_query]
field = "embedding"
top_k = 10
index_strategy = { kind = "vectorset", m = 16, ef_construction = 100, ef_search = [64] }
churn = 0.25
churn_rounds = 2
holdout = { count = 40, seed = 42 }
filters = [{ name = "tenth", field = "number", op = "lte", value = 100 }]
`

// searched are the engines whose searches are proven here, each against its own server, with the runs that have to be valid.
var searched = map[string][]string{
	"postgres": {"exact", "hnsw"}, "mariadb": {"exact", "hnsw"}, "redis": {"exact", "hnsw", "set"}, "surrealdb": {"exact", "hnsw"},
}

// searchWorld is a world in which the newer servers are found first.
func searchWorld(t *testing.T, engine string) []string {
	t.Helper()
	folder := filepath.Dir(drivertest.Trixie(t, "postgres"))
	if engine == "surrealdb" {
		relay, err := filepath.Abs("../drivers/surrealdb/testdata/relay/relay.mjs")
		if err != nil {
			t.Fatal(err)
		}
		folder = t.TempDir()
		script := fmt.Sprintf("#!/bin/sh\nexec node %s --modules %s \"$@\" --settled\n", relay, drivertest.Tool("surrealdb-relay"))
		if err := os.WriteFile(filepath.Join(folder, "surreal"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if engine == "redis" { // as its vendor installs it, with the query engine
		root := t.TempDir()
		folder = filepath.Join(root, "bin")
		for link, to := range map[string]string{
			filepath.Join(folder, "redis-server"): drivertest.Trixie(t, "redis-server"), filepath.Join(root, "lib", "redis", "modules", "redisearch.so"): drivertest.Tool("redisearch.so"),
		} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(to, link)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return []string{"PATH=" + folder + string(os.PathListSeparator) + os.Getenv("PATH")}
}

// written writes a workload file into the world and returns its path.
func (w *world) written(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// Exact searches of every engine find exactly the exact neighbours, and its index has a recall that stands beside its speed.
func TestSearchesAreScoredOnEveryEngine(t *testing.T) {
	for engine, runs := range searched {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.extra = append(w.extra, searchWorld(t, engine)...)
			d := w.measured(engine, w.written("nearest.toml", nearest), "-s", "2000")
			valid, churned, worn := map[string]int{}, 0, 0
			for _, leg := range d.Legs {
				switch {
				case leg.Verdict == result.Unsupported && leg.Why != "":
				case leg.Verdict != result.Valid:
					t.Errorf("leg %s is %s: %s", leg.ID, leg.Verdict, leg.Why)
				case leg.Kind == "search":
					valid[strings.Split(leg.ID, "/")[2]]++
					checkSearch(t, engine, leg)
					if leg.Search.Churn != nil {
						churned++
						if len(leg.Interruptions) > 0 {
							t.Errorf("leg %s: nothing was lost, and it says %+v", leg.ID, leg.Interruptions)
						}
					}
				case leg.Churn != nil:
					worn++
					if m := leg.Measured; m.OK != 500 || m.RowsAfter == nil || *m.RowsAfter != *m.RowsWanted || m.ReadBack != 500 || leg.Churn.ReadyNs == nil {
						t.Errorf("leg %s: %+v of %+v", leg.ID, leg.Churn, m)
					}
				case leg.Kind == "index-build":
					if x := leg.Index; x.MemoryBefore == nil || x.MemoryAfter == nil || x.MemoryBefore.Bytes < 1<<20 || x.MemoryNote != "" {
						t.Errorf("leg %s: the server held %+v before it and %+v after it: %s", leg.ID, x.MemoryBefore, x.MemoryAfter, x.MemoryNote)
					}
				}
			}
			if want := 4 * (len(runs) - 1); worn != want || churned == 0 {
				t.Errorf("%d legs of churn and %d searches after it are valid", worn, churned)
			}
			for _, run := range runs {
				if valid[run] == 0 {
					t.Errorf("no search of run %s is valid", run)
				}
			}
			w.nothingLeft()
		})
	}
}

// checkSearch looks at what a valid search leg says.
func checkSearch(t *testing.T, engine string, leg result.Leg) {
	t.Helper()
	s, r := leg.Search, leg.Measured.Recall
	if r == nil || r.Scored != leg.Measured.OK || r.Foreign > 0 || s.Truth == "" || s.Contrast == nil {
		t.Fatalf("leg %s: %+v, scored %+v", leg.ID, s, r)
	}
	if strings.HasSuffix(leg.ID, "/sequential") != (leg.Clients*leg.Threads == 1) {
		t.Errorf("leg %s has %d × %d in flight", leg.ID, leg.Clients, leg.Threads)
	}
	if strings.Contains(leg.ID, "/churned/") != (s.Churn != nil) {
		t.Errorf("leg %s is after the churn %+v", leg.ID, s.Churn)
	}
	switch {
	case s.Exact() && (r.TieAware.Min < 1 || r.ReturnedMin != s.K):
		t.Errorf("leg %s: an exact search with %+v", leg.ID, r)
	case s.Exact():
	case leg.Explain == nil || leg.Explain.Uses != nil && !*leg.Explain.Uses:
		t.Errorf("leg %s: nothing proves that it uses the index: %+v", leg.ID, leg.Explain)
	case engine == "redis" && (s.Strategy == "hnsw") != strings.Contains(s.Proof, "no exact search to compare with"):
		t.Errorf("leg %s: %q, where the query engine of Redis has exact searches in an index of their own alone", leg.ID, s.Proof)
	case !(engine == "redis" && s.Strategy == "hnsw") && !strings.Contains(s.Proof, "found the exact neighbours"):
		t.Errorf("leg %s: the engine was not compared with the exact neighbours: %q", leg.ID, s.Proof)
	case s.Filter == "" && r.TieAware.Mean < 0.8:
		t.Errorf("leg %s: a recall of %g of 2,000 rows", leg.ID, r.TieAware.Mean)
	case s.Target != nil && r.TieAware.Mean < *s.Target:
		t.Errorf("leg %s: a recall of %g, where its budget was looked for to reach %g", leg.ID, r.TieAware.Mean, *s.Target)
	case s.Filter != "" && (s.Matching == 0 || s.Matching > s.Rows/5):
		t.Errorf("leg %s: %d of %d rows match", leg.ID, s.Matching, s.Rows)
	}
	// pgvector filters what comes out of the index, so that few rows are left of a small budget.
	if engine == "postgres" && s.Filter == "tenth" && s.Budget == 16 && (r.TieAware.Mean > 0.6 || r.Short < 0.9) {
		t.Errorf("leg %s: a recall of %g and %g short answers: the loss after the index does not show", leg.ID, r.TieAware.Mean, r.Short)
	}
}

// What was loaded for searches is read without any, and what was loaded without any is not searched: PostgreSQL keeps the vectors otherwise.
func TestQueryFindsVectorsAsTheyWereLoaded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.extra = append(w.extra, searchWorld(t, "postgres")...)
	args := []string{"-d", "postgres", "-s", "500", "-c", "2", "-t", "2", "--persisted", "--config", w.written("nearest.toml", nearest), "--data-dir", w.dir, "--name", "kept", "--isolation", "none", "--format", "json"}
	run := func(mode string, more ...string) outcome {
		return w.run(append(append([]string{"run", "--mode", mode}, args...), more...)...)
	}
	for _, o := range []outcome{run("load"), run("query", "--skip-scans", "--verify", "all")} {
		if o.code != 0 {
			t.Fatalf("exit %d: %s", o.code, o.stderr)
		}
	}
	if o := run("load", "--skip-scans"); o.code != 0 {
		t.Fatalf("load without searches: exit %d: %s", o.code, o.stderr)
	}
	if o := run("query"); o.code != 4 || !strings.Contains(o.stderr, "loaded without any, asked with them") || !strings.Contains(o.stderr, "load again") {
		t.Errorf("query with searches: exit %d, want 4 that says what to do:\n%s", o.code, o.stderr)
	}
	w.nothingLeft()
}

// A run of searches goes on after the loss of any process in the truth, the load, the build and the legs, and ends with every leg whole.
func TestSearchesSurviveKills(t *testing.T) {
	longer := strings.NewReplacer("vector:16", "vector:64", "iterations = 100", "iterations = 3000", "ef_construction = 100", "ef_construction = 300")
	r := launch(t, "postgres", shape{
		args: []string{"-s", "12k", "-c", "2", "-t", "2", "--persisted"}, config: longer.Replace(nearest), env: searchWorld(t, "postgres"),
	})
	hits := []struct {
		step   string
		victim victim
	}{
		{"neighbours/embedding-cosine", agentOf}, {"create", serverOf}, {"search/knn/exact/all/sequential", agentOf}, {"index/knn/hnsw/build", agentOf},
		{"search/knn/hnsw/all/ef_search-16/sequential", serverOf}, {"search/knn/hnsw/all/ef_search-64/sequential", workerOf},
		{"search/knn/hnsw/all/ef_search-64/concurrent", agentOf}, {"index/knn/hnsw/filter-number/build", workerOf},
		{"index/knn/hnsw/churn/1/delete", serverOf}, {"index/knn/hnsw/churn/2/insert", agentOf}, {"search/knn/hnsw/churned/all/ef_search-16/sequential", serverOf},
	}
	for _, hit := range hits {
		begun := filepath.Join(r.dir(), "steps", "*-"+strings.ReplaceAll(hit.step, "/", "~")+".begun.json")
		poll(t, 3*time.Minute, 5*time.Millisecond, "the agent is in step "+hit.step, func() bool {
			r.supervise()
			found, _ := filepath.Glob(begun)
			return len(found) > 0
		})
		if killed := r.kill(hit.victim); len(killed) == 0 {
			t.Logf("%s: no %s was there to be killed", hit.step, hit.victim)
		}
		r.compare()
	}
	doc := r.end()
	for _, leg := range doc.Legs {
		if leg.Verdict == result.Unsupported && strings.HasPrefix(leg.ID, "search/knn/set") || leg.Verdict == result.Unsupported && strings.HasPrefix(leg.ID, "index/knn/set") {
			continue
		}
		if leg.Verdict != result.Valid {
			t.Errorf("leg %s is %s: %s: %+v", leg.ID, leg.Verdict, leg.Why, leg.Interruptions)
			continue
		}
		if leg.Measured.OK != leg.Planned {
			t.Errorf("leg %s did %d of %d operations", leg.ID, leg.Measured.OK, leg.Planned)
		}
		if leg.Kind == "search" {
			checkSearch(t, "postgres", leg)
		}
		lost := slices.ContainsFunc(leg.Interruptions, func(i result.Interruption) bool { return i.Cause == agentLost || i.Cause == serverLost })
		if lost != (leg.Attempts > 1) {
			t.Errorf("leg %s took %d attempts: %+v", leg.ID, leg.Attempts, leg.Interruptions)
		}
	}
	r.nothingLeft()
}
