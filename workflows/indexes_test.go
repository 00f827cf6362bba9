package workflows

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
)

func TestLegsFollowTheFateOfTheirIndex(t *testing.T) {
	index, other := &query.Index{Name: "ix_a"}, &query.Index{Name: "ix_b"}
	build := plan.Step{ID: "build", Kind: plan.IndexBuild, Timed: true, Index: index, Scan: &plan.Scan{Indexed: index}}
	drop := plan.Step{ID: "drop", Kind: plan.IndexDrop, Timed: true, Index: index}
	indexed := plan.Step{ID: "indexed", Kind: plan.ScanLeg, Timed: true, Scan: &plan.Scan{Indexed: index}}
	heap := plan.Step{ID: "heap", Kind: plan.ScanLeg, Timed: true, Scan: &plan.Scan{}}
	read := plan.Step{ID: "read", Kind: plan.Read, Timed: true}
	restore := plan.Step{ID: "restore", Kind: plan.Restore}
	next := plan.Step{ID: "next", Kind: plan.IndexBuild, Timed: true, Index: other, Scan: &plan.Scan{Indexed: other}}

	type came struct {
		step    plan.Step
		verdict result.Verdict
		left    bool
	}
	for _, test := range []struct {
		name  string
		every bool
		came  []came
		want  map[string]result.Verdict // by step: "" when it runs
	}{
		{"before the build", false, nil, map[string]result.Verdict{"build": "", "heap": "", "read": "", "indexed": result.NotRun, "drop": result.NotRun}},
		{"after it", false, []came{{build, result.Valid, false}}, map[string]result.Verdict{"indexed": "", "drop": "", "read": ""}},
		{"of answers that nobody could check", false, []came{{build, result.Unverified, false}}, map[string]result.Verdict{"indexed": "", "drop": ""}},
		{"a build that failed", false, []came{{build, result.Failed, false}},
			map[string]result.Verdict{"indexed": result.NotRun, "drop": result.NotRun, "heap": "", "next": ""}},
		{"one that the engine cannot do", false, []came{{build, result.Unsupported, false}},
			map[string]result.Verdict{"indexed": result.Unsupported, "drop": result.Unsupported, "heap": ""}},
		{"after the removal", false, []came{{build, result.Valid, false}, {drop, result.Valid, false}},
			map[string]result.Verdict{"indexed": result.NotRun, "heap": "", "next": ""}},
		{"a removal that failed", true, []came{{build, result.Valid, false}, {drop, result.Failed, true}}, map[string]result.Verdict{
			"indexed": result.NotRun, "heap": result.NotRun, "next": result.NotRun, "read": result.NotRun, "drop": result.NotRun, "restore": "", "build": "",
		}},
		{"one after which nothing is left", true, []came{{build, result.Valid, false}, {drop, result.Failed, false}},
			map[string]result.Verdict{"indexed": result.NotRun, "heap": "", "next": "", "read": ""}},
		{"a build that failed and left something", true, []came{{build, result.Failed, true}}, map[string]result.Verdict{
			"indexed": result.NotRun, "heap": result.NotRun, "next": result.NotRun, "read": result.NotRun, "drop": result.NotRun, "restore": "", "build": "",
		}},
		{"which its next build removes", true, []came{{build, result.Failed, true}, {build, result.Valid, false}},
			map[string]result.Verdict{"indexed": "", "drop": ""}},
		{"or at least its failure", true, []came{{build, result.Failed, true}, {build, result.Failed, false}},
			map[string]result.Verdict{"indexed": result.NotRun, "heap": "", "next": "", "read": ""}},
		{"a removal that failed in a run of an earlier build", false, []came{{build, result.Valid, false}, {drop, result.Failed, true}},
			map[string]result.Verdict{"indexed": result.NotRun, "heap": result.NotRun, "next": result.NotRun, "build": result.NotRun, "read": ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var x indexes
			for _, c := range test.came {
				x = x.after(c.step, c.verdict, "why", c.left)
			}
			for _, step := range []plan.Step{build, drop, indexed, heap, read, restore, next} {
				want, asked := test.want[step.ID]
				if !asked {
					continue
				}
				got, why, ok := x.allows(step, test.every)
				if ok != (want == "") || got != want || ok == (why != "") {
					t.Errorf("step %s: %q, %q, %t, want %q", step.ID, got, why, ok, want)
				}
			}
		})
	}
}

