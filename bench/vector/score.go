package vector

import (
	"fmt"
	"math"
	"slices"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/vector/tile"
)

// Score is how good one answer of an engine is. The recalls are shares of min(K, rows that match), 0 to 1: of the rows returned first, K at most, a row
// counts once and only if it matches.
type Score struct {
	// Strict counts the rows of the exact answer, in which of equally near rows the first come first.
	Strict float64
	// TieAware lets a row that is exactly as near as the K-th stand in for another one. It is never less than Strict.
	TieAware float64
	// Epsilon does so for rows that are as near as the K-th but for the tolerance. It is never less than TieAware.
	Epsilon float64

	Returned   int // rows, whatever they are
	Duplicates int // of rows returned before
	Foreign    int // rows that are not there, or do not match
	// OrderErrors counts rows that are nearer than the one before by more than the rounding of single precision can explain.
	OrderErrors int
	// Unscored tells that there is nothing to compare with, so the recalls mean nothing.
	Unscored bool
}

// Scorer compares answers with the exact one. It belongs to one goroutine.
type Scorer struct {
	p       Problem
	answer  *Answer
	filter  *query.Predicate
	epsilon float64

	column query.Column
	mask   corpus.Mask // the vector and what the filter looks at
	row    corpus.Row
	keys   map[int]*key
	seen   map[int64]bool
}

// key is what the exact answer to one query comes to.
type key struct {
	n         int       // what a recall is a share of
	last      Neighbour // the n-th
	nearer    int       // rows nearer than it
	low, high float64   // what is as near as it but for the tolerance
	before    int       // rows nearer than low
	distances map[uint64]float64
}

// NewScorer returns a scorer for answers to the problem's queries, given the exact answer of one of its filters; nil leaves all unscored. The
// tolerance is relative to the distance of the K-th row. It panics when the answer is of a filter that the problem does not have.
func NewScorer(p Problem, answer *Answer, tieEpsilon float64) *Scorer {
	s := &Scorer{p: p, answer: answer, epsilon: tieEpsilon, keys: map[int]*key{}, seen: map[int64]bool{}}
	if answer == nil {
		return s
	}
	filters := p.filters()
	i := slices.IndexFunc(filters, func(f *query.Predicate) bool { return f.String() == answer.Filter })
	if i < 0 {
		panic(fmt.Sprintf("vector: the problem has no filter %s", answer.Filter))
	}
	s.filter = filters[i]
	var err error
	if s.column, err = vectorColumn(p.Corpus.Template(), p.Field); err != nil {
		panic(fmt.Sprintf("vector: a truth without its problem: %v", err))
	}
	places := [][]int{s.column.At}
	if s.filter != nil {
		places = appendColumns(places, s.filter)
	}
	s.mask = p.Corpus.Template().Mask(places...)
	return s
}

// Score compares what was returned for query number q, in the order returned. -1 is a row with a key that is no row's.
func (s *Scorer) Score(q int, rows []int64) Score {
	score := Score{Returned: len(rows)}
	k := s.key(q)
	clear(s.seen)
	var strict, nearer, tied, before, close int
	previous := math.Inf(-1)
	for i, row := range rows {
		if s.seen[row] && row >= 0 {
			score.Duplicates++
			continue
		}
		s.seen[row] = true
		if row < 0 || uint64(row) >= s.p.Rows {
			score.Foreign++
			continue
		}
		if k == nil {
			continue
		}
		distance, slack, matches := s.look(q, k, uint64(row))
		if !matches {
			score.Foreign++
			continue
		}
		if distance < previous-slack {
			score.OrderErrors++
		}
		previous = distance
		if i >= s.p.K {
			continue
		}
		if compare(Neighbour{uint64(row), distance}, k.last) <= 0 {
			strict++
		}
		switch {
		case distance < k.last.Distance:
			nearer++
		case distance == k.last.Distance:
			tied++
		}
		switch {
		case distance < k.low:
			before++
		case distance <= k.high:
			close++
		}
	}
	if k == nil {
		score.Unscored = true
		return score
	}
	share := func(hits int) float64 { return float64(hits) / float64(k.n) }
	score.Strict = share(strict)
	score.TieAware = share(nearer + min(tied, k.n-k.nearer))
	score.Epsilon = share(before + min(close, k.n-k.before))
	return score
}

// key returns the key of a query, nil if it has none.
func (s *Scorer) key(q int) *key {
	if k, known := s.keys[q]; known {
		return k
	}
	if s.answer == nil || q < 0 || q >= len(s.answer.Nearest) || len(s.answer.Nearest[q]) == 0 {
		return nil
	}
	list := s.answer.Nearest[q]
	n := int(min(int64(s.p.K), s.answer.Matches, int64(len(list))))
	last := list[n-1]
	width := s.epsilon * max(math.Abs(last.Distance), 0x1p-52)
	k := &key{n: n, last: last, low: last.Distance - width, high: last.Distance + width, distances: make(map[uint64]float64, len(list))}
	for i, one := range list {
		k.distances[one.Row] = one.Distance
		if i < n && one.Distance < last.Distance {
			k.nearer++
		}
		if i < n && one.Distance < k.low {
			k.before++
		}
	}
	s.keys[q] = k
	return k
}

// look tells how far a row is from a query, by how much single precision may get that wrong, and whether the filter finds the row.
func (s *Scorer) look(q int, k *key, row uint64) (distance, slack float64, matches bool) {
	vector := s.p.Queries[q]
	distance, known := k.distances[row]
	length := 0.0 // of the product of the vectors' lengths, for the one metric whose slack needs it
	if !known || s.p.Metric == query.InnerProduct {
		s.p.Corpus.Columns(&s.row, row, s.p.Version, s.mask)
		if !query.Matches(s.filter, &s.row) {
			return 0, 0, false
		}
		mine := at(&s.row, s.column.At).Floats()
		distance = Distance(s.p.Metric, mine, vector)
		length = math.Sqrt(squares(mine) * squares(vector))
	}
	switch s.p.Metric {
	case query.Cosine:
		slack = 1
	case query.InnerProduct:
		slack = length
	default:
		slack = distance
	}
	return distance, slack*tile.ErrorBound(len(vector)) + s.epsilon*math.Abs(distance), true
}
