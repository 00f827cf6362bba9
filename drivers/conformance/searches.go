package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// dimensions of the vectors that the suite searches.
const dimensions = 48

// searchedTemplate has a vector to search, another one to leave alone, and a column of each kind that filters are on.
var searchedTemplate = map[string]any{
	"active":    "bool",
	"age":       "int:0..1000",
	"city":      "string_enum:london,paris,rome,oslo",
	"embedding": fmt.Sprintf("vector:%d:clustered:12", dimensions),
	"name":      "string:8",
	"other":     "vector:5",
	"ratio":     "float:0..1",
}

var searchedField = query.Path{"embedding"}

// searching opens a database whose rows will be searched.
func searching(config *drivers.Config) { config.Searches = true }

// testSearches checks nearest-neighbour searches by a plain computation of every distance in float64, on a database that was opened with
// Config.Searches:
//
//   - Rows: vectors are stored as before, every float32 of them, in every way that writes and reads rows.
//   - Kept: rows that were loaded without Config.Searches can be searched later, and those loaded with it read without; where Engine.SearchedVectors says that
//     they are kept otherwise, clients refuse both.
//   - Refusals: for each metric, strategy and quantisation the engine and its CanIndex say no exactly where Harness.RefusesSearch does, with a reason.
//   - Exact: exact searches find what the computation finds, by each metric, for each operator of filters, for K above the rows there are, and for each
//     kind of key. The plan says that no index is used.
//   - Indexes: for each index that the engine has, its life from absent to dropped; what is found with it is nearly what is exact, in order, of the
//     rows that match, none twice; it hears of every kind of write; the plan says that it is used, and that exact searches use none while
//     it is there, and after.
//   - Sharing: a client goes from searches to scans and single rows and back; many callers search at once, cancelled now and then, and each gets
//     the answer to its own vector; connections that are opened later find the index.
//   - Mistakes: a vector of another length is refused and changes nothing.
func testSearches(t *testing.T, h Harness) {
	t.Run("Rows", func(t *testing.T) { testSearchedRows(t, h) })
	if t.Run("Refusals", func(t *testing.T) { testSearchRefusals(t, h) }); h.refusesAll() {
		return // a product of a family whose client can search
	}
	t.Run("Kept", func(t *testing.T) { testKeptRows(t, h) })
	t.Run("Exact", func(t *testing.T) { testExactSearches(t, h) })
	t.Run("Keys", func(t *testing.T) { testSearchedKeys(t, h) })
	t.Run("Indexes", func(t *testing.T) { testVectorIndexes(t, h) })
	t.Run("AtOnce", func(t *testing.T) { testSearchesAtOnce(t, h) })
	t.Run("Mistakes", func(t *testing.T) { testSearchMistakes(t, h) })
}

// refusesAll tells whether the engine is to refuse every search.
func (h Harness) refusesAll() bool {
	for _, metric := range query.Metrics {
		if !h.refusesSearch(exactSearch(metric, 10)) {
			return false
		}
	}
	return !slices.ContainsFunc(everyIndex(), func(index query.Index) bool { return !h.refusesSearch(indexed(index)) })
}

// testSearchedRows stores vectors where they have the engine's own type.
func testSearchedRows(t *testing.T, h Harness) {
	t.Run("Vectors", func(t *testing.T) { storeVectors(t, h, searching) })
	s, sr := h.searched(t, corpus.KeyInteger, 500)
	m := sr.model
	change(t, s, m, "searched")
	c := s.caller(0)
	for index, row := range m.rows {
		must(t, c.read(t.Context(), index))
		if err := c.same(&c.record, row); err != nil {
			t.Errorf("row %d: %v", index, err)
		}
	}
	if _, can := c.client.(drivers.Scanner); can {
		if err := h.scanner(c.client, m).check(t.Context(), m.bind(t, &query.Scan{ID: "whole", Project: query.Full})); err != nil {
			t.Error(err)
		}
	}
	must(t, drivers.LoadRows(t.Context(), s.clients[0], m.corpus, 0, 500, 7)) // over what is there
	for index := range uint64(500) {
		must(t, c.check(t.Context(), index, 7))
	}
	s.count(500)
}

