package measure

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
)

// searches is a run of exact searches and of those on an index, by the engine with the fault.
func searches(t *testing.T, fault string, change func(*spec.Spec)) *run {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return newRun(t, nearbyEngine, func(s *spec.Spec) {
		s.Value = map[string]any{"near": "vector:8", "number": "int:0..1000000000"}
		s.Engine, s.Searched, s.SearchWarmup = map[string]string{"fault": fault}, true, spec.Duration(time.Second)
		base := spec.Search{Field: query.Path{"near"}, Dimensions: 8, Metric: query.Cosine, K: 10, Holdout: spec.Holdout{Count: 20, Seed: 9}}
		half := spec.Filter{Name: "half", Word: "half", Where: &query.Predicate{
			Op: query.Lt, Path: query.Path{"number"}, Values: []query.Literal{{Kind: corpus.Int, Int: 500_000_000}},
		}}
		exact, indexed := base, base
		exact.Filters, indexed.Filters = []spec.Filter{half}, []spec.Filter{half}
		indexed.Budgets, indexed.Targets = []int{50}, []float64{0.9}
		indexed.Index = &query.Index{Name: "ix_near", Kind: query.Nearest, Paths: []query.Path{{"near"}}, Vector: &query.VectorIndex{
			Strategy: query.HNSW, Metric: query.Cosine, Dimensions: 8, M: 4, EfConstruction: 8,
		}}
		volume := spec.Volume{Samples: 40, Clients: 1, Threads: 1}
		s.Scans = []spec.Scan{{ID: "near", Runs: []spec.Run{
			{Name: "exact", Word: "exact", Query: query.Scan{ID: "near"}, Search: &exact, Volume: volume},
			{Name: "hnsw", Word: "hnsw", Query: query.Scan{ID: "near"}, Search: &indexed, Volume: volume},
		}}}
		if change != nil {
			change(s)
		}
	})
}

// searched runs everything up to a leg and returns it.
func (r *run) searched(id string) *result.Leg {
	r.t.Helper()
	var leg *result.Leg
	for _, step := range r.plan.Steps {
		outcome := r.do(r.t.Context(), step.ID)
		if !step.Timed {
			require.Empty(r.t, outcome.Error, step.ID)
		}
		if leg = outcome.Leg; step.ID == id {
			break
		}
	}
	require.NotNil(r.t, leg, id)
	return leg
}

const (
	exactAll   = "search/near/exact/all/sequential"
	exactHalf  = "search/near/exact/half/sequential"
	indexedAll = "search/near/hnsw/all/ef_search-50/sequential"
	targeted   = "search/near/hnsw/all/recall-90/sequential"
)

func TestSearchesAreScoredByTheExactNeighbours(t *testing.T) {
	r := searches(t, "none", nil)
	exact := r.searched(exactHalf)
	require.Equal(t, result.Valid, exact.Verdict, exact.Why)
	require.Equal(t, 1.0, exact.Measured.Recall.TieAware.Min)
	require.Equal(t, int64(40), exact.Measured.Recall.Scored)
	require.Equal(t, "half", exact.Search.Filter)
	require.InDelta(t, nearbyRows/2, exact.Search.Matching, nearbyRows/10)
	r = searches(t, "none", nil)
	indexed := r.searched(indexedAll)
	require.Equal(t, result.Valid, indexed.Verdict, indexed.Why)
	require.Equal(t, result.RecallFigures{Mean: 0.5, P5: 0.5, Min: 0.5}, indexed.Measured.Recall.TieAware)
	require.Contains(t, indexed.Search.Proof, "20 exact searches of the engine found the exact neighbours")
	require.Equal(t, 10, indexed.Measured.Recall.ReturnedMin)
	require.Greater(t, *indexed.Search.Contrast, 1.0)
	r = searches(t, "none", nil)
	found := r.searched(targeted)
	require.Equal(t, result.Valid, found.Verdict, found.Why)
	require.Equal(t, 90, found.Search.Budget, "the smallest that reaches 0.9")
}

func TestWhatIsWrongWithSearchesIsFound(t *testing.T) {
	for _, test := range []struct {
		fault, leg string
		verdict    result.Verdict
		why        string
	}{
		{"metric", exactAll, result.Invalid, "an exact search has a recall of 1"},
		{"metric", indexedAll, result.Invalid, "the engine's own exact search is wrong, so its index cannot be judged"},
		{"duplicates", exactAll, result.Invalid, "an exact search has a recall of 1"},
		{"foreign", exactAll, result.Invalid, "400 rows came that are not in the table"},
		{"filter", exactAll, result.Valid, ""},
		{"filter", exactHalf, result.Invalid, "rows came that are not in the table or do not match the filter"},
		{"unused", indexedAll, result.Invalid, "index not used"},
		{"unused", exactAll, result.Invalid, "not exact"},
		{"small", indexedAll, result.Unsupported, "the budget is too large"},
		{"small", targeted, result.Unsupported, "no budget up to 40 reaches a recall of 0.9: the best was 0.4000"},
	} {
		t.Run(test.fault+" "+strings.Split(test.leg, "/")[2], func(t *testing.T) {
			leg := searches(t, test.fault, nil).searched(test.leg)
			require.Equal(t, test.verdict, leg.Verdict, leg.Why)
			require.Contains(t, leg.Why, test.why)
		})
	}
}

func TestSearchesThatAreNotCheckedAreUnverified(t *testing.T) {
	leg := searches(t, "metric", func(s *spec.Spec) { s.Verify = load.VerifyNone }).searched(exactAll)
	require.Equal(t, result.Unverified, leg.Verdict, leg.Why)
}

// A filter that leaves nothing to find ends the run before anything is loaded.
func TestFilterThatMatchesNothingIsRefusedBeforeTheLoad(t *testing.T) {
	r := searches(t, "none", func(s *spec.Spec) {
		s.Scans[0].Runs[0].Search.Filters[0].Where = &query.Predicate{Op: query.Eq, Path: query.Path{"number"}, Values: []query.Literal{{Kind: corpus.Int, Int: 1}}}
	})
	first := r.plan.Steps[0]
	require.Equal(t, "neighbours/near-cosine", first.ID)
	outcome := r.do(t.Context(), first.ID)
	require.Contains(t, outcome.Error, "matches none of the 503 rows")
	require.Equal(t, "spec", string(outcome.ErrorClass))
}

// A window's warm-up is in none of its figures, recall among them; and as many search at once before the clock as after.
func TestRecallIsOfTheOperationsThatCount(t *testing.T) {
	r := searches(t, "none", func(s *spec.Spec) {
		s.Clients, s.Threads = 2, 2
		run := &s.Scans[0].Runs[0]
		run.Volume = spec.Volume{Clients: 2, Threads: 2, Timing: &spec.Timing{
			Warmup: spec.Duration(50 * time.Millisecond), Window: spec.Duration(100 * time.Millisecond), MinSamples: 5, MaxSamples: 1000,
		}}
	})
	leg := r.searched("search/near/exact/all/concurrent")
	require.Equal(t, result.Valid, leg.Verdict, leg.Why)
	require.Positive(t, leg.Measured.Warmup)
	require.Equal(t, leg.Measured.OK, leg.Measured.Recall.Scored)
	require.Zero(t, leg.Search.Warmup%4, "each of the four has searched as often as the others")
	require.Positive(t, leg.Search.Warmup)
}
