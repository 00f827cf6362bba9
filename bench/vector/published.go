package vector

// Agreement is how the nearest rows that others have found agree with the exact answer.
type Agreement struct {
	Queries int // compared
	K       int // so many rows of each
	// Differing counts the queries whose rows are others than those of the exact answer, or come in another order, by more than ties and the rounding of
	// single precision explain; Rounding those that are others, but not by more.
	Differing, Rounding int
	// First is the first of the differing queries, and Recall the share of its K rows that are right.
	First  int
	Recall float64
}

// Agree compares what others have found among all rows with the exact answer: the first k rows for each query, k at most the problem's K. published
// returns the rows that they found for a query, the nearest first; -1 is what is no row.
func Agree(p Problem, answer *Answer, k int, published func(q int) []int64) Agreement {
	p.K = k
	scorer := NewScorer(p, answer, 0)
	a := Agreement{Queries: len(p.Queries), K: k}
	for q := range p.Queries {
		rows := published(q)
		switch score := scorer.Score(q, rows[:min(k, len(rows))]); {
		case score.Rounded < 1 || score.OrderErrors > 0:
			if a.Differing == 0 {
				a.First, a.Recall = q, score.Rounded
			}
			a.Differing++
		case score.TieAware < 1:
			a.Rounding++
		}
	}
	return a
}