// testKeptRows has what a load has left searched by a process that was told otherwise of the rows than the one that loaded.
func testKeptRows(t *testing.T, h Harness) {
	const rows = 50
	m := newModel(makeCorpus(t, searchedTemplate, corpus.KeyInteger, true), rows, nil)
	ctx := t.Context()
	for _, searches := range []bool{false, true} {
		s := h.open(t, m.corpus, func(config *drivers.Config) { config.Searches = searches })
		must(t, drivers.LoadRows(ctx, s.clients[0], m.corpus, 0, rows, 0))
		s.close()
		s.config.Searches = !searches
		s = h.attach(t, s.config)
		if h.Engine.SearchedVectors != "" {
			if client, err := s.database.Client(ctx, 0); err == nil {
				t.Errorf("rows loaded with searches %t are taken for rows with searches %t, whose vectors are said to be kept otherwise (%s): %v",
					searches, !searches, h.Engine.SearchedVectors, client.Close())
			}
			continue
		}
		s.connect()
		c := s.caller(0)
		for index := range uint64(rows) {
			must(t, c.check(ctx, index, 0))
		}
		if searches {
			continue
		}
		sr := h.searcher(s.clients[0], m)
		for _, search := range h.anySearches(t, s) {
			if search.Index == nil {
				must(t, sr.exact(ctx, search, m.held(0)))
				continue
			}
			statement, err := sr.PrepareSearch(ctx, search)
			must(t, err)
			if must(t, sr.Search(ctx, statement, m.held(0), &sr.answer)); sr.answer.Rows != int64(search.K) {
				t.Errorf("%s finds %d rows", search, sr.answer.Rows)
			}
		}
	}
}

// exactSearch is an exact search by the metric.
func exactSearch(metric query.Metric, k int) *query.Search {
	return &query.Search{ID: "exact_" + string(metric), Field: searchedField, Metric: metric, K: k}
}

// testSearchRefusals asks for everything that there is.
func testSearchRefusals(t *testing.T, h Harness) {
	s := h.open(t, makeCorpus(t, searchedTemplate, corpus.KeyInteger, true), searching)
	ability, indexer := h.Engine.Ability.(drivers.Searcher), h.Engine.DatabaseAbility.(drivers.Indexer)
	can := make(map[query.Strategy]bool)
	check := func(search *query.Search, refuse func() error) {
		t.Helper()
		err := ability.CanSearch(search)
		if again := s.clients[0].(drivers.Searcher).CanSearch(search); (again == nil) != (err == nil) {
			t.Errorf("%s: %v before there is a database, %v on a client", search, err, again)
		}
		switch want := h.refusesSearch(search); {
		case err == nil && want:
			t.Errorf("%s, quantised %v: is not refused", search, search.Index)
		case err != nil && !want:
			t.Errorf("%s: refused, and the harness does not say that it may be: %v", search, err)
		case err != nil:
			refused(t, search.String(), err)
			refused(t, search.String()+": prepare or build", refuse())
		}
		if err == nil {
			can[search.Kind()] = true
		}
	}
	for _, metric := range query.Metrics {
		search := exactSearch(metric, 10)
		check(search, func() error {
			_, err := s.clients[0].(drivers.Searcher).PrepareSearch(t.Context(), search)
			return err
		})
	}
	for _, index := range everyIndex() {
		search := indexed(index)
		check(search, func() error { return s.database.(drivers.Indexer).CreateIndex(t.Context(), index) })
		// A search on an index that the engine does not have is refused itself, so that a plan need ask but once.
		if err := indexer.CanIndex(index); err != nil && ability.CanSearch(search) == nil {
			t.Errorf("%s can be run on an index that cannot be: %v", search, err)
		}
		for _, iterative := range []string{query.IterativeStrict, query.IterativeRelaxed} {
			search := indexed(index)
			search.Iterative = iterative
			if refuses := h.refusesSearch(search); refuses != (ability.CanSearch(search) != nil) {
				t.Errorf("%s, iterative %s: %v, and the harness says that it is refused: %t", search, iterative, ability.CanSearch(search), refuses)
			}
		}
	}
	if (len(can) == 0) != h.refusesAll() {
		t.Errorf("the strategies that the engine has: %v", can)
	}
}

