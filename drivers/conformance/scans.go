package conformance

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// deepEdges has every kind of scalar as a column, nested in an object, and as the elements of an array.
func (h Harness) deepEdges() map[string]any {
	value := make(map[string]any)
	deep, lists := make(map[string]any), make(map[string]any)
	for name, expr := range edges {
		value[name] = expr
		deep[name] = expr
		lists[name] = []any{expr, expr}
		value[name+"_list"] = []any{expr, expr, expr}
	}
	odd := map[string]any{"50%": "string:0..2100"}
	if h.NoDots == "" {
		odd["a.b"] = "int"
	}
	deep["it's"] = odd
	deep["lists"] = lists
	value["deep"] = deep
	return value
}

// edgeRows is how many rows the edges make: each edge comes several times and beside different ones of other kinds.
const edgeRows = 90

// edgeModel is rows whose cells are edges.
func (h Harness) edgeModel(t *testing.T) *model {
	c := makeCorpus(t, h.deepEdges(), corpus.KeyInteger, true)
	fields := c.Template().Columns()
	return newModel(c, edgeRows, func(i int, row *corpus.Row) {
		n := 0
		for j := range fields {
			if fields[j].Name != corpus.SealColumn {
				setEdge(row, &fields[j], &row.Columns[j], i, &n)
			}
		}
	})
}

// paths returns the paths to all columns and members of a kind that the filter takes.
func paths(fields []corpus.Field, parent query.Path, take func(*corpus.Field) bool) (all []query.Path) {
	for i := range fields {
		if fields[i].Name == corpus.SealColumn {
			continue
		}
		path := append(slices.Clone(parent), fields[i].Name)
		if take(&fields[i]) {
			all = append(all, path)
		}
		if fields[i].Kind == corpus.Object {
			all = append(all, paths(fields[i].Elems, path, take)...)
		}
	}
	return all
}

func isScalar(f *corpus.Field) bool { return f.Kind >= corpus.Bool && f.Kind <= corpus.Bytes }

// literals returns some values that the rows have at the path, and for texts some that they do not.
func (m *model) literals(path query.Path, most int) (all []query.Literal) {
	for index := range uint64(len(m.rows)) {
		l := m.value(index, path)
		if len(all) < most && !slices.ContainsFunc(all, func(other query.Literal) bool { return other.Compare(l) == 0 }) {
			all = append(all, l)
		}
	}
	return all
}

// testOperators tries every operator on every kind of column that it fits, at the edges, nested or not.
func testOperators(t *testing.T, h Harness) {
	m := h.edgeModel(t)
	_, sc := h.scanned(t, m)
	run, least := 0, 1000
	if h.Slow != "" {
		least = 700
	}
	tried := 0
	try := func(p *query.Predicate) {
		s, err := query.Bind(&query.Scan{ID: "operators", Project: query.ID, Where: p}, m.corpus.Template())
		if err != nil {
			return // operator and column do not fit
		}
		if tried++; h.Slow != "" && tried%4 != 0 {
			return
		}
		run++
		if err := sc.check(t.Context(), s); err != nil {
			t.Errorf("%s: %v", s.Where, err)
		}
	}
	for _, path := range paths(m.corpus.Template().Columns(), nil, isScalar) {
		literals := m.literals(path, 12)
		for i, l := range literals {
			for _, op := range []query.Op{query.Eq, query.Ne, query.Lt, query.Lte, query.Gt, query.Gte} {
				try(&query.Predicate{Op: op, Path: path, Values: []query.Literal{l}})
			}
			try(&query.Predicate{Op: query.In, Path: path, Values: []query.Literal{l, literals[(i+1)%len(literals)], literals[(i+5)%len(literals)]}})
			ends := []query.Literal{l, literals[(i+3)%len(literals)]}
			slices.SortFunc(ends, query.Literal.Compare)
			try(&query.Predicate{Op: query.Between, Path: path, Values: ends})
		}
		try(&query.Predicate{Op: query.IsNull, Path: path})
		try(&query.Predicate{Op: query.Not, Args: []*query.Predicate{{Op: query.IsNull, Path: path}}})
		try(&query.Predicate{Op: query.Not, Args: []*query.Predicate{{Op: query.Gt, Path: path, Values: literals[:1]}}})
	}
	for _, path := range paths(m.corpus.Template().Columns(), nil, func(f *corpus.Field) bool { return f.Kind == corpus.Array }) {
		column, err := query.Resolve(m.corpus.Template(), path)
		must(t, err)
		var values []query.Literal
		for index := range uint64(8) {
			row := m.rows[index].Columns
			for _, at := range column.At[:len(column.At)-1] {
				row = row[at].Elems()
			}
			elems := row[column.At[len(column.At)-1]].Elems()
			for i := range elems {
				values = append(values, query.LiteralOf(&elems[i]))
			}
		}
		for i := range values {
			for _, op := range []query.Op{query.HasAny, query.HasAll} {
				try(&query.Predicate{Op: op, Path: path, Values: values[i : i+1]})
				try(&query.Predicate{Op: op, Path: path, Values: values[i:min(i+2, len(values))]})
				try(&query.Predicate{Op: query.Not, Args: []*query.Predicate{{Op: op, Path: path, Values: values[i:min(i+3, len(values))]}}})
			}
		}
	}
	t.Logf("%d scans, of which the engine cannot run %d", run, sc.refused)
	if run < least || sc.refused > run/4 {
		t.Errorf("%d scans of which %d were refused are no proof", run, sc.refused)
	}
}

