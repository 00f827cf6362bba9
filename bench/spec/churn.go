package spec

import (
	"math"
	"slices"
)

// Churn is what an index goes through between two times of the same searches: in each round a share of the rows is deleted, and then the same rows are inserted
// again. So the rows are the same before and after it, and so is what is nearest.
type Churn struct {
	Share  float64 `json:"share"` // of the rows, more than 0 and less than 1
	Rounds int     `json:"rounds"`
}

// Churned is the word in the ids of the legs that search after churn.
const Churned = "churned"

// mostChurnRounds bounds the legs that churn makes: two for each round.
const mostChurnRounds = 100

// Rows returns how many of so many rows each round replaces: at least one, and never all.
func (c Churn) Rows(samples int64) int64 {
	return min(max(int64(math.Round(c.Share*float64(samples))), 1), samples-1)
}

// First returns the first row that a round, counted from 1, replaces. Rounds go through the rows in their order, as the oldest leave first, and begin again
// where fewer are left than a round replaces.
func (c Churn) First(round int, samples int64) int64 {
	n := c.Rows(samples)
	return int64(round-1) % (samples / n) * n
}

// churn takes what the index goes through before it is searched again.
func (b *builder) churn(s *Search, asked *VectorQuery, place string) {
	if asked.Churn == nil {
		if asked.ChurnRounds != nil {
			b.fileProblem(place+".churn_rounds", "there is no churn: give churn, the share of the rows that a round replaces")
		}
		return
	}
	churn := Churn{Share: *asked.Churn, Rounds: 1}
	if !(churn.Share > 0 && churn.Share < 1) {
		b.fileProblem(place+".churn", "is the share of the rows that are deleted and inserted again, more than 0 and less than 1, is %g", churn.Share)
	}
	if asked.ChurnRounds != nil {
		churn.Rounds = int(*asked.ChurnRounds)
		if *asked.ChurnRounds < 1 || *asked.ChurnRounds > mostChurnRounds {
			b.fileProblem(place+".churn_rounds", "must be from 1 to %d, is %d", mostChurnRounds, *asked.ChurnRounds)
		}
	}
	switch {
	case s.Index == nil:
		b.fileProblem(place+".churn", "wears an index, and an exact search has none")
	case len(s.Budgets) == 0:
		b.fileProblem(place+".churn", "the legs after it have the budgets that are given, and there is none beside recall_targets, which are looked for before it alone")
	case !b.bad["samples"] && b.Samples == 1:
		b.fileProblem(place+".churn", "a run of one row (--samples) has none to leave")
	}
	if slices.ContainsFunc(s.Filters, func(f Filter) bool { return f.Word == Churned }) {
		b.fileProblem(place+".filters", "%q is the name of the legs after churn: give the filter another", Churned)
	}
	s.Churn = &churn
}
