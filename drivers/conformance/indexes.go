package conformance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// indexedTemplate has something for every kind of index. Names that are unlike each other make one row of many easy to find.
var indexedTemplate = map[string]any{
	"age":   "int:0..2000",
	"city":  "string_enum:london,paris,rome,oslo",
	"deep":  map[string]any{"code": "string:6", "level": "int:0..2000", "words": "words:40;hello,world,foo,bar,zebra,apple,query,data", "tags": []any{"string:3", "string:3"}},
	"name":  "string:8",
	"tags":  []any{"string:3", "string:3", "string:3"},
	"token": "uuid",
	"when":  "datetime",
	"words": "words:40;hello,world,foo,bar,zebra,apple,query,data",
}

// indexCase is an index, with a scan that it serves.
type indexCase struct {
	index query.Index
	serve func(m *model) *query.Scan
}

// of returns a scan for the rows whose value at the path is that of row 17.
func of(op query.Op, path ...string) func(m *model) *query.Scan {
	return func(m *model) *query.Scan {
		return &query.Scan{Project: query.Full, Where: &query.Predicate{Op: op, Path: path, Values: []query.Literal{m.value(17, path)}}}
	}
}

func indexCases() []indexCase {
	ordered := func(name string, paths ...query.Path) query.Index {
		return query.Index{Name: name, Kind: query.Ordered, Paths: paths}
	}
	unique := ordered("unique", query.Path{"token"})
	unique.Unique = true
	element := func(path ...string) func(m *model) *query.Scan {
		return func(m *model) *query.Scan {
			return &query.Scan{Project: query.ID, Where: &query.Predicate{Op: query.HasAll, Path: path, Values: []query.Literal{m.element(17, path)}}}
		}
	}
	words := func(path ...string) func(m *model) *query.Scan {
		return func(m *model) *query.Scan {
			tokens := query.Tokens(m.value(17, path).Text)
			p := &query.Predicate{Op: query.MatchAll, Path: path}
			for _, token := range tokens[:min(3, len(tokens))] {
				p.Values = append(p.Values, query.Literal{Kind: corpus.String, Text: token})
			}
			return &query.Scan{Project: query.ID, Where: p}
		}
	}
	return []indexCase{
		{ordered("whole", query.Path{"age"}), of(query.Eq, "age")},
		{ordered("text", query.Path{"name"}), of(query.Prefix, "name")},
		{ordered("moment", query.Path{"when"}), of(query.Eq, "when")},
		{ordered("nested", query.Path{"deep", "code"}), of(query.Eq, "deep", "code")},
		{ordered("nested_whole", query.Path{"deep", "level"}), of(query.Eq, "deep", "level")},
		{ordered("composite", query.Path{"city"}, query.Path{"age"}), func(m *model) *query.Scan {
			city, age := m.value(17, query.Path{"city"}), m.value(17, query.Path{"age"})
			return &query.Scan{Project: query.Count, Where: &query.Predicate{Op: query.And, Args: []*query.Predicate{
				{Op: query.Eq, Path: query.Path{"city"}, Values: []query.Literal{city}}, {Op: query.Lte, Path: query.Path{"age"}, Values: []query.Literal{age}},
				{Op: query.Gte, Path: query.Path{"age"}, Values: []query.Literal{age}},
			}}}
		}},
		{unique, of(query.Eq, "token")},
		{query.Index{Name: "elements", Kind: query.Elements, Paths: []query.Path{{"tags"}}}, element("tags")},
		{query.Index{Name: "deep_elements", Kind: query.Elements, Paths: []query.Path{{"deep", "tags"}}}, element("deep", "tags")},
		{query.Index{Name: "words", Kind: query.FullText, Paths: []query.Path{{"words"}}}, words("words")},
		{query.Index{Name: "deep_words", Kind: query.FullText, Paths: []query.Path{{"deep", "words"}}}, words("deep", "words")},
		{query.Index{Name: "all", Kind: query.CountAll}, func(*model) *query.Scan { return &query.Scan{Project: query.Count} }},
	}
}

// element returns the first element of an array that a row has.
func (m *model) element(index uint64, path query.Path) query.Literal {
	column, err := query.Resolve(m.corpus.Template(), path)
	if err != nil {
		panic(err)
	}
	values := m.rows[index].Columns
	for _, at := range column.At {
		values = values[at].Elems()
	}
	return query.LiteralOf(&values[0])
}

