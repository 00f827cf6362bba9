package measure

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
)

// A trial ends when as many modifications as this were made or as much time has passed, and is made by at most so many at once. Of an engine that loses
// some, two of a thousand were seen lost where few met (docs/engines.md).
const (
	trialModifications = 4000
	trialTime          = 5 * time.Second
	trialCallers       = 64
)

// tryModifications finds out, off the clock, whether the engine's transactions keep other writes from coming between: all modify one row at once, each
// with a version of its own. A version that two of them have replaced is an update that is lost, and a leg of such transactions is not what it is called.
func (j *mixJob) tryModifications(ctx context.Context, leg *result.Leg) (*refusal, error) {
	s, began := j.session, time.Now()
	j.task.Say("modifying one row from everywhere, to see whether all modifications are kept")
	callers := min(j.task.Step.Clients*j.task.Step.Threads, trialCallers)
	trial := &modifyTrial{job: j, row: j.stirred.rows / 2, until: began.Add(trialTime), replaced: make(map[uint32]int64)}
	s.trusted = false // until it is known what became of the row
	var work sync.WaitGroup
	for i := range callers {
		client := s.database.clients[i%len(s.database.clients)]
		work.Go(func() { trial.run(ctx, client, (trialModifications+callers-1)/callers) })
	}
	work.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("try modifications: %w", err)
	}
	s.trusted = true
	found := trial.result()
	leg.Mix.Trial = found
	if found.Lost == 0 {
		return nil, nil
	}
	return &refusal{
		verdict: result.Invalid, measured: untimed(began),
		why: fmt.Sprintf("modifications are lost: of %d that all workers made of one row at once before the leg, %d replaced a version that another one had replaced as well, "+
			"so the engine's transactions let other writes come between", found.Modifications, found.Lost),
	}, nil
}

// modifyTrial is the one row and what is known of its modifications.
type modifyTrial struct {
	job   *mixJob
	row   uint64
	until time.Time

	lock     sync.Mutex
	replaced map[uint32]int64 // how many have replaced each version
	failed   int64
}

// run makes the modifications of one caller. Why one fails is for the leg to tell.
func (t *modifyTrial) run(ctx context.Context, client drivers.Client, times int) {
	j := t.job
	c := j.session.corpus
	var buffer corpus.KeyBuffer
	var row, got corpus.Row
	var record drivers.Record
	key := c.Key(&buffer, t.row)
	for ; times > 0 && ctx.Err() == nil && time.Now().Before(t.until); times-- {
		c.Row(&row, t.row, j.stirred.begin(t.row))
		err := j.session.modifyOnce(ctx, client.(drivers.Modifier), key, &record, &row)
		j.stirred.end(t.row, err == nil)
		if err == nil {
			err = client.Decode(&record, &got)
		}
		t.took(err, &got)
	}
}

// took takes in what became of one modification.
func (t *modifyTrial) took(err error, old *corpus.Row) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if err != nil {
		t.failed++
		return
	}
	_, version, ok := t.job.checks.sealOf(old)
	if !ok { // no row of ours, which the leg will find as well
		t.failed++
		return
	}
	t.replaced[version]++
}

// result counts the modifications, and those that are lost.
func (t *modifyTrial) result() *result.Trial {
	r := &result.Trial{Failed: t.failed}
	for _, n := range t.replaced {
		r.Modifications += n
		r.Lost += n - 1
	}
	return r
}

// modifyOnce makes a modification that is not measured, within the time that an operation may take.
func (s *session) modifyOnce(ctx context.Context, client drivers.Modifier, key corpus.Key, record *drivers.Record, row *corpus.Row) error {
	ctx, cancel := s.bounded(ctx, 0)
	defer cancel()
	return client.Modify(ctx, key, record, row)
}
