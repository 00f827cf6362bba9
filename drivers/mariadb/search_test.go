package mariadb_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// vectors is a configuration for searches on the server that has vectors.
func vectors(tb testing.TB, clients, threads int) drivers.Config {
	tb.Helper()
	running := searchServer(tb)
	config := drivers.Config{Endpoint: running.Endpoint, Credentials: running.Credentials, Clients: clients, Threads: threads, Tier: drivers.TierOS, Searches: true}
	return drivertest.Small(tb, config, func(config *drivers.Config) {
		template, err := corpus.ParseTemplate(map[string]any{"age": "int:0..1000", "embedding": "vector:8:clustered:8"})
		drivertest.Must(tb, err)
		config.Corpus, err = corpus.New(11, template, corpus.KeyInteger, false)
		drivertest.Must(tb, err)
	})
}

func nearest(k int, index *query.Index, budget int) *query.Search {
	return &query.Search{ID: "near", Field: query.Path{"embedding"}, Metric: query.Cosine, K: k, Index: index, Budget: budget}
}

func hnsw() *query.Index {
	return &query.Index{Name: "near", Kind: query.Nearest, Paths: []query.Path{{"embedding"}}, Vector: &query.VectorIndex{
		Strategy: query.HNSW, Metric: query.Cosine, Dimensions: 8, M: 8, EfConstruction: 32,
	}}
}

func TestAServerWithoutVectorsIsRefusedBeforeTheLoad(t *testing.T) {
	running := server(t, drivers.TierOS, drivers.Profile{})
	config := vectors(t, 1, 1)
	config.Endpoint, config.Credentials = running.Endpoint, running.Credentials
	database := drivertest.Open(t, engine(t), config)
	version, err := database.Version(t.Context())
	drivertest.Must(t, err)
	if err := database.(drivers.Preflighter).Preflight(t.Context()); strings.HasPrefix(version, "10.") {
		drivertest.Says(t, err, config, version, "vectors came with 11.7")
	} else {
		drivertest.Must(t, err) // the machine's own server is a newer one; which versions are refused is tested in mysqlbase
	}
}

