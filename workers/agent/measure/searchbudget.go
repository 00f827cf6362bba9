package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/vector"
	"github.com/durabench/durabench/drivers"
)

// largestBudget is how far a budget that reaches a recall is looked for, as a multiple of K.
const largestBudget = 512

// findBudget finds the smallest budget whose answers to all query vectors have the recall that was asked for: by doubling it until they have, and halving the
// distance then.
func (j *searchJob) findBudget(ctx context.Context) (*refusal, error) {
	target, first := j.task.Step.Search.Target, j.search.Budget
	low, best := first-1, 0.0 // low is the largest budget that does not reach it
	high, top := 0, 0         // the smallest that does, and the smallest that the engine does not take; 0 when there is none yet
	for budget := first; ; {
		search := *j.search
		search.Budget = budget
		recall, err := j.recallAt(ctx, &search)
		var unsupported drivers.Unsupported
		switch {
		case errors.As(err, &unsupported) && budget > first:
			top = budget
		case err != nil:
			return nil, err
		case recall >= target:
			high = budget
		default:
			low = budget
		}
		best = max(best, recall)
		limit := cmp.Or(high, top)
		if limit > 0 && limit-low <= 1 || limit == 0 && low >= largestBudget*j.search.K {
			break
		}
		if budget = 2 * low; limit > 0 {
			budget = low + (limit-low)/2
		}
	}
	if high == 0 {
		return &refusal{verdict: result.Unsupported, why: fmt.Sprintf("no budget up to %d reaches a recall of %g: the best was %.4f", low, target, best)}, nil
	}
	j.search.Budget = high
	return nil, nil
}

// recallAt asks for the neighbours of all query vectors and returns the mean recall.
func (j *searchJob) recallAt(ctx context.Context, search *query.Search) (float64, error) {
	s := j.session
	searcher, err := s.searcher(j.clients[0])
	if err != nil {
		return 0, err
	}
	if err := searcher.CanSearch(search); err != nil {
		return 0, err
	}
	statement, err := searcher.PrepareSearch(ctx, search)
	if err != nil {
		return 0, fmt.Errorf("prepare search %s with budget %d: %w", search.ID, search.Budget, err)
	}
	scorer := j.scorer()
	var summary vector.Summary
	var answer drivers.Answer
	for q, query := range j.known.problem.Queries {
		if q%25 == 0 {
			j.task.Say(fmt.Sprintf("looking for the budget: %d, %d of %d queries", search.Budget, q, len(j.known.problem.Queries)))
		}
		if err := s.searchOnce(ctx, searcher, statement, query, &answer); err != nil {
			return 0, fmt.Errorf("search %s with budget %d: %w", search.ID, search.Budget, err)
		}
		rows, err := s.decodeFound(searcher, statement, &answer, nil)
		if err != nil {
			return 0, err
		}
		summary.Add(scorer.Score(q, rows))
	}
	return summary.TieAware.Mean(), nil
}
