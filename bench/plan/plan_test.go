package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/durabench/durabench/bench/spec"
)

var update = flag.Bool("update", false, "write the golden plans anew")

// engines are one of each kind, as the registry would describe them.
var engines = []Abilities{
	{Engine: "sqlite", Embedded: true, Durable: true, Count: true},
	{Engine: "postgres", Durable: true, Count: true},
	{Engine: "map", Embedded: true, Count: true},
	{Engine: DryEngine, Embedded: true},
}

func TestPlansAreAsRecorded(t *testing.T) {
	for _, test := range []struct {
		engine Abilities
		mode   spec.Mode
	}{
		{engines[0], spec.ModeAll}, {engines[0], spec.ModeLoad}, {engines[0], spec.ModeQuery},
		{engines[1], spec.ModeAll}, {engines[1], spec.ModeLoad}, {engines[1], spec.ModeQuery},
		{engines[2], spec.ModeAll},
		{engines[3], spec.ModeAll},
	} {
		name := test.engine.Engine + "-" + string(test.mode)
		t.Run(name, func(t *testing.T) {
			p, err := New(&spec.Spec{Database: test.engine.Engine, Mode: test.mode, Samples: 2_500_000, Clients: 4, Threads: 8}, test.engine)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(p, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			golden := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v; run with -update to write it", err)
			}
			if !bytes.Equal(want, got) {
				t.Errorf("plan differs (-want +got):\n%s", cmp.Diff(string(want), string(got)))
			}
		})
	}
}

func TestNewRefusesWhatCannotRun(t *testing.T) {
	for _, test := range []struct {
		name   string
		spec   spec.Spec
		engine Abilities
		want   string
	}{
		{"load needs data that stays", spec.Spec{Database: "map", Mode: spec.ModeLoad, Samples: 1}, engines[2],
			"--mode: map keeps its rows in memory only: load and query need an engine whose data outlives the agent"},
		{"so does query", spec.Spec{Database: "map", Mode: spec.ModeQuery, Samples: 1}, engines[2],
			"--mode: map keeps its rows in memory only: load and query need an engine whose data outlives the agent"},
		{"the dry engine keeps none at all", spec.Spec{Database: DryEngine, Mode: spec.ModeLoad, Samples: 1}, engines[3],
			"--mode: dry keeps no rows: load and query need an engine whose data outlives the agent"},
		{"an unknown mode", spec.Spec{Database: "sqlite", Mode: "lod", Samples: 1}, engines[0],
			`plan sqlite: mode "lod" is not one of all, load, query; did you mean load?`},
		{"no rows", spec.Spec{Database: "sqlite", Mode: spec.ModeAll}, engines[0], "check plan of sqlite: leg create has no operations"},
		{"the abilities of another engine", spec.Spec{Database: "sqlite", Mode: spec.ModeAll, Samples: 1}, engines[1],
			"plan sqlite: the abilities are those of postgres"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := New(&test.spec, test.engine)
			if err == nil || err.Error() != test.want {
				t.Fatalf("error %v, want %s", err, test.want)
			}
			var problems spec.Problems
			if errors.As(err, &problems) != strings.HasPrefix(test.want, "--") {
				t.Errorf("error is a %T", err)
			}
		})
	}
}

func TestPlansHoldTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		engine := rapid.SampledFrom(engines).Draw(t, "engine")
		s := &spec.Spec{
			Database: engine.Engine,
			Mode:     rapid.SampledFrom([]spec.Mode{spec.ModeAll, spec.ModeLoad, spec.ModeQuery}).Draw(t, "mode"),
			Samples:  rapid.Int64Range(1, spec.MaxSamples).Draw(t, "samples"),
			Clients:  rapid.IntRange(1, 1000).Draw(t, "clients"),
			Threads:  rapid.IntRange(1, 1000).Draw(t, "threads"),
		}
		p, err := New(s, engine)
		if err != nil {
			if s.Mode != spec.ModeAll && !engine.Durable {
				return
			}
			t.Fatal(err)
		}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		again, err := New(s, engine)
		if err != nil || !cmp.Equal(p, again) {
			t.Fatalf("the same spec gave another plan (%v):\n%s", err, cmp.Diff(p, again))
		}
		for _, step := range p.Timed() {
			if step.Operations() != s.Samples || step.Clients != s.Clients || step.Threads != s.Threads {
				t.Fatalf("leg %+v does not do what is asked", step)
			}
			if found, ok := p.Step(step.ID); !ok || !cmp.Equal(found, step) {
				t.Fatalf("leg %s is not found by its id", step.ID)
			}
		}
		calibration, ok := p.Step("calibrate")
		if n := calibration.Operations(); ok == (engine.Engine == DryEngine) || ok && (n < minCalibration || n > maxCalibration) {
			t.Fatalf("calibration %+v on %s", calibration, engine.Engine)
		}
		if want := map[spec.Mode]State{spec.ModeAll: Deleted, spec.ModeLoad: Updated, spec.ModeQuery: Updated}[s.Mode]; p.After() != want {
			t.Fatalf("the dataset is left %s, want %s", p.After(), want)
		}
		if s.Mode != spec.ModeQuery {
			return
		}
		for _, step := range p.Steps {
			if step.Effect != ReadOnly {
				t.Fatalf("a query writes: %+v", step)
			}
		}
	})
}

// A plan with any one step taken out, but for those that only look, does not pass.
func TestCheckFindsWhatDoesNotFit(t *testing.T) {
	s := &spec.Spec{Database: "sqlite", Mode: spec.ModeAll, Samples: 1, Clients: 1, Threads: 1}
	for _, test := range []struct {
		name   string
		change func(*Plan)
		want   string
	}{
		{"nothing", func(*Plan) {}, ""},
		{"no table to create in", func(p *Plan) { p.Steps = p.Steps[1:] }, "step create needs the dataset empty, finds it absent"},
		{"an update missing", func(p *Plan) { p.Steps = append(p.Steps[:4], p.Steps[5:]...) }, "step delete needs the dataset updated, finds it loaded"},
		{"a step that is skipped changes nothing", func(p *Plan) { p.Steps[2].Skip = "not on this engine" },
			"step read needs the dataset loaded, finds it empty"},
		{"a step that is skipped needs nothing", func(p *Plan) { p.Steps[5].Skip, p.Steps[5].Needs = "not on this engine", Absent }, ""},
		{"an id twice", func(p *Plan) { p.Steps[3].ID = "create" }, `step 3 has the id "create", which is empty or taken`},
		{"an id missing", func(p *Plan) { p.Steps[3].ID = "" }, `step 3 has the id "", which is empty or taken`},
		{"a reader that writes", func(p *Plan) { p.Steps[3].Leaves = Updated }, "step read is read-only and leaves the dataset updated"},
		{"a leg of nothing", func(p *Plan) { p.Steps[3].Samples = 0 }, "leg read has no operations"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := New(s, engines[0])
			if err != nil {
				t.Fatal(err)
			}
			test.change(p)
			got := ""
			if err := p.Check(); err != nil {
				got = strings.TrimPrefix(err.Error(), "check plan of sqlite: ")
			}
			if got != test.want {
				t.Errorf("check says %q, want %q", got, test.want)
			}
		})
	}
}

func TestSkippedStepsHaveNoOperations(t *testing.T) {
	if n := (Step{Samples: 5}).Operations(); n != 5 {
		t.Errorf("%d operations", n)
	}
	if n := (Step{Samples: 5, Skip: "not on this engine"}).Operations(); n != 0 {
		t.Errorf("a skipped step has %d operations", n)
	}
	if _, ok := (&Plan{}).Step("read"); ok {
		t.Error("an empty plan has a step")
	}
}
