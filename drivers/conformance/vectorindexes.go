package conformance

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// vectorIndex is an index of a strategy with ordinary knobs.
func vectorIndex(strategy query.Strategy, metric query.Metric, quantisation query.Quantisation) query.Index {
	v := &query.VectorIndex{Strategy: strategy, Metric: metric, Dimensions: dimensions, Quantisation: quantisation, Filters: []query.Path{{"age"}, {"city"}, {"active"}, {"ratio"}}}
	switch strategy {
	case query.HNSW, query.VectorSet:
		v.M, v.EfConstruction = 16, 100
	case query.DiskANN:
		v.Degree, v.LBuild, v.Alpha = 32, 100, 1.2
	case query.IVFFlat:
		v.Lists = 20
	}
	name := fmt.Sprintf("near_%s_%s", strategy, metric)
	if quantisation != "" {
		name += "_" + string(quantisation)
	}
	return query.Index{Name: name, Kind: query.Nearest, Paths: []query.Path{searchedField}, Vector: v}
}

// indexed is a search on the index with a budget that leaves out little.
func indexed(index query.Index) *query.Search {
	s := &query.Search{ID: index.Name, Field: searchedField, Metric: index.Vector.Metric, K: 10, Index: &index, Budget: 200}
	if index.Vector.Strategy == query.IVFFlat {
		s.Budget = index.Vector.Lists
	}
	return s
}

// everyIndex are the indexes that there could be.
func everyIndex() (all []query.Index) {
	for _, strategy := range query.Strategies {
		if strategy == query.BruteForce {
			continue
		}
		for _, metric := range query.Metrics {
			for _, quantisation := range []query.Quantisation{"", query.Half, query.Bits, query.Int8} {
				all = append(all, vectorIndex(strategy, metric, quantisation))
			}
		}
	}
	return all
}

// testVectorIndexes takes the indexes that the engine has through their lives: of each strategy one by each metric, and one of each quantisation. The first
// of each strategy and quantisation is searched in all variants.
func testVectorIndexes(t *testing.T, h Harness) {
	tried := make(map[string]bool)
	for _, index := range everyIndex() {
		if h.refusesSearch(indexed(index)) {
			continue
		}
		every := 9
		if kind := string(index.Vector.Strategy) + string(index.Vector.Quantisation); !tried[kind] {
			tried[kind], every = true, 1
		} else if index.Vector.Quantisation != "" {
			continue
		}
		t.Run(index.Name, func(t *testing.T) {
			if h.lacksSearch(indexed(index)) {
				s, _ := h.searched(t, corpus.KeyInteger, 10)
				indexer := s.database.(drivers.Indexer)
				refused(t, "CreateIndex", indexer.CreateIndex(t.Context(), index))
				if state, err := indexer.IndexState(t.Context(), index); err != nil || state.Exists {
					t.Errorf("a refused index is there: %+v, %v", state, err)
				}
				return
			}
			s, sr := h.searched(t, corpus.KeyInteger, h.searchRows())
			walkVectorIndex(t, s, sr, index, every)
		})
	}
}

// leastRecall is the part of what is exact that searches have to find with a budget that leaves out little: of a quantised index less.
func leastRecall(quantisation query.Quantisation) float64 {
	if quantisation == "" {
		return 0.95
	}
	return 0.7
}

