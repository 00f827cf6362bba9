package measure

import (
	"cmp"
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
// each metric and filter.
func (j *searchJob) proveExact(ctx context.Context) (told string, refused *refusal, err error) {
	s := j.session
	exact := *j.search
	exact.Index, exact.Budget, exact.Iterative = nil, 0, ""
	if index := j.search.Index; index.Vector.Strategy == query.VectorSet {
		exact.Index, exact.Truth = index, true
	}
	key := fmt.Sprintf("%s %s %v %s", exact.Field, exact.Metric, exact.Index != nil, exact.Where)
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
		if err := searcher.Search(ctx, statement, queries[asked], &answer); err != nil {
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
		if err := searcher.Search(ctx, statement, query, &answer); err != nil {
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

// Bounds of the warm-up before a leg: windows of so many searches; the rate has come to rest when the last window and the one four before it took the same
// time, but for so large a share.
const (
	warmWindow   = 25
	warmBack     = 4
	warmShare    = 0.9
	leastWarmCap = 500
)

// warmUp searches until the rate has come to rest: a cold index takes several hundred times as long. An exact search reads every row each time, so a
// few are enough.
func (j *searchJob) warmUp(ctx context.Context, d *result.Search) error {
	s := j.session
	searcher, err := s.searcher(j.clients[0])
	if err != nil {
		return err
	}
	window, most := warmWindow, max(leastWarmCap, int(j.task.Step.Samples/50))
	if j.search.Index == nil || j.search.Truth {
		window, most = 1, 2*warmBack
	}
	limit, began := time.Duration(s.setup.Spec.SearchWarmup), time.Now()
	var took []time.Duration // of each window
	var answer drivers.Answer
	settled := false
	for n := 0; n < most && !settled && time.Since(began) < limit; n += window {
		j.task.Say(fmt.Sprintf("warming up: %d searches", n))
		start := time.Now()
		for i := range window {
			vectors := j.known.problem.Queries
			if err := searcher.Search(ctx, j.statements[0], vectors[(n+i)%len(vectors)], &answer); err != nil {
				return fmt.Errorf("warm up: %w", err)
			}
			d.Warmup++
		}
		took = append(took, time.Since(start))
		if last := len(took) - 1; last >= warmBack {
			now, then := float64(took[last]), float64(took[last-warmBack])
			settled = min(now, then) >= warmShare*max(now, then)
		}
	}
	d.Settled = &settled
	return nil
}

// recallOf is what the result tells of scored answers, of searches for the k nearest of so many rows that match.
func recallOf(all *vector.Summary, k int, matches int64, epsilon bool) *result.Recall {
	r := &result.Recall{
		Scored: all.Scored(), Unscored: all.Unscored, Duplicates: all.Duplicates, Foreign: all.Foreign, OrderErrors: all.OrderErrors,
	}
	if all.Answers == 0 {
		return r
	}
	r.ReturnedMin, r.ReturnedP50 = int(all.Returned.Min()), int(all.Returned.Percentile(50))
	r.Empty = all.EmptyShare()
	var short int64
	for _, count := range all.Returned {
		if count.Value < float64(min(int64(k), matches)) {
			short += count.Count
		}
	}
	r.Short = float64(short) / float64(all.Answers)
	if r.Scored == 0 {
		return r
	}
	figures := func(d vector.Distribution) result.RecallFigures {
		return result.RecallFigures{Mean: d.Mean(), P5: d.Percentile(5), Min: d.Min()}
	}
	r.TieAware, r.Strict, r.Rounded = figures(all.TieAware), figures(all.Strict), figures(all.Rounded)
	if epsilon {
		r.Epsilon = new(figures(all.Epsilon))
	}
	return r
}
