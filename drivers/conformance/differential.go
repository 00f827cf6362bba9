package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/query/querytest"
	"github.com/durabench/durabench/drivers"
)

// treesVariable is the environment variable that says how many random scans to try, for a long search.
const treesVariable = "DURABENCH_TREES"

// trees is how many random scans to try.
func (h Harness) trees(t *testing.T) int {
	t.Helper()
	if text := os.Getenv(treesVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s is %q, not a number of scans", treesVariable, text)
		}
		return n
	}
	if h.Trees > 0 {
		return h.Trees
	}
	return 2000
}

// statementsPerClient is after how many scans a client is closed and another one opened: what it has prepared goes with it.
const statementsPerClient = 500

// testDifferential draws random scans and compares the engine's answers with those of the harness, as a benchmark does.
func testDifferential(t *testing.T, h Harness) {
	for i, kind := range []corpus.KeyKind{corpus.KeyInteger, corpus.KeyString26} {
		t.Run(string(kind), func(t *testing.T) {
			table := querytest.Table()
			if h.NoArraysInArrays != "" {
				delete(table, "nested")
			}
			if h.NoDots != "" {
				delete(table["place"].(map[string]any), "dotted.name")
			}
			data := query.Dataset{Corpus: makeCorpus(t, table, kind, true), Version: 1, Rows: 300}
			s := h.open(t, data.Corpus)
			must(t, drivers.LoadRows(t.Context(), s.clients[0], data.Corpus, 0, data.Rows, data.Version))
			source := querytest.New(data)
			h.limit(t, s, source, data)
			d := differential{t: t, harness: h, session: s, data: data}
			// Half of them of each kind of key; what is drawn depends on its number alone.
			var scans []*query.Scan
			for n := 0; len(scans) < (h.trees(t)+1)/2; n++ {
				scan := source.Scan(rand.New(rand.NewPCG(20260908, uint64(n*2+i))))
				scan.ID = fmt.Sprintf("tree_%d", n*2+i)
				if h.orders() || h.runs(scan) {
					scans = append(scans, scan)
				}
			}
			d.run(scans)
			// Every tenth again, with what the engine has for it: an index on each of two columns.
			indexer, can := s.database.(drivers.Indexer)
			if !can {
				return
			}
			for n, index := range []query.Index{
				{Name: "numbers", Kind: query.Ordered, Paths: []query.Path{{"number"}}}, {Name: "cities", Kind: query.Ordered, Paths: []query.Path{{"city"}, {"score"}}},
				{Name: "names", Kind: query.Ordered, Paths: []query.Path{{"name"}}}, {Name: "levels", Kind: query.Ordered, Paths: []query.Path{{"place", "deep", "level"}}},
				{Name: "codes", Kind: query.Ordered, Paths: []query.Path{{"place", "code"}}}, {Name: "tags", Kind: query.Elements, Paths: []query.Path{{"tags"}}},
				{Name: "list", Kind: query.Elements, Paths: []query.Path{{"levels"}}}, {Name: "prices", Kind: query.Ordered, Paths: []query.Path{{"price"}, {"created_at"}}},
			} {
				if err := indexer.CanIndex(index); err != nil {
					continue
				}
				if err := indexer.CreateIndex(t.Context(), index); err != nil {
					t.Fatalf("index %d: %v", n, err)
				}
				ready(t, indexer, index)
			}
			var some []*query.Scan
			for n, scan := range scans {
				if n%10 == 0 {
					some = append(some, scan)
				}
			}
			d.indexed = true
			d.run(some)
		})
	}
}

// limit keeps the source to what the engine can do. An engine that finds words by an index only gets one, and words are looked for in that column.
func (h Harness) limit(t *testing.T, s *session, source *querytest.Source, data query.Dataset) {
	t.Helper()
	words := query.Path{"words"}
	indexed := false
	index := query.Index{Name: "words", Kind: query.FullText, Paths: []query.Path{words}}
	if indexer, can := s.database.(drivers.Indexer); can && indexer.CanIndex(index) == nil && !h.lacksWords() {
		must(t, indexer.CreateIndex(t.Context(), index))
		ready(t, indexer, index)
		indexed = true
	}
	source.Accept = func(p *query.Predicate) bool {
		if indexed && slices.Equal(p.Path, words) && (p.Op == query.MatchAll || p.Op == query.MatchAny) {
			return h.Lacks == nil || h.Lacks(&query.Scan{ID: "part", Project: query.ID, Where: p}) == ""
		}
		return h.runs(&query.Scan{ID: "part", Project: query.ID, Where: p})
	}
	if !h.orders() {
		return // scans are taken as a whole, or not
	}
	source.AcceptOrder = func(o query.Order) bool {
		scan, err := query.Bind(&query.Scan{ID: "order", Project: query.ID, Order: []query.Order{o}}, data.Corpus.Template())
		return err != nil || h.runs(scan)
	}
}