// testIndexes builds every kind of index that the engine has over rows that are there, asks for plans and answers with it, changes rows under it, and
// drops it.
func testIndexes(t *testing.T, h Harness) {
	rows := uint64(2500) // enough for a planner to think an index worth it
	if h.Slow != "" {
		rows = 200
	}
	m := newModel(makeCorpus(t, indexedTemplate, corpus.KeyInteger, true), rows, nil)
	s := h.open(t, m.corpus)
	must(t, drivers.LoadRows(t.Context(), s.clients[0], m.corpus, 0, rows, 0))
	sc := h.scanner(s.clients[0], m)
	kinds := make(map[query.IndexKind]bool)
	for _, test := range indexCases() {
		t.Run(test.index.Name, func(t *testing.T) {
			indexer := s.database.(drivers.Indexer)
			if err := indexer.CanIndex(test.index); err != nil {
				refused(t, "CanIndex", err)
				refused(t, "CreateIndex", indexer.CreateIndex(t.Context(), test.index))
				return
			}
			kinds[test.index.Kind] = true
			scan := test.serve(m)
			scan.ID = test.index.Name
			scan = m.bind(t, scan)
			if h.Lacks != nil && h.Lacks(scan) != "" {
				return // the peer cannot show what the index is for
			}
			walkIndex(t, s, sc, test.index, scan)
		})
	}
	if len(kinds) > 0 && !kinds[query.Ordered] {
		t.Error("an engine with indexes has none for comparisons")
	}
}

// refused wants an error that says what the engine cannot do.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	var unsupported drivers.Unsupported
	if !errors.As(err, &unsupported) || unsupported.Why == "" {
		t.Errorf("%s: error %v, want drivers.Unsupported with a reason", what, err)
		return
	}
	t.Logf("%s: %s", what, unsupported.Why)
}

// walkIndex takes one index through its life.
func walkIndex(t *testing.T, s *session, sc *scanner, index query.Index, scan *query.Scan) {
	ctx, indexer, c := t.Context(), s.database.(drivers.Indexer), s.caller(0)
	check := func(when string) {
		t.Helper()
		if err := sc.check(ctx, scan); err != nil {
			t.Errorf("%s: %s: %v", when, describe(scan), err)
		}
	}
	gone := func(when string) {
		t.Helper()
		if state, err := indexer.IndexState(ctx, index); err != nil || state.Exists || state.Ready || state.How == "" {
			t.Errorf("%s: state %+v, error %v", when, state, err)
		}
		wantIs(t, when+": drop", indexer.DropIndex(ctx, index), drivers.ErrNotFound)
	}
	uses := func(when string, want bool, scan *query.Scan) {
		t.Helper()
		explainer, can := c.client.(drivers.Explainer)
		if !can || sc.harness.NoPlans != nil && sc.harness.NoPlans(index) != "" {
			return
		}
		e, err := explainer.Explain(ctx, scan, index)
		if refused, err := sc.refusal(scan, err); refused || err != nil {
			if err != nil {
				t.Errorf("%s: explain: %v", when, err)
			}
			return
		}
		if e.Uses != want || e.Text == "" || len(e.Text) > drivers.MaxPlan {
			t.Errorf("%s: the plan says that the index is used: %t, want %t:\n%s", when, e.Uses, want, e.Text)
		}
	}
	gone("before there is an index")
	check("before there is an index")
	uses("before there is an index", false, scan)

	must(t, indexer.CreateIndex(ctx, index))
	ready(t, indexer, index)
	wantIs(t, "create the index again", indexer.CreateIndex(ctx, index), drivers.ErrExists)
	ready(t, indexer, index)
	if analyzer, can := s.database.(drivers.Analyzer); can {
		must(t, analyzer.Analyze(ctx))
	}
	sc.noExcuse(func() {
		check("with the index")
		uses("with the index", true, scan)
	})
	other := sc.model.bind(t, &query.Scan{ID: "other", Project: query.Full, Where: &query.Predicate{Op: query.Suffix, Path: query.Path{"city"}, Values: []query.Literal{{Kind: corpus.String, Text: "n"}}}})
	uses("a scan that the index does not serve", false, other)

	// The index hears of every kind of write.
	change(t, s, sc.model, index.Name)
	sc.noExcuse(func() { check("after writes") })

	must(t, indexer.DropIndex(ctx, index))
	gone("after the index is dropped")
	check("after the index is dropped")
	uses("after the index is dropped", false, scan)
}

// noExcuse runs f with an index that leaves no scan to be refused.
func (sc *scanner) noExcuse(f func()) {
	refuses := sc.harness.Refuses
	sc.harness.Refuses = nil
	f()
	sc.harness.Refuses = refuses
}

// ready waits until the index serves.
func ready(t *testing.T, indexer drivers.Indexer, index query.Index) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		state, err := indexer.IndexState(t.Context(), index)
		must(t, err)
		if state.Ready && state.Exists {
			if state.How == "" || state.Bytes < 0 {
				t.Errorf("state %+v says not how it is known, or has a size that cannot be", state)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the index is not ready after %s: %+v", patience, state)
		}
	}
}

