package vector

import "fmt"

// Neighbour is a row and how far it is from a query.
type Neighbour struct {
	Row      uint64
	Distance float64
}

// compare orders neighbours: the nearest first, of equally near ones the first row.
func compare(a, b Neighbour) int {
	switch {
	case a.Distance < b.Distance:
		return -1
	case a.Distance > b.Distance:
		return 1
	case a.Row < b.Row:
		return -1
	case a.Row > b.Row:
		return 1
	}
	return 0
}

// Answer is what one filter leaves.
type Answer struct {
	// Filter is the filter's text, query.Predicate.String.
	Filter string
	// Matches is how many rows the filter finds, counted.
	Matches int64
	// Nearest holds, per query, the nearest rows that match, the nearest first and of equally near ones the first row first: at least min(2·K, Matches) of
	// them, and beyond these those as near as the K-th, bandLimit at most.
	Nearest [][]Neighbour
	// Band is, per query, how many of the matching rows are exactly as near as the K-th (or the last, when fewer match): listed or not.
	Band []int64
}

// Truth is the exact answer of a Problem.
type Truth struct {
	Digest  string // of the problem
	K       int
	Rows    uint64
	Answers []Answer // one per filter, in order
}

// Of tells whether the truth is that of the problem. The error says that it is of another.
func (t *Truth) Of(p Problem) error {
	if digest := p.Digest(); t.Digest != digest {
		return fmt.Errorf("the exact answers are of another corpus, other rows or other queries: their digest is %.12s, wanted is %.12s", t.Digest, digest)
	}
	return nil
}

// Selectivity returns the share of the rows that filter number i finds.
func (t *Truth) Selectivity(i int) float64 { return float64(t.Answers[i].Matches) / float64(t.Rows) }