// walkVectorIndex takes an index through its life, and runs one in so many variants of searches on it.
func walkVectorIndex(t *testing.T, s *session, sr *searcher, index query.Index, every int) {
	ctx, indexer, h := t.Context(), s.database.(drivers.Indexer), sr.harness
	plain := indexed(index)
	exact := exactSearch(index.Vector.Metric, 10)
	exactly := func(when string) {
		t.Helper()
		if !h.refusesSearch(exact) {
			if err := errors.Join(sr.exact(ctx, exact, sr.model.held(1)), sr.explained(ctx, exact, true)); err != nil {
				t.Errorf("exact search %s: %v", when, err)
			}
		}
	}
	gone := func(when string) {
		t.Helper()
		if state, err := indexer.IndexState(ctx, index); err != nil || state.Exists || state.Ready || state.How == "" {
			t.Errorf("%s: state %+v, error %v", when, state, err)
		}
		wantIs(t, when+": drop", indexer.DropIndex(ctx, index), drivers.ErrNotFound)
		sr.unserved(t, when, plain)
	}
	gone("before there is an index")
	must(t, indexer.CreateIndex(ctx, index))
	ready(t, indexer, index)
	wantIs(t, "create the index again", indexer.CreateIndex(ctx, index), drivers.ErrExists)
	if analyzer, can := s.database.(drivers.Analyzer); can {
		must(t, analyzer.Analyze(ctx))
	}
	if state, err := indexer.IndexState(ctx, index); err != nil || state.Bytes == 0 {
		t.Logf("the engine does not tell the size of the index: %+v, %v", state, err)
	}
	if err := sr.explained(ctx, plain, true); err != nil {
		t.Errorf("a search on the index: %v", err)
	}
	sr.nearly(t, "a search on the index", plain)
	exactly("beside the index")
	for n, variant := range sr.variants(t, plain) {
		if n%every > 0 {
			continue
		}
		sr.nearly(t, fmt.Sprintf("budget %d, filter %s, iterative %q", variant.Budget, variant.Where, variant.Iterative), variant)
	}

	// The index hears of every kind of write: what was written is the nearest to itself, and what was deleted is not found.
	change(t, s, sr.model, index.Name)
	c := s.caller(0)
	for _, row := range []uint64{80, 81} {
		must(t, c.delete(ctx, row))
		delete(sr.model.rows, row)
	}
	must(t, drivers.LoadRows(ctx, s.clients[0], sr.model.corpus, h.searchRows(), h.searchRows()+2, 0))
	for row := h.searchRows(); row < h.searchRows()+2; row++ {
		sr.model.rows[row] = &corpus.Row{}
		sr.model.corpus.Row(sr.model.rows[row], row, 0)
	}
	ready(t, indexer, index)
	statement, err := sr.PrepareSearch(ctx, plain)
	must(t, err)
	for _, row := range []uint64{3, 17, 40, 50, 60, h.searchRows(), h.searchRows() + 1} {
		got, err := sr.search(ctx, statement, plain, sr.model.vector(sr.model.rows[row]))
		if err != nil || !slices.ContainsFunc(got, func(n neighbour) bool { return n.row == row }) {
			t.Errorf("row %d after it was written is not among those nearest to it: %v, %v", row, got, err)
		}
	}
	sr.nearly(t, "a search after writes", plain)
	exactly("after writes")

	// Whoever comes later finds the index.
	if !h.Engine.Embedded() {
		later := h.attach(t, s.config)
		later.connect()
		other := h.searcher(later.clients[0], sr.model)
		if err := other.explained(ctx, plain, true); err != nil {
			t.Errorf("on a database that was opened later: %v", err)
		}
		other.nearly(t, "on a database that was opened later", plain)
		later.close()
	}
	must(t, indexer.DropIndex(ctx, index))
	gone("after the index is dropped")
	exactly("after the index is dropped")

	// A table that is prepared anew has no index.
	must(t, indexer.CreateIndex(ctx, index))
	must(t, s.database.Prepare(ctx))
	gone("after the table was prepared anew")
}

// unserved wants a search on an index that is not there to be refused, or its plan to say that it is not used.
func (sr *searcher) unserved(t *testing.T, when string, s *query.Search) {
	t.Helper()
	statement, err := sr.PrepareSearch(t.Context(), s)
	if err == nil {
		if explainer, can := sr.client.(drivers.SearchExplainer); can {
			var e drivers.Explanation
			if e, err = explainer.ExplainSearch(t.Context(), statement, sr.model.held(0)); err == nil && !e.Uses {
				return
			}
		} else {
			err = sr.Search(t.Context(), statement, sr.model.held(0), &sr.answer)
		}
	}
	if err == nil {
		t.Errorf("%s: nothing says that a search on it is not served", when)
	}
}

// variants are further searches on the index of one: with other budgets, with filters, and going on where a filter leaves few.
func (sr *searcher) variants(t *testing.T, plain *query.Search) (all []*query.Search) {
	t.Helper()
	for _, budget := range []int{plain.Budget / 4, plain.Budget} {
		for _, where := range append([]*query.Predicate{nil}, filters()...) {
			for _, iterative := range []string{"", query.IterativeStrict, query.IterativeRelaxed} {
				s := *plain
				s.Budget, s.Where, s.Iterative = max(budget, 1), sr.model.filter(t, where), iterative
				if plain.Index.Vector.Strategy != query.IVFFlat {
					s.Budget = max(budget, s.K)
				}
				if !sr.harness.refusesSearch(&s) {
					must(t, sr.CanSearch(&s))
					all = append(all, &s)
				}
			}
		}
	}
	return all
}

// nearly runs a search on an index, and wants most of what is exact where nothing but a large budget is in its way.
func (sr *searcher) nearly(t *testing.T, what string, s *query.Search) {
	t.Helper()
	statement, err := sr.PrepareSearch(t.Context(), s)
	if err != nil {
		t.Errorf("%s: prepare: %v", what, err)
		return
	}
	queries := 3
	whole := s.Where == nil && s.Budget == indexed(*s.Index).Budget
	if whole {
		queries = 20
	}
	slack := 1e-2 // engines may rank by shorter forms of the vectors
	if s.Index.Vector.Quantisation != "" {
		slack = 0.1
	}
	rough := sr.harness.Rough != nil && sr.harness.Rough(*s.Index) != ""
	hits, all := 0, 0
	for n := range queries {
		vector := sr.model.held(n)
		got, err := sr.search(t.Context(), statement, s, vector)
		if err == nil && s.Iterative != query.IterativeRelaxed && !rough {
			err = inOrder(got, slack)
		}
		if err != nil {
			t.Errorf("%s: query %d: %v", what, n, err)
			return
		}
		want := sr.model.nearest(s, vector)
		all += len(want)
		for _, one := range got {
			if len(want) > 0 && one.distance <= want[len(want)-1].distance+float32s {
				hits++
			}
		}
	}
	if least := leastRecall(s.Index.Vector.Quantisation); whole && !rough && float64(hits) < least*float64(all) {
		t.Errorf("%s: %d of %d nearest neighbours are found, want at least %v of them", what, hits, all, least)
	}
}