// change writes to the table in every way there is, each time to other rows, and to the model.
func change(t *testing.T, s *session, m *model, name string) {
	t.Helper()
	ctx, c := t.Context(), s.caller(0)
	var version uint32
	for _, letter := range name {
		version = version*31%1000 + uint32(letter)
	}
	for _, index := range []uint64{3, 17, 18, 19} {
		must(t, c.update(ctx, index, version))
		m.corpus.Row(m.rows[index], index, version)
	}
	for _, index := range []uint64{40, 41} {
		must(t, c.delete(ctx, index))
		must(t, c.create(ctx, index, version))
		m.corpus.Row(m.rows[index], index, version)
	}
	if b, can := c.client.(drivers.Batcher); can {
		some := []uint64{50, 51, 52}
		batch := batcher{Batcher: b, corpus: m.corpus}
		must(t, batch.update(ctx, some, version))
		for _, index := range some {
			m.corpus.Row(m.rows[index], index, version)
		}
	}
	if modifier, can := c.client.(drivers.Modifier); can {
		m.corpus.Row(m.rows[60], 60, version)
		must(t, modifier.Modify(ctx, m.corpus.Key(&c.key, 60), &c.record, m.rows[60]))
	}
}

// testUniqueIndexes wants no unique index over rows that are equal, and none of them added under one.
func testUniqueIndexes(t *testing.T, h Harness) {
	m := newModel(makeCorpus(t, indexedTemplate, corpus.KeyInteger, false), 40, nil)
	s, _ := h.scanned(t, m)
	ctx, indexer := t.Context(), s.database.(drivers.Indexer)
	unique := query.Index{Name: "cities", Kind: query.Ordered, Unique: true, Paths: []query.Path{{"city"}}}
	if err := indexer.CanIndex(unique); err != nil {
		refused(t, "CanIndex", err)
		return
	}
	err := indexer.CreateIndex(ctx, unique)
	if err == nil || errors.Is(err, drivers.ErrExists) || errors.Is(err, drivers.ErrNotFound) {
		t.Errorf("a unique index over rows that are equal: error %v, want one that says so", err)
	}
	if state, err := indexer.IndexState(ctx, unique); err != nil || state.Exists {
		t.Errorf("a unique index that could not be built is left: %+v, %v", state, err)
	}
	unique.Name, unique.Paths = "names", []query.Path{{"name"}}
	must(t, indexer.CreateIndex(ctx, unique))
	ready(t, indexer, unique)
	c := s.caller(0)
	must(t, c.create(ctx, 100, 0))
	var row corpus.Row
	m.corpus.Row(&row, 5, 0) // of a name that is there, under another key
	if err := c.client.Create(ctx, m.corpus.Key(&c.key, 101), &row); err == nil {
		t.Error("a row that is equal to another in a unique index was added")
	}
	wantMiss(t, "read of the row that a unique index refused", c.read(ctx, 101))
	must(t, c.check(ctx, 5, 0))

	// A table that is prepared anew has no indexes.
	must(t, s.database.Prepare(ctx))
	if state, err := indexer.IndexState(ctx, unique); err != nil || state.Exists {
		t.Errorf("an index outlived the table: %+v, %v", state, err)
	}
	must(t, c.create(ctx, 5, 0))
	must(t, c.client.Create(ctx, m.corpus.Key(&c.key, 101), &row))
	must(t, indexer.CreateIndex(ctx, query.Index{Name: "names", Kind: query.Ordered, Paths: unique.Paths}))
}

// testIndexMistakes wants errors for indexes that cannot be.
func testIndexMistakes(t *testing.T, h Harness) {
	m := newModel(makeCorpus(t, indexedTemplate, corpus.KeyInteger, false), 3, nil)
	s, _ := h.scanned(t, m)
	indexer := s.database.(drivers.Indexer)
	for what, index := range map[string]query.Index{
		"a column that does not exist": {Name: "a", Kind: query.Ordered, Paths: []query.Path{{"nobody"}}},
		"a member that does not exist": {Name: "b", Kind: query.Ordered, Paths: []query.Path{{"deep", "nobody"}}},
		"an object":                    {Name: "c", Kind: query.Ordered, Paths: []query.Path{{"deep"}}},
		"no column":                    {Name: "d", Kind: query.Ordered},
		"elements of a number":         {Name: "e", Kind: query.Elements, Paths: []query.Path{{"age"}}},
		"words of a number":            {Name: "f", Kind: query.FullText, Paths: []query.Path{{"age"}}},
		"an unknown kind":              {Name: "g", Kind: "bitmap", Paths: []query.Path{{"age"}}},
	} {
		err := within(t, what, func() error { return indexer.CreateIndex(t.Context(), index) })
		if err == nil || errors.Is(err, drivers.ErrExists) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an index on %s: error %v, want one that says what is wrong", what, err)
		}
		if state, err := indexer.IndexState(t.Context(), index); err == nil && state.Exists {
			t.Errorf("an index on %s is there: %+v", what, state)
		}
	}
	must(t, s.caller(0).check(t.Context(), 1, 0))
}