// filters are conditions on every kind of column, by every operator that filters have.
func filters() (all []*query.Predicate) {
	whole := func(n int64) query.Literal { return query.Literal{Kind: corpus.Int, Int: n} }
	real := func(x float64) query.Literal { return query.Literal{Kind: corpus.Float, Float: x} }
	text := func(s string) query.Literal { return query.Literal{Kind: corpus.String, Text: s} }
	truth := func(b bool) query.Literal { return query.Literal{Kind: corpus.Bool, Bool: b} }
	on := func(column string, op query.Op, values ...query.Literal) {
		all = append(all, &query.Predicate{Op: op, Path: query.Path{column}, Values: values})
	}
	on("age", query.Eq, whole(17))
	on("age", query.Ne, whole(17))
	on("age", query.Lt, whole(500))
	on("age", query.Lte, whole(100))
	on("age", query.Gt, whole(10))
	on("age", query.Gte, whole(900))
	on("age", query.In, whole(3), whole(30), whole(300))
	on("age", query.Lt, whole(-1)) // none
	on("ratio", query.Lte, real(0.25))
	on("ratio", query.Gt, real(0.5))
	on("city", query.Eq, text("rome"))
	on("city", query.Ne, text("rome"))
	on("city", query.In, text("oslo"), text("paris"))
	on("city", query.Eq, text("Rome")) // none: texts compare by bytes
	on("active", query.Eq, truth(true))
	on("active", query.Ne, truth(true))
	return all
}

// testExactSearches compares exact searches with the computation.
func testExactSearches(t *testing.T, h Harness) {
	const rows = 400
	_, sr := h.searched(t, corpus.KeyInteger, rows)
	ctx := t.Context()
	for _, metric := range query.Metrics {
		search := exactSearch(metric, 10)
		if h.refusesSearch(search) {
			continue
		}
		t.Run(string(metric), func(t *testing.T) {
			statement, err := sr.PrepareSearch(ctx, search)
			must(t, err)
			for n := range 20 {
				if err := sr.exactly(ctx, statement, search, sr.model.held(n)); err != nil {
					t.Errorf("query %d: %v", n, err)
				}
			}
			if err := sr.explained(ctx, search, true); err != nil {
				t.Error(err)
			}
			for _, k := range []int{1, rows, rows + 50} {
				search := exactSearch(metric, k)
				if h.refusesSearch(search) {
					continue
				}
				if err := sr.exact(ctx, search, sr.model.held(k)); err != nil {
					t.Errorf("the nearest %d: %v", k, err)
				}
			}
			for n, where := range filters() {
				search := exactSearch(metric, 10)
				search.Where = sr.model.filter(t, where)
				if h.refusesSearch(search) {
					refused(t, search.String(), sr.CanSearch(search))
					continue
				}
				if err := errors.Join(sr.CanSearch(search), sr.exact(ctx, search, sr.model.held(n)), sr.explained(ctx, search, true)); err != nil {
					t.Errorf("where %s: %v", where, err)
				}
			}
		})
	}
}

// testSearchedKeys finds rows of every kind of key, and none in a table without rows.
func testSearchedKeys(t *testing.T, h Harness) {
	for _, kind := range corpus.KeyKinds() {
		s, sr := h.searched(t, kind, 50)
		for _, metric := range query.Metrics {
			if search := exactSearch(metric, 5); !h.refusesSearch(search) {
				if err := sr.exact(t.Context(), search, sr.model.held(0)); err != nil {
					t.Errorf("%s, keys of kind %s: %v", metric, kind, err)
				}
			}
		}
		must(t, s.database.Prepare(t.Context()))
		clear(sr.model.rows)
		if search := exactSearch(query.Cosine, 5); !h.refusesSearch(search) {
			if err := sr.exact(t.Context(), search, sr.model.held(0)); err != nil {
				t.Errorf("no rows: %v", err)
			}
		}
	}
}

