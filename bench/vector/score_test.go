package vector

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// scored is a problem with its truth.
func scored(t *testing.T, expr string, m query.Metric, rows uint64, k int, filters ...*query.Predicate) (Problem, *Truth) {
	t.Helper()
	p := problem(t, mustCorpus(t, 3, expr), m, rows, k, 20)
	for _, f := range filters {
		if f != nil {
			f = bound(t, p.Corpus, f)
		}
		p.Filters = append(p.Filters, f)
	}
	truth, err := Compute(context.Background(), p, Options{})
	require.NoError(t, err)
	return p, truth
}

// nearestRows are the first n of the exact answer.
func nearestRows(a *Answer, q, n int) []int64 {
	var rows []int64
	for _, one := range a.Nearest[q][:n] {
		rows = append(rows, int64(one.Row))
	}
	return rows
}

func TestTheExactAnswerScoresOne(t *testing.T) {
	for _, m := range query.Metrics {
		p, truth := scored(t, "vector:16:clustered:5", m, 2000, 10, nil, number(query.Lt, 5))
		for i := range truth.Answers {
			s := NewScorer(p, &truth.Answers[i], 0)
			for q := range p.Queries {
				got := s.Score(q, nearestRows(&truth.Answers[i], q, 10))
				require.Equal(t, Score{Strict: 1, TieAware: 1, Epsilon: 1, Rounded: 1, Returned: 10}, got)
			}
		}
	}
}

// The nearest row ten times over is one hit of ten and nine duplicates.
func TestDuplicatesCountOnce(t *testing.T) {
	p, truth := scored(t, "vector:16", query.Euclidean, 500, 10)
	best := nearestRows(&truth.Answers[0], 0, 1)[0]
	rows := []int64{best, best, best, best, best, best, best, best, best, best}
	require.Equal(t, Score{Strict: 0.1, TieAware: 0.1, Epsilon: 0.1, Rounded: 0.1, Returned: 10, Duplicates: 9}, NewScorer(p, &truth.Answers[0], 0).Score(0, rows))
}

// Thirty identical vectors around rank k, with three nearer ones: any of the thirty may stand in for another, none for the three, and nothing beyond them counts.
func TestTiesAroundTheKthRow(t *testing.T) {
	c := mustCorpus(t, 1, "vector:2")
	p := Problem{Corpus: c, Rows: 50, Field: query.Path{"v"}, Metric: query.Euclidean, K: 10, Queries: [][]float32{{0, 0}}}
	a := &Answer{Filter: "true", Matches: 50, Band: []int64{30}}
	var list []Neighbour
	for row := range uint64(50) {
		d := 1.0
		if row < 3 {
			d = 0.5
		}
		if row >= 33 {
			d = 1.0000001
		}
		list = append(list, Neighbour{row, d})
	}
	a.Nearest = [][]Neighbour{list}
	s := NewScorer(p, a, 0)
	span := func(from, to int64) (rows []int64) {
		for ; from < to; from++ {
			rows = append(rows, from)
		}
		return rows
	}
	for name, test := range map[string]struct {
		rows             []int64
		strict, tieAware float64
	}{
		"the listed ones":                    {span(0, 10), 1, 1},
		"others of the band":                 {append(span(0, 3), span(20, 27)...), 0.3, 1},
		"the band without the nearer":        {span(3, 13), 0.7, 0.7},
		"the band's end without the nearer":  {span(20, 30), 0, 0.7},
		"beyond the band":                    {span(40, 50), 0, 0},
		"beyond the band beside the nearer":  {append(span(0, 3), span(40, 47)...), 0.3, 0.3},
		"more than k, right ones at the end": {append(span(40, 50), span(0, 10)...), 0, 0},
		"too few":                            {span(0, 2), 0.2, 0.2},
	} {
		got := s.Score(0, test.rows)
		require.Equal(t, test.strict, got.Strict, name)
		require.Equal(t, test.tieAware, got.TieAware, name)
		require.Equal(t, test.tieAware, got.Epsilon, name)
	}
	tolerant := NewScorer(p, a, 1e-6).Score(0, span(40, 50))
	require.Equal(t, 0.0, tolerant.TieAware)
	require.Equal(t, 0.7, tolerant.Epsilon, "the three nearer ones are not within the tolerance")
}

