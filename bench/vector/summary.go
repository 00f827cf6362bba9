package vector

import (
	"math"
	"slices"
)

// Summary is how good the answers of a leg are. The zero Summary is of no answers. It does not depend on the order in which scores are added.
type Summary struct {
	// Strict, TieAware and Epsilon are how often which recall came up, among the scored answers.
	Strict   Distribution `json:"strict,omitempty"`
	TieAware Distribution `json:"tieAware,omitempty"`
	Epsilon  Distribution `json:"epsilon,omitempty"`
	// Returned is how often how many rows came, among all answers.
	Returned    Distribution `json:"returned,omitempty"`
	Answers     int64        `json:"answers"`
	Unscored    int64        `json:"unscored,omitempty"`
	Empty       int64        `json:"empty,omitempty"` // answers without a row
	Duplicates  int64        `json:"duplicates,omitempty"`
	Foreign     int64        `json:"foreign,omitempty"`
	OrderErrors int64        `json:"orderErrors,omitempty"`
}

// Add adds the score of one answer.
func (s *Summary) Add(score Score) {
	s.Answers++
	s.Returned.add(float64(score.Returned), 1)
	if score.Returned == 0 {
		s.Empty++
	}
	s.Duplicates += int64(score.Duplicates)
	s.Foreign += int64(score.Foreign)
	s.OrderErrors += int64(score.OrderErrors)
	if score.Unscored {
		s.Unscored++
		return
	}
	s.Strict.add(score.Strict, 1)
	s.TieAware.add(score.TieAware, 1)
	s.Epsilon.add(score.Epsilon, 1)
}

// Merge adds another summary.
func (s *Summary) Merge(other *Summary) {
	s.Strict.merge(other.Strict)
	s.TieAware.merge(other.TieAware)
	s.Epsilon.merge(other.Epsilon)
	s.Returned.merge(other.Returned)
	s.Answers += other.Answers
	s.Unscored += other.Unscored
	s.Empty += other.Empty
	s.Duplicates += other.Duplicates
	s.Foreign += other.Foreign
	s.OrderErrors += other.OrderErrors
}

// Scored returns how many answers have a score.
func (s *Summary) Scored() int64 { return s.Answers - s.Unscored }

// EmptyShare returns the share of the answers that have no row; NaN of none.
func (s *Summary) EmptyShare() float64 { return float64(s.Empty) / float64(s.Answers) }

// Distribution is how often which value came up, the smallest value first.
type Distribution []Count

// Count is how often a value came up.
type Count struct {
	Value float64 `json:"value"`
	Count int64   `json:"count"`
}

func (d *Distribution) add(value float64, count int64) {
	i, found := slices.BinarySearchFunc(*d, value, func(c Count, v float64) int {
		switch {
		case c.Value < v:
			return -1
		case c.Value > v:
			return 1
		}
		return 0
	})
	if found {
		(*d)[i].Count += count
	} else {
		*d = slices.Insert(*d, i, Count{value, count})
	}
}

func (d *Distribution) merge(other Distribution) {
	for _, c := range other {
		d.add(c.Value, c.Count)
	}
}

// Total returns how many values there are.
func (d Distribution) Total() (n int64) {
	for _, c := range d {
		n += c.Count
	}
	return n
}

// Mean returns the mean; NaN of no values.
func (d Distribution) Mean() float64 {
	sum := 0.0
	for _, c := range d {
		sum += float64(c.Value * float64(c.Count))
	}
	return sum / float64(d.Total())
}

// Min returns the least value; NaN of no values.
func (d Distribution) Min() float64 { return d.Percentile(0) }

// Percentile returns the value at the nearest rank: the least that at least p of 100 values do not exceed, for p = 0 the least of all; NaN of no values.
func (d Distribution) Percentile(p float64) float64 {
	rank := max(int64(math.Ceil(p/100*float64(d.Total()))), 1)
	for _, c := range d {
		if rank -= c.Count; rank <= 0 {
			return c.Value
		}
	}
	return math.NaN()
}