// orders tells whether the harness says that the engine knows any order.
func (h Harness) orders() bool {
	return h.runs(&query.Scan{ID: "order", Project: query.ID, Order: []query.Order{{}}})
}

// runs tells whether the harness says that the scan can be run.
func (h Harness) runs(s *query.Scan) bool {
	return (h.Refuses == nil || !h.Refuses(s)) && (h.Lacks == nil || h.Lacks(s) == "")
}

// differential compares an engine's answers with the harness's.
type differential struct {
	t       *testing.T
	harness Harness
	session *session
	data    query.Dataset
	answer  drivers.Answer
	indexed bool
}

// run tries all scans.
func (d *differential) run(scans []*query.Scan) {
	t := d.t
	t.Helper()
	expected, err := d.data.Expect(t.Context(), scans, query.Options{Workers: 1})
	must(t, err)
	sc := d.harness.scanner(d.session.clients[0], nil)
	found, wrong, mistaken := 0, 0, 0
	for n, scan := range scans {
		if n%statementsPerClient == statementsPerClient-1 {
			must(t, sc.client.Close())
			client, err := d.session.database.Client(t.Context(), 0)
			must(t, err)
			d.session.clients[0] = client
			sc.client = d.harness.scanner(client, nil).client
		}
		if expected[n].Rows > 0 {
			found++
		}
		err := d.compare(t.Context(), sc, scan, expected[n])
		if err == nil {
			continue
		}
		if d.indexed && d.harness.Mistakes != nil && d.harness.Mistakes(scan) != "" {
			mistaken++
			continue
		}
		wrong++
		t.Errorf("%s: %s: %v\n%s", scan.ID, describe(scan), err, d.smallest(sc, scan.Where))
		if wrong == 10 {
			t.Fatal("ten answers are wrong: that is enough")
		}
	}
	t.Logf("%d random scans, of which %d find rows and the engine cannot run %d and answers wrongly by mistakes of its own %d", len(scans), found, sc.refused, mistaken)
	if sc.refused > len(scans)/10 || found < len(scans)/4 {
		t.Errorf("%d random scans, of which %d find rows and the engine cannot run %d, are no proof", len(scans), found, sc.refused)
	}
}

// compare runs one scan and checks its answer as a benchmark does.
func (d *differential) compare(ctx context.Context, sc *scanner, s *query.Scan, e *query.Expected) error {
	if sc.harness.Lacks != nil && sc.harness.Lacks(s) != "" {
		sc.refused++
		return nil
	}
	if refused, err := sc.refusal(s, sc.client.CanScan(s)); refused || err != nil {
		return err
	}
	statement, err := sc.client.PrepareScan(ctx, s)
	if refused, err := sc.refusal(s, err); refused || err != nil {
		return err
	}
	d.answer.Keep = true
	if err := sc.client.Scan(ctx, statement, &d.answer); err != nil {
		return fmt.Errorf("scan: %w", err)
	}
	checker, err := d.data.Checker(s, e, nil)
	if err != nil {
		return err
	}
	switch {
	case len(s.Aggregates) > 0:
		groups, err := sc.client.DecodeGroups(statement, &d.answer)
		if err != nil {
			return fmt.Errorf("decode groups: %w", err)
		}
		return checker.Groups(groups)
	case s.Project == query.Count:
		return checker.Count(d.answer.Count)
	}
	err = sc.client.DecodeScan(statement, &d.answer, func(key corpus.Key, row *corpus.Row) error {
		if s.Project == query.ID {
			row = nil
		}
		return checker.Row(key, row)
	})
	return errors.Join(err, checker.Done())
}

