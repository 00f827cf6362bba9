package surrealdb_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
	"github.com/durabench/durabench/infra/process"
)

const dimensions = 12

// searched is a table with vectors at two places, and with something of every kind to filter by.
var searched = map[string]any{
	"v": fmt.Sprintf("vector:%d", dimensions), "deep": map[string]any{"v": "vector:3:-1..1", "level": "int:0..10"},
	"number": "int:0..100", "score": "float:0..1", "price": "decimal:0..10", "flag": "bool", "city": "string_enum:paris,london,o'slo", "born": "datetime", "ident": "uuid",
	"words": "words:20;hello,world,foo",
}

// unsettled starts a server that does not say whether an index is being compacted, as those before 3.3 do not.
func unsettled(t *testing.T) *process.Running {
	running := start(t, t.TempDir(), func(o *process.Options) {
		command := o.Server.Command
		o.Server.Command = func(l drivers.Launch) []string {
			return slices.DeleteFunc(command(l), func(word string) bool { return word == "--settled" })
		}
	})
	t.Cleanup(func() { drivertest.Must(t, process.Stop(context.Background(), running.Dir, false)) })
	return running
}

// searching opens the table on a server and fills it.
func searching(t *testing.T, running *process.Running, kind corpus.KeyKind, rows uint64) (*opened, drivertest.Rows) {
	t.Helper()
	template, err := corpus.ParseTemplate(searched)
	drivertest.Must(t, err)
	c, err := corpus.New(11, template, kind, true)
	drivertest.Must(t, err)
	config := drivers.Config{
		Endpoint: running.Endpoint, Credentials: running.Credentials, Clients: 1, Threads: 2, Corpus: c, Searches: true, Logger: slog.New(slog.DiscardHandler),
	}
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	client := drivertest.Clients(t, database, config)[0]
	drivertest.Must(t, drivers.LoadRows(t.Context(), client, c, 0, rows, 0))
	return &opened{database, client, query.Dataset{Corpus: c, Rows: rows}}, drivertest.RowsOf(c, rows)
}

// filters are conditions for searches, nil for none.
func filters(t *testing.T, template *corpus.Template) (bound []*query.Predicate) {
	t.Helper()
	one := func(op query.Op, path query.Path, values ...query.Literal) *query.Predicate {
		return &query.Predicate{Op: op, Path: path, Values: values}
	}
	whole := func(n int64) query.Literal { return query.Literal{Kind: corpus.Int, Int: n} }
	text := func(s string) query.Literal { return query.Literal{Kind: corpus.String, Text: s} }
	for _, p := range []*query.Predicate{
		nil,
		one(query.Lte, query.Path{"number"}, whole(9)),
		one(query.Eq, query.Path{"number"}, whole(1000)),
		one(query.Ne, query.Path{"number"}, whole(3)),
		one(query.Between, query.Path{"number"}, whole(3), whole(40)),
		one(query.In, query.Path{"number"}, whole(3), whole(4), whole(50)),
		one(query.Gt, query.Path{"score"}, query.Literal{Kind: corpus.Float, Float: 0.5}),
		one(query.Eq, query.Path{"flag"}, query.Literal{Kind: corpus.Bool, Bool: true}),
		one(query.Eq, query.Path{"city"}, text("o'slo")),
		one(query.In, query.Path{"city"}, text("paris"), text("london")),
		one(query.Lt, query.Path{"deep", "level"}, whole(3)),
		one(query.MatchAll, query.Path{"words"}, text("hello"), text("world")),
		{Op: query.Not, Args: []*query.Predicate{one(query.Eq, query.Path{"city"}, text("paris"))}},
		{Op: query.Or, Args: []*query.Predicate{one(query.Eq, query.Path{"city"}, text("paris")), one(query.Lt, query.Path{"number"}, whole(5))}},
		{Op: query.And, Args: []*query.Predicate{one(query.Eq, query.Path{"city"}, text("paris")), one(query.Gte, query.Path{"number"}, whole(50))}},
	} {
		scan, err := query.Bind(&query.Scan{ID: "filter", Project: query.ID, Where: p}, template)
		drivertest.Must(t, err)
		bound = append(bound, scan.Where)
	}
	return bound
}

// graph is an HNSW index.
func graph(name string, path query.Path, dimensions int, metric query.Metric) query.Index {
	return query.Index{Name: name, Kind: query.Nearest, Paths: []query.Path{path},
		Vector: &query.VectorIndex{Strategy: query.HNSW, Metric: metric, Dimensions: dimensions, M: 16, EfConstruction: 64}}
}

