package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/vector"
	"github.com/durabench/durabench/drivers"
)

// How many exact searches prove that an engine means by a metric and a filter what the exact neighbours do: the most, and how long they may go on when they
// take long, but never fewer than the least.
const (
	mostProofs  = 20
	leastProofs = 3
	proofTime   = 30 * time.Second
)

// proof is what a few exact searches of the engine have shown.
type proof struct {
	told    string
	refused *refusal
}

// proveExact makes sure that the engine's own exact search finds the exact neighbours, before anything is measured of an index. It is done once for
// each metric and filter, and once more after churn.
func (j *searchJob) proveExact(ctx context.Context) (told string, refused *refusal, err error) {
	s := j.session
	exact := *j.search
	exact.Index, exact.Budget, exact.Iterative = nil, 0, ""
	if index := j.search.Index; index.Vector.Strategy == query.VectorSet {
		exact.Index, exact.Truth = index, true
	}
	key := fmt.Sprintf("%s %s %v %v %s", exact.Field, exact.Metric, exact.Index != nil, j.task.Step.Search.Churned != nil, exact.Where)
	if known, ok := s.proofs[key]; ok {
		return known.told, known.refused, nil
	}
	found, err := j.askExact(ctx, &exact)
	if err != nil {
		return "", nil, err
	}
	if s.proofs == nil {
		s.proofs = map[string]proof{}
	}
	s.proofs[key] = found
	return found.told, found.refused, nil
}

// askExact runs exact searches and scores them.
func (j *searchJob) askExact(ctx context.Context, exact *query.Search) (proof, error) {
	s := j.session
	searcher, err := s.searcher(j.clients[0])
	if err != nil {
		return proof{}, err
	}
	var unsupported drivers.Unsupported
	if err := searcher.CanSearch(exact); errors.As(err, &unsupported) {
		return proof{told: "the engine has no exact search to compare with: " + unsupported.Why}, nil
	} else if err != nil {
		return proof{}, err
	}
	statement, err := searcher.PrepareSearch(ctx, exact)
	if err != nil {
		return proof{}, fmt.Errorf("prepare an exact search: %w", err)
	}
	scorer, queries, began := j.scorer(), j.known.problem.Queries, time.Now()
	var answer drivers.Answer
	asked := 0
	for ; asked < min(mostProofs, len(queries)) && (asked < leastProofs || time.Since(began) < proofTime); asked++ {
		j.task.Say(fmt.Sprintf("comparing exact searches with the exact neighbours: %d of %d", asked+1, mostProofs))
		if err := s.searchOnce(ctx, searcher, statement, queries[asked], &answer); err != nil {
			return proof{}, fmt.Errorf("an exact search: %w", err)
		}
		rows, err := s.decodeFound(searcher, statement, &answer, nil)
		if err != nil {
			return proof{}, err
		}
		score := scorer.Score(asked, rows)
		if score.Rounded < 1 || score.Foreign > 0 {
			return proof{refused: &refusal{
				verdict: result.Invalid, measured: untimed(began),
				why: fmt.Sprintf("the engine's own exact search is wrong, so its index cannot be judged: query %d has a recall of %.3f: it found the rows %v, the nearest are %v",
					asked, score.Rounded, rows, rowsOfNearest(j.answer, asked, j.search.K)),
			}}, nil
		}
	}
	return proof{told: fmt.Sprintf("%d exact searches of the engine found the exact neighbours", asked)}, nil
}

// rowsOfNearest are the rows of a query's exact neighbours.
func rowsOfNearest(answer *vector.Answer, q, k int) []uint64 {
	var rows []uint64
	for _, one := range answer.Nearest[q][:min(k, len(answer.Nearest[q]))] {
		rows = append(rows, one.Row)
	}
	return rows
}