// What the agent says of an index whose build failed decides whether anything is measured after it; a run that an earlier build has begun goes on as it
// would have.
func TestAnIndexThatIsLeftEndsTheMeasuring(t *testing.T) {
	for name, test := range map[string]struct {
		cleared bool
		version workflow.Version
		want    result.Verdict // of the legs after it; "" when they run
	}{
		"removed":             {true, 1, ""},
		"left":                {false, 1, result.NotRun},
		"left, in an old run": {false, workflow.DefaultVersion, ""},
	} {
		t.Run(name, func(t *testing.T) {
			env, f := environment(t)
			env.OnGetVersion(changeLeft, workflow.DefaultVersion, workflow.Version(1)).Return(test.version).Maybe()
			f.verdicts["build"], f.cleared["build"] = result.Failed, test.cleared
			f.legs()
			in := input(t, spec.ModeAll)
			in.Attributes = false
			index := &query.Index{Name: "ix_a"}
			at := len(in.Plan.Steps) - 1
			require.Equal(t, plan.Delete, in.Plan.Steps[at].Kind)
			in.Plan.Steps = slices.Insert(in.Plan.Steps, at, plan.Step{
				ID: "build", Kind: plan.IndexBuild, Timed: true, Needs: plan.Updated, Leaves: plan.Any, Effect: plan.ReadOnly, Samples: 1, Index: index,
				Scan: &plan.Scan{Indexed: index},
			})
			env.ExecuteWorkflow(Benchmark, in)
			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, test.want == "", slices.Contains(f.done, "run delete"))
			if test.want != "" {
				require.Equal(t, test.want, f.missing("delete").Verdict)
				require.Contains(t, f.missing("delete").Why, "the index ix_a may still be there")
			}
		})
	}
}

// A search needs the index of vectors and those on what it filters by; each is built and removed by itself.
func TestSearchesFollowTheFateOfAllTheirIndexes(t *testing.T) {
	vectors, number, shade := &query.Index{Name: "ix_vectors"}, &query.Index{Name: "ix_number"}, &query.Index{Name: "ix_shade"}
	build := func(index *query.Index) plan.Step {
		return plan.Step{ID: "build " + index.Name, Kind: plan.IndexBuild, Timed: true, Index: index}
	}
	drop := func(index *query.Index) plan.Step {
		return plan.Step{ID: "drop " + index.Name, Kind: plan.IndexDrop, Timed: true, Index: index}
	}
	search := plan.Step{ID: "search", Kind: plan.SearchLeg, Timed: true, Search: &plan.Search{
		Query: query.Search{Index: vectors}, FilterIndexes: []query.Index{*number, *shade},
	}}
	exact := plan.Step{ID: "exact", Kind: plan.SearchLeg, Timed: true, Search: &plan.Search{}}
	all := indexes{}.after(build(vectors), result.Valid, "", false).after(build(number), result.Valid, "", false).after(build(shade), result.Valid, "", false)
	for name, test := range map[string]struct {
		x    indexes
		want result.Verdict // of the search; "" when it runs
	}{
		"all are there":                    {all, ""},
		"the index of vectors is not":      {all.after(drop(vectors), result.Valid, "", false), result.NotRun},
		"one on a column is not":           {all.after(drop(shade), result.Valid, "", false), result.NotRun},
		"one on a column was not built":    {all.after(build(number), result.Failed, "why", false), result.NotRun},
		"one on a column cannot be built":  {all.after(build(number), result.Unsupported, "why", false), result.Unsupported},
		"one was built again":              {all.after(drop(number), result.Valid, "", false).after(build(number), result.Valid, "", false), ""},
		"something is left of another one": {all.after(build(&query.Index{Name: "ix_other"}), result.Failed, "why", true), result.NotRun},
	} {
		got, why, ok := test.x.allows(search, true)
		if ok != (test.want == "") || got != test.want || ok == (why != "") {
			t.Errorf("%s: the search is %q, %q, want %q", name, got, why, test.want)
		}
		if _, _, ok := test.x.allows(exact, true); ok == (test.x.left != "") {
			t.Errorf("%s: the exact search is allowed: %t", name, ok)
		}
		for _, index := range []*query.Index{vectors, number, shade} {
			if _, _, ok := test.x.allows(drop(index), true); ok != (slices.Contains(test.x.built, index.Name) && test.x.left == "") {
				t.Errorf("%s: the removal of %s is allowed: %t", name, index.Name, ok)
			}
		}
	}
	require.Equal(t, []string{"ix_vectors", "ix_number", "ix_shade"}, all.built, "what is known of a moment does not change with the next")
}