// anySearches returns an exact search and, if there is one, a search on an index, which is built.
func (h Harness) anySearches(t *testing.T, s *session) (all []*query.Search) {
	t.Helper()
	for _, metric := range query.Metrics {
		if search := exactSearch(metric, 10); !h.refusesSearch(search) {
			all = append(all, search)
			break
		}
	}
	for _, index := range everyIndex() {
		if search := indexed(index); !h.refusesSearch(search) && !h.lacksSearch(search) {
			must(t, s.database.(drivers.Indexer).CreateIndex(t.Context(), index))
			ready(t, s.database.(drivers.Indexer), index)
			return append(all, search)
		}
	}
	return all
}

// testSearchesAtOnce has all threads of two clients search, beside other operations, cancelled again and again: each answer belongs to its vector.
func testSearchesAtOnce(t *testing.T, h Harness) {
	const rows = 600
	s, one := h.searched(t, corpus.KeyInteger, rows, load(2, 4))
	m := one.model
	for n, search := range h.anySearches(t, s) {
		statements := make([]drivers.Statement, len(s.clients))
		for i, client := range s.clients {
			var err error
			statements[i], err = client.(drivers.Searcher).PrepareSearch(t.Context(), search)
			must(t, err)
		}
		if n == 0 { // before connections are lost in cancelled searches
			s.checkSockets(h)
		}
		for round := range 8 {
			ctx, cancel := context.WithCancel(t.Context())
			if round%2 == 1 {
				time.AfterFunc(time.Duration(round)*500*time.Microsecond, cancel)
			}
			s.everyone(func(number int, c *caller) error {
				sr, statement := h.searcher(c.client, m), statements[number/s.config.Threads]
				for n := range uint64(5) {
					// A row is the nearest to itself, by whatever metric, as all vectors are of length 1.
					row := uint64(number)*50 + n
					got, err := sr.search(ctx, statement, search, m.vector(m.rows[row]))
					if err != nil && ctx.Err() != nil && drivers.ErrorClassOf(err) == drivers.ClassCancelled {
						return c.check(t.Context(), row, 0)
					}
					if err != nil {
						return fmt.Errorf("round %d: %w", round, err)
					}
					if len(got) == 0 || got[0].row != row {
						return fmt.Errorf("round %d: row %d is not the nearest to itself: %v", round, row, got)
					}
					if err := c.check(t.Context(), row, 0); err != nil {
						return err
					}
				}
				return nil
			})
			cancel()
		}

		// From searches to scans and back.
		if _, can := s.clients[0].(drivers.Scanner); can {
			scan := m.bind(t, &query.Scan{ID: "between", Project: query.Full, Where: &query.Predicate{
				Op: query.Lt, Path: query.Path{"age"}, Values: []query.Literal{{Kind: corpus.Int, Int: 300}},
			}})
			must(t, h.scanner(s.clients[0], m).check(t.Context(), scan))
		}
		if search.Index == nil {
			must(t, one.exact(t.Context(), search, m.held(0)))
		} else {
			one.nearly(t, "a search after a scan", search)
		}
	}
}

// testSearchMistakes wants errors for what cannot be right.
func testSearchMistakes(t *testing.T, h Harness) {
	s, sr := h.searched(t, corpus.KeyInteger, 200)
	ctx := t.Context()
	for _, search := range h.anySearches(t, s) {
		statement, err := sr.PrepareSearch(ctx, search)
		must(t, err)
		for _, n := range []int{dimensions - 1, dimensions + 1, 0} {
			if err := sr.Search(ctx, statement, make([]float32, n), &sr.answer); err == nil {
				t.Errorf("%s: a vector of %d components was taken for one of %d: %d rows", search, n, dimensions, sr.answer.Rows)
			}
		}
		if got, err := sr.search(ctx, statement, search, sr.model.held(0)); err != nil || len(got) != search.K {
			t.Errorf("%s after mistakes: %v, %v", search, got, err)
		}
		s.usable(s.caller(0), 5000)
	}
	for _, field := range []query.Path{{"nobody"}, {"age"}} {
		search := exactSearch(query.Cosine, 10)
		search.Field = field
		if _, err := sr.PrepareSearch(ctx, search); err == nil {
			t.Errorf("a search of column %s was prepared", field)
		}
		index := vectorIndex(query.HNSW, query.Cosine, "")
		index.Paths = []query.Path{field}
		if err := s.database.(drivers.Indexer).CreateIndex(ctx, index); err == nil {
			t.Errorf("a vector index on column %s was built", field)
		}
	}
}