// smallest names the smallest part of a condition for which the answer is wrong too.
func (d *differential) smallest(sc *scanner, p *query.Predicate) string {
	var text string
	for p != nil {
		next := (*query.Predicate)(nil)
		for _, arg := range p.Args {
			scan := &query.Scan{ID: "part", Project: query.ID, Where: arg}
			expected, err := d.data.Expect(d.t.Context(), []*query.Scan{scan}, query.Options{Workers: 1})
			must(d.t, err)
			if err := d.compare(d.t.Context(), sc, scan, expected[0]); err != nil {
				text, next = fmt.Sprintf("its part %s: %v", arg, err), arg
				break
			}
		}
		p = next
	}
	return text
}

// pieces are what random texts are put together from: what some layer could take for its own.
var pieces = []string{
	"'", `"`, "`", `\`, "%", "_", "*", "?", "$1", ":a", "@", "{", "}", "[", "]", "(", ")", "--", "/*", ";", "\n", "\r", "\t", "\x01", "\x7f", " ", "a", "B", "é", "E\u0301", "ß", "İ", "👍", "👩‍👧", "日",
	"\u00a0", "\u200b", "\ufeff", "\uffff", "\U0010ffff", "NULL", "0", ".", "^", "|", "+", "x'", "\\x00", "\\u0000", "&", "<", "$", "#", "\x00",
}

// testLiterals stores random texts and looks for random parts of them by every operator that takes a text.
func testLiterals(t *testing.T, h Harness) {
	rng := rand.New(rand.NewPCG(8, 9))
	draw := func() string {
		var b strings.Builder
		for range rng.IntN(6) {
			piece := pieces[rng.IntN(len(pieces))]
			if piece != "\x00" || h.NoNUL == "" {
				b.WriteString(piece)
			}
		}
		return b.String()
	}
	c := makeCorpus(t, map[string]any{"text": "string:0..40", "deep": map[string]any{"text": "string:0..40"}, "list": []any{"string:0..40", "string:0..40"}}, corpus.KeyInteger, false)
	rows := uint64(300)
	if h.Slow != "" {
		rows = 60
	}
	m := newModel(c, rows, func(_ int, row *corpus.Row) {
		row.SetText(&row.SetObject(&row.Columns[0], 1)[0], draw())
		cells := row.SetArray(&row.Columns[1], 2)
		row.SetText(&cells[0], draw())
		row.SetText(&cells[1], draw())
		row.SetText(&row.Columns[2], draw())
	})
	_, sc := h.scanned(t, m)
	found := 0
	for n := range h.trees(t) / 2 {
		path := []query.Path{{"text"}, {"deep", "text"}, {"list"}}[rng.IntN(3)]
		op := []query.Op{query.Eq, query.Eq, query.Lt, query.Gte, query.Prefix, query.Suffix, query.Contains}[rng.IntN(7)]
		text := draw()
		from := uint64(rng.IntN(int(rows)))
		switch {
		case len(path) == 1 && path[0] == "list":
			op = []query.Op{query.HasAny, query.HasAll}[rng.IntN(2)]
			if rng.IntN(4) > 0 {
				text = m.element(from, path).Text
			}
		case rng.IntN(4) > 0:
			text = cutOut(rng, m.value(from, path).Text, op)
		}
		p := &query.Predicate{Op: op, Path: path, Values: []query.Literal{{Kind: corpus.String, Text: text}}}
		scan, err := query.Bind(&query.Scan{ID: "literal", Project: query.ID, Where: p}, c.Template())
		if err != nil {
			continue // an empty part
		}
		if len(m.find(scan)) > 0 {
			found++
		}
		if err := sc.check(t.Context(), scan); err != nil {
			t.Errorf("%d: %s: %v", n, p, err)
		}
	}
	if found < h.trees(t)/8 {
		t.Errorf("only %d scans found anything", found)
	}
}

// cutOut draws a part of a text that an operator finds.
func cutOut(rng *rand.Rand, text string, op query.Op) string {
	runes := []rune(text)
	if len(runes) == 0 {
		return text
	}
	from := rng.IntN(len(runes))
	to := from + 1 + rng.IntN(len(runes)-from)
	switch op {
	case query.Prefix:
		return string(runes[:to])
	case query.Suffix:
		return string(runes[from:])
	case query.Contains:
		return string(runes[from:to])
	}
	return text
}
