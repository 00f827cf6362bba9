package query_test

import (
	"math/rand/v2"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/query/querytest"
)

// dataset returns a small dataset with every kind of column.
func dataset(t testing.TB, rows uint64, kind corpus.KeyKind, random bool) query.Dataset {
	t.Helper()
	return query.Dataset{Corpus: newCorpus(t, kind, random), Version: 1, Rows: rows}
}

func TestMatchesAgreesWithTheReference(t *testing.T) {
	d := dataset(t, 60, corpus.KeyInteger, false)
	source, rng := querytest.New(d), rand.New(rand.NewPCG(1, 1))
	all := worlds(t, d)
	found := map[query.Op][2]int{} // of single comparisons: rows not found and found
	var row corpus.Row
	for i := range 3000 {
		p := source.Predicate(rng, i%5)
		for _, w := range all {
			d.Corpus.Row(&row, w.index, d.Version)
			want, got := reference(p, w.row, d.Corpus.Template()), query.Matches(p, &row)
			if want != got {
				t.Fatalf("%s finds row %d (%v): %v, want %v", p, w.index, w.row, got, want)
			}
			n := found[p.Op]
			if got {
				n[1]++
			} else {
				n[0]++
			}
			found[p.Op] = n
		}
	}
	for _, op := range []query.Op{
		query.Eq, query.Ne, query.Lt, query.Lte, query.Gt, query.Gte, query.In, query.Between, query.Prefix, query.Suffix, query.Contains, query.HasAny,
		query.HasAll, query.MatchAll, query.MatchAny, query.And, query.Or, query.Not,
	} {
		if n := found[op]; n[0] < 50 || n[1] < 50 {
			t.Errorf("%s was hardly tried: %d rows not found, %d found", op, n[0], n[1])
		}
	}
}

// TestLawsOfLogic holds for any trees: what they find follows from what their parts find.
func TestLawsOfLogic(t *testing.T) {
	d := dataset(t, 40, corpus.KeyInteger, false)
	source, rng := querytest.New(d), rand.New(rand.NewPCG(2, 2))
	tmpl := d.Corpus.Template()
	not := func(p *query.Predicate) *query.Predicate { return tree(query.Not, p) }
	var row corpus.Row
	for range 500 {
		a, b := source.Predicate(rng, 2), source.Predicate(rng, 2)
		for name, law := range map[string][2]*query.Predicate{
			"not (a and b)": {not(tree(query.And, a, b)), tree(query.Or, not(a), not(b))},
			"not (a or b)":  {not(tree(query.Or, a, b)), tree(query.And, not(a), not(b))},
			"not not a":     {not(not(a)), a},
			"a and b":       {tree(query.And, a, b), tree(query.And, b, a)},
			"a or b":        {tree(query.Or, a, b), tree(query.Or, b, a)},
			"a or a and b":  {tree(query.Or, a, tree(query.And, a, b)), a},
		} {
			left, right := bind(t, tmpl, law[0]), bind(t, tmpl, law[1])
			for index := range d.Rows {
				d.Corpus.Row(&row, index, d.Version)
				if l, r := query.Matches(left, &row), query.Matches(right, &row); l != r {
					t.Fatalf("%s, row %d: %s is %v, %s is %v", name, index, left, l, right, r)
				}
			}
		}
	}
}

func TestAbsentValuesAreFoundByIsNullAlone(t *testing.T) {
	tmpl := template(t)
	var row corpus.Row
	row.Reset(tmpl)
	for path, values := range map[string][]query.Literal{
		"number": {integer(0)}, "name": {text("x")}, "active": {boolean(false)}, "place.code": {text("x")}, "place.deep.level": {integer(0)},
	} {
		for _, op := range []query.Op{query.Eq, query.Ne, query.In} {
			p := bind(t, tmpl, compare(op, path, values...))
			if query.Matches(p, &row) {
				t.Errorf("%s finds an absent value", p)
			}
			if p = bind(t, tmpl, tree(query.Not, p)); !query.Matches(p, &row) {
				t.Errorf("%s does not find an absent value", p)
			}
		}
		if p := bind(t, tmpl, compare(query.IsNull, path)); !query.Matches(p, &row) {
			t.Errorf("%s does not find an absent value", p)
		}
	}
	newCorpus(t, corpus.KeyInteger, false).Row(&row, 0, 0)
	if p := bind(t, tmpl, compare(query.IsNull, "place")); query.Matches(p, &row) {
		t.Errorf("%s finds a value that is there", p)
	}
}

func TestMatchesDoesNotAllocate(t *testing.T) {
	d := dataset(t, 100, corpus.KeyInteger, false)
	p := bind(t, d.Corpus.Template(), tree(query.Or,
		compare(query.HasAll, "tags", text("alpha"), text("nothing")), compare(query.MatchAll, "words", text("hello"), text("nothing")),
		compare(query.In, "city", text("a"), text("b")), compare(query.Contains, "name", text("nothing")), compare(query.Eq, "number", integer(-1))))
	var row corpus.Row
	d.Corpus.Row(&row, 3, 0)
	if n := testing.AllocsPerRun(100, func() { query.Matches(p, &row) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMatchesOfAnUnboundTreePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	query.Matches(compare(query.Eq, "number", integer(1)), &corpus.Row{})
}
