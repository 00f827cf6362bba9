package measure

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
)

// Bounds of the warm-up before a leg: windows of so many searches; the rate has come to rest when the last window and the one four before it took the same
// time, but for so large a share.
const (
	warmWindow   = 25
	warmBack     = 4
	warmShare    = 0.9
	leastWarmCap = 500
)

// warmUp searches, as many at once as the leg has, until the rate has come to rest: a cold index takes several hundred times as long, and a connection's first
// searches longer than others. An exact search reads every row each time, so a few are enough.
func (j *searchJob) warmUp(ctx context.Context, d *result.Search) error {
	step := j.task.Step
	window, most := warmWindow, max(leastWarmCap, int(step.Samples/50))
	if j.search.Index == nil || j.search.Truth {
		window, most = 1, 2*warmBack
	}
	threads := max(step.Threads, 1)
	at := len(j.statements) * threads
	each := (window + at - 1) / at
	limit, began := time.Duration(j.session.setup.Spec.SearchWarmup), time.Now()
	var took []time.Duration // of each window
	settled := false
	for n := 0; n < max(most, (warmBack+1)*at) && !settled && time.Since(began) < limit; n += each * at {
		j.task.Say(fmt.Sprintf("warming up: %d searches", n))
		start := time.Now()
		group, searching := errgroup.WithContext(ctx)
		for worker := range at {
			group.Go(func() error { return j.warmWorker(searching, worker/threads, n+worker*each, each) })
		}
		if err := group.Wait(); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
		d.Warmup += int64(each * at)
		took = append(took, time.Since(start))
		if last := len(took) - 1; last >= warmBack {
			now, then := float64(took[last]), float64(took[last-warmBack])
			settled = min(now, then) >= warmShare*max(now, then)
		}
	}
	if d.Warmup > 0 {
		d.Settled = &settled
	}
	return nil
}

// warmWorker makes so many searches on one client, with query vectors from one on.
func (j *searchJob) warmWorker(ctx context.Context, client, from, searches int) error {
	searcher, err := j.session.searcher(j.clients[client])
	if err != nil {
		return err
	}
	var answer drivers.Answer
	vectors := j.known.problem.Queries
	for i := range searches {
		if err := j.session.searchOnce(ctx, searcher, j.statements[client], vectors[(from+i)%len(vectors)], &answer); err != nil {
			return err
		}
	}
	return nil
}
