//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/result"
)

// workloads are the engines whose scans are proven here, each against its own server.
var workloads = []string{"sqlite", "postgres"}

// shipped are those on which every leg of the workload that ships is proven, with how the reasons begin for what the engine cannot do: indexes on the
// elements of arrays, and words without an index.
var shipped = map[string][]string{"sqlite": {"SQLite "}, "postgres": nil, "mariadb": {"MariaDB ", "InnoDB "}}

// measured runs a workload and returns its document. The run's verdict is the caller's to judge.
func (w *world) measured(engine, config string, args ...string) *result.Document {
	w.t.Helper()
	o := w.run(append([]string{
		"run", "-d", engine, "--config", config, "-c", "2", "-t", "2", "--corpus-seed", "1", "--isolation", "none", "--format", "json",
	}, args...)...)
	if o.code > 1 {
		w.t.Fatalf("%s on %s: exit %d\nstderr:\n%s", config, engine, o.code, tail(o.stderr, 4000))
	}
	return w.document(o)
}

// Every leg of the workload that ships has right answers.
func TestEveryLegOfTheShippedWorkloadIsValid(t *testing.T) {
	for engine, lacks := range shipped {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := w.measured(engine, "bench", "-s", "10k", "--measurement-time", "20ms", "--warmup-time", "5ms", "--min-iterations", "2")
			kinds := map[string]int{}
			for _, leg := range d.Legs {
				switch {
				case leg.Verdict == result.Unsupported && lacks != nil:
					if !slices.ContainsFunc(lacks, func(begins string) bool { return strings.HasPrefix(leg.Why, begins) }) {
						t.Errorf("leg %s is unsupported: %s", leg.ID, leg.Why)
					}
					continue
				case leg.Verdict != result.Valid && !tooFast(engine, leg):
					t.Errorf("leg %s is %s: %s", leg.ID, leg.Verdict, leg.Why)
					continue
				}
				kinds[leg.Kind]++
				checkWork(t, leg)
			}
			for _, kind := range []string{"create", "read", "update", "delete", "scan", "index-build", "index-drop", "mix", "batch"} {
				if kinds[kind] == 0 {
					t.Errorf("no leg of kind %s is valid", kind)
				}
			}
			w.nothingLeft()
		})
	}
}

// tooFast tells whether a leg of an engine inside the agent was as fast as the harness, which is then what limits it.
func tooFast(engine string, leg result.Leg) bool {
	return engine == "sqlite" && leg.Verdict == result.GeneratorLimited && strings.Contains(leg.Why, "the harness's own cost")
}

// checkWork looks at what a valid leg says of its work.
func checkWork(t *testing.T, leg result.Leg) {
	t.Helper()
	m := leg.Measured
	switch leg.Kind {
	case "scan":
		if m.WholeCheck == nil || m.Checked == 0 || leg.Scan.Expected == nil {
			t.Errorf("leg %s: its answers were not checked: %+v", leg.ID, m)
		}
		if leg.Scan.Context == "indexed" && (leg.Explain == nil || leg.Explain.Uses == nil || !*leg.Explain.Uses || leg.Explain.Text == "") {
			t.Errorf("leg %s: nothing proves that it uses the index: %+v", leg.ID, leg.Explain)
		}
		if leg.Scan.WriteRatio > 0 && (m.Exchanges == nil || m.Touched == nil || m.RowsAfter == nil || m.Exchanges.OK > 0 && m.Exchanges.Checked == 0) {
			t.Errorf("leg %s: its writes were not counted or not checked: %+v", leg.ID, m)
		}
	case "index-build":
		if i := leg.Index; i.ReturnedNs == nil || i.CorrectNs == nil || i.ServingNs == nil || i.How == "" {
			t.Errorf("leg %s: a clock is missing: %+v", leg.ID, i)
		}
	case "mix":
		if len(m.Kinds) != len(leg.Mix.Weights) || m.Touched == nil || *m.Touched == 0 || m.RowsAfter == nil {
			t.Errorf("leg %s: %+v", leg.ID, m)
		}
	case "batch":
		if m.Requests == nil || *m.Requests < m.OK || m.Rows == nil || *m.Rows != m.OK*int64(leg.Batch.Size) {
			t.Errorf("leg %s: requests %v, rows %v of %d batches of %d", leg.ID, m.Requests, m.Rows, m.OK, leg.Batch.Size)
		}
	}
}

// Files of crud-bench run unchanged. Of a condition in SQL nothing is known unless the file says how many rows it finds.
func TestCrudBenchFilesRun(t *testing.T) {
	files := map[string]string{"testdata/crud-bench.toml": "1200"}
	// Its own files, if somebody says where they are.
	if dir := os.Getenv("DURABENCH_CRUD_BENCH"); dir != "" {
		for _, name := range []string{"ci.toml", "test.toml"} {
			files[filepath.Join(dir, name)] = "5200"
		}
	}
	for _, engine := range workloads {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.extra = append(w.extra, searchWorld(t, engine)...)
			for file, samples := range files {
				path, err := filepath.Abs(file)
				if err != nil {
					t.Fatal(err)
				}
				d := w.measured(engine, path, "-s", samples)
				for _, leg := range d.Legs {
					checkCrudBench(t, engine, filepath.Base(file), leg)
				}
			}
			w.nothingRuns()
		})
	}
}

// checkCrudBench judges a leg of one of crud-bench's files.
func checkCrudBench(t *testing.T, engine, file string, leg result.Leg) {
	t.Helper()
	unknown := leg.Scan != nil && leg.Scan.Raw && leg.Scan.Expected == nil
	switch {
	case leg.Kind == "search" && engine == "sqlite":
		if leg.Verdict != result.Unsupported || leg.Why != "SQLite has no searches for nearest neighbours here" {
			t.Errorf("%s: leg %s is %s: %s", file, leg.ID, leg.Verdict, leg.Why)
		}
	case leg.Verdict == result.Invalid && strings.HasPrefix(leg.Why, "index not used"):
		// Its authors do not ask whether a planner has a use for the index.
		if leg.Explain == nil || leg.Explain.Text == "" {
			t.Errorf("%s: leg %s: the server's plan is missing", file, leg.ID)
		}
	case leg.Verdict == result.Unsupported && engine == "sqlite" && file != "crud-bench.toml":
	case tooFast(engine, leg):
	case unknown && leg.Verdict != result.Unverified:
		t.Errorf("%s: leg %s, of which nothing is known, is %s: %s", file, leg.ID, leg.Verdict, leg.Why)
	case !unknown && leg.Verdict != result.Valid:
		t.Errorf("%s: leg %s is %s: %s", file, leg.ID, leg.Verdict, leg.Why)
	}
}
