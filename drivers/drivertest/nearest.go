package drivertest

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// Distance is how far apart two vectors are, in float64 and in the plainest way.
func Distance(metric query.Metric, a, b []float32) float64 {
	var dot, aa, bb, squares, sum float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb, squares, sum = dot+x*y, aa+x*x, bb+y*y, squares+(x-y)*(x-y), sum+math.Abs(x-y)
	}
	switch metric {
	case query.Euclidean:
		return math.Sqrt(squares)
	case query.InnerProduct:
		return -dot
	case query.Manhattan:
		return sum
	}
	if aa == 0 || bb == 0 {
		return 2
	}
	return 1 - dot/math.Sqrt(aa*bb)
}

// Rows are the rows of a corpus as they should be in the database, by key.
type Rows map[string]*corpus.Row

// RowsOf are the first rows of a corpus, at version 0.
func RowsOf(c *corpus.Corpus, n uint64) Rows {
	rows := make(Rows, n)
	for index := range n {
		var key corpus.KeyBuffer
		row := new(corpus.Row)
		c.Row(row, index, 0)
		rows[c.Key(&key, index).String()] = row
	}
	return rows
}

// Search runs a search and wants the answer to be as long as it can be, of rows that match, each once, in the order of their distances. It returns
// the share of the true neighbours that are in it; rows that are as near as the farthest of them, within a float32's accuracy, count as such.
func (rows Rows) Search(tb testing.TB, c *corpus.Corpus, client drivers.Client, s *query.Search, vector []float32) (recall float64) {
	tb.Helper()
	searcher := client.(drivers.Searcher)
	statement, err := searcher.PrepareSearch(tb.Context(), s)
	Must(tb, err)
	return rows.Prepared(tb, c, searcher, statement, s, vector)
}

// Prepared is Search with a statement that is ready.
func (rows Rows) Prepared(tb testing.TB, c *corpus.Corpus, searcher drivers.Searcher, statement drivers.Statement, s *query.Search, vector []float32) (recall float64) {
	tb.Helper()
	const accuracy = 2e-6
	column, err := query.Resolve(c.Template(), s.Field)
	Must(tb, err)
	distance := func(row *corpus.Row) float64 {
		values := row.Columns
		for _, at := range column.At[:len(column.At)-1] {
			values = values[at].Elems()
		}
		return Distance(s.Metric, values[column.At[len(column.At)-1]].Floats(), vector)
	}
	var all []float64
	for _, row := range rows {
		if query.Matches(s.Where, row) {
			all = append(all, distance(row))
		}
	}
	slices.Sort(all)
	wanted := min(s.K, len(all))

	var answer drivers.Answer
	Must(tb, searcher.Search(tb.Context(), statement, vector, &answer))
	seen := make(map[string]bool)
	found, last := 0, math.Inf(-1)
	Must(tb, searcher.DecodeSearch(statement, &answer, func(key corpus.Key) error {
		name := key.String()
		row := rows[name]
		switch {
		case row == nil:
			return fmt.Errorf("%s: there is no row %q", s, name)
		case seen[name]:
			return fmt.Errorf("%s: row %q is there twice", s, name)
		case !query.Matches(s.Where, row):
			return fmt.Errorf("%s: row %q does not match %s", s, name, s.Where)
		}
		seen[name] = true
		d := distance(row)
		if d < last-accuracy*max(1, math.Abs(d)) {
			return fmt.Errorf("%s: row %q at %g comes after one at %g", s, name, d, last)
		}
		last = d
		if farthest := all[wanted-1]; d <= farthest+accuracy*max(1, math.Abs(farthest)) {
			found++
		}
		return nil
	}))
	if answer.Rows != int64(len(seen)) {
		tb.Errorf("%s: the answer counts %d rows and has %d", s, answer.Rows, len(seen))
	}
	if len(seen) > s.K {
		tb.Errorf("%s: %d rows", s, len(seen))
	}
	if wanted == 0 {
		return 1
	}
	return float64(min(found, wanted)) / float64(wanted)
}

// Vector is a vector of a query, the same for the same number, evenly spread and no row's.
func Vector(number, dimensions int) []float32 {
	vector := make([]float32, dimensions)
	for i := range vector {
		vector[i] = float32(math.Sin(float64(number+1) * (float64(i) + 1.37) * 1.6180339887))
	}
	return vector
}

// Unordered is Prepared for an index whose vectors are shortened, so that its order is another.
func (rows Rows) Unordered(tb testing.TB, c *corpus.Corpus, searcher drivers.Searcher, statement drivers.Statement, s *query.Search, vector []float32) {
	tb.Helper()
	matching := 0
	for _, row := range rows {
		if query.Matches(s.Where, row) {
			matching++
		}
	}
	var answer drivers.Answer
	Must(tb, searcher.Search(tb.Context(), statement, vector, &answer))
	seen := make(map[string]bool)
	Must(tb, searcher.DecodeSearch(statement, &answer, func(key corpus.Key) error {
		if row := rows[key.String()]; row == nil || seen[key.String()] || !query.Matches(s.Where, row) {
			return fmt.Errorf("%s: row %q is none, or does not match, or is there twice", s, key)
		}
		seen[key.String()] = true
		return nil
	}))
	if len(seen) != min(s.K, matching) {
		tb.Errorf("%s where %s: %d rows of %d", s, s.Where, len(seen), min(s.K, matching))
	}
}

// Ready waits until an index serves.
func Ready(tb testing.TB, database drivers.Database, index query.Index) drivers.IndexState {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		state, err := database.(drivers.Indexer).IndexState(tb.Context(), index)
		Must(tb, err)
		if state.Exists && state.Ready && state.How != "" {
			return state
		}
		if time.Now().After(deadline) {
			tb.Fatalf("index %s is not ready: %+v", index.Name, state)
		}
	}
}
