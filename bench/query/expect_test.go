package query_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/query/querytest"
)

// matching returns the rows that the scan finds, in its order, by the reference.
func matching(all []*world, s *query.Scan, tmpl *corpus.Template) []*world {
	var found []*world
	for _, w := range all {
		if (s.Where == nil || reference(s.Where, w.row, tmpl)) && (s.After == nil || slices.Compare(w.key, all[*s.After].key) > 0) {
			found = append(found, w)
		}
	}
	slices.SortStableFunc(found, func(a, b *world) int { return referenceCompare(a, b, s.Order, tmpl) })
	return found
}

// answer returns a right answer: of rows that are equal in the order, and of those that an unordered scan may return, any.
func answer(rng *rand.Rand, found []*world, s *query.Scan, tmpl *corpus.Template) []*world {
	found = slices.Clone(found)
	rng.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	slices.SortStableFunc(found, func(a, b *world) int { return referenceCompare(a, b, s.Order, tmpl) })
	found = found[min(int(s.Offset), len(found)):]
	if s.Limit > 0 {
		found = found[:min(int(s.Limit), len(found))]
	}
	return found
}

// check has a checker look at an answer.
func check(t testing.TB, d query.Dataset, s *query.Scan, e *query.Expected, rows []*world) error {
	t.Helper()
	c, err := d.Checker(s, e, nil)
	if err != nil {
		t.Fatal(err)
	}
	var row corpus.Row
	var memory corpus.KeyBuffer
	for _, w := range rows {
		var content *corpus.Row
		if s.Project == query.Full {
			d.Corpus.Row(&row, w.index, d.Version)
			content = &row
		}
		if err := c.Row(d.Corpus.Key(&memory, w.index), content); err != nil {
			return err
		}
	}
	return c.Done()
}

func mustExpect(t testing.TB, d query.Dataset, scans []*query.Scan, o query.Options) []*query.Expected {
	t.Helper()
	expected, err := d.Expect(context.Background(), scans, o)
	if err != nil {
		t.Fatal(err)
	}
	return expected
}

// TestExpectAgreesWithTheReference draws scans, works out their answers both ways, and has the checker accept right answers and refuse each
// kind of wrong one.
func TestExpectAgreesWithTheReference(t *testing.T) {
	refused := map[string]int{}
	for i, kind := range []corpus.KeyKind{corpus.KeyInteger, corpus.KeyString26, corpus.KeyUUID} {
		for _, random := range []bool{false, true} {
			d := dataset(t, 300, kind, random)
			tmpl := d.Corpus.Template()
			source, rng := querytest.New(d), rand.New(rand.NewPCG(uint64(i), 3))
			all := worlds(t, d)
			var scans []*query.Scan
			for range 120 {
				scans = append(scans, source.Scan(rng))
			}
			expected := mustExpect(t, d, scans, query.Options{Workers: 3})
			for i, s := range scans {
				e := expected[i]
				found := matching(all, s, tmpl)
				if e.Matches != int64(len(found)) {
					t.Fatalf("%s: %d rows match, want %d", s, e.Matches, len(found))
				}
				if len(s.Aggregates) > 0 {
					checkGroups(t, d, s, e, found)
					continue
				}
				for range 3 {
					right := answer(rng, found, s, tmpl)
					if e.Rows != int64(len(right)) {
						t.Fatalf("%s: the answer has %d rows, want %d", s, e.Rows, len(right))
					}
					if err := check(t, d, s, e, right); err != nil {
						t.Fatalf("%s refused a right answer: %v", s, err)
					}
					refuse(t, rng, d, s, e, all, found, right, refused)
				}
			}
		}
	}
	for _, kind := range []string{"left out", "repeated", "swapped", "not found", "replaced"} {
		if refused[kind] < 50 {
			t.Errorf("%d wrong answers with a row %s were tried", refused[kind], kind)
		}
	}
}