// indexesForFilters are ordinary indexes on columns that filters have.
var indexesForFilters = []query.Index{
	{Name: "filter_number", Kind: query.Ordered, Paths: []query.Path{{"number"}}},
	{Name: "filter_city", Kind: query.Ordered, Paths: []query.Path{{"city"}}},
	{Name: "filter_level", Kind: query.Ordered, Paths: []query.Path{{"deep", "level"}}},
	{Name: "filter_score", Kind: query.Ordered, Paths: []query.Path{{"score"}}},
	{Name: "filter_flag", Kind: query.Ordered, Paths: []query.Path{{"flag"}}},
	{Name: "filter_born", Kind: query.Ordered, Paths: []query.Path{{"born"}}},
	{Name: "filter_ident", Kind: query.Ordered, Paths: []query.Path{{"ident"}}},
	{Name: "filter_price", Kind: query.Ordered, Paths: []query.Path{{"price"}}},
}

// TestExactSearches compares answers of every metric, under every filter, with those worked out from the corpus; once more with indexes on the columns of
// the filters.
func TestExactSearches(t *testing.T) {
	o, rows := searching(t, server(t, drivers.TierNone, drivers.Profile{}), corpus.KeyUUID, 400)
	c := o.data.Corpus
	check := func(when string) {
		t.Helper()
		for _, field := range []query.Path{{"v"}, {"deep", "v"}} {
			for _, metric := range query.Metrics {
				for i, where := range filters(t, c.Template()) {
					s := &query.Search{ID: "exact", Field: field, Metric: metric, K: 7, Where: where}
					width := map[bool]int{true: dimensions, false: 3}[len(field) == 1]
					if recall := rows.Search(t, c, o.client, s, drivertest.Vector(i, width)); recall != 1 {
						t.Errorf("%s: %s where %s: recall %g", when, s, where, recall)
					}
				}
			}
		}
	}
	check("without indexes")
	s := &query.Search{ID: "plan", Field: query.Path{"v"}, Metric: query.Cosine, K: 3}
	statement, err := o.client.(drivers.Searcher).PrepareSearch(t.Context(), s)
	drivertest.Must(t, err)
	plan, err := o.client.(drivers.SearchExplainer).ExplainSearch(t.Context(), statement, drivertest.Vector(0, dimensions))
	drivertest.Must(t, err)
	if !plan.Uses || !strings.Contains(plan.Text, "TableScan") {
		t.Errorf("plan of an exact search: %+v", plan)
	}
	for _, index := range indexesForFilters {
		o.build(t, index)
	}
	check("with indexes on the columns of the filters")
}

// TestGraphSearches goes through the life of HNSW indexes of every metric.
func TestGraphSearches(t *testing.T) {
	o, rows := searching(t, server(t, drivers.TierNone, drivers.Profile{}), corpus.KeyString26, 400)
	c, indexer, searcher := o.data.Corpus, o.Database.(drivers.Indexer), o.client.(drivers.Searcher)
	for _, index := range indexesForFilters[:2] {
		o.build(t, index)
	}
	for _, metric := range []query.Metric{query.Cosine, query.Euclidean, query.Manhattan} {
		t.Run(string(metric), func(t *testing.T) {
			index := graph("graph_"+string(metric), query.Path{"v"}, dimensions, metric)
			o.build(t, index)
			if err := indexer.CreateIndex(t.Context(), index); !errors.Is(err, drivers.ErrExists) {
				t.Errorf("once more: %v", err)
			}
			for i, where := range filters(t, c.Template()) {
				s := &query.Search{ID: "graph", Field: query.Path{"v"}, Metric: metric, K: 7, Where: where, Index: &index, Budget: 64}
				statement, err := searcher.PrepareSearch(t.Context(), s)
				drivertest.Must(t, err)
				vector := drivertest.Vector(i, dimensions)
				if recall := rows.Prepared(t, c, searcher, statement, s, vector); recall < 0.85 {
					t.Errorf("%s where %s: recall %g", s, where, recall)
				}
				plan, err := o.client.(drivers.SearchExplainer).ExplainSearch(t.Context(), statement, vector)
				drivertest.Must(t, err)
				if !plan.Uses {
					t.Errorf("the plan does not use index %s:\n%s", index.Name, plan.Text)
				}
			}
			drivertest.Must(t, indexer.DropIndex(t.Context(), index))
			if state, err := indexer.IndexState(t.Context(), index); err != nil || state.Exists {
				t.Errorf("dropped: %+v, %v", state, err)
			}
		})
	}
	for _, index := range indexesForFilters[:2] {
		drivertest.Must(t, indexer.DropIndex(t.Context(), index))
	}
}

