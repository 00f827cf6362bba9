package redis_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
	"github.com/durabench/durabench/drivers/respbase/resptest"
	"github.com/durabench/durabench/infra/ci"
	"github.com/durabench/durabench/infra/process"
)

// eight are servers of Redis 8, with vector sets and with the query engine.
var eight = resptest.Servers{Engine: "redis", Setup: func(tb testing.TB, o *process.Options) {
	module := drivertest.Tool("redisearch.so")
	if _, err := os.Stat(module); err != nil {
		ci.Need(tb, fmt.Errorf("Redis's query engine: %w; run scripts/test-deps.sh", err))
	}
	// As the vendor installs it.
	o.Binary = filepath.Join(o.Dir+"-installed", "bin", "redis-server")
	for link, to := range map[string]string{o.Binary: drivertest.Trixie(tb, "redis-server"), filepath.Join(o.Dir+"-installed", "lib", "redis", "modules", "redisearch.so"): module} {
		drivertest.Must(tb, os.MkdirAll(filepath.Dir(link), 0o755))
		drivertest.Must(tb, os.Symlink(to, link))
	}
}}

const dimensions = 12

// searched is a table with vectors at two places, and with something of every kind to filter by.
var searched = map[string]any{
	"v": fmt.Sprintf("vector:%d", dimensions), "deep": map[string]any{"v": "vector:3:-1..1", "level": "int:0..10"},
	"number": "int:0..100", "score": "float:0..1", "wide": "float", "price": "decimal:0..10", "flag": "bool", "city": `string_enum:paris,london,o's"l\o,%41`, "born": "datetime", "ident": "uuid",
	"raw": "bytes:4", "words": "words:20;hello,world,foo",
}

// columns are those that the indexes keep for filters.
var columns = []query.Path{{"number"}, {"score"}, {"wide"}, {"price"}, {"flag"}, {"city"}, {"born"}, {"ident"}, {"raw"}, {"deep", "level"}}

// table is a database with rows in it and one client.
type table struct {
	drivers.Database
	client drivers.Client
	corpus *corpus.Corpus
	rows   drivertest.Rows
}