// testTexts looks for the beginnings, ends and middles of texts that some layer may take for something else, and for those that are like them.
func testTexts(t *testing.T, h Harness) {
	c := makeCorpus(t, map[string]any{"deep": map[string]any{"text": "string:0..2100"}, "text": "string:0..2100"}, corpus.KeyInteger, false)
	var all []string
	for _, text := range texts {
		all = append(all, text, text+" ", "a"+text, strings.ToUpper(text), text+text)
	}
	if h.NoNUL == "" {
		all = append(all, "\x00", "a\x00b", "a\x00c", "\x00\x00", "nul at the end\x00")
	}
	m := newModel(c, uint64(len(all)), func(i int, row *corpus.Row) {
		row.SetText(&row.SetObject(&row.Columns[0], 1)[0], all[i])
		row.SetText(&row.Columns[1], all[(i*7)%len(all)])
	})
	_, sc := h.scanned(t, m)
	looked := append([]string{"\x00", "b\x00", "a%", "_", "%", `\%`, "A", "é", "\U0010ffff", "\ud7ff", "  "}, all...)
	for _, path := range []query.Path{{"text"}, {"deep", "text"}} {
		for i, text := range looked {
			if h.Slow != "" && (i+len(path))%4 != 0 {
				continue
			}
			pieces := []string{text}
			if runes := []rune(text); len(runes) > 2 {
				pieces = append(pieces, string(runes[:len(runes)/2]), string(runes[len(runes)/2:]), string(runes[1:len(runes)-1]))
			}
			for _, piece := range pieces {
				if piece == "" || !utf8.ValidString(piece) {
					continue
				}
				for _, op := range []query.Op{query.Prefix, query.Suffix, query.Contains} {
					p := &query.Predicate{Op: op, Path: path, Values: []query.Literal{{Kind: corpus.String, Text: piece}}}
					if err := sc.check(t.Context(), m.bind(t, &query.Scan{ID: "texts", Project: query.ID, Where: p})); err != nil {
						t.Errorf("%s: %v", p, err)
					}
				}
			}
			for _, op := range []query.Op{query.Eq, query.Ne, query.Lt, query.Gte} {
				if i%3 != 0 && op != query.Eq {
					continue
				}
				p := &query.Predicate{Op: op, Path: path, Values: []query.Literal{{Kind: corpus.String, Text: text}}}
				if err := sc.check(t.Context(), m.bind(t, &query.Scan{ID: "texts", Project: query.Count, Where: p})); err != nil {
					t.Errorf("%s: %v", p, err)
				}
			}
		}
	}
}