// TestAServerThatDoesNotSayWhenAGraphIsDone has graph indexes refused, and left behind nowhere.
func TestAServerThatDoesNotSayWhenAGraphIsDone(t *testing.T) {
	o, rows := searching(t, unsettled(t), corpus.KeyInteger, 20)
	indexer := o.Database.(drivers.Indexer)
	disk := graph("disk", query.Path{"v"}, dimensions, query.Cosine)
	disk.Vector.Strategy, disk.Vector.M, disk.Vector.EfConstruction, disk.Vector.Degree, disk.Vector.LBuild, disk.Vector.Alpha = query.DiskANN, 0, 0, 64, 100, 1.2
	for _, test := range []struct {
		index query.Index
		says  string
	}{
		{graph("graph", query.Path{"v"}, dimensions, query.Cosine), `"status":"ready"`},
		{disk, "DISKANN DIMENSION 12 DIST COSINE TYPE F32 DEGREE 64 L_BUILD 100 ALPHA 1.2 CONCURRENTLY"},
	} {
		drivertest.Must(t, indexer.CanIndex(test.index))
		err := indexer.CreateIndex(t.Context(), test.index)
		var unsupported drivers.Unsupported
		if !errors.As(err, &unsupported) || !strings.Contains(unsupported.Why, test.says) {
			t.Errorf("%s: %v", test.index.Name, err)
		}
		if state, err := indexer.IndexState(t.Context(), test.index); err != nil || state.Exists {
			t.Errorf("%s is there: %+v, %v", test.index.Name, state, err)
		}
	}
	s := &query.Search{ID: "exact", Field: query.Path{"v"}, Metric: query.Cosine, K: 30}
	if recall := rows.Search(t, o.data.Corpus, o.client, s, drivertest.Vector(0, dimensions)); recall != 1 {
		t.Errorf("recall %g", recall)
	}
}

func TestVectorIndexesThatCannotBe(t *testing.T) {
	o, _ := searching(t, server(t, drivers.TierNone, drivers.Profile{}), corpus.KeyInteger, 1)
	indexer, searcher := o.Database.(drivers.Indexer), o.client.(drivers.Searcher)
	whole := graph("whole", query.Path{"v"}, dimensions, query.Cosine)
	for what, change := range map[string]func(*query.VectorIndex){
		"inner product": func(v *query.VectorIndex) { v.Metric = query.InnerProduct },
		"ivfflat":       func(v *query.VectorIndex) { v.Strategy = query.IVFFlat },
		"a list":        func(v *query.VectorIndex) { v.Strategy = query.BruteForce },
		"a set":         func(v *query.VectorIndex) { v.Strategy = query.VectorSet },
		"quantised":     func(v *query.VectorIndex) { v.Quantisation = query.Half },
		"diskann l1":    func(v *query.VectorIndex) { v.Strategy, v.Metric = query.DiskANN, query.Manhattan },
	} {
		index, vector := whole, *whole.Vector
		index.Vector = &vector
		change(&vector)
		var unsupported drivers.Unsupported
		if err := indexer.CreateIndex(t.Context(), index); !errors.As(err, &unsupported) {
			t.Errorf("%s: %v", what, err)
		}
		s := &query.Search{ID: "s", Field: query.Path{"v"}, Metric: vector.Metric, K: 1, Budget: 1, Index: &index}
		if err := searcher.CanSearch(s); !errors.As(err, &unsupported) {
			t.Errorf("search on %s: %v", what, err)
		}
	}
	for what, index := range map[string]query.Index{
		"too few dimensions": graph("few", query.Path{"v"}, dimensions-1, query.Cosine),
		"on a number":        graph("number", query.Path{"number"}, dimensions, query.Cosine),
	} {
		var unsupported drivers.Unsupported
		if err := indexer.CreateIndex(t.Context(), index); err == nil || errors.As(err, &unsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestSearchesAtOnce shares one statement among all threads of a client.
func TestSearchesAtOnce(t *testing.T) {
	o, rows := searching(t, server(t, drivers.TierNone, drivers.Profile{}), corpus.KeyInteger, 100)
	searcher := o.client.(drivers.Searcher)
	s := &query.Search{ID: "exact", Field: query.Path{"v"}, Metric: query.Euclidean, K: 4, Where: filters(t, o.data.Corpus.Template())[1]}
	statement, err := searcher.PrepareSearch(t.Context(), s)
	drivertest.Must(t, err)
	done := make(chan float64)
	for thread := range 2 {
		go func() {
			least := 1.0
			for i := range 50 {
				least = min(least, rows.Prepared(t, o.data.Corpus, searcher, statement, s, drivertest.Vector(2*i+thread, dimensions)))
			}
			done <- least
		}()
	}
	for range 2 {
		select {
		case recall := <-done:
			if recall != 1 {
				t.Errorf("recall %g", recall)
			}
		case <-time.After(time.Minute):
			t.Fatal("a thread does not end")
		}
	}
}