// refuse makes the answer wrong in each way there is, and has the checker refuse it.
func refuse(t *testing.T, rng *rand.Rand, d query.Dataset, s *query.Scan, e *query.Expected, all, found, right []*world, refused map[string]int) {
	t.Helper()
	if len(right) == 0 {
		return
	}
	tmpl := d.Corpus.Template()
	at := rng.IntN(len(right))
	try := func(kind string, wrong []*world) {
		t.Helper()
		refused[kind]++
		var why *query.Wrong
		if err := check(t, d, s, e, wrong); !errors.As(err, &why) {
			t.Fatalf("%s accepted an answer with a row %s: %v", s, kind, err)
		}
	}
	try("left out", slices.Delete(slices.Clone(right), at, at+1))
	repeated := slices.Clone(right)
	if other := rng.IntN(len(right)); other != at {
		repeated[at] = repeated[other]
		try("repeated", repeated)
	}
	if other := rng.IntN(len(right)); referenceCompare(right[at], right[other], s.Order, tmpl) != 0 {
		swapped := slices.Clone(right)
		swapped[at], swapped[other] = swapped[other], swapped[at]
		try("swapped", swapped)
	}
	if bad := all[rng.IntN(len(all))]; !slices.Contains(found, bad) {
		replaced := slices.Clone(right)
		replaced[at] = bad
		try("not found", replaced)
	}
	// A row of the matching ones in the place of another: wrong where the answer is determined, which it is up to rows that are equal in the order.
	bad := found[rng.IntN(len(found))]
	if slices.Contains(right, bad) || len(s.Order) == 0 || referenceCompare(bad, right[at], s.Order, tmpl) == 0 {
		return
	}
	replaced := slices.Clone(right)
	replaced[at] = bad
	slices.SortStableFunc(replaced, func(a, b *world) int { return referenceCompare(a, b, s.Order, tmpl) })
	try("replaced", replaced)
}

// checkGroups compares the groups with those of the reference: exact sums, then rounded.
func checkGroups(t *testing.T, d query.Dataset, s *query.Scan, e *query.Expected, found []*world) {
	t.Helper()
	tmpl := d.Corpus.Template()
	kindOf := func(path query.Path) corpus.Kind {
		column, err := query.Resolve(tmpl, path)
		if err != nil {
			t.Fatal(err)
		}
		return column.Field.Kind
	}
	groups := map[string][]*world{}
	keys := map[string]query.Literal{}
	var row corpus.Row
	for _, w := range found {
		name := ""
		if len(s.GroupBy) > 0 {
			column, err := query.Resolve(tmpl, s.GroupBy)
			if err != nil {
				t.Fatal(err)
			}
			d.Corpus.Row(&row, w.index, d.Version)
			values := row.Columns
			for _, i := range column.At[:len(column.At)-1] {
				values = values[i].Elems()
			}
			key := query.LiteralOf(&values[column.At[len(column.At)-1]])
			name = key.String()
			keys[name] = key
		}
		groups[name] = append(groups[name], w)
	}
	if int64(len(groups)) != e.Rows {
		t.Fatalf("%s: %d groups, want %d", s, e.Rows, len(groups))
	}
	var right []query.Group
	for name, rows := range groups {
		g := query.Group{Key: keys[name]}
		for _, a := range s.Aggregates {
			value := new(big.Rat)
			for i, w := range rows {
				if a.Func == query.Number {
					value.SetInt64(int64(i) + 1)
					continue
				}
				x := plain(lookUp(w.row, a.Path), kindOf(a.Path)).(*big.Rat)
				switch {
				case a.Func == query.Sum || a.Func == query.Avg:
					value.Add(value, x)
				case i == 0 || a.Func == query.Min && x.Cmp(value) < 0 || a.Func == query.Max && x.Cmp(value) > 0:
					value.Set(x)
				}
			}
			if a.Func == query.Avg {
				value.Quo(value, big.NewRat(int64(len(rows)), 1))
			}
			f, _ := value.Float64()
			g.Values = append(g.Values, f)
		}
		right = append(right, g)
	}
	groupsOf := func(groups []query.Group) error {
		c, err := d.Checker(s, e, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.Groups(groups)
	}
	if err := groupsOf(right); err != nil {
		t.Fatalf("%s refused a right answer: %v", s, err)
	}
	if len(right) == 0 {
		return
	}
	if groupsOf(right[1:]) == nil || groupsOf(append(slices.Clone(right), right[0])) == nil {
		t.Fatalf("%s accepted a group too few or too many", s)
	}
	for i, v := range right[0].Values {
		for _, off := range []float64{v*(1+1e-9) + 1e-30, math.NaN(), v + 1} {
			if off == v {
				continue
			}
			if right[0].Values[i] = off; groupsOf(right) == nil {
				t.Fatalf("%s accepted %v for %s, want %v", s, off, s.Aggregates[i], v)
			}
		}
		right[0].Values[i] = v
	}
}

func TestExpectDoesNotDependOnWorkers(t *testing.T) {
	d := dataset(t, 9_000, corpus.KeyUUID, true)
	source, rng := querytest.New(d), rand.New(rand.NewPCG(4, 4))
	var scans []*query.Scan
	for range 60 {
		scans = append(scans, source.Scan(rng))
	}
	one := mustExpect(t, d, scans, query.Options{Workers: 1})
	for _, workers := range []int{2, 5} {
		if diff := cmp.Diff(one, mustExpect(t, d, scans, query.Options{Workers: workers})); diff != "" {
			t.Fatalf("%d workers find something else:\n%s", workers, diff)
		}
	}
}

func TestExpectedTravelsAsJSON(t *testing.T) {
	d := dataset(t, 500, corpus.KeyInteger, false)
	source, rng := querytest.New(d), rand.New(rand.NewPCG(5, 5))
	var scans []*query.Scan
	for range 200 {
		scans = append(scans, source.Scan(rng))
	}
	for i, e := range mustExpect(t, d, scans, query.Options{}) {
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("%s: %v", scans[i], err)
		}
		back := &query.Expected{}
		if err := json.Unmarshal(data, back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e, back); diff != "" {
			t.Fatalf("%s comes back as something else:\n%s", scans[i], diff)
		}
	}
}