// testPages cuts pages out of what is found: limits and offsets beyond the end, orders with ties, counts, keyset paging; under every form of key.
func testPages(t *testing.T, h Harness) {
	const rows = 60
	for _, kind := range corpus.KeyKinds() {
		t.Run(string(kind), func(t *testing.T) {
			m := newModel(makeCorpus(t, plainTemplate, kind, true), rows, nil)
			_, sc := h.scanned(t, m)
			try := func(s query.Scan) {
				t.Helper()
				s.ID = "pages"
				bound := m.bind(t, &s)
				if err := sc.check(t.Context(), bound); err != nil {
					t.Errorf("%s: %v", describe(bound), err)
				}
			}
			young := &query.Predicate{Op: query.Lt, Path: query.Path{"age"}, Values: []query.Literal{{Kind: corpus.Int, Int: 40}}}
			nobody := &query.Predicate{Op: query.Gt, Path: query.Path{"age"}, Values: []query.Literal{{Kind: corpus.Int, Int: 1000}}}
			orders := [][]query.Order{
				nil, {{}}, {{Desc: true}}, {{Path: query.Path{"age"}}}, {{Path: query.Path{"name"}, Desc: true}}, {{Path: query.Path{"created"}, Desc: true}, {}},
				{{Path: query.Path{"age"}, Desc: true}, {Path: query.Path{"text"}}}, {{Path: query.Path{"balance"}}}, {{Path: query.Path{"token"}}}, {{Path: query.Path{"ratio"}, Desc: true}},
			}
			for _, project := range []query.Projection{query.ID, query.Full, query.Count} {
				for _, where := range []*query.Predicate{nil, young, nobody} {
					for _, pages := range [][2]int64{{0, 0}, {0, 1}, {0, 7}, {0, rows}, {0, rows + 1}, {3, 7}, {rows - 3, 7}, {rows, 7}, {rows + 100, 7}} {
						for i, order := range orders {
							if kind != corpus.KeyInteger && i > 2 {
								break
							}
							try(query.Scan{Project: project, Where: where, Order: order, Offset: pages[0], Limit: pages[1]})
						}
					}
					try(query.Scan{Project: project, Where: where, Offset: 5})
					for _, after := range []uint64{0, 17, rows - 1} {
						try(query.Scan{Project: project, Where: where, After: &after, Limit: 10})
						try(query.Scan{Project: project, Where: where, After: &after})
					}
				}
			}
		})
	}
}

// testAggregates adds up numbers of every kind, whole and grouped.
func testAggregates(t *testing.T, h Harness) {
	value := map[string]any{
		"cash": "decimal:-100000..100000", "city": "string_enum:a,b,c,c,it's", "flag": "bool", "moment": "datetime", "real": "float:-5..5", "small": "int:0..4", "whole": "int",
		"deep": map[string]any{
			"cash": "decimal", "city": "string_enum:x,y", "real": "float:0..1", "whole": "int:-9..9", "flag": "bool", "sum": "decimal_enum:1.5,-2.25", "when": "datetime", "who": "uuid",
		},
		"large": "int_enum:9007199254740993,-9007199254740993,9007199254740995",
	}
	m := newModel(makeCorpus(t, value, corpus.KeyInteger, true), 150, nil)
	_, sc := h.scanned(t, m)
	var aggregates []query.Aggregate
	for _, path := range paths(m.corpus.Template().Columns(), nil, func(f *corpus.Field) bool {
		return f.Kind == corpus.Int || f.Kind == corpus.Float || f.Kind == corpus.Decimal
	}) {
		for _, f := range []query.Func{query.Sum, query.Avg, query.Min, query.Max} {
			aggregates = append(aggregates, query.Aggregate{Func: f, Path: path})
		}
	}
	wheres := []*query.Predicate{
		nil,
		{Op: query.Eq, Path: query.Path{"small"}, Values: []query.Literal{{Kind: corpus.Int, Int: 2}}},
		{Op: query.Eq, Path: query.Path{"small"}, Values: []query.Literal{{Kind: corpus.Int, Int: 99}}}, // of no row
	}
	groups := append([]query.Path{nil}, paths(m.corpus.Template().Columns(), nil, isScalar)...)
	for _, where := range wheres {
		for _, group := range groups {
			for _, list := range [][]query.Aggregate{{{Func: query.Number}}, append(slices.Clone(aggregates), query.Aggregate{Func: query.Number})} {
				s := m.bind(t, &query.Scan{ID: "aggregates", Where: where, GroupBy: group, Aggregates: list})
				if err := sc.check(t.Context(), s); err != nil {
					t.Errorf("%s: %v", describe(s), err)
				}
			}
		}
	}
	// Each alone, as a file that asks for one does.
	for _, a := range aggregates {
		s := m.bind(t, &query.Scan{ID: "aggregates", Aggregates: []query.Aggregate{a}})
		if err := sc.check(t.Context(), s); err != nil {
			t.Errorf("%s: %v", describe(s), err)
		}
	}
}
