package surrealdb_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/query/querytest"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// opened is a database with one client, loaded with rows.
type opened struct {
	drivers.Database
	client drivers.Client
	data   query.Dataset
}

// load opens the database of the server and fills it.
func load(t testing.TB, value map[string]any, kind corpus.KeyKind, rows uint64, threads int) *opened {
	t.Helper()
	template, err := corpus.ParseTemplate(value)
	drivertest.Must(t, err)
	c, err := corpus.New(7, template, kind, true)
	drivertest.Must(t, err)
	running := server(t, drivers.TierNone, drivers.Profile{})
	ctx := context.Background()
	database, err := engine(t).Open(ctx, drivers.Config{
		Endpoint: running.Endpoint, Credentials: running.Credentials, Clients: 1, Threads: threads, Corpus: c, Logger: slog.New(slog.DiscardHandler),
	})
	drivertest.Must(t, err)
	drivertest.Must(t, database.Prepare(ctx))
	client, err := database.Client(ctx, 0)
	drivertest.Must(t, err)
	t.Cleanup(func() {
		drivertest.Must(t, client.Close())
		drivertest.Must(t, database.Close())
	})
	drivertest.Must(t, drivers.LoadRows(ctx, client, c, 0, rows, 0))
	return &opened{database, client, query.Dataset{Corpus: c, Rows: rows}}
}

// check runs a scan and compares the whole answer with the right one.
func (o *opened) check(ctx context.Context, s *query.Scan, e *query.Expected) error {
	scanner := o.client.(drivers.Scanner)
	statement, err := scanner.PrepareScan(ctx, s)
	if err != nil {
		return err
	}
	answer := &drivers.Answer{Keep: true}
	if err := scanner.Scan(ctx, statement, answer); err != nil {
		return err
	}
	checker, err := o.data.Checker(s, e, nil)
	if err != nil {
		return err
	}
	switch {
	case len(s.Aggregates) > 0:
		groups, err := scanner.DecodeGroups(statement, answer)
		if err != nil {
			return err
		}
		return checker.Groups(groups)
	case s.Project == query.Count:
		return checker.Count(answer.Count)
	}
	err = scanner.DecodeScan(statement, answer, func(key corpus.Key, row *corpus.Row) error {
		if s.Project == query.ID {
			row = nil
		}
		return checker.Row(key, row)
	})
	if err != nil {
		return err
	}
	return checker.Done()
}

