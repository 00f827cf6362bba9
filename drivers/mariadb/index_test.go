package mariadb_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// An index on what is no column makes one, which goes with it: not sooner, when another index is on it too, and not never.
func TestIndexesLeaveTheTableAsItWas(t *testing.T) {
	template, err := corpus.ParseTemplate(map[string]any{
		"number": "int", "text": "text:20..60", "long": "string:0..2100", "deep": map[string]any{"city": "string_enum:london,paris", "long": "string:0..2100", "words": "words:30;hello,world"},
	})
	drivertest.Must(t, err)
	c, err := corpus.New(7, template, corpus.KeyInteger, false)
	drivertest.Must(t, err)
	config := small(t, 1, 1, func(config *drivers.Config) { config.Corpus = c })
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	client := drivertest.Clients(t, database, config)[0]
	drivertest.Must(t, drivers.LoadRows(t.Context(), client, c, 0, 100, 0))
	conn := control(t, config)
	columns := func() string {
		return one(t, conn, "SELECT GROUP_CONCAT(column_name) FROM information_schema.columns WHERE table_schema = 'durabench' AND table_name = 'record'")
	}
	indexer := database.(drivers.Indexer)
	before := columns()
	indexes := []query.Index{
		{Name: "city", Kind: query.Ordered, Paths: []query.Path{{"deep", "city"}}},
		{Name: "city_number", Kind: query.Ordered, Paths: []query.Path{{"deep", "city"}, {"number"}}},
		{Name: "text", Kind: query.FullText, Paths: []query.Path{{"text"}}},
		{Name: "words", Kind: query.FullText, Paths: []query.Path{{"deep", "words"}}},
		{Name: "long", Kind: query.Ordered, Paths: []query.Path{{"long"}}},
	}
	for _, index := range indexes {
		drivertest.Must(t, indexer.CreateIndex(t.Context(), index))
		state, err := indexer.IndexState(t.Context(), index)
		if err != nil || !state.Exists || !state.Ready || state.Bytes < 16384 {
			t.Errorf("state of %s: %+v, %v", index.Name, state, err)
		}
	}
	if now := columns(); strings.Count(now, "durabench_value_") != 1 || strings.Count(now, "durabench_words_") != 2 {
		t.Errorf("columns %s: want one for a value and two for words", now)
	}
	drivertest.Must(t, indexer.DropIndex(t.Context(), indexes[0]))
	if now := columns(); strings.Count(now, "durabench_value_") != 1 {
		t.Errorf("columns %s: the one that another index is on is gone", now)
	}
	for _, index := range indexes[1:] {
		drivertest.Must(t, indexer.DropIndex(t.Context(), index))
	}
	// What cannot be built leaves nothing either.
	for _, index := range []query.Index{
		{Name: "equal", Kind: query.Ordered, Unique: true, Paths: []query.Path{{"deep", "city"}}},
		{Name: "too_long", Kind: query.Ordered, Paths: []query.Path{{"deep", "long"}}},
		{Name: "too_long_to_tell_apart", Kind: query.Ordered, Unique: true, Paths: []query.Path{{"long"}}},
	} {
		if err := indexer.CreateIndex(t.Context(), index); err == nil {
			t.Errorf("index %s was built", index.Name)
		} else {
			t.Logf("index %s: %v", index.Name, err)
		}
	}
	if now := columns(); now != before {
		t.Errorf("columns are %s, were %s", now, before)
	}
}

// A raw condition says MATCH of a column, whatever else has an index on words: without one on just that column it is refused, not failed.
func TestRawConditionsForWordsNeedAnIndexOnTheColumn(t *testing.T) {
	template, err := corpus.ParseTemplate(map[string]any{"words": "words:60;hello,world,foo"})
	drivertest.Must(t, err)
	c, err := corpus.New(7, template, corpus.KeyInteger, false)
	drivertest.Must(t, err)
	config := small(t, 1, 1, func(config *drivers.Config) { config.Corpus = c })
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	client := drivertest.Clients(t, database, config)[0]
	drivertest.Must(t, drivers.LoadRows(t.Context(), client, c, 0, 50, 0))
	scanner := client.(drivers.Scanner)
	scan := &query.Scan{ID: "raw", Project: query.Count, Raw: &query.Raw{HasWhere: true, Where: map[string]string{"mysql": "MATCH(words) AGAINST('+hello +world' IN BOOLEAN MODE)"}}}
	index := query.Index{Name: "words", Kind: query.FullText, Paths: []query.Path{{"words"}}}
	if why := client.(drivers.IndexNeeder).NeedsIndex(scan, index); why == "" {
		t.Error("a raw condition with a full-text index is said to do without")
	}
	drivertest.Must(t, scanner.CanScan(scan))
	var unsupported drivers.Unsupported
	if _, err := scanner.PrepareScan(t.Context(), scan); !errors.As(err, &unsupported) {
		t.Errorf("without an index: %v", err)
	}
	drivertest.Must(t, database.(drivers.Indexer).CreateIndex(t.Context(), index))
	statement, err := scanner.PrepareScan(t.Context(), scan)
	drivertest.Must(t, err)
	var answer drivers.Answer
	drivertest.Must(t, scanner.Scan(t.Context(), statement, &answer))
	want := int64(0)
	var row corpus.Row
	for i := range uint64(50) {
		c.Row(&row, i, 0)
		words := query.Tokens(row.Columns[0].Text())
		if slices.Contains(words, "hello") && slices.Contains(words, "world") {
			want++
		}
	}
	if answer.Count != want || want == 0 {
		t.Errorf("counted %d rows with both words, want %d", answer.Count, want)
	}
	explained, err := client.(drivers.Explainer).Explain(t.Context(), scan, index)
	if err != nil || !explained.Uses {
		t.Errorf("the plan: %+v, %v", explained, err)
	}
}
