package workflows

import (
	"testing"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/result"
)

func TestLegsFollowTheFateOfTheirIndex(t *testing.T) {
	index, other := &query.Index{Name: "ix_a"}, &query.Index{Name: "ix_b"}
	build := plan.Step{ID: "build", Kind: plan.IndexBuild, Index: index, Scan: &plan.Scan{Indexed: index}}
	drop := plan.Step{ID: "drop", Kind: plan.IndexDrop, Index: index}
	indexed := plan.Step{ID: "indexed", Kind: plan.ScanLeg, Scan: &plan.Scan{Indexed: index}}
	heap := plan.Step{ID: "heap", Kind: plan.ScanLeg, Scan: &plan.Scan{}}
	read := plan.Step{ID: "read", Kind: plan.Read}
	next := plan.Step{ID: "next", Kind: plan.IndexBuild, Index: other, Scan: &plan.Scan{Indexed: other}}

	type came struct {
		step    plan.Step
		verdict result.Verdict
	}
	for _, test := range []struct {
		name string
		came []came
		want map[string]result.Verdict // by step: "" when it runs
	}{
		{"before the build", nil, map[string]result.Verdict{"build": "", "heap": "", "read": "", "indexed": result.NotRun, "drop": result.NotRun}},
		{"after it", []came{{build, result.Valid}}, map[string]result.Verdict{"indexed": "", "drop": "", "read": ""}},
		{"of answers that nobody could check", []came{{build, result.Unverified}}, map[string]result.Verdict{"indexed": "", "drop": ""}},
		{"a build that failed", []came{{build, result.Failed}},
			map[string]result.Verdict{"indexed": result.NotRun, "drop": result.NotRun, "heap": "", "next": ""}},
		{"one that the engine cannot do", []came{{build, result.Unsupported}},
			map[string]result.Verdict{"indexed": result.Unsupported, "drop": result.Unsupported, "heap": ""}},
		{"after the removal", []came{{build, result.Valid}, {drop, result.Valid}},
			map[string]result.Verdict{"indexed": result.NotRun, "heap": "", "next": ""}},
		{"a removal that failed", []came{{build, result.Valid}, {drop, result.Failed}},
			map[string]result.Verdict{"indexed": result.NotRun, "heap": result.NotRun, "next": result.NotRun, "read": ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var x indexes
			for _, c := range test.came {
				x = x.after(c.step, c.verdict, "why")
			}
			for _, step := range []plan.Step{build, drop, indexed, heap, read, next} {
				want, asked := test.want[step.ID]
				if !asked {
					continue
				}
				got, why, ok := x.allows(step)
				if ok != (want == "") || got != want || ok == (why != "") {
					t.Errorf("step %s: %q, %q, %t, want %q", step.ID, got, why, ok, want)
				}
			}
		})
	}
}