// The budget of a search is set on each connection, also on those that are opened later, and is gone with the next scan. What a session has shows in a scan
// that was prepared before.
func TestBudgetsReachEveryConnectionAndEndWithTheSearch(t *testing.T) {
	const threads = 4
	config := vectors(t, 1, threads)
	database, clients := drivertest.Loaded(t, engine(t), config, 10)
	index := hnsw()
	drivertest.Must(t, database.(drivers.Indexer).CreateIndex(t.Context(), *index))
	scanner, searcher := clients[0].(drivers.Scanner), clients[0].(drivers.Searcher)
	has := func(condition string) drivers.Statement {
		t.Helper()
		scan := &query.Scan{ID: "budget", Project: query.Count, Raw: &query.Raw{HasWhere: true, Where: map[string]string{"mysql": "@@SESSION.mhnsw_ef_search = " + condition}}}
		statement, err := scanner.PrepareScan(t.Context(), scan)
		drivertest.Must(t, err)
		return statement
	}
	server, budgeted := has("@@GLOBAL.mhnsw_ef_search"), has("77")
	count := func(when string, statement drivers.Statement) {
		t.Helper()
		var group sync.WaitGroup
		for range threads {
			group.Go(func() {
				var answer drivers.Answer
				for range 20 {
					if err := scanner.Scan(t.Context(), statement, &answer); err != nil || answer.Count != 10 {
						t.Errorf("%s: a session has another budget: %v", when, err)
						return
					}
				}
			})
		}
		group.Wait()
	}
	count("before", server)
	statement, err := searcher.PrepareSearch(t.Context(), nearest(5, index, 77))
	drivertest.Must(t, err)
	count("search", budgeted)
	conn := control(t, config)
	var ids string
	drivertest.Must(t, conn.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(id) FROM information_schema.processlist WHERE db = 'durabench' AND id <> CONNECTION_ID()").Scan(&ids))
	for _, id := range strings.Split(ids, ",") {
		run(t, conn, "KILL "+id)
	}
	var answer drivers.Answer
	for range 2 * threads { // each finds its connection closed, once
		_ = searcher.Search(t.Context(), statement, make([]float32, 8), &answer)
	}
	count("connections that were opened later", budgeted)
	_, err = searcher.PrepareSearch(t.Context(), nearest(5, nil, 0))
	drivertest.Must(t, err)
	count("exact search", server)
	if err := searcher.Search(t.Context(), statement, make([]float32, 8), &answer); err == nil {
		t.Error("a search that was prepared before another one was run with the other's budget")
	}
	_, err = searcher.PrepareSearch(t.Context(), nearest(5, index, 77))
	drivertest.Must(t, err)
	count("search", budgeted)
	has("1")
	count("after a scan was prepared", server)
}

func TestVectorIndexesTellTheirSizeAndWhatTheyDoNotUse(t *testing.T) {
	config := vectors(t, 1, 1)
	database, _ := drivertest.Loaded(t, engine(t), config, 3000)
	indexer := database.(drivers.Indexer)
	drivertest.Must(t, indexer.CreateIndex(t.Context(), *hnsw()))
	state, err := indexer.IndexState(t.Context(), *hnsw())
	if err != nil || state.Bytes < 3000*2*8 || !strings.Contains(state.Detail, "no ef_construction: the 32") {
		t.Errorf("state %+v, %v", state, err)
	}
	second := hnsw()
	second.Name = "second"
	drivertest.Says(t, indexer.CreateIndex(t.Context(), *second), config, "multiple VECTOR indexes")
}

func TestBoundsOfMariaDBAreRefusedWithTheNumber(t *testing.T) {
	indexer, searcher := engine(t).DatabaseAbility.(drivers.Indexer), engine(t).Ability.(drivers.Searcher)
	change := func(f func(v *query.VectorIndex)) error {
		index := hnsw()
		f(index.Vector)
		return indexer.CanIndex(*index)
	}
	for want, err := range map[string]error{
		"up to 16383 dimensions, not 16384":   change(func(v *query.VectorIndex) { v.Dimensions = 16_384 }),
		"an m of 3 to 200, not 201":           change(func(v *query.VectorIndex) { v.M = 201 }),
		"no distance by manhattan":            change(func(v *query.VectorIndex) { v.Metric = query.Manhattan }),
		"mhnsw_ef_search is 1 to 10000":       searcher.CanSearch(nearest(5, hnsw(), 10_001)),
		"is by cosine and serves no search":   searcher.CanSearch(&query.Search{Metric: query.Euclidean, K: 1, Index: hnsw(), Budget: 10}),
		"within documents: place.embedding":   searcher.CanSearch(&query.Search{Metric: query.Cosine, K: 1, Field: query.Path{"place", "embedding"}}),
		"always does, until enough rows":      searcher.CanSearch(&query.Search{Metric: query.Cosine, K: 1, Index: hnsw(), Budget: 10, Iterative: query.IterativeStrict}),
		"no vector index of strategy ivfflat": change(func(v *query.VectorIndex) { v.Strategy = query.IVFFlat }),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	drivertest.Must(t, searcher.CanSearch(nearest(5, hnsw(), 10_000)))
}

// BenchmarkSearch searches 768 dimensions by the driver; cpu-ns/op is what this process used of the CPU for each search.
func BenchmarkSearch(b *testing.B) {
	config := vectors(b, 1, 1)
	template, err := corpus.ParseTemplate(map[string]any{"embedding": fmt.Sprintf("vector:%d:clustered:8", 768)})
	drivertest.Must(b, err)
	config.Corpus, err = corpus.New(11, template, corpus.KeyInteger, false)
	drivertest.Must(b, err)
	database, clients := drivertest.Loaded(b, engine(b), config, 2000)
	index := hnsw()
	index.Vector.Dimensions = 768
	drivertest.Must(b, database.(drivers.Indexer).CreateIndex(b.Context(), *index))
	searcher := clients[0].(drivers.Searcher)
	statement, err := searcher.PrepareSearch(b.Context(), nearest(10, index, 10))
	drivertest.Must(b, err)
	var row corpus.Row
	config.Corpus.Row(&row, 1_000_000, 0)
	var answer drivers.Answer
	b.ReportAllocs()
	before := drivertest.CPUTime()
	for b.Loop() {
		drivertest.Must(b, searcher.Search(b.Context(), statement, row.Columns[0].Floats(), &answer))
	}
	b.ReportMetric(float64(drivertest.CPUTime()-before)/float64(b.N), "cpu-ns/op")
}
