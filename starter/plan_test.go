package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/ci"
)

// printedPlan is what plan prints as JSON.
type printedPlan struct {
	Spec    spec.Spec
	Plan    plan.Plan        `json:"plan"`
	Summary planSummary      `json:"summary"`
	Shares  map[string]share `json:"shares"`
}

// planOf plans with these flags.
func planOf(t *testing.T, args ...string) printedPlan {
	t.Helper()
	code, out, errs := call(t, append([]string{"plan", "--format", "json"}, args...)...)
	if code != exitOK {
		t.Fatalf("plan %v: exit %d: %s", args, code, errs)
	}
	var printed printedPlan
	if err := json.Unmarshal([]byte(out), &printed); err != nil {
		t.Fatal(err)
	}
	return printed
}

// crudBench is where crud-bench's own workload files lie, beside the checkout.
const crudBench = "../../shared/fixtures/crud-bench"

// TestCrudBenchFilesPlanOnEveryEngine plans each of the files as it is on each engine. Every leg runs or says why not, and so do its searches for
// nearest neighbours.
func TestCrudBenchFilesPlanOnEveryEngine(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(crudBench, "*.toml"))
	if err == nil && len(files) == 0 {
		err = errors.New("the workload files of crud-bench are not here")
	}
	ci.Need(t, err)
	if len(files) != 7 {
		t.Errorf("%d files: %q", len(files), files)
	}
	for _, engine := range drivers.Names() {
		for _, file := range files {
			printed := planOf(t, "-d", engine, "-s", "10k", "--config", file)
			searches, exact := 0, 0
			for _, step := range printed.Plan.Timed() {
				if reason, fails := failsAsWritten(engine, step.ID); fails && !strings.Contains(step.Skip, reason) {
					t.Errorf("%s on %s: step %s would fail, and is to be skipped: %q", filepath.Base(file), engine, step.ID, step.Skip)
				}
				if step.Kind == plan.SearchLeg {
					searches++
					if step.Skip == "" && (step.Search.Query.Index == nil || step.Search.Query.Truth) {
						exact++
					}
				}
				if step.Skip == "" && step.Samples == 0 && step.Timing == nil {
					t.Errorf("%s on %s: step %s has nothing to do", filepath.Base(file), engine, step.ID)
				}
			}
			if want := map[string]int{"vector.toml": 3, "vector-filtered.toml": 2*5 + 2*5*4 + 2*5*2}[filepath.Base(file)]; searches != want {
				t.Errorf("%s on %s: %d search legs, want %d", filepath.Base(file), engine, searches, want)
			}
			if searches > 0 && slices.Contains([]string{"postgres", "mariadb", "surrealdb", "redis"}, engine) && exact == 0 {
				t.Errorf("%s on %s: no exact search runs", filepath.Base(file), engine)
			}
		}
	}
}

// Options whose values are the driver's to judge are taken as they are.
func TestOptionsWithFreeValuesArePlanned(t *testing.T) {
	for engine, options := range map[string]map[string]string{
		"sqlite": {"readers": "4"}, "surrealdb": {"retries": "3", "datastore": "rocksdb:///x?sync=never"},
	} {
		args := []string{"-d", engine, "-s", "10"}
		for name, value := range options {
			args = append(args, "--engine", name+"="+value)
		}
		printed := planOf(t, args...)
		for name, value := range options {
			if got := printed.Spec.Engine[name]; got != value {
				t.Errorf("%s: option %s is %q, want %q", engine, name, got, value)
			}
		}
	}
}

// failsAsWritten tells which scans of crud-bench's files cannot work on an engine as they are written, and a word of why.
func failsAsWritten(engine, step string) (reason string, fails bool) {
	switch {
	case !strings.Contains(step, "_fulltext_"):
		return "", false
	case engine == "sqlite":
		return "PostgreSQL's", true // the only text that it reads is PostgreSQL's
	case strings.Contains(step, "/heap/") && (engine == "mysql" || engine == "mariadb" || engine == "mongodb" || engine == "surrealdb"):
		return "index", true
	}
	return "", false
}

// TestShippedFilesPlanOnEveryEngine does the same with our own files.
func TestShippedFilesPlanOnEveryEngine(t *testing.T) {
	for _, engine := range drivers.Names() {
		for _, file := range []string{"crud", "bench", "ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"} {
			if printed := planOf(t, "-d", engine, "-s", "10k", "--config", file); len(printed.Plan.Timed()) < 4 {
				t.Errorf("%s on %s: %d legs", file, engine, len(printed.Plan.Timed()))
			}
		}
	}
}

