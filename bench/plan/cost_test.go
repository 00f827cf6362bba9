package plan

import (
	"testing"
	"time"

	"github.com/durabench/durabench/bench/spec"
)

func TestCostCountsWhatWillRun(t *testing.T) {
	p := &Plan{Engine: "map", Mode: spec.ModeAll, Steps: []Step{
		{ID: "prepare", Kind: Prepare},
		{ID: "create", Kind: Create, Timed: true, Samples: 100_000},
		{ID: "scan", Kind: ScanLeg, Timed: true, Timing: &Timing{Warmup: spec.Duration(5 * time.Second), Window: spec.Duration(30 * time.Second)}},
		{ID: "index", Kind: IndexBuild, Timed: true, Rows: 100_000},
		{ID: "delete", Kind: Delete, Timed: true, Samples: 100_000, Skip: "it keeps everything"},
	}}
	want := Cost{
		Legs: 3, Operations: 100_000, Rows: 100_000, Windows: 35 * time.Second,
		Least: LeastAround + 35*time.Second + 2*time.Second + 100*time.Millisecond,
		Most:  MostAround + 35*time.Second + 100*time.Second + 2*time.Second,
	}
	if got := p.Cost(100_000); got != want {
		t.Errorf("cost %+v, want %+v", got, want)
	}
	if got := want.Add(want); got.Operations != 200_000 || got.Most != 2*want.Most {
		t.Errorf("twice %+v is %+v", want, got)
	}
}