// Searches after churn run when all of it was done on the index that is there.
func TestChurnedSearchesFollowTheirChurn(t *testing.T) {
	index := &query.Index{Name: "ix_v"}
	churn := func(leg int) plan.Step {
		return plan.Step{ID: "churn", Kind: plan.Create, Timed: true, Leaves: plan.Updated, Churn: &plan.Churn{Index: *index, Of: spec.Churn{Share: 0.1, Rounds: 2}, Leg: leg}}
	}
	search := plan.Step{ID: "search", Kind: plan.SearchLeg, Timed: true, Search: &plan.Search{Query: query.Search{Index: index}, Churned: churn(0).Churn}}
	build := plan.Step{ID: "build", Kind: plan.IndexBuild, Timed: true, Index: index}
	built := indexes{}.after(build, result.Valid, "", false)
	for name, test := range map[string]struct {
		x           indexes
		churn, legs bool // run
	}{
		"not built":               {indexes{}, false, false},
		"built":                   {built, true, false},
		"in the middle of it":     {built.after(churn(3), result.Valid, "", false), true, false},
		"through it":              {built.after(churn(4), result.GeneratorLimited, "", false), true, true},
		"the last of it failed":   {built.after(churn(4), result.Failed, "why", false), true, false},
		"through it, built again": {built.after(churn(4), result.Valid, "", false).after(build, result.Valid, "", false), true, false},
	} {
		if _, why, ok := test.x.allows(churn(1), true); ok != test.churn {
			t.Errorf("%s: churn is allowed: %t, %s", name, ok, why)
		}
		if verdict, why, ok := test.x.allows(search, true); ok != test.legs || !ok && (verdict != result.NotRun || why == "") {
			t.Errorf("%s: searches are allowed: %t, %s: %s", name, ok, verdict, why)
		}
	}
	// What a leg has left that failed is put right, as after a mix.
	require.Equal(t, dataset{state: plan.Stirred}, dataset{state: plan.Updated}.after(churn(1), result.Failed))
	require.Equal(t, dataset{state: plan.Updated}, dataset{state: plan.Stirred}.after(churn(2), result.Valid))
}

// Legs of churn on an index that the engine cannot build are as unsupported as its build, also those that would find fewer rows; the run goes on.
func TestChurnWithoutItsIndexIsUnsupported(t *testing.T) {
	env, f := environment(t)
	f.verdicts["build"], f.cleared["build"] = result.Unsupported, true
	f.legs()
	in := input(t, spec.ModeAll)
	in.Attributes = false
	index := query.Index{Name: "ix_v"}
	fewer := plan.Rows(spec.RowSet{{From: 5, To: 10, Version: 1}})
	churn := func(leg int) *plan.Churn {
		return &plan.Churn{Index: index, Of: spec.Churn{Share: 0.5, Rounds: 1}, Leg: leg}
	}
	at := len(in.Plan.Steps) - 1
	require.Equal(t, plan.Delete, in.Plan.Steps[at].Kind)
	in.Plan.Steps = slices.Insert(in.Plan.Steps, at,
		plan.Step{ID: "build", Kind: plan.IndexBuild, Timed: true, Needs: plan.Updated, Leaves: plan.Any, Effect: plan.ReadOnly, Samples: 1, Index: &index},
		plan.Step{ID: "go", Kind: plan.Delete, Timed: true, Needs: plan.Updated, Leaves: fewer, Effect: plan.Consuming, Samples: 5, Churn: churn(1)},
		plan.Step{ID: "come", Kind: plan.Create, Timed: true, Needs: fewer, Leaves: plan.Stirred, Effect: plan.Consuming, Samples: 5, Churn: churn(2)},
		plan.Step{ID: "restore", Kind: plan.Restore, Needs: plan.Stirred, Leaves: plan.Updated, Effect: plan.Repeatable, Churn: churn(0)},
	)
	env.ExecuteWorkflow(Benchmark, in)
	require.NoError(t, env.GetWorkflowError())
	for _, id := range []string{"go", "come"} {
		require.Equal(t, result.Unsupported, f.missing(id).Verdict, id)
	}
	require.NotContains(t, f.done, "run restore")
	require.Contains(t, f.done, "run delete")
}
