package measure

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/durabench/durabench/bench/access"
	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// mix runs operations of several kinds, drawn by their weights, each on a row drawn by the leg's distribution from those that are there.
func (s *session) mix(ctx context.Context, task agent.Task) agent.Outcome {
	return s.leg(ctx, task, s.mixWork(task))
}

// mixWork is what a mixed leg does.
func (s *session) mixWork(task agent.Task) work {
	j := &mixJob{session: s, task: task, random: corpus.NewRandom(s.setup.Spec.Seed, "mix")}
	answers := false
	for _, weight := range task.Step.Mix.Weights {
		j.kinds = append(j.kinds, string(weight.Operation))
		j.total += weight.Weight
		answers = answers || weight.Operation != plan.Update && weight.Operation != plan.Insert
	}
	return work{prepare: j.prepare, worker: j.worker, kinds: j.kinds, report: j.report, verify: j.verify, checksLater: !answers}
}

// mixJob is the work of a mixed leg.
type mixJob struct {
	session *session
	task    agent.Task
	kinds   []string
	total   float64 // of the weights
	random  corpus.Random
	source  *access.Source
	stirred *stirred
	checks  *checks
	touched *touched // rows that were read or written
	ranges  *rangeChecks
	slots   int

	lock    sync.Mutex // workers are made several at a time
	workers []*mixWorker
}

// prepare makes sure that the engine can do every kind, and readies what the operations are drawn from.
func (j *mixJob) prepare(ctx context.Context, leg *result.Leg) (*refusal, error) {
	s, step := j.session, j.task.Step
	leg.Mix = describeMix(step.Mix)
	client := s.database.clients[0]
	writes, modifies, ranges := false, false, int64(0)
	for _, weight := range step.Mix.Weights {
		switch weight.Operation {
		case plan.Read:
		case plan.Update, plan.Insert:
			writes = true
		case plan.Modify:
			writes, modifies = true, true
			if _, ok := client.(drivers.Modifier); !ok {
				return nil, drivers.Unsupported{Why: s.engine.Title + " cannot read and replace a row in one transaction here"}
			}
		case plan.ScanRange:
			ranges = max(ranges, weight.Length)
			if _, ok := client.(drivers.Ranger); !ok {
				return nil, drivers.Unsupported{Why: s.engine.Title + " does not read rows in the order of their keys"}
			}
		default:
			return nil, &problem{agent.ErrorSpec, fmt.Errorf("a mix has no operation %q", weight.Operation)}
		}
	}
	rows := uint64(s.rowsOf(step))
	d := step.Mix.Distribution
	var err error
	j.source, err = access.New(access.Distribution{Name: d.Name, Theta: d.Theta, HotRows: d.HotRows, HotOperations: d.HotOperations}, rows, s.setup.Spec.Seed)
	if err != nil {
		return nil, &problem{agent.ErrorSpec, err}
	}
	j.stirred, j.touched, j.checks = newStirred(rows, step.Version), newTouched(rows), newChecks(s.corpus)
	if writes {
		s.pairs, s.stirred = nil, j.stirred
	}
	workers := step.Clients * step.Threads
	j.slots = keySlots(workers)
	if writes {
		j.slots = s.rowSlots(workers)
	}
	if ranges > 0 {
		j.ranges = newRangeChecks(j.checks, j.stirred)
	}
	if modifies && workers > 1 && s.verification() != load.VerifyNone {
		return j.tryModifications(ctx, leg)
	}
	return nil, nil
}

// describeMix tells the result what is drawn.
func describeMix(mix *plan.Mix) *result.Mix {
	d := &result.Mix{Distribution: result.Distribution(mix.Distribution)}
	for _, weight := range mix.Weights {
		d.Weights = append(d.Weights, result.Weight{Operation: string(weight.Operation), Weight: weight.Weight, Length: weight.Length})
	}
	return d
}

// worker makes the worker of one client's thread.
func (j *mixJob) worker(client int) load.Worker {
	w := &mixWorker{job: j, client: j.session.database.clients[client], drawer: j.source.Drawer(), slots: make([]mixSlot, j.slots)}
	w.modifier, _ = w.client.(drivers.Modifier)
	w.ranger, _ = w.client.(drivers.Ranger)
	j.lock.Lock()
	j.workers = append(j.workers, w)
	j.lock.Unlock()
	if j.ranges != nil {
		return &rangingWorker{w}
	}
	return w
}

// draw chooses the kind of operation n, as its place among the weights.
func (j *mixJob) draw(n uint64) int {
	weights := j.task.Step.Mix.Weights
	at := j.random.Unit(n) * j.total
	for i := range weights {
		if at -= weights[i].Weight; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// report counts the rows that were touched.
func (j *mixJob) report(measured *load.Result, leg *result.Leg) {
	if measured.Stopped == load.StoppedStuck {
		return // some worker may still run
	}
	var rows, bytes int64
	for _, w := range j.workers {
		w.settle()
		rows, bytes = rows+w.rows, bytes+w.bytes
	}
	n := j.touched.count()
	leg.Measured.Touched = &n
	if j.ranges != nil {
		leg.Measured.Rows, leg.Measured.Bytes = &rows, &bytes
	}
}

// verify counts the rows, reads written ones back and looks for rows that ranges have left out.
func (j *mixJob) verify(ctx context.Context, leg *result.Leg) error {
	s, m := j.session, leg.Measured
	added, uncertain := j.stirred.addedRows()
	if j.task.Step.Effect != plan.ReadOnly {
		j.task.Say("counting the rows")
		counted, err := s.database.count(ctx)
		if err != nil {
			return err
		}
		if counted != nil {
			m.RowsAfter = counted
			most := int64(j.stirred.rows) + int64(len(added)) + uncertain
			m.RowsWanted = wantedAfter(most, *counted, most-uncertain, most)
		}
	}
	verify := s.verification()
	if verify == load.VerifyNone {
		return nil
	}
	if j.ranges != nil {
		j.task.Say("looking for rows that were left out")
		j.ranges.sweep().into(m)
	}
	if j.task.Step.Effect == plan.ReadOnly {
		return nil
	}
	// Rows that were not written must be as they were: some of them are read as well.
	written := slices.Concat(j.stirred.updated(), added)
	slices.Sort(written)
	j.task.Say("reading written rows back")
	for _, rows := range [][]uint64{written, spread(j.stirred.rows, verify)} {
		found, err := s.readSpots(ctx, rows, verify, func(r *reader, index uint64) *load.Mismatch {
			return j.checks.within(r.client, &r.record, index, j.stirred.now(index))
		})
		if err != nil {
			return fmt.Errorf("read written rows back: %w", err)
		}
		found.into(m)
	}
	return nil
}

// spread returns rows evenly spread over all, or all of them.
func spread(rows uint64, verify load.Verify) []uint64 {
	n := rows
	if verify == load.VerifySample {
		n = min(rows, sampledRows)
	}
	picked := make([]uint64, n)
	for i := range picked {
		picked[i] = uint64(i) * rows / n
	}
	return picked
}
