package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
	"github.com/durabench/durabench/infra/ci"
)

// vectors is a configuration for searches of so many dimensions on the server that has pgvector.
func vectors(tb testing.TB, dimensions, clients, threads int) drivers.Config {
	tb.Helper()
	running := searchServer(tb)
	config := drivers.Config{Endpoint: running.Endpoint, Credentials: running.Credentials, Clients: clients, Threads: threads, Tier: drivers.TierOS, Searches: true}
	return drivertest.Small(tb, config, func(config *drivers.Config) {
		template, err := corpus.ParseTemplate(map[string]any{"age": "int:0..1000", "embedding": fmt.Sprintf("vector:%d:clustered:8", dimensions)})
		drivertest.Must(tb, err)
		config.Corpus, err = corpus.New(11, template, corpus.KeyInteger, false)
		drivertest.Must(tb, err)
	})
}

// held is a vector that no row has.
func held(config drivers.Config, i int) []float32 {
	var row corpus.Row
	config.Corpus.Row(&row, uint64(1_000_000+i), 0)
	return append([]float32{}, row.Columns[1].Floats()...)
}

func hnsw(dimensions int) *query.Index {
	return &query.Index{Name: "near", Kind: query.Nearest, Paths: []query.Path{{"embedding"}}, Vector: &query.VectorIndex{
		Strategy: query.HNSW, Metric: query.Cosine, Dimensions: dimensions, M: 8, EfConstruction: 32,
	}}
}

func nearest(k int, index *query.Index, budget int) *query.Search {
	return &query.Search{ID: "near", Field: query.Path{"embedding"}, Metric: query.Cosine, K: k, Index: index, Budget: budget}
}

func TestAServerWithoutPgvectorIsRefusedBeforeTheLoad(t *testing.T) {
	running := server(t, drivers.TierOS, drivers.Profile{})
	config := vectors(t, 8, 1, 1)
	config.Endpoint, config.Credentials = running.Endpoint, running.Credentials
	conn := control(t, config)
	defer conn.Close(context.Background())
	if run(t, conn, "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'")[0][0] != "0" {
		ci.Need(t, errors.New("the machine's own PostgreSQL has pgvector: there is no server here without it"))
	}
	database := drivertest.Open(t, engine(t), config)
	version, err := database.Version(t.Context())
	drivertest.Must(t, err)
	major, _, _ := strings.Cut(version, ".")
	drivertest.Says(t, database.(drivers.Preflighter).Preflight(t.Context()), config, "has no pgvector", "postgresql-"+major+"-pgvector")
	drivertest.Says(t, database.Prepare(t.Context()), config, "has no pgvector")
}