// build builds an index and waits until it serves.
func (o *opened) build(t testing.TB, index query.Index) {
	t.Helper()
	indexer := o.Database.(drivers.Indexer)
	drivertest.Must(t, indexer.CreateIndex(t.Context(), index))
	deadline := time.Now().Add(30 * time.Second)
	for {
		state, err := indexer.IndexState(t.Context(), index)
		drivertest.Must(t, err)
		if state.Ready && state.Exists {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("index %s is not ready: %+v", index.Name, state)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// indexes are one of each kind over querytest's table.
var indexes = []query.Index{
	{Name: "by_number", Kind: query.Ordered, Paths: []query.Path{{"number"}}},
	{Name: "by_price", Kind: query.Ordered, Paths: []query.Path{{"price"}}},
	{Name: "by_score", Kind: query.Ordered, Paths: []query.Path{{"score"}}},
	{Name: "by_name", Kind: query.Ordered, Paths: []query.Path{{"name"}}},
	{Name: "by_raw", Kind: query.Ordered, Paths: []query.Path{{"raw"}}},
	{Name: "by_level", Kind: query.Ordered, Paths: []query.Path{{"place", "deep", "level"}}},
	{Name: "by_dotted", Kind: query.Ordered, Paths: []query.Path{{"place", "dotted.name"}}},
	{Name: "by_request", Kind: query.Ordered, Paths: []query.Path{{"request_id"}}, Unique: true},
	{Name: "by_tag", Kind: query.Elements, Paths: []query.Path{{"tags"}, {"created_at"}}},
	{Name: "by_words", Kind: query.FullText, Paths: []query.Path{{"words"}}},
	{Name: "rows", Kind: query.CountAll},
}

// composite is the index of the fault "bound" in TestFaultsOfTheEngineAreSeen, and so not among those of random scans.
var composite = query.Index{Name: "by_city_and_time", Kind: query.Ordered, Paths: []query.Path{{"city"}, {"created_at"}}}

// TestRandomScans compares the engine's answers to random scans with those worked out from the corpus, on the table alone and on its indexes.
func TestRandomScans(t *testing.T) {
	const seeds = 400
	o := load(t, querytest.Table(), corpus.KeyInteger, 300, 1)
	source := querytest.New(o.data)
	var scans []*query.Scan
	for seed := range seeds {
		scans = append(scans, source.Scan(rand.New(rand.NewPCG(1, uint64(seed)))))
	}
	expected, err := o.data.Expect(t.Context(), scans, query.Options{})
	drivertest.Must(t, err)
	for i, s := range scans {
		if err := o.check(t.Context(), s, expected[i]); err != nil {
			t.Errorf("seed %d: %s: %v", i, s, err)
		}
	}
	for _, index := range indexes {
		o.build(t, index)
	}
	for i, s := range scans {
		if s.Limit > 0 || s.Offset > 0 {
			continue // the fault "limit" in TestFaultsOfTheEngineAreSeen
		}
		if err := o.check(t.Context(), s, expected[i]); err != nil {
			t.Errorf("indexed, seed %d: %s: %v", i, s, err)
		}
	}
}

// TestFaultsOfTheEngineAreSeen has scans that SurrealDB 3.0.2 answers wrong on an index and right without: the check that every leg goes through
// must say so.
func TestFaultsOfTheEngineAreSeen(t *testing.T) {
	o := load(t, querytest.Table(), corpus.KeyInteger, 300, 1)
	version, err := o.Version(t.Context())
	drivertest.Must(t, err)
	if version != "3.0.2" {
		t.Fatalf("version %s: see whether they are mended, and what docs/engines.md and the harness say of them", version)
	}
	text := func(s string) query.Literal { return query.Literal{Kind: corpus.String, Text: s} }
	for name, test := range map[string]struct {
		index query.Index
		where *query.Predicate
		limit int64
	}{
		// The limit goes to the scan of the index, under the filter that comes after.
		"limit": {indexes[0], &query.Predicate{Op: query.And, Args: []*query.Predicate{
			{Op: query.Gte, Path: query.Path{"number"}, Values: []query.Literal{{Kind: corpus.Int, Int: 1}}},
			{Op: query.Contains, Path: query.Path{"city"}, Values: []query.Literal{text("paris")}},
		}}, 60},
		// The upper bound of the first column leaves out the entries that have it and a second column.
		"bound": {composite, &query.Predicate{Op: query.Between, Path: query.Path{"city"}, Values: []query.Literal{text("a"), text("london")}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := query.Bind(&query.Scan{ID: name, Project: query.ID, Where: test.where, Limit: test.limit}, o.data.Corpus.Template())
			drivertest.Must(t, err)
			expected, err := o.data.Expect(t.Context(), []*query.Scan{s}, query.Options{})
			drivertest.Must(t, err)
			drivertest.Must(t, o.check(t.Context(), s, expected[0]))
			o.build(t, test.index)
			explained, err := o.client.(drivers.Explainer).Explain(t.Context(), s, test.index)
			drivertest.Must(t, err)
			var wrong *query.Wrong
			if err := o.check(t.Context(), s, expected[0]); !explained.Uses || !errors.As(err, &wrong) {
				t.Errorf("uses the index: %t, error %v\n%s", explained.Uses, err, explained.Text)
			}
			drivertest.Must(t, o.Database.(drivers.Indexer).DropIndex(t.Context(), test.index))
			drivertest.Must(t, o.check(t.Context(), s, expected[0]))
		})
	}
}

// TestPlansNameTheIndex has for each kind of index a scan that it serves.
func TestPlansNameTheIndex(t *testing.T) {
	o := load(t, querytest.Table(), corpus.KeyInteger, 200, 1)
	word := query.Literal{Kind: corpus.String, Text: "hello"}
	alpha, gamma := query.Literal{Kind: corpus.String, Text: "alpha"}, query.Literal{Kind: corpus.String, Text: "gamma"}
	for _, test := range []struct {
		index query.Index
		where *query.Predicate
	}{
		{indexes[0], &query.Predicate{Op: query.Eq, Path: query.Path{"number"}, Values: []query.Literal{{Kind: corpus.Int, Int: 21}}}},
		{indexes[0], &query.Predicate{Op: query.Lt, Path: query.Path{"number"}, Values: []query.Literal{{Kind: corpus.Int, Int: 21}}}},
		{indexes[0], &query.Predicate{Op: query.In, Path: query.Path{"number"}, Values: []query.Literal{{Kind: corpus.Int, Int: 21}, {Kind: corpus.Int, Int: 22}}}},
		{indexes[3], &query.Predicate{Op: query.Prefix, Path: query.Path{"name"}, Values: []query.Literal{{Kind: corpus.String, Text: "a"}}}},
		{indexes[6], &query.Predicate{Op: query.Eq, Path: query.Path{"place", "dotted.name"}, Values: []query.Literal{{Kind: corpus.Int, Int: 2}}}},
		{indexes[8], &query.Predicate{Op: query.HasAny, Path: query.Path{"tags"}, Values: []query.Literal{alpha}}},
		{indexes[8], &query.Predicate{Op: query.HasAll, Path: query.Path{"tags"}, Values: []query.Literal{alpha, gamma}}},
		{indexes[9], &query.Predicate{Op: query.MatchAll, Path: query.Path{"words"}, Values: []query.Literal{word}}},
		{query.Index{Name: "by_deep_words", Kind: query.FullText, Paths: []query.Path{{"place", "code"}}}, &query.Predicate{Op: query.MatchAny, Path: query.Path{"place", "code"},
			Values: []query.Literal{word}}},
		{composite, &query.Predicate{Op: query.In, Path: query.Path{"city"}, Values: []query.Literal{{Kind: corpus.String, Text: "paris"}, {Kind: corpus.String, Text: "london"}}}},
		{composite, &query.Predicate{Op: query.Eq, Path: query.Path{"city"}, Values: []query.Literal{{Kind: corpus.String, Text: "paris"}}}},
	} {
		s, err := query.Bind(&query.Scan{ID: "s", Where: test.where}, o.data.Corpus.Template())
		drivertest.Must(t, err)
		for _, built := range []bool{false, true} {
			if built {
				o.build(t, test.index)
			}
			explained, err := o.client.(drivers.Explainer).Explain(t.Context(), s, test.index)
			drivertest.Must(t, err)
			if explained.Uses != built || explained.Text == "" {
				t.Errorf("%s, index %s built %t: plan\n%s", s, test.index.Name, built, explained.Text)
			}
		}
		indexer := o.Database.(drivers.Indexer)
		if err := indexer.CreateIndex(t.Context(), test.index); !errors.Is(err, drivers.ErrExists) {
			t.Errorf("index %s once more: %v", test.index.Name, err)
		}
		drivertest.Must(t, indexer.DropIndex(t.Context(), test.index))
		if err := indexer.DropIndex(t.Context(), test.index); !errors.Is(err, drivers.ErrNotFound) {
			t.Errorf("index %s dropped once more: %v", test.index.Name, err)
		}
		if state, err := indexer.IndexState(t.Context(), test.index); err != nil || state.Exists {
			t.Errorf("index %s after it was dropped: %+v, %v", test.index.Name, state, err)
		}
	}
}

// TestAUniqueIndexWantsDistinctRows refuses one where rows are equal, and leaves none.
func TestAUniqueIndexWantsDistinctRows(t *testing.T) {
	o := load(t, querytest.Table(), corpus.KeyInteger, 200, 1)
	indexer, index := o.Database.(drivers.Indexer), query.Index{Name: "by_city", Kind: query.Ordered, Paths: []query.Path{{"city"}}, Unique: true}
	if err := indexer.CreateIndex(t.Context(), index); err == nil || !strings.Contains(err.Error(), "already contains") {
		t.Errorf("error %v", err)
	}
	if state, err := indexer.IndexState(t.Context(), index); err != nil || state.Exists {
		t.Errorf("state %+v, %v", state, err)
	}
	// A write that a unique index refuses is not one whose key is there already.
	o.build(t, indexes[7])
	var row corpus.Row
	var key corpus.KeyBuffer
	o.data.Corpus.Row(&row, 0, 0)
	if err := o.client.Create(t.Context(), o.data.Corpus.Key(&key, 500), &row); err == nil || errors.Is(err, drivers.ErrExists) {
		t.Errorf("error %v", err)
	}
}