func TestPlanSaysWhatScansFind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "w.toml")
	text := `
[value]
number = "int:0..10"
label = "string_enum:aa,ab"
[[scans]]
id = "few"
name = "few"
iterations = 7
where = { number = 3 }
index = { fields = ["number"] }
[[scans]]
id = "all"
name = "all"
projection = "COUNT"
[[scans]]
id = "rare"
name = "rare"
where = { label = "aa", number = { in = [0, 9] } }
writes = [0.25]
[[mixes]]
name = "m"
weights = { read = 3, update = 1 }
rate = 500
arrival = "poisson"
[[batches]]
name = "b"
operation = "CREATE"
batch_size = 20
iterations = 5
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-d", "sqlite", "-s", "200", "--corpus-seed", "1", "--config", file, "-c", "2", "-t", "3"}
	printed := planOf(t, args...)
	few := printed.Shares["scan/few/few/heap/read"]
	if few.Of != 200 || few.Rows != 200 || few.Found < 5 || few.Found > 50 {
		t.Errorf("few: %+v", few)
	}
	if all := printed.Shares["scan/all/all/heap/read"]; all.Found != 200 {
		t.Errorf("all: %+v", all)
	}
	if printed.Summary.Windows == 0 || printed.Summary.WindowTime == 0 {
		t.Errorf("summary %+v", printed.Summary)
	}
	_, out, _ := call(t, append([]string{"plan"}, args...)...)
	for _, want := range []string{
		"scan/few/few/heap/read", few.String(), "all 200 rows", "│ 7 ", "2 × 3", "30s after 5s, ≥ 10", "updated → stirred",
		"select full where number = 3", "build ordered (number)", "drop ordered (number)", "; after 25 % of",
		"500/s Poisson", "3 read, 1 update; uniform", "5 × 20 rows", "create many rows at once", "deleted → rows 0-99 v0",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
	// What the engine cannot do is there, with the reason.
	_, out, _ = call(t, append([]string{"plan"}, append(args, "-d", "dry")...)...)
	if !strings.Contains(out, "not run [1]") || !strings.Contains(out, "\n[1] ") {
		t.Errorf("no reasons:\n%s", out)
	}
	_, out, _ = call(t, append([]string{"plan", "--format", "csv"}, append(args, "-d", "dry")...)...)
	if !strings.Contains(out, "Not run because") || !strings.Contains(out, ",not run,") {
		t.Errorf("no reasons:\n%s", out)
	}
}

func TestShareSpeaksOfWhatWasLookedAt(t *testing.T) {
	for _, test := range []struct {
		share share
		want  string
	}{
		{share{21, 100_000, 100_000}, "0.021 %: 21 rows"},
		{share{21, 100_000, 1_000_000}, "≈ 0.021 %: 210 rows"},
		{share{33_333, 100_000, 100_000}, "33 %: 33,333 rows"},
		{share{500, 500, 500}, "all 500 rows"},
		{share{100_000, 100_000, 5_000_000}, "≈ all 5,000,000 rows"},
		{share{0, 500, 500}, "no row"},
		{share{0, 100_000, 1_000_000}, "< 0.003 %: none of 100,000 rows looked at"},
	} {
		if got := test.share.String(); got != test.want {
			t.Errorf("%+v is %q, want %q", test.share, got, test.want)
		}
	}
}

// Redis searches vectors in indexes alone, so an exact search has one in which every vector is compared: a vector set where it can be, else a flat index.
func TestExactSearchesOfAnEngineWithoutThemAreOnAnIndex(t *testing.T) {
	for metric, want := range map[string]query.Strategy{"cosine": query.VectorSet, "euclidean": query.BruteForce} {
		file := filepath.Join(t.TempDir(), "vectors.toml")
		text := fmt.Sprintf("seed = 1\n[value]\nv = \"vector:8\"\nn = \"int:1..9\"\n[[scans]]\nid = \"near\"\nname = \"exact\"\niterations = 5\n[scans.vector_query]\n"+
			"field = \"v\"\ntop_k = 3\ndistance = %q\nindex_strategy = { kind = \"bruteforce\" }\nfilters = [{ name = \"few\", field = \"n\", op = \"lte\", value = 3 }]\n", metric)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var kinds []plan.Kind
		for _, step := range planOf(t, "-d", "redis", "-s", "100", "--config", file).Plan.Steps {
			if step.Search == nil && step.Index == nil {
				continue
			}
			kinds = append(kinds, step.Kind)
			if step.Skip != "" {
				t.Errorf("%s: step %s is skipped: %s", metric, step.ID, step.Skip)
			}
			if s := step.Search; s != nil && (!s.Query.Truth || s.Query.Kind() != want || len(s.Query.Index.Vector.Filters) != 1) {
				t.Errorf("%s: step %s searches %+v", metric, step.ID, s.Query)
			}
		}
		if want := []plan.Kind{plan.IndexBuild, plan.SearchLeg, plan.SearchLeg, plan.IndexDrop}; !slices.Equal(kinds, want) {
			t.Errorf("%s: steps %v, want %v", metric, kinds, want)
		}
	}
}
