package query_test

import (
	"errors"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// fed is a row as a test hands it to a checker: with the content of a row, at a version.
type fed struct {
	key, content uint64
	version      uint32
	change       func(*corpus.Row)
}

// feed returns the first thing that the checker finds wrong.
func feed(t *testing.T, d query.Dataset, s *query.Scan, slack *query.Slack, rows []fed) error {
	t.Helper()
	c, err := d.Checker(s, mustExpect(t, d, []*query.Scan{s}, query.Options{})[0], slack)
	if err != nil {
		t.Fatal(err)
	}
	var row corpus.Row
	var memory corpus.KeyBuffer
	for _, f := range rows {
		var content *corpus.Row
		if s.Project == query.Full {
			d.Corpus.Row(&row, f.content, f.version)
			if f.change != nil {
				f.change(&row)
			}
			content = &row
		}
		if err := c.Row(d.Corpus.Key(&memory, f.key), content); err != nil {
			return err
		}
	}
	return c.Done()
}

// found returns the rows that the scan finds, as they should come.
func found(t *testing.T, d query.Dataset, s *query.Scan) []fed {
	t.Helper()
	var rows []fed
	var row corpus.Row
	for index := range d.Rows {
		if d.Corpus.Row(&row, index, d.Version); query.Matches(s.Where, &row) {
			rows = append(rows, fed{key: index, content: index, version: d.Version})
		}
	}
	return rows
}

func TestCheckerComparesContent(t *testing.T) {
	d := dataset(t, 100, corpus.KeyInteger, false)
	s := &query.Scan{Project: query.Full, Where: bind(t, d.Corpus.Template(), compare(query.Lt, "number", integer(25)))}
	right := found(t, d, s)
	if err := feed(t, d, s, nil, right); err != nil {
		t.Fatalf("a right answer: %v", err)
	}
	first := right[0].key
	other := right[1].key
	column := func(name string) int {
		c, err := query.Resolve(d.Corpus.Template(), query.Path{name})
		if err != nil {
			t.Fatal(err)
		}
		return c.At[0]
	}
	for name, test := range map[string]struct {
		row  fed
		want query.Wrong
	}{
		"another version":         {fed{key: first, content: first, version: 0}, query.Wrong{Index: first, Column: "seal", Want: "version 1", Got: "version 0"}},
		"another row's content":   {fed{key: first, content: other, version: 1}, query.Wrong{Index: first, Column: "seal", Want: "its own content"}},
		"a text that differs":     {fed{key: first, content: first, version: 1, change: func(r *corpus.Row) { r.SetText(&r.Columns[column("city")], "rome") }}, query.Wrong{Index: first, Column: "city", Got: `"rome"`}},
		"a column that is absent": {fed{key: first, content: first, version: 1, change: func(r *corpus.Row) { r.SetAbsent(&r.Columns[column("price")]) }}, query.Wrong{Index: first, Column: "price", Got: "absent"}},
		"a seal of no row":        {fed{key: first, content: first, version: 1, change: func(r *corpus.Row) { r.SetInt(&r.Columns[column("seal")], -1) }}, query.Wrong{Index: first, Column: "seal", Got: "-1"}},
		"a row that is not there": {fed{key: 100, content: 100, version: 1}, query.Wrong{Whole: true, Column: "key", Want: "keys of the 100 rows", Got: `"101"`}},
	} {
		rows := append([]fed{test.row}, right[1:]...)
		var wrong *query.Wrong
		if err := feed(t, d, s, nil, rows); !errors.As(err, &wrong) {
			t.Errorf("%s: error %v", name, err)
			continue
		}
		want := test.want
		if want.Want == "" {
			want.Want = wrong.Want
		}
		if want.Got == "" {
			want.Got = wrong.Got
		}
		if *wrong != want {
			t.Errorf("%s: %+v, want %+v", name, *wrong, want)
		}
	}
}

func TestCheckerGoesOnAfterAWrongRow(t *testing.T) {
	d := dataset(t, 100, corpus.KeyInteger, false)
	s := &query.Scan{Project: query.ID, Where: bind(t, d.Corpus.Template(), compare(query.Eq, "city", text("paris")))}
	c, err := d.Checker(s, mustExpect(t, d, []*query.Scan{s}, query.Options{})[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	var memory corpus.KeyBuffer
	wrongs := 0
	for index := range d.Rows {
		if c.Row(d.Corpus.Key(&memory, index), nil) != nil {
			wrongs++
		}
	}
	if want := int(d.Rows) - len(found(t, d, s)); wrongs != want {
		t.Errorf("%d rows are wrong, want %d", wrongs, want)
	}
	if c.Done() == nil {
		t.Error("the answer as a whole is right")
	}
}

func TestCheckerCounts(t *testing.T) {
	d := dataset(t, 100, corpus.KeyInteger, false)
	s := &query.Scan{Project: query.Count, Offset: 10, Limit: 95}
	e := mustExpect(t, d, []*query.Scan{s}, query.Options{})[0]
	for slack, accepted := range map[int64][]int64{-1: {90}, 0: {90}, 2: {88, 89, 90, 91, 92}} {
		var allowed *query.Slack
		if slack >= 0 {
			allowed = &query.Slack{Rows: slack}
		}
		c, err := d.Checker(s, e, allowed)
		if err != nil {
			t.Fatal(err)
		}
		right := map[int64]bool{}
		for _, n := range accepted {
			right[n] = true
		}
		for n := range int64(120) {
			if err := c.Count(n); (err == nil) != right[n] {
				t.Errorf("with a slack of %d, a count of %d: %v", slack, n, err)
			}
		}
	}
}

func TestSlackTakesExchangedRows(t *testing.T) {
	d := dataset(t, 100, corpus.KeyInteger, false)
	partner := func(index uint64) uint64 { return index ^ 1 }
	where := bind(t, d.Corpus.Template(), compare(query.Lt, "number", integer(25)))
	full, id := &query.Scan{Project: query.Full, Where: where}, &query.Scan{Project: query.ID, Where: where}
	right := found(t, d, full)
	// An answer after all pairs have exchanged: each key holds what its partner held.
	var exchanged []fed
	for _, f := range right {
		exchanged = append(exchanged, fed{key: partner(f.key), content: f.content, version: 1})
	}
	none := &query.Slack{Partner: partner}
	for _, s := range []*query.Scan{full, id} {
		if err := feed(t, d, s, none, exchanged); err != nil {
			t.Errorf("%s refused what was exchanged: %v", s, err)
		}
		if err := feed(t, d, s, nil, exchanged); err == nil {
			t.Errorf("%s accepted exchanged rows without slack", s)
		}
		if err := feed(t, d, s, none, exchanged[2:]); err == nil {
			t.Errorf("%s accepted two rows too few", s)
		}
		if err := feed(t, d, s, &query.Slack{Partner: partner, Rows: 2}, exchanged[2:]); err != nil {
			t.Errorf("%s refused two rows too few with a slack of two: %v", s, err)
		}
		if err := feed(t, d, s, &query.Slack{Partner: partner, Rows: 2}, append(exchanged[:len(exchanged)-1:len(exchanged)-1], exchanged[0])); err == nil {
			t.Errorf("%s accepted a key twice", s)
		}
	}
	// The content of a row that is no partner, and of a row that is not found, stay wrong.
	stranger := append([]fed{{key: exchanged[0].key ^ 2, content: exchanged[0].content, version: 1}}, exchanged[1:]...)
	if err := feed(t, d, full, &query.Slack{Partner: partner, Rows: 9}, stranger); err == nil {
		t.Error("accepted the content of a stranger")
	}
	isFound := map[uint64]bool{}
	for _, f := range right {
		isFound[f.key] = true
	}
	for index := uint64(0); index < d.Rows; index += 2 {
		if isFound[index] || isFound[index^1] {
			continue
		}
		for _, s := range []*query.Scan{full, id} {
			if err := feed(t, d, s, &query.Slack{Partner: partner, Rows: 9}, []fed{{key: index, content: index, version: 1}}); err == nil {
				t.Errorf("%s accepted row %d, which neither it nor its partner is found", s, index)
			}
		}
		return
	}
	t.Error("no pair is outside: the test tries nothing")
}

// TestTiesAtBothEnds is an ordered page out of the middle of a few values that very many rows share.
func TestTiesAtBothEnds(t *testing.T) {
	d := dataset(t, 1000, corpus.KeyInteger, false)
	s := &query.Scan{Project: query.ID, Order: []query.Order{{Path: query.Path{"city"}}}, Offset: 100, Limit: 800}
	e := mustExpect(t, d, []*query.Scan{s}, query.Options{})[0]
	if e.Rows != 800 || len(e.Ties) != 2 || e.Ties[0].Rows+e.Ties[1].Rows+e.Determined != 800 || e.Determined < 200 {
		t.Errorf("two ends: %+v", e)
	}
	s = &query.Scan{Project: query.ID, Order: []query.Order{{Path: query.Path{"city"}}}, Offset: 10, Limit: 20}
	e = mustExpect(t, d, []*query.Scan{s}, query.Options{})[0]
	if e.Rows != 20 || len(e.Ties) != 1 || e.Ties[0].Rows != 20 || e.Determined != 0 {
		t.Errorf("within one value: %+v", e)
	}
	s.Order = append(s.Order, query.Order{})
	e = mustExpect(t, d, []*query.Scan{s}, query.Options{})[0]
	if e.Rows != 20 || len(e.Ties) != 0 || e.Determined != 20 {
		t.Errorf("with the key as the last term: %+v", e)
	}
}