// A band that the truth does not list, because it is too long, is told by the rows themselves.
func TestRowsBeyondTheListAreMeasured(t *testing.T) {
	p, truth := scored(t, "vector:4:clustered:2:0", query.Cosine, 5000, 10)
	a := &truth.Answers[0]
	require.Greater(t, a.Band[0], int64(2000))
	listed := map[uint64]bool{}
	for _, one := range a.Nearest[0] {
		listed[one.Row] = true
	}
	s := NewScorer(p, a, 0)
	var inside, outside []int64
	var row corpus.Row
	for index := range p.Rows {
		p.Corpus.Row(&row, index, 0)
		d := Distance(p.Metric, p.Queries[0], row.Columns[2].Floats())
		if d > a.Nearest[0][9].Distance {
			outside = append(outside, int64(index))
		} else if !listed[index] {
			inside = append(inside, int64(index))
		}
	}
	require.Equal(t, Score{TieAware: 1, Epsilon: 1, Rounded: 1, Returned: 10}, s.Score(0, inside[len(inside)-10:]))
	require.Equal(t, Score{Returned: 10}, s.Score(0, outside[:10]))
}

// Keys that are no rows, rows that are not there and rows that do not match are no hits.
func TestForeignRowsAreNeverCredited(t *testing.T) {
	p, truth := scored(t, "vector:8:clustered:3", query.Cosine, 1000, 5, nil, number(query.Gte, 50))
	filtered := &truth.Answers[1]
	s := NewScorer(p, filtered, 0.5)
	matching := map[int64]bool{}
	var row corpus.Row
	var wrong []int64
	for index := range p.Rows {
		p.Corpus.Row(&row, index, 0)
		if matching[int64(index)] = query.Matches(p.Filters[1], &row); !matching[int64(index)] {
			wrong = append(wrong, int64(index))
		}
	}
	require.Equal(t, Score{Returned: 5, Foreign: 5}, s.Score(0, wrong[:5]))
	require.Equal(t, Score{Returned: 4, Foreign: 4}, s.Score(0, []int64{-1, -1, 1000, 1 << 40}))
	right := nearestRows(filtered, 0, 2)
	require.Equal(t, Score{Strict: 0.4, TieAware: 0.4, Epsilon: 0.4, Rounded: 0.4, Returned: 4, Foreign: 2}, s.Score(0, []int64{right[0], -1, right[1], wrong[0]}))
}

// The denominator is what there is to find.
func TestFewerMatchesThanK(t *testing.T) {
	p, truth := scored(t, "vector:8", query.Cosine, 30, 10, number(query.Lt, 8), number(query.Lt, 0))
	few := &truth.Answers[0]
	require.Less(t, few.Matches, int64(10))
	require.Positive(t, few.Matches)
	got := NewScorer(p, few, 0).Score(0, nearestRows(few, 0, int(few.Matches)))
	require.Equal(t, 1.0, got.Strict)
	require.Equal(t, Score{Unscored: true}, NewScorer(p, &truth.Answers[1], 0).Score(0, nil), "nothing matches, so nothing can be said")
}

func TestRowsOutOfOrder(t *testing.T) {
	for _, m := range query.Metrics {
		p, truth := scored(t, "vector:8", m, 1000, 5)
		s := NewScorer(p, &truth.Answers[0], 0)
		rows := nearestRows(&truth.Answers[0], 1, 5)
		rows[0], rows[4] = rows[4], rows[0]
		got := s.Score(1, rows)
		require.Equal(t, 1.0, got.Strict)
		require.Equal(t, 2, got.OrderErrors, "%s: the second is nearer than the first, the last than the one before", m)
	}
}

// Swaps that single precision explains are no errors.
func TestRoundingIsNoOrderError(t *testing.T) {
	p, truth := scored(t, "vector:8", query.Cosine, 1000, 5)
	list := truth.Answers[0].Nearest[0]
	list[1].Distance = list[0].Distance + 1e-8
	rows := nearestRows(&truth.Answers[0], 0, 5)
	rows[0], rows[1] = rows[1], rows[0]
	require.Equal(t, 0, NewScorer(p, &truth.Answers[0], 0).Score(0, rows).OrderErrors)
}