func TestExpectReportsProgressAndStops(t *testing.T) {
	d := dataset(t, 50_000, corpus.KeyInteger, false)
	s := &query.Scan{Where: bind(t, d.Corpus.Template(), compare(query.Eq, "number", integer(3)))}
	var last uint64
	mustExpect(t, d, []*query.Scan{s}, query.Options{Progress: func(rows uint64) {
		if rows <= last {
			t.Errorf("progress went from %d to %d", last, rows)
		}
		last = rows
	}})
	if last != d.Rows {
		t.Errorf("progress ended at %d of %d rows", last, d.Rows)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err := d.Expect(ctx, []*query.Scan{s}, query.Options{Progress: func(uint64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestExpectRefuses(t *testing.T) {
	d := dataset(t, query.MaxGroups+4096, corpus.KeyInteger, false)
	many := &query.Scan{ID: "many", Aggregates: []query.Aggregate{{Func: query.Number}}, GroupBy: query.Path{"request_id"}}
	for _, workers := range []int{1, 2} {
		_, err := d.Expect(context.Background(), []*query.Scan{many}, query.Options{Workers: workers})
		if want := "work out the expected answers: aggregate count group by request_id has more than 131072 groups"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	_, err := d.Expect(context.Background(), []*query.Scan{{ID: "raw", Raw: &query.Raw{}}}, query.Options{})
	if want := "expected answer of scan raw: it is in the engines' own words"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestExpectOfNoRows(t *testing.T) {
	d := dataset(t, 0, corpus.KeyInteger, false)
	scans := []*query.Scan{
		{Project: query.Count}, {Project: query.ID, Order: []query.Order{{}}, Limit: 5}, {Aggregates: []query.Aggregate{{Func: query.Number}}},
	}
	for i, e := range mustExpect(t, d, scans, query.Options{}) {
		if e.Matches != 0 || e.Rows != 0 {
			t.Errorf("%s: %d rows match, the answer has %d", scans[i], e.Matches, e.Rows)
		}
	}
}
