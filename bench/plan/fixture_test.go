package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/infra/ci"
)

// fixtures is where crud-bench's own workload files lie, beside the checkout.
const fixtures = "../../../shared/fixtures/crud-bench"

// fixturePlan plans one of crud-bench's files on an engine that can do everything but what is named. Without the folder the test is
// skipped; in CI it fails.
func fixturePlan(t *testing.T, name string, unsupported map[string]string, args ...string) (*spec.Spec, *Plan) {
	t.Helper()
	path := filepath.Join(fixtures, name)
	_, err := os.Stat(path)
	ci.Need(t, err)
	s := specOf(t, append([]string{"-d", "sqlite", "-s", "10k", "-c", "4", "-t", "8", "--corpus-seed", "1", "--config", path}, args...)...)
	p, err := New(s, Abilities{Engine: "sqlite", Embedded: true, Durable: true, Count: true, Analyze: true, Unsupported: unsupported})
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

// specOf builds the spec of a command line.
func specOf(t *testing.T, args ...string) *spec.Spec {
	t.Helper()
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags := spec.NewFlags(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	request, err := spec.Build(flags, nil, spec.Facts{Engines: []spec.EngineFacts{{Name: "sqlite", Servers: []string{"embedded"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return request.Spec
}

// lines writes a plan with one line per step, for golden files that people can read.
func lines(p *Plan) string {
	var b strings.Builder
	for _, s := range p.Steps {
		work := fmt.Sprintf("%d × %d×%d", s.Samples, s.Clients, s.Threads)
		if s.Timing != nil {
			work = fmt.Sprintf("%s+%s ≥%d × %d×%d", s.Timing.Warmup, s.Timing.Window, s.Timing.MinSamples, s.Clients, s.Threads)
		}
		fmt.Fprintf(&b, "%s | %s | %s → %s, %s, v%d | %s", s.ID, s.Kind, s.Needs, s.Leaves, s.Effect, s.Version, work)
		if scan := s.Scan; scan != nil {
			fmt.Fprintf(&b, " | %s +%d ≤%d writes %g", scan.Query.Project, scan.Query.Offset, scan.Query.Limit, scan.WriteRatio)
			if scan.Query.Raw != nil {
				fmt.Fprintf(&b, " where %s order %q", scan.Query.Raw.Where["sql"], scan.Query.Raw.Order["sql"])
			}
			if scan.Indexed != nil {
				fmt.Fprintf(&b, " on %s", scan.Indexed.Name)
			}
		}
		if s.Index != nil {
			fmt.Fprintf(&b, " | %s %s %v", s.Index.Name, s.Index.Kind, s.Index.Paths)
		}
		if s.Batch != nil {
			fmt.Fprintf(&b, " | %s of %d", s.Batch.Operation, s.Batch.Size)
		}
		if len(s.Scans) > 0 {
			fmt.Fprintf(&b, " | %d scans", len(s.Scans))
		}
		if s.Skip != "" {
			fmt.Fprintf(&b, " | NOT RUN: %s", s.Skip)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// golden compares with the file of that name in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run with -update to write it", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

func TestPlansOfCrudBenchFilesAreAsRecorded(t *testing.T) {
	for _, name := range []string{"bench", "cache", "ci", "memory", "test", "vector", "vector-filtered"} {
		t.Run(name, func(t *testing.T) {
			_, p := fixturePlan(t, name+".toml", nil)
			golden(t, "crud-bench-"+name+".txt", lines(p))
		})
	}
}

// Every leg of crud-bench's file is there, and those that the engine cannot do say why.
func TestPlanOfCrudBenchFileHasEveryLeg(t *testing.T) {
	_, p := fixturePlan(t, "bench.toml", nil)
	// 4 CRUD, 5 plain scans, 14 runs × (2 reads, 4 mixed, build, drop), 3 full-text × (2 reads, build, drop), 8 batches.
	if n, want := len(p.Timed()), 4+5+14*8+3*4+8; n != want {
		t.Errorf("%d timed steps, want %d", n, want)
	}
	if p.After() != Deleted {
		t.Errorf("the dataset is left %s", p.After())
	}
	_, p = fixturePlan(t, "bench.toml", map[string]string{
		"scan/where_field_integer_eq/count": "no counts", "index/where_field_integer_in_many": "no such index", BatchKey: "no batches",
		"scan/where_field_fulltext_single/full/heap": "needs its index",
	})
	for id, want := range map[string]string{
		"scan/where_field_integer_eq/count/heap/read":            "no counts",
		"scan/where_field_integer_eq/count/heap/write-15":        "no counts",
		"scan/where_field_integer_eq/count/indexed/read":         "no counts",
		"index/where_field_integer_eq/count/build":               "no counts",
		"scan/where_field_integer_eq/full/heap/read":             "",
		"scan/where_field_integer_in_many/full/heap/read":        "",
		"scan/where_field_integer_in_many/full/indexed/read":     "no such index",
		"scan/where_field_integer_in_many/full/indexed/write-50": "no such index",
		"index/where_field_integer_in_many/full/drop":            "no such index",
		"scan/where_field_fulltext_single/full/heap/read":        "needs its index",
		"scan/where_field_fulltext_single/full/indexed/read":     "",
		"batch/batch_create_100":                                 "no batches",
	} {
		step, ok := p.Step(id)
		if !ok || step.Skip != want {
			t.Errorf("leg %s: there %t, not run because %q, want %q", id, ok, step.Skip, want)
		}
	}
	if _, ok := p.Step("scan/where_field_integer_in_many/full/indexed/write-50/restore"); ok {
		t.Error("a leg that does not run is undone")
	}
}

func TestPlanWithoutIndexesScansAndBatches(t *testing.T) {
	_, p := fixturePlan(t, "bench.toml", nil, "--skip-indexes")
	if n, want := len(p.Timed()), 4+5+14*3+3+8; n != want {
		t.Errorf("%d timed steps without indexes, want %d", n, want)
	}
	_, p = fixturePlan(t, "bench.toml", nil, "--skip-scans", "--skip-batches")
	if n := len(p.Timed()); n != 4 {
		t.Errorf("%d timed steps without scans and batches", n)
	}
}

// A plan travels as JSON; what arrives is what was sent.
func TestPlansSurviveJSON(t *testing.T) {
	for _, name := range []string{"bench", "vector-filtered", "test"} {
		s, p := fixturePlan(t, name+".toml", map[string]string{"scan/count/count": "why"})
		for _, value := range []struct{ sent, got any }{{s, new(spec.Spec)}, {p, new(Plan)}} {
			text, err := json.Marshal(value.sent)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %T takes %d bytes", name, value.sent, len(text))
			if err := json.Unmarshal(text, value.got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(value.sent, value.got); diff != "" {
				t.Errorf("%s arrives otherwise (-sent +got):\n%s", name, diff)
			}
			if again, err := json.Marshal(value.got); err != nil || !bytes.Equal(text, again) {
				t.Errorf("%s is written otherwise the second time (%v)", name, err)
			}
		}
	}
}
