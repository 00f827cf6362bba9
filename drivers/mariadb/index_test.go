package mariadb_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// nested is a table with values in JSON and an index's helpers.
type nested struct {
	drivers.Indexer
	conn   *sql.Conn
	before string // the columns without any index
}

func openNested(t *testing.T, value map[string]any, rows uint64) nested {
	t.Helper()
	template, err := corpus.ParseTemplate(map[string]any{"number": "int", "deep": value})
	drivertest.Must(t, err)
	c, err := corpus.New(7, template, corpus.KeyInteger, false)
	drivertest.Must(t, err)
	config := small(t, 1, 1, func(config *drivers.Config) { config.Corpus = c })
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	drivertest.Must(t, drivers.LoadRows(t.Context(), drivertest.Clients(t, database, config)[0], c, 0, rows, 0))
	n := nested{Indexer: database.(drivers.Indexer), conn: control(t, config)}
	n.before = n.columns(t)
	return n
}

func (n nested) columns(t *testing.T) string {
	t.Helper()
	return one(t, n.conn, "SELECT GROUP_CONCAT(column_name) FROM information_schema.columns WHERE table_schema = 'durabench' AND table_name = 'record'")
}

// restored wants the table without generated columns.
func (n nested) restored(t *testing.T, when string) {
	t.Helper()
	if now := n.columns(t); now != n.before {
		t.Errorf("%s: columns are %s, were %s", when, now, n.before)
	}
}

// builds wants a build that adds the column, and drops the index again.
func (n nested) builds(t *testing.T, index query.Index) {
	t.Helper()
	drivertest.Must(t, n.CreateIndex(t.Context(), index))
	if now := n.columns(t); now == n.before {
		t.Errorf("the build added no column to %s", now)
	}
	drivertest.Must(t, n.DropIndex(t.Context(), index))
	n.restored(t, "after the drop")
}

// What a build whose context ends has added is gone when it returns, so that the build that is timed in its place adds it again.
func TestABuildThatIsCutOffLeavesNothing(t *testing.T) {
	n := openNested(t, map[string]any{"words": "words:200;hello,World,river"}, 5000)
	index := query.Index{Name: "words", Kind: query.FullText, Paths: []query.Path{{"deep", "words"}}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	built := make(chan error, 1)
	go func() { built <- n.CreateIndex(ctx, index) }()
	for n.columns(t) == n.before {
		select {
		case err := <-built:
			t.Fatalf("the build ended before its column was seen: %v", err)
		default:
		}
	}
	run(t, n.conn, "BEGIN")
	one(t, n.conn, "SELECT COUNT(*) FROM record WHERE id = 1") // whoever has read keeps a build from its end
	cancel()
	time.Sleep(100 * time.Millisecond)
	run(t, n.conn, "COMMIT")
	if err := <-built; drivers.ErrorClassOf(err) != drivers.ClassCancelled || strings.Contains(err.Error(), "left") {
		t.Errorf("the build that was cut off says %v", err)
	}
	n.restored(t, "after the build that was cut off")
	if err := n.DropIndex(t.Context(), index); !errors.Is(err, drivers.ErrNotFound) {
		t.Errorf("drop of the index that was not built: %v", err)
	}
	n.builds(t, index)
}

// A process that is killed in a build cannot clean up: what it left goes with the drop that comes before the next build.
func TestADropRemovesWhatABuildLeft(t *testing.T) {
	n := openNested(t, map[string]any{"words": "words:30;hello,World", "city": "string_enum:london,paris"}, 100)
	city := query.Index{Name: "city", Kind: query.Ordered, Paths: []query.Path{{"deep", "city"}}}
	for _, index := range []query.Index{{Name: "words", Kind: query.FullText, Paths: []query.Path{{"deep", "words"}}}, city} {
		drivertest.Must(t, n.CreateIndex(t.Context(), index))
		run(t, n.conn, "DROP INDEX "+one(t, n.conn, "SELECT index_name FROM information_schema.statistics WHERE table_schema = 'durabench' AND table_name = 'record' AND index_name LIKE '%"+index.Name+"'")+" ON record")
		if n.columns(t) == n.before {
			t.Fatal("the server dropped the column with its index")
		}
		if err := n.DropIndex(t.Context(), index); !errors.Is(err, drivers.ErrNotFound) {
			t.Errorf("drop of an index that is not there: %v", err)
		}
		n.restored(t, "after the drop of "+index.Name)
		n.builds(t, index)
	}

	// What an index needs that is there stays.
	drivertest.Must(t, n.CreateIndex(t.Context(), city))
	with := n.columns(t)
	if err := n.DropIndex(t.Context(), query.Index{Name: "other", Kind: query.Ordered, Paths: city.Paths}); !errors.Is(err, drivers.ErrNotFound) {
		t.Errorf("drop of an index that is not there: %v", err)
	}
	if now := n.columns(t); now != with {
		t.Errorf("columns are %s, were %s", now, with)
	}
}

// A row has room for some long columns, and not for all that this index needs: those that were added before go again, and what another index is on stays.
func TestABuildThatFailsHalfwayLeavesNothing(t *testing.T) {
	value, paths := map[string]any{}, []query.Path{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z"} {
		value[name] = "string:0..700"
		paths = append(paths, query.Path{"deep", name})
	}
	n := openNested(t, value, 10)
	wide := query.Index{Name: "wide", Kind: query.Ordered, Paths: paths}
	if err := n.CreateIndex(t.Context(), wide); err == nil || !strings.Contains(err.Error(), "ow size") {
		t.Fatalf("the row that is too wide: %v", err)
	}
	n.restored(t, "after the build that failed")
	drivertest.Must(t, n.CreateIndex(t.Context(), query.Index{Name: "first", Kind: query.Ordered, Paths: paths[:1]}))
	with := n.columns(t)
	if err := n.CreateIndex(t.Context(), wide); err == nil {
		t.Fatal("the row that is too wide was taken")
	}
	if now := n.columns(t); now != with {
		t.Errorf("columns are %s, were %s", now, with)
	}
}

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