// HNSW finds at most ef_search rows: so it shows on each connection what it was set to, also on those that were opened later.
func TestBudgetsReachEveryConnection(t *testing.T) {
	const threads, k = 4, 50
	config := vectors(t, 8, 1, threads)
	database, clients := drivertest.Loaded(t, engine(t), config, 2000)
	index := hnsw(8)
	drivertest.Must(t, database.(drivers.Indexer).CreateIndex(t.Context(), *index))
	searcher := clients[0].(drivers.Searcher)
	rows := func(statement drivers.Statement, want int64) {
		t.Helper()
		var group sync.WaitGroup
		for thread := range threads {
			group.Go(func() {
				var answer drivers.Answer
				for n := range 20 {
					if err := searcher.Search(t.Context(), statement, held(config, thread*100+n), &answer); err != nil || answer.Rows != want {
						t.Errorf("%d rows, want %d: %v", answer.Rows, want, err)
						return
					}
				}
			})
		}
		group.Wait()
	}
	conn := control(t, config)
	defer conn.Close(context.Background())
	for _, budget := range []int{10, 30, 20} {
		statement, err := searcher.PrepareSearch(t.Context(), nearest(k, index, budget))
		drivertest.Must(t, err)
		rows(statement, int64(budget))
		run(t, conn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'durabench'")
		var answer drivers.Answer
		for range 2 * threads { // each finds its connection closed, once
			_ = searcher.Search(t.Context(), statement, held(config, 0), &answer)
		}
		rows(statement, int64(budget))
	}
	exact, err := searcher.PrepareSearch(t.Context(), nearest(k, nil, 0))
	drivertest.Must(t, err)
	rows(exact, k)
	iterative := nearest(k, index, 10)
	iterative.Iterative = query.IterativeStrict
	going, err := searcher.PrepareSearch(t.Context(), iterative)
	drivertest.Must(t, err)
	rows(going, k) // goes on until there are enough
	last, err := searcher.PrepareSearch(t.Context(), nearest(k, index, 10))
	drivertest.Must(t, err)
	rows(last, 10)
	var answer drivers.Answer
	if err := searcher.Search(t.Context(), exact, held(config, 0), &answer); err == nil {
		t.Error("a search that was prepared before another one was run under the other's settings")
	}
}

// bindWhere is the condition that a row's age is below a bound.
func bindWhere(tb testing.TB, config drivers.Config, age int64) *query.Predicate {
	tb.Helper()
	bound, err := query.Bind(&query.Scan{ID: "where", Where: &query.Predicate{Op: query.Lt, Path: query.Path{"age"}, Values: []query.Literal{{Kind: corpus.Int, Int: age}}}}, config.Corpus.Template())
	drivertest.Must(tb, err)
	return bound.Where
}

// A build whose graph outgrows the memory that it may have is a slow one, and the state of the index says why.
func TestAGraphThatOutgrowsItsMemoryIsRemarked(t *testing.T) {
	config := vectors(t, 768, 1, 1)
	endpoint, err := url.Parse(config.Endpoint)
	drivertest.Must(t, err)
	values := endpoint.Query()
	values.Set("maintenance_work_mem", "1MB")
	endpoint.RawQuery = values.Encode()
	config.Endpoint = endpoint.String()
	database, _ := drivertest.Loaded(t, engine(t), config, 1000)
	indexer := database.(drivers.Indexer)
	drivertest.Must(t, indexer.CreateIndex(t.Context(), *hnsw(768)))
	if state, err := indexer.IndexState(t.Context(), *hnsw(768)); err != nil || !state.Ready || state.Bytes < 1000*768*4 || !strings.Contains(state.Detail, "maintenance_work_mem") {
		t.Errorf("state %+v, %v", state, err)
	}
}

func TestTheVersionOfPgvectorIsReadBack(t *testing.T) {
	database, _ := drivertest.Loaded(t, engine(t), vectors(t, 8, 1, 1), 1)
	settings, err := database.Settings(t.Context())
	drivertest.Must(t, err)
	for _, setting := range settings.Values {
		if setting.Name == "pgvector" && strings.HasPrefix(setting.Value, "0.") {
			return
		}
	}
	t.Errorf("settings %+v", settings.Values)
}

// What a search sets would change the plans of scans and single rows.
func TestSettingsOfASearchStayWithSearches(t *testing.T) {
	config := vectors(t, 8, 1, 2)
	database, clients := drivertest.Loaded(t, engine(t), config, 100)
	index := hnsw(8)
	drivertest.Must(t, database.(drivers.Indexer).CreateIndex(t.Context(), *index))
	scanner := clients[0].(drivers.Scanner)
	count := func(statement drivers.Statement) int64 {
		t.Helper()
		var answer drivers.Answer
		drivertest.Must(t, scanner.Scan(t.Context(), statement, &answer))
		return answer.Count
	}
	scan := &query.Scan{ID: "settings", Project: query.Count, Raw: &query.Raw{HasWhere: true, Where: map[string]string{
		"postgres": "current_setting('enable_seqscan') = 'on' AND coalesce(current_setting('hnsw.ef_search', true), '40') = '40' AND coalesce(current_setting('hnsw.iterative_scan', true), 'off') = 'off'",
	}}}
	before, err := scanner.PrepareScan(t.Context(), scan)
	drivertest.Must(t, err)
	search := nearest(10, index, 77)
	search.Iterative = query.IterativeRelaxed
	statement, err := clients[0].(drivers.Searcher).PrepareSearch(t.Context(), search)
	drivertest.Must(t, err)
	var answer drivers.Answer
	drivertest.Must(t, clients[0].(drivers.Searcher).Search(t.Context(), statement, held(config, 0), &answer))
	after, err := scanner.PrepareScan(t.Context(), scan)
	drivertest.Must(t, err)
	for range 4 {
		if count(before) != 100 || count(after) != 100 {
			t.Error("a scan runs under the settings of a search")
		}
	}
	if sockets, most := database.(drivers.Socketer).Sockets(), engine(t).Connections(config); sockets != 4 || most != 4 {
		t.Errorf("%d sockets, %d declared", sockets, most)
	}
}

// Even a server whose planner does everything to use indexes runs an exact search without one on vectors; one on the filter's column may find the rows
// to be compared.
func TestExactSearchesUseNoIndexOnVectors(t *testing.T) {
	config := vectors(t, 8, 1, 1)
	endpoint, err := url.Parse(config.Endpoint)
	drivertest.Must(t, err)
	values := endpoint.Query()
	values.Set("options", "-c enable_seqscan=off -c enable_sort=off")
	endpoint.RawQuery = strings.ReplaceAll(values.Encode(), "+", "%20")
	config.Endpoint = endpoint.String()
	database, clients := drivertest.Loaded(t, engine(t), config, 2000)
	indexer := database.(drivers.Indexer)
	drivertest.Must(t, indexer.CreateIndex(t.Context(), *hnsw(8)))
	filtered := nearest(10, nil, 0)
	filtered.Where = bindWhere(t, config, 20)
	explain := func(search *query.Search) drivers.Explanation {
		t.Helper()
		statement, err := clients[0].(drivers.Searcher).PrepareSearch(t.Context(), search)
		drivertest.Must(t, err)
		explained, err := clients[0].(drivers.SearchExplainer).ExplainSearch(t.Context(), statement, held(config, 0))
		drivertest.Must(t, err)
		return explained
	}
	for _, search := range []*query.Search{nearest(10, nil, 0), filtered} {
		if explained := explain(search); !explained.Uses {
			t.Errorf("where %v: an exact search uses an index on vectors:\n%s", search.Where, explained.Text)
		}
	}
	if explained := explain(nearest(10, hnsw(8), 20)); !explained.Uses {
		t.Errorf("a search on the index does not use it:\n%s", explained.Text)
	}
	drivertest.Must(t, indexer.CreateIndex(t.Context(), query.Index{Name: "age", Kind: query.Ordered, Paths: []query.Path{{"age"}}}))
	drivertest.Must(t, database.(drivers.Analyzer).Analyze(t.Context()))
	if explained := explain(filtered); !explained.Uses || !strings.Contains(explained.Text, "durabench_age") {
		t.Errorf("an exact search beside an index on its filter:\n%s", explained.Text)
	}
}

func TestBoundsOfPgvectorAreRefusedWithTheNumber(t *testing.T) {
	database, client := engine(t).DatabaseAbility.(drivers.Indexer), engine(t).Ability.(drivers.Searcher)
	change := func(f func(v *query.VectorIndex)) error {
		index := hnsw(768)
		f(index.Vector)
		return database.CanIndex(*index)
	}
	for want, err := range map[string]error{
		"up to 2000 dimensions, not 2001":             change(func(v *query.VectorIndex) { v.Dimensions = 2001 }),
		"half of up to 4000 dimensions, not 4001":     change(func(v *query.VectorIndex) { v.Dimensions, v.Quantisation = 4001, query.Half }),
		"at least twice m":                            change(func(v *query.VectorIndex) { v.EfConstruction = 15 }),
		"an m of 2 to 100, not 101":                   change(func(v *query.VectorIndex) { v.M = 101 }),
		"an ef_construction of 4 to 1000, not 1001":   change(func(v *query.VectorIndex) { v.EfConstruction = 1001 }),
		"1 to 32768 lists, not 40000":                 change(func(v *query.VectorIndex) { v.Strategy, v.Lists = query.IVFFlat, 40_000 }),
		"hnsw.ef_search is 1 to 1000, not 1001":       client.CanSearch(nearest(10, hnsw(768), 1001)),
		"exact search compares every row":             client.CanSearch(&query.Search{Metric: query.Cosine, K: 1, Iterative: query.IterativeStrict}),
		"within documents: place.embedding":           client.CanSearch(&query.Search{Metric: query.Cosine, K: 1, Field: query.Path{"place", "embedding"}}),
		"pgvector has no metric \"hamming\"":          client.CanSearch(&query.Search{Metric: "hamming", K: 1}),
		"is by cosine and serves no search by euclid": client.CanSearch(&query.Search{Metric: query.Euclidean, K: 1, Index: hnsw(8), Budget: 10}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	for _, err := range []error{
		change(func(v *query.VectorIndex) { v.Dimensions = 2000 }), change(func(v *query.VectorIndex) { v.Dimensions, v.Quantisation = 4000, query.Half }),
		change(func(v *query.VectorIndex) { v.Dimensions, v.Quantisation = 16_000, query.Bits }), client.CanSearch(nearest(10, hnsw(768), 1000)),
	} {
		drivertest.Must(t, err)
	}
}

// Vectors that are too long for a page are kept beside it, and those that are too long for the type are refused when the database is opened.
func TestLargeVectors(t *testing.T) {
	config := vectors(t, 16_000, 1, 1)
	_, clients := drivertest.Loaded(t, engine(t), config, 3)
	var key corpus.KeyBuffer
	var record drivers.Record
	var want, got corpus.Row
	for index := range uint64(3) {
		drivertest.Must(t, clients[0].Read(t.Context(), config.Corpus.Key(&key, index), &record))
		drivertest.Must(t, clients[0].Decode(&record, &got))
		config.Corpus.Row(&want, index, 0)
		if got.Checksum() != want.Checksum() {
			t.Errorf("row %d is another one", index)
		}
	}
	config = vectors(t, 16_001, 1, 1)
	_, err := engine(t).Open(t.Context(), config)
	drivertest.Says(t, err, config, "16000 dimensions, not 16001")
}

// A prepared statement is planned for its literals five times on each connection, and maybe not after that. Where an index on the filter's column is there, one of
// the plans may compare every row that matches and the other go over the graph: the same search must not be now the one and now the other.
func TestEveryExecutionOfASearchHasOnePlan(t *testing.T) {
	config := vectors(t, 8, 1, 1)
	database, clients := drivertest.Loaded(t, engine(t), config, 2000)
	index, searcher := hnsw(8), clients[0].(drivers.Searcher)
	indexer := database.(drivers.Indexer)
	drivertest.Must(t, indexer.CreateIndex(t.Context(), *index))
	drivertest.Must(t, indexer.CreateIndex(t.Context(), query.Index{Name: "age", Kind: query.Ordered, Paths: []query.Path{{"age"}}}))
	drivertest.Must(t, database.(drivers.Analyzer).Analyze(t.Context()))
	for _, age := range []int64{10, 50, 100, 200, 400, 800} {
		for _, search := range []*query.Search{nearest(10, index, 16), nearest(10, index, 64), nearest(10, nil, 0)} {
			search.Where = bindWhere(t, config, age)
			statement, err := searcher.PrepareSearch(t.Context(), search)
			drivertest.Must(t, err)
			var first []string
			for execution := range 12 {
				var answer drivers.Answer
				drivertest.Must(t, searcher.Search(t.Context(), statement, held(config, 3), &answer))
				var keys []string
				drivertest.Must(t, searcher.DecodeSearch(statement, &answer, func(key corpus.Key) error {
					keys = append(keys, fmt.Sprint(key))
					return nil
				}))
				if execution == 0 {
					first = keys
				} else if !slices.Equal(keys, first) {
					t.Errorf("age below %d, budget %d: execution %d finds %d rows, the first found %d others", age, search.Budget, execution+1, len(keys), len(first))
					break
				}
			}
		}
	}
}
