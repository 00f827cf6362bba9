package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/spec"
)

// churned is a spec of one run of searches, with churn.
func churned(mode spec.Mode) *spec.Spec {
	search := &spec.Search{
		Field: query.Path{"v"}, Dimensions: 4, Metric: query.Cosine, K: 10, Budgets: []int{16, 64}, Targets: []float64{0.9}, Churn: &spec.Churn{Share: 0.3, Rounds: 2},
		Index: &query.Index{Name: "ix_v", Kind: query.Nearest, Paths: []query.Path{{"v"}}, Vector: &query.VectorIndex{Strategy: query.HNSW, Dimensions: 4}},
	}
	return &spec.Spec{
		Database: "postgres", Samples: 1000, Clients: 2, Threads: 3, Mode: mode,
		Scans: []spec.Scan{{ID: "knn", Runs: []spec.Run{{Word: "hnsw", Search: search, Volume: spec.Volume{Samples: 50, Clients: 2, Threads: 3}}}}},
	}
}

// stepLines are the steps of a plan from the build of the index to its removal.
func stepLines(p *Plan) (all []string) {
	for _, step := range p.Steps {
		line := fmt.Sprintf("%s: %s → %s, %d × %d×%d", step.ID, step.Needs, step.Leaves, step.Samples, step.Clients, step.Threads)
		if step.Skip != "" {
			line += ": " + step.Skip
		}
		all = append(all, line)
	}
	from := slices.IndexFunc(p.Steps, func(s Step) bool { return s.Kind == IndexBuild })
	to := slices.IndexFunc(p.Steps, func(s Step) bool { return s.Kind == IndexDrop })
	return all[from : to+1]
}

func TestChurnComesBetweenTheSearchesAndTheSameAgain(t *testing.T) {
	p, err := New(churned(spec.ModeAll), Abilities{Engine: "postgres", Durable: true, Count: true, Analyze: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"index/knn/hnsw/build: updated → any, 1 × 1×1",
		"index/knn/hnsw/build/analyze: updated → any, 0 × 0×0",
		"search/knn/hnsw/all/ef_search-16/sequential: updated → any, 50 × 1×1",
		"search/knn/hnsw/all/ef_search-16/concurrent: updated → any, 50 × 2×3",
		"search/knn/hnsw/all/ef_search-64/sequential: updated → any, 50 × 1×1",
		"search/knn/hnsw/all/ef_search-64/concurrent: updated → any, 50 × 2×3",
		"search/knn/hnsw/all/recall-90/sequential: updated → any, 50 × 1×1",
		"search/knn/hnsw/all/recall-90/concurrent: updated → any, 50 × 2×3",
		"index/knn/hnsw/churn/1/delete: updated → rows 300-999 v1, 300 × 2×3",
		"index/knn/hnsw/churn/1/insert: rows 300-999 v1 → updated, 300 × 2×3",
		"index/knn/hnsw/churn/2/delete: updated → rows 0-299 v1, 600-999 v1, 300 × 2×3",
		"index/knn/hnsw/churn/2/insert: rows 0-299 v1, 600-999 v1 → stirred, 300 × 2×3",
		"index/knn/hnsw/churn/restore: stirred → updated, 0 × 0×0",
		"index/knn/hnsw/churn/analyze: updated → any, 0 × 0×0",
		"search/knn/hnsw/churned/all/ef_search-16/sequential: updated → any, 50 × 1×1",
		"search/knn/hnsw/churned/all/ef_search-16/concurrent: updated → any, 50 × 2×3",
		"search/knn/hnsw/churned/all/ef_search-64/sequential: updated → any, 50 × 1×1",
		"search/knn/hnsw/churned/all/ef_search-64/concurrent: updated → any, 50 × 2×3",
		"index/knn/hnsw/drop: updated → any, 1 × 1×1",
	}
	if diff := cmp.Diff(want, stepLines(p)); diff != "" {
		t.Errorf("steps differ (-want +got):\n%s", diff)
	}
	for _, step := range p.Steps {
		if s := step.Search; s != nil && s.Churned != nil && (s.Key+"/sequential" != step.ID && s.Key+"/concurrent" != step.ID || s.Truth == "" || step.Neighbours == nil) {
			t.Errorf("leg %s has the key %s and the truth %s", step.ID, s.Key, s.Truth)
		}
	}
}

// A query leaves the rows that are kept as they are, and an engine without the index gets none of it.
func TestChurnThatIsNot(t *testing.T) {
	p, err := New(churned(spec.ModeQuery), Abilities{Engine: "postgres", Durable: true, Count: true})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(p.Steps, func(s Step) bool {
		return s.Churn != nil || s.Search != nil && s.Search.Churned != nil || s.Effect == Consuming
	}) {
		t.Errorf("a query changes rows: %q", stepLines(p))
	}
	p, err = New(churned(spec.ModeAll), Abilities{Engine: "postgres", Count: true, Unsupported: map[string]string{"search/knn/hnsw": "no such index"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range p.Steps {
		if (step.Churn != nil || step.Search != nil) && step.Skip != "no such index" {
			t.Errorf("step %s is not left out: %q", step.ID, step.Skip)
		}
	}
}