// searching opens the table on a server of Redis 8 and fills it.
func searching(t *testing.T, servers *resptest.Servers, kind corpus.KeyKind, rows uint64) *table {
	t.Helper()
	template, err := corpus.ParseTemplate(searched)
	drivertest.Must(t, err)
	c, err := corpus.New(11, template, kind, true)
	drivertest.Must(t, err)
	config := servers.Config(t, 1, 2, func(config *drivers.Config) {
		config.Corpus, config.Searches, config.Logger = c, true, slog.New(slog.DiscardHandler)
	})
	database := drivertest.Open(t, servers.Registered(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	client := drivertest.Clients(t, database, config)[0]
	drivertest.Must(t, drivers.LoadRows(t.Context(), client, c, 0, rows, 0))
	return &table{database, client, c, drivertest.RowsOf(c, rows)}
}

// build builds an index and waits until it serves.
func (o *table) build(t *testing.T, index query.Index) {
	t.Helper()
	drivertest.Must(t, o.Database.(drivers.Indexer).CreateIndex(t.Context(), index))
	drivertest.Ready(t, o.Database, index)
}

// vectors is an index on a column of vectors.
func vectors(name string, strategy query.Strategy, metric query.Metric, change func(*query.VectorIndex)) query.Index {
	v := &query.VectorIndex{Strategy: strategy, Metric: metric, Dimensions: dimensions, Filters: columns}
	if strategy != query.BruteForce {
		v.M, v.EfConstruction = 16, 100
	}
	index := query.Index{Name: name, Kind: query.Nearest, Paths: []query.Path{{"v"}}, Vector: v}
	if change != nil {
		change(v)
	}
	return index
}

// filters are conditions for searches that Redis can express, nil for none.
func (o *table) filters(t *testing.T) (bound []*query.Predicate) {
	t.Helper()
	var some []query.Literal
	for _, path := range columns {
		column, err := query.Resolve(o.corpus.Template(), path)
		drivertest.Must(t, err)
		for index := range uint64(3) {
			var row corpus.Row
			o.corpus.Row(&row, index, 0)
			values := row.Columns
			for _, at := range column.At[:len(column.At)-1] {
				values = values[at].Elems()
			}
			some = append(some, query.LiteralOf(&values[column.At[len(column.At)-1]]))
		}
	}
	all := []*query.Predicate{nil}
	for i, path := range columns {
		three := some[3*i : 3*i+3]
		all = append(all, &query.Predicate{Op: query.In, Path: path, Values: three}, &query.Predicate{Op: query.Not, Args: []*query.Predicate{{Op: query.In, Path: path, Values: three[:2]}}})
		for _, op := range []query.Op{query.Eq, query.Ne, query.Lt, query.Lte, query.Gt, query.Gte} {
			ordered := op != query.Eq && op != query.Ne
			if kind := three[0].Kind; ordered && (kind == corpus.Bool || kind == corpus.String || kind == corpus.UUID || kind == corpus.Bytes) {
				continue
			}
			all = append(all, &query.Predicate{Op: op, Path: path, Values: three[:1]})
		}
	}
	few := &query.Predicate{Op: query.Between, Path: query.Path{"number"}, Values: []query.Literal{{Kind: corpus.Int, Int: 3}, {Kind: corpus.Int, Int: 40}}}
	paris := &query.Predicate{Op: query.Ne, Path: query.Path{"city"}, Values: []query.Literal{{Kind: corpus.String, Text: "paris"}}}
	none := &query.Predicate{Op: query.Lt, Path: query.Path{"number"}, Values: []query.Literal{{Kind: corpus.Int, Int: 0}}}
	all = append(all, few, none,
		&query.Predicate{Op: query.And, Args: []*query.Predicate{few, paris, all[5]}}, &query.Predicate{Op: query.Or, Args: []*query.Predicate{few, paris, none}},
		&query.Predicate{Op: query.Not, Args: []*query.Predicate{{Op: query.Or, Args: []*query.Predicate{{Op: query.Not, Args: []*query.Predicate{few}}, none}}}},
		&query.Predicate{Op: query.And, Args: []*query.Predicate{{Op: query.Not, Args: []*query.Predicate{few}}, {Op: query.Not, Args: []*query.Predicate{none}}}})
	for _, p := range all {
		scan, err := query.Bind(&query.Scan{ID: "filter", Project: query.ID, Where: p}, o.corpus.Template())
		drivertest.Must(t, err)
		bound = append(bound, scan.Where)
	}
	return bound
}

// TestSearches compares the answers of every kind of index, under every filter, with those worked out from the corpus.
func TestSearches(t *testing.T) {
	o := searching(t, &eight, corpus.KeyUUID, 500)
	indexer, searcher := o.Database.(drivers.Indexer), o.client.(drivers.Searcher)
	for _, test := range []struct {
		index  query.Index
		truth  bool
		budget int
		least  float64 // recall
	}{
		{vectors("whole", query.VectorSet, query.Cosine, nil), true, 0, 1},
		{vectors("walked", query.VectorSet, query.Cosine, nil), false, 100, 0.8},
		{vectors("bytes", query.VectorSet, query.Cosine, func(v *query.VectorIndex) { v.Quantisation = query.Int8 }), false, 100, 0.7},
		{vectors("signs", query.VectorSet, query.Cosine, func(v *query.VectorIndex) { v.Quantisation = query.Bits }), false, 100, 0},
		{vectors("graph", query.HNSW, query.Cosine, nil), false, 100, 0.8},
		{vectors("graph", query.HNSW, query.Euclidean, nil), false, 100, 0.8},
		{vectors("graph", query.HNSW, query.InnerProduct, nil), false, 100, 0.5},
		{vectors("list", query.BruteForce, query.Cosine, nil), false, 0, 1},
		{vectors("list", query.BruteForce, query.Euclidean, nil), true, 0, 1},
		{vectors("list", query.BruteForce, query.InnerProduct, nil), false, 0, 1},
	} {
		t.Run(fmt.Sprintf("%s-%s-%t", test.index.Name, test.index.Vector.Metric, test.truth), func(t *testing.T) {
			o.build(t, test.index)
			if err := indexer.CreateIndex(t.Context(), test.index); !errors.Is(err, drivers.ErrExists) {
				t.Errorf("once more: %v", err)
			}
			if rows, err := o.Database.(drivers.Counter).Count(t.Context()); err != nil || rows != 500 {
				t.Errorf("there are %d rows, %v", rows, err)
			}
			for i, where := range o.filters(t) {
				s := &query.Search{ID: "s", Field: query.Path{"v"}, Metric: test.index.Vector.Metric, K: 7, Where: where, Index: &test.index, Budget: test.budget, Truth: test.truth}
				statement, err := searcher.PrepareSearch(t.Context(), s)
				drivertest.Must(t, err)
				vector := drivertest.Vector(i, dimensions)
				if test.index.Name == "signs" {
					// Signs say too little of the order.
					var answer drivers.Answer
					drivertest.Must(t, searcher.Search(t.Context(), statement, vector, &answer))
					if where == nil && answer.Rows != 7 {
						t.Errorf("%d rows", answer.Rows)
					}
					continue
				}
				if test.index.Name == "bytes" {
					o.rows.Unordered(t, o.corpus, searcher, statement, s, vector)
					continue
				}
				if recall := o.rows.Prepared(t, o.corpus, searcher, statement, s, vector); recall < test.least {
					t.Errorf("%s where %s: recall %g", s, where, recall)
				}
				plan, err := o.client.(drivers.SearchExplainer).ExplainSearch(t.Context(), statement, vector)
				drivertest.Must(t, err)
				if !plan.Uses || plan.Text == "" {
					t.Errorf("%s where %s: plan %+v", s, where, plan)
				}
			}
			drivertest.Must(t, indexer.DropIndex(t.Context(), test.index))
			if err := indexer.DropIndex(t.Context(), test.index); !errors.Is(err, drivers.ErrNotFound) {
				t.Errorf("dropped once more: %v", err)
			}
			if state, err := indexer.IndexState(t.Context(), test.index); err != nil || state.Exists || state.Ready {
				t.Errorf("dropped: %+v, %v", state, err)
			}
			if _, err := searcher.PrepareSearch(t.Context(), &query.Search{ID: "s", Field: query.Path{"v"}, Metric: test.index.Vector.Metric, K: 7, Index: &test.index}); err == nil {
				t.Error("a search on an index that was dropped was prepared")
			}
		})
	}
	if n := keysBeside(t); n != 500 {
		t.Errorf("the dropped indexes left something: %d keys", n)
	}
}

// keysBeside counts the keys beside that of a mark, which other tests leave.
func keysBeside(t *testing.T) int64 {
	t.Helper()
	control := resptest.Control(t, eight.Config(t, 1, 1, nil))
	defer control.Close()
	size, err := resptest.Run(t, control, "DBSIZE").AsInt64()
	drivertest.Must(t, err)
	marks, err := resptest.Run(t, control, "EXISTS", "durabench-mark").AsInt64()
	drivertest.Must(t, err)
	return size - marks
}

// TestSearchesThatCannotBe are refused with the reason.
func TestSearchesThatCannotBe(t *testing.T) {
	o := searching(t, &eight, corpus.KeyInteger, 1)
	set, list, graph := vectors("set", query.VectorSet, query.Cosine, nil), vectors("list", query.BruteForce, query.Cosine, nil), vectors("graph", query.HNSW, query.Cosine, nil)
	search := func(index *query.Index, change func(*query.Search)) *query.Search {
		s := &query.Search{ID: "s", Field: query.Path{"v"}, Metric: query.Cosine, K: 3, Index: index, Budget: 10}
		if index != nil {
			s.Metric = index.Vector.Metric
		}
		if change != nil {
			change(s)
		}
		return s
	}
	where := func(op query.Op, path query.Path, values ...query.Literal) func(*query.Search) {
		return func(s *query.Search) { s.Where = &query.Predicate{Op: op, Path: path, Values: values} }
	}
	l2, half, short, ivf := vectors("a", query.VectorSet, query.Euclidean, nil), vectors("b", query.VectorSet, query.Cosine, nil), vectors("c", query.VectorSet, query.Cosine, nil), vectors("d", query.IVFFlat, query.Cosine, nil)
	half.Vector.Quantisation, short.Vector.Quantisation = query.Half, query.Int8
	l1 := vectors("e", query.HNSW, query.Manhattan, nil)
	text := query.Literal{Kind: corpus.String, Text: "a"}
	for what, s := range map[string]*query.Search{
		"no index": search(nil, nil), "l2": search(&l2, nil), "half": search(&half, nil), "ivfflat": search(&ivf, nil), "l1": search(&l1, nil),
		"truth of bytes": search(&short, func(s *query.Search) { s.Truth = true }), "truth of a graph": search(&graph, func(s *query.Search) { s.Truth = true }),
		"iterative": search(&set, func(s *query.Search) { s.Iterative = query.IterativeStrict }), "a prefix": search(&list, where(query.Prefix, query.Path{"city"}, text)),
		"words": search(&set, where(query.MatchAll, query.Path{"words"}, text)), "an order of texts": search(&set, where(query.Lt, query.Path{"city"}, text)),
		"a column that is not there": search(&list, where(query.Eq, query.Path{"words"}, text)),
		"a large number":             search(&set, where(query.Gte, query.Path{"number"}, query.Literal{Kind: corpus.Int, Int: 1 << 53})),
		"a small number":             search(&list, where(query.Gte, query.Path{"number"}, query.Literal{Kind: corpus.Int, Int: math.MinInt64})),
	} {
		var unsupported drivers.Unsupported
		if err := eight.Registered(t).Ability.(drivers.Searcher).CanSearch(s); !errors.As(err, &unsupported) || unsupported.Why == "" {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := o.client.(drivers.Searcher).PrepareSearch(t.Context(), s); !errors.As(err, &unsupported) {
			t.Errorf("%s: prepared: %v", what, err)
		}
		if s.Index == nil || s.Where != nil || s.Truth || s.Iterative != "" {
			continue
		}
		if err := o.Database.(drivers.Indexer).CreateIndex(t.Context(), *s.Index); !errors.As(err, &unsupported) {
			t.Errorf("%s: created: %v", what, err)
		}
	}
	for what, change := range map[string]func(*query.Index){
		"too few dimensions": func(i *query.Index) { i.Vector.Dimensions-- },
		"on a number":        func(i *query.Index) { i.Paths[0] = query.Path{"number"} },
		"an unknown filter":  func(i *query.Index) { i.Vector.Filters = []query.Path{{"nobody"}} },
	} {
		index := vectors("f", query.VectorSet, query.Cosine, nil)
		change(&index)
		var unsupported drivers.Unsupported
		if err := o.Database.(drivers.Indexer).CreateIndex(t.Context(), index); err == nil || errors.As(err, &unsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestAnOlderRedis is refused before anything is loaded, and so is an index of its.
func TestAnOlderRedis(t *testing.T) {
	o := searching(t, &servers, corpus.KeyInteger, 3)
	var unsupported drivers.Unsupported
	if err := o.Database.(drivers.Preflighter).Preflight(t.Context()); !errors.As(err, &unsupported) || !strings.Contains(unsupported.Why, "COMMAND INFO VADD") {
		t.Errorf("preflight: %v", err)
	}
	for _, strategy := range []query.Strategy{query.VectorSet, query.HNSW, query.BruteForce} {
		index := vectors("i", strategy, query.Cosine, nil)
		if err := o.Database.(drivers.Indexer).CreateIndex(t.Context(), index); !errors.As(err, &unsupported) {
			t.Errorf("%s: %v", strategy, err)
		}
		if state, err := o.Database.(drivers.Indexer).IndexState(t.Context(), index); err != nil || state.Exists {
			t.Errorf("%s: %+v, %v", strategy, state, err)
		}
	}
}

// TestIndexesHearOfWrites changes rows in every way there is under an index of each kind, and searches exactly.
func TestIndexesHearOfWrites(t *testing.T) {
	for _, indexes := range [][]query.Index{
		{vectors("set", query.VectorSet, query.Cosine, nil)},
		{vectors("list", query.BruteForce, query.Cosine, nil)},
		{vectors("list", query.BruteForce, query.Cosine, nil), vectors("set", query.VectorSet, query.Cosine, nil), vectors("other", query.VectorSet, query.Cosine, func(v *query.VectorIndex) { v.Filters = nil })},
	} {
		o := searching(t, &eight, corpus.KeyInteger, 100)
		for _, index := range indexes {
			o.build(t, index)
		}
		check := func(when string) {
			t.Helper()
			for i, index := range indexes {
				where := o.filters(t)[:3]
				if len(index.Vector.Filters) == 0 {
					where = where[:1]
				}
				for j, where := range where {
					s := &query.Search{ID: "s", Field: query.Path{"v"}, Metric: query.Cosine, K: 40, Where: where, Index: &indexes[i], Truth: true}
					if recall := o.rows.Search(t, o.corpus, o.client, s, drivertest.Vector(j, dimensions)); recall != 1 {
						t.Errorf("%s: %s in %s where %s: recall %g", when, s, index.Name, where, recall)
					}
				}
				if state := drivertest.Ready(t, o.Database, index); state.Bytes <= 0 {
					t.Errorf("%s: %+v", when, state)
				}
			}
			if rows, err := o.Database.(drivers.Counter).Count(t.Context()); err != nil || rows != int64(len(o.rows)) {
				t.Errorf("%s: %d rows of %d, %v", when, rows, len(o.rows), err)
			}
		}
		check("built")
		var buffers [8]corpus.KeyBuffer
		ctx, batcher := t.Context(), o.client.(drivers.Batcher)
		key := func(slot int, index uint64) corpus.Key { return o.corpus.Key(&buffers[slot], index) }
		row := func(index uint64, version uint32) *corpus.Row {
			made := new(corpus.Row)
			o.corpus.Row(made, index, version)
			return made
		}
		wrote := func(index uint64, version uint32) { o.rows[key(7, index).String()] = row(index, version) }
		gone := func(index uint64) { delete(o.rows, key(7, index).String()) }

		drivertest.Must(t, o.client.Create(ctx, key(0, 200), row(200, 1)))
		wrote(200, 1)
		if err := o.client.Create(ctx, key(0, 3), row(3, 9)); !errors.Is(err, drivers.ErrExists) {
			t.Errorf("created once more: %v", err)
		}
		drivertest.Must(t, o.client.Update(ctx, key(0, 5), row(5, 2)))
		wrote(5, 2)
		if err := o.client.Update(ctx, key(0, 300), row(300, 9)); !errors.Is(err, drivers.ErrNotFound) {
			t.Errorf("updated where nothing is: %v", err)
		}
		drivertest.Must(t, o.client.Delete(ctx, key(0, 6)))
		gone(6)
		if err := o.client.Delete(ctx, key(0, 6)); !errors.Is(err, drivers.ErrNotFound) {
			t.Errorf("deleted once more: %v", err)
		}
		check("written one by one")

		var rec drivers.Record
		drivertest.Must(t, o.client.(drivers.Modifier).Modify(ctx, key(0, 7), &rec, row(7, 3)))
		var before corpus.Row
		drivertest.Must(t, o.client.Decode(&rec, &before))
		if column, _, _, same := corpus.Diff(o.corpus.Template(), row(7, 0), &before); !same {
			t.Errorf("modify did not return what was there: column %s", column)
		}
		wrote(7, 3)
		if err := o.client.(drivers.Modifier).Modify(ctx, key(0, 301), &rec, row(301, 9)); !errors.Is(err, drivers.ErrNotFound) {
			t.Errorf("modified where nothing is: %v", err)
		}
		keys, rows := []corpus.Key{key(0, 210), key(1, 211)}, []*corpus.Row{row(210, 0), row(211, 0)}
		_, err := batcher.CreateBatch(ctx, keys, rows)
		drivertest.Must(t, err)
		wrote(210, 0)
		wrote(211, 0)
		keys, rows = []corpus.Key{key(0, 10), key(1, 211)}, []*corpus.Row{row(10, 4), row(211, 4)}
		_, err = batcher.UpdateBatch(ctx, keys, rows)
		drivertest.Must(t, err)
		wrote(10, 4)
		wrote(211, 4)
		_, err = batcher.DeleteBatch(ctx, []corpus.Key{key(0, 11), key(1, 210)})
		drivertest.Must(t, err)
		gone(11)
		gone(210)
		drivertest.Must(t, o.client.(drivers.Loader).Load(ctx, 20, 250, 5))
		for index := uint64(20); index < 250; index++ {
			wrote(index, 5)
		}
		check("written many at once")
	}
}

// TestABuildThatWasBrokenOff is taken up again, by another process too, and Prepare leaves nothing of it.
func TestABuildThatWasBrokenOff(t *testing.T) {
	for _, strategy := range []query.Strategy{query.VectorSet, query.BruteForce} {
		o := searching(t, &eight, corpus.KeyInteger, 3000)
		index, indexer := vectors("broken", strategy, query.Cosine, nil), o.Database.(drivers.Indexer)
		ctx, cancel := context.WithCancel(t.Context())
		control := resptest.Control(t, eight.Config(t, 1, 1, nil))
		defer control.Close()
		go func() {
			for ctx.Err() == nil {
				set, failed := control.Do(t.Context(), control.B().Exists().Key("durabench-set:"+index.Name).Build()).AsInt64()
				size, err := control.Do(t.Context(), control.B().Dbsize().Build()).AsInt64()
				if err != nil || failed != nil || set > 0 || size > 3100 {
					cancel()
				}
			}
		}()
		err := indexer.CreateIndex(ctx, index)
		cancel()
		if err == nil {
			t.Log("the build was over before it could be broken off")
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		state, stated := indexer.IndexState(t.Context(), index)
		if stated != nil || !state.Exists || err != nil && state.Ready {
			t.Errorf("state %+v, %v", state, stated)
		}
		config := eight.Config(t, 1, 1, func(config *drivers.Config) { config.Corpus, config.Searches = o.corpus, true })
		again := drivertest.Open(t, eight.Registered(t), config)
		if err := again.(drivers.Indexer).CreateIndex(t.Context(), index); err != nil && !errors.Is(err, drivers.ErrExists) {
			t.Error(err)
		}
		drivertest.Ready(t, again, index)
		s := &query.Search{ID: "s", Field: query.Path{"v"}, Metric: query.Cosine, K: 10, Index: &index, Truth: true}
		if recall := o.rows.Search(t, o.corpus, o.client, s, drivertest.Vector(0, dimensions)); recall != 1 {
			t.Errorf("recall %g", recall)
		}
		drivertest.Must(t, again.Prepare(t.Context()))
		if state, err := again.(drivers.Indexer).IndexState(t.Context(), index); err != nil || state.Exists {
			t.Errorf("prepared: %+v, %v", state, err)
		}
		if n := keysBeside(t); n != 0 {
			t.Errorf("prepared: %d keys", n)
		}
	}
}

// TestScansDoNotSeeIndexes counts rows and keys beside an index of each kind.
func TestScansDoNotSeeIndexes(t *testing.T) {
	o := searching(t, &eight, corpus.KeyInteger, 300)
	for _, index := range []query.Index{vectors("set", query.VectorSet, query.Cosine, nil), vectors("list", query.BruteForce, query.Euclidean, nil)} {
		o.build(t, index)
	}
	scanner := o.client.(drivers.Scanner)
	for _, project := range []query.Projection{query.ID, query.Full, query.Count} {
		s, err := query.Bind(&query.Scan{ID: "all", Project: project}, o.corpus.Template())
		drivertest.Must(t, err)
		statement, err := scanner.PrepareScan(t.Context(), s)
		drivertest.Must(t, err)
		var answer drivers.Answer
		drivertest.Must(t, scanner.Scan(t.Context(), statement, &answer))
		if answer.Rows+answer.Count != 300 {
			t.Errorf("%s: %d rows, count %d", project, answer.Rows, answer.Count)
		}
	}
}

// TestTheQueryEngineIsGivenTime has a limit on the server that is too short: past it the engine answers with less than it should, and says nothing of it.
func TestTheQueryEngineIsGivenTime(t *testing.T) {
	template, err := corpus.ParseTemplate(map[string]any{"v": "vector:256"})
	drivertest.Must(t, err)
	c, err := corpus.New(3, template, corpus.KeyInteger, true)
	drivertest.Must(t, err)
	const rows = 20_000
	config := eight.Config(t, 1, 1, func(config *drivers.Config) { config.Corpus, config.Searches = c, true })
	database := drivertest.Open(t, eight.Registered(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	client := drivertest.Clients(t, database, config)[0]
	drivertest.Must(t, drivers.LoadRows(t.Context(), client, c, 0, rows, 0))
	control := resptest.Control(t, config)
	defer control.Close()
	resptest.Run(t, control, "FT.CONFIG", "SET", "TIMEOUT", "1")
	defer resptest.Run(t, control, "FT.CONFIG", "SET", "TIMEOUT", "500")
	index := query.Index{Name: "list", Kind: query.Nearest, Paths: []query.Path{{"v"}}, Vector: &query.VectorIndex{Strategy: query.BruteForce, Metric: query.Euclidean, Dimensions: 256}}
	drivertest.Must(t, database.(drivers.Indexer).CreateIndex(t.Context(), index))
	drivertest.Ready(t, database, index)
	s := &query.Search{ID: "s", Field: query.Path{"v"}, Metric: query.Euclidean, K: 10, Index: &index}
	if recall := drivertest.RowsOf(c, rows).Search(t, c, client, s, drivertest.Vector(0, 256)); recall != 1 {
		t.Errorf("recall %g", recall)
	}
	drivertest.Must(t, database.Prepare(t.Context()))
}

// TestModulesAreInTheSettings has what searches, and its version, read back.
func TestModulesAreInTheSettings(t *testing.T) {
	settings, err := searching(t, &eight, corpus.KeyInteger, 1).Settings(t.Context())
	drivertest.Must(t, err)
	for _, setting := range settings.Values {
		if setting.Name == "modules" && strings.Contains(setting.Value, "search 2") && strings.Contains(setting.Value, "vectorset 1") {
			return
		}
	}
	t.Errorf("the settings tell of no modules: %+v", settings.Values)
}