// A query without a key is counted, and never as a success.
func TestWithoutAKeyNothingIsScored(t *testing.T) {
	p, truth := scored(t, "vector:8", query.Cosine, 100, 5)
	require.Equal(t, Score{Returned: 2, Duplicates: 1, Unscored: true}, NewScorer(p, nil, 0).Score(0, []int64{1, 1}))
	require.Equal(t, Score{Returned: 1, Foreign: 1, Unscored: true}, NewScorer(p, &truth.Answers[0], 0).Score(20, []int64{100}))
	var s Summary
	s.Add(Score{Unscored: true, Strict: 1})
	require.Equal(t, int64(0), s.Scored())
	require.True(t, math.IsNaN(s.Strict.Mean()))
	require.True(t, math.IsNaN(s.Strict.Percentile(5)))
}

func TestTruthOfAnotherCorpusIsRefused(t *testing.T) {
	p, truth := scored(t, "vector:8", query.Cosine, 100, 5)
	require.NoError(t, truth.Of(p))
	p.Rows--
	require.ErrorContains(t, truth.Of(p), "other rows")
}

func TestSummary(t *testing.T) {
	var one, other, all Summary
	for i := range 100 {
		score := Score{Strict: float64(i/10) / 10, TieAware: 1, Epsilon: 1, Returned: 10, Duplicates: i % 2, Foreign: 1, OrderErrors: 2}
		if i < 3 {
			score = Score{}
		}
		if i == 50 {
			score.Unscored = true
		}
		all.Add(score)
		if i%3 == 0 {
			one.Add(score)
		} else {
			other.Add(score)
		}
	}
	require.Equal(t, int64(100), all.Answers)
	require.Equal(t, int64(99), all.Scored())
	require.Equal(t, int64(3), all.Empty)
	require.Equal(t, 0.03, all.EmptyShare())
	require.Equal(t, int64(49), all.Duplicates)
	require.Equal(t, int64(97), all.Foreign)
	require.Equal(t, int64(194), all.OrderErrors)
	require.Equal(t, 0.0, all.Strict.Min())
	require.Equal(t, 0.0, all.Strict.Percentile(5))
	require.Equal(t, 0.9, all.Strict.Percentile(100))
	require.InDelta(t, (45*10-5)/99.0/10, all.Strict.Mean(), 1e-12)
	require.Equal(t, 0.0, all.TieAware.Percentile(3))
	require.Equal(t, 1.0, all.TieAware.Percentile(5))
	require.Equal(t, 10.0, all.Returned.Percentile(50))
	require.Equal(t, 0.0, all.Returned.Min())
	other.Merge(&one)
	require.Equal(t, all, other)
	text, err := json.Marshal(&all)
	require.NoError(t, err)
	var back Summary
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, all, back)
}

// The nearest rank: of 200 recalls the fifth percentile is the tenth smallest.
func TestPercentileIsTheNearestRank(t *testing.T) {
	var d Distribution
	for i := range 200 {
		d.add(float64(i+1), 1)
	}
	require.Equal(t, 10.0, d.Percentile(5))
	require.Equal(t, 1.0, d.Percentile(0.5))
	require.Equal(t, 2.0, d.Percentile(0.51))
	require.Equal(t, 200.0, d.Percentile(100))
}

// Engines count in single precision, which cannot tell rows apart whose distances differ by less than it can hold: an exact search may return either.
func TestRowsThatRoundAlikeStandInForEachOther(t *testing.T) {
	p, truth := scored(t, "vector:16:clustered:5", query.Cosine, 2000, 10)
	answer := truth.Answers[0]
	list := slices.Clone(answer.Nearest[0])
	answer.Nearest = [][]Neighbour{list}
	returned := append(nearestRows(&answer, 0, 9), int64(list[10].Row)) // the eleventh in place of the tenth
	far := NewScorer(p, &answer, 0).Score(0, returned)
	require.Equal(t, 0.9, far.Rounded, "they differ by far more than rounding")
	list[10].Distance = list[9].Distance + 1e-9
	near := NewScorer(p, &answer, 0).Score(0, returned)
	require.Equal(t, 0.9, near.TieAware)
	require.Equal(t, 1.0, near.Rounded)
}
