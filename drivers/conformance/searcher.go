package conformance

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// searcher runs searches on a client and checks their answers by a model.
type searcher struct {
	drivers.Searcher
	harness Harness
	client  drivers.Client
	model   *model
	answer  drivers.Answer
}

func (h Harness) searcher(client drivers.Client, m *model) *searcher {
	return &searcher{Searcher: client.(drivers.Searcher), harness: h, client: client, model: m}
}

// searched opens a database for searches that holds the rows of a model.
func (h Harness) searched(t *testing.T, kind corpus.KeyKind, rows uint64, tweaks ...tweak) (*session, *searcher) {
	t.Helper()
	m := newModel(makeCorpus(t, searchedTemplate, kind, true), rows, nil)
	s := h.open(t, m.corpus, append(tweaks, searching)...)
	must(t, drivers.LoadRows(t.Context(), s.clients[0], m.corpus, 0, rows, 0))
	return s, h.searcher(s.clients[0], m)
}

// searchRows is how many rows indexes are built on: enough for a planner to think one worth it.
func (h Harness) searchRows() uint64 {
	switch {
	case h.SearchRows != 0:
		return h.SearchRows
	case h.Slow != "":
		return 200
	}
	return 1500
}

// refusesSearch tells whether the engine is to refuse the search.
func (h Harness) refusesSearch(s *query.Search) bool {
	return h.RefusesSearch != nil && h.RefusesSearch(s)
}

// lacksSearch tells whether the server under test cannot run a search that the engine can.
func (h Harness) lacksSearch(s *query.Search) bool {
	return h.LacksSearch != nil && h.LacksSearch(s) != ""
}

// held returns a vector that no row has: of a row beyond those that there are.
func (m *model) held(i int) []float32 {
	var row corpus.Row
	m.corpus.Row(&row, uint64(1_000_000+i), 0)
	return slices.Clone(m.vector(&row))
}

// vector returns the row's vector that is searched.
func (m *model) vector(row *corpus.Row) []float32 {
	column, err := query.Resolve(m.corpus.Template(), searchedField)
	if err != nil {
		panic(err)
	}
	return row.Columns[column.At[0]].Floats()
}

// distance is the distance of two vectors in ranking orientation.
func distance(metric query.Metric, a, b []float32) float64 {
	var dot, aa, bb, squares, sums float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
		squares, sums = squares+(x-y)*(x-y), sums+math.Abs(x-y)
	}
	switch metric {
	case query.Cosine:
		return 1 - dot/math.Sqrt(aa*bb)
	case query.Euclidean:
		return math.Sqrt(squares)
	case query.InnerProduct:
		return -dot
	}
	return sums
}

// neighbour is a row at a distance.
type neighbour struct {
	row      uint64
	distance float64
}

// nearest computes what an exact search finds.
func (m *model) nearest(s *query.Search, vector []float32) (all []neighbour) {
	for index, row := range m.rows {
		if query.Matches(s.Where, row) {
			all = append(all, neighbour{index, distance(s.Metric, m.vector(row), vector)})
		}
	}
	slices.SortFunc(all, func(x, y neighbour) int {
		if x.distance != y.distance {
			if x.distance < y.distance {
				return -1
			}
			return 1
		}
		return int(x.row) - int(y.row)
	})
	return all[:min(len(all), s.K)]
}

// filter binds a condition.
func (m *model) filter(t testing.TB, where *query.Predicate) *query.Predicate {
	t.Helper()
	return m.bind(t, &query.Scan{ID: "filter", Project: query.ID, Where: where}).Where
}

// search runs a prepared search and returns the rows that came, with their distances: rows that exist and match, none twice, no more than K.
func (sr *searcher) search(ctx context.Context, statement drivers.Statement, s *query.Search, vector []float32) (got []neighbour, err error) {
	if err := sr.Search(ctx, statement, vector, &sr.answer); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	seen := make(map[uint64]bool)
	err = sr.DecodeSearch(statement, &sr.answer, func(key corpus.Key) error {
		index, err := sr.model.recognise(key, nil, query.ID)
		if err != nil {
			return err
		}
		row := sr.model.rows[index]
		switch {
		case seen[index]:
			return fmt.Errorf("row %d is there twice", index)
		case !query.Matches(s.Where, row):
			return fmt.Errorf("row %d does not match the filter", index)
		}
		seen[index] = true
		got = append(got, neighbour{index, distance(s.Metric, sr.model.vector(row), vector)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if sr.answer.Rows != int64(len(got)) || len(got) > s.K {
		return nil, fmt.Errorf("%d rows are counted and %d decoded, of at most %d", sr.answer.Rows, len(got), s.K)
	}
	return got, nil
}

// inOrder wants distances that never fall by more than the slack.
func inOrder(got []neighbour, slack float64) error {
	for i := 1; i < len(got); i++ {
		if got[i].distance < got[i-1].distance-slack {
			return fmt.Errorf("place %d is at distance %v, behind one at %v", i, got[i].distance, got[i-1].distance)
		}
	}
	return nil
}

// float32s is how far distances may be off that an engine works out in float32.
const float32s = 1e-4

// exact runs an exact search and wants the distances of the computation at each place.
func (sr *searcher) exact(ctx context.Context, s *query.Search, vector []float32) error {
	statement, err := sr.PrepareSearch(ctx, s)
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	return sr.exactly(ctx, statement, s, vector)
}

// exactly is exact for a prepared search.
func (sr *searcher) exactly(ctx context.Context, statement drivers.Statement, s *query.Search, vector []float32) error {
	got, err := sr.search(ctx, statement, s, vector)
	if err != nil {
		return err
	}
	want := sr.model.nearest(s, vector)
	if len(got) != len(want) {
		return fmt.Errorf("%d rows, want %d", len(got), len(want))
	}
	for i := range got {
		if math.Abs(got[i].distance-want[i].distance) > float32s*max(1, math.Abs(want[i].distance)) {
			return fmt.Errorf("place %d has row %d at distance %v, want row %d at %v", i, got[i].row, got[i].distance, want[i].row, want[i].distance)
		}
	}
	return nil
}

// explained wants the plan of the search to say that the index is used, or, of an exact search, that none is.
func (sr *searcher) explained(ctx context.Context, s *query.Search, want bool) error {
	explainer, can := sr.client.(drivers.SearchExplainer)
	if !can {
		return nil
	}
	statement, err := sr.PrepareSearch(ctx, s)
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	e, err := explainer.ExplainSearch(ctx, statement, sr.model.held(0))
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	if e.Uses != want || e.Text == "" || len(e.Text) > drivers.MaxPlan {
		return fmt.Errorf("the plan says %t, want %t:\n%s", e.Uses, want, e.Text)
	}
	return nil
}
