package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// makersAtOnce is how many workers are made at the same time: one often opens a connection, and servers refuse a flood of them.
const makersAtOnce = 32

// unset is the origin of a leg that has not begun to measure.
const unset = int64(math.MinInt64)

// legRun is a leg while it runs.
type legRun struct {
	leg       Leg
	loops     []*loop
	share     *share                // of all operations, or of the warm-up's
	window    atomic.Pointer[share] // of the operations of a windowed leg, once it measures
	intervals *intervals
	failures  failures
	following failures // of following operations
	budget    budget

	pass, passFirst int64 // answers to pass before the next that is checked, and before the first

	operations       context.Context // parent of every operation's; outlives the caller's, so that running operations may end
	cancelOperations context.CancelFunc
	pacing           context.Context
	cancelPacing     context.CancelFunc

	ready    sync.WaitGroup
	release  chan struct{}
	base     time.Time    // of the release; written before it
	origin   atomic.Int64 // when measuring began, nanoseconds since the release
	backlog  []int64      // of an open loop, at the end of each second since then; the watch's own
	running  atomic.Int64
	allEnded chan struct{}

	stopped   atomic.Bool
	stopping  chan struct{}
	stopLock  sync.Mutex
	why       string
	stoppedAt int64
	faults    []error

	windowLock sync.Mutex
	raised     chan struct{} // of workers that wait; closed when more operations may start
}

// Run makes clients × threads workers with newWorker (several at a time), releases them together, runs the leg and returns what it
// measured.
//
// Result and error are apart. The result tells what the database did, and is there whenever the workers were released; failed
// operations, wrong answers and a spent error budget are in it (Failed, Wrong, Stopped, OverBudget) and are no error. An error tells that the
// leg was not carried out: it is refused by its own contradictions, newWorker's error, the context's cause when that was cancelled
// before all operations were done, a fault of the harness (a panic, an operation that could not be made ready), or a *StuckError. The
// result beside it holds what was measured until then and must not pass for the whole.
//
// When ctx is cancelled no worker starts another operation. Those running may end within 2 s; then their contexts are cancelled, and
// they fail with class "cancelled". The same happens when the leg ends early for another reason. When an operation does not return
// within 10 s of its context's end, because of the operation timeout or because the leg is being given up, the leg is stopped, its
// other workers end, and Run returns without the stuck ones, whose last millisecond before that operation is lost. Workers are not
// closed.
func Run(ctx context.Context, leg Leg, newWorker func(client, thread int) (Worker, error)) (*Result, error) {
	if err := leg.validate(); err != nil {
		return nil, fmt.Errorf("load leg: %w", err)
	}
	r := prepare(ctx, leg)
	defer r.cancelOperations()
	defer r.cancelPacing()
	if err := r.makeLoops(ctx, newWorker); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("load leg: cancelled while its workers were made: %w", context.Cause(ctx))
	}
	before := r.start()
	reported := make(chan struct{})
	final := make(chan Progress, 1)
	go func() {
		defer close(reported)
		r.report(final)
	}()
	r.supervise(ctx)
	result := r.result(before)
	final <- r.finalProgress(result)
	<-reported
	return result, r.err(ctx, result)
}

// prepare makes everything but the workers.
func prepare(ctx context.Context, leg Leg) *legRun {
	workers := leg.Clients * leg.Threads
	r := &legRun{
		leg:       leg,
		share:     newShare(&leg),
		intervals: newIntervals(min(2*runtime.GOMAXPROCS(0), workers), len(leg.Kinds)),
		budget:    budget{rate: leg.MaxErrorRate, planned: leg.Samples, workers: int64(workers)},
		loops:     make([]*loop, workers),
		release:   make(chan struct{}),
		allEnded:  make(chan struct{}),
		stopping:  make(chan struct{}),
	}
	r.origin.Store(unset)
	switch leg.Verify {
	case VerifyNone:
		r.pass, r.passFirst = math.MaxInt64, math.MaxInt64
	case VerifyAll:
	default:
		r.pass = sampleEvery
	}
	r.operations, r.cancelOperations = context.WithCancel(context.WithoutCancel(ctx))
	r.pacing, r.cancelPacing = context.WithCancel(ctx)
	return r
}

// makeLoops makes the workers, all of them unless it returns an error or ctx is cancelled.
func (r *legRun) makeLoops(ctx context.Context, newWorker func(client, thread int) (Worker, error)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(makersAtOnce)
	for i := range r.loops {
		if ctx.Err() != nil {
			break
		}
		client, thread := i/r.leg.Threads, i%r.leg.Threads
		group.Go(func() (err error) {
			defer func() {
				if cause := recover(); cause != nil {
					err = fmt.Errorf("panic: %v", cause)
				}
				if err != nil {
					err = fmt.Errorf("make the worker of client %d thread %d: %w", client, thread, err)
				}
			}()
			if ctx.Err() != nil {
				return nil // another one's error is the one to tell
			}
			worker, err := newWorker(client, thread)
			if err != nil {
				return err
			}
			if worker == nil {
				return errors.New("there is none")
			}
			r.loops[i], err = r.newLoop(worker, client, thread)
			return err
		})
	}
	return group.Wait()
}

func (r *legRun) newLoop(worker Worker, client, thread int) (*loop, error) {
	slots := worker.Slots()
	if slots < 1 {
		return nil, fmt.Errorf("it has %d slots, want at least 1", slots)
	}
	l := &loop{
		run: r, worker: worker, client: client, thread: thread, slots: min(slots, maxBlock), chunk: 1, unchecked: r.passFirst, share: r.share,
	}
	l.announcer, _ = worker.(Announcer)
	l.sorter, _ = worker.(Sorter)
	l.follower, _ = worker.(Follower)
	l.counter, _ = worker.(Counter)
	l.warmer = r.warmer(l.number())
	shards := r.intervals.shards
	l.rec.shard = &shards[l.number()%len(shards)]
	if l.sorter != nil {
		if len(r.leg.Kinds) == 0 {
			return nil, errors.New("its operations are of several kinds, and the leg names none")
		}
		l.rec.kinds = make([]uint8, bufferSize)
	}
	if r.leg.Pacing != nil { // each operation has a start of its own
		l.rec.response = make([]int64, bufferSize)
		l.rec.lateness = make([]int64, 0, bufferSize)
		l.rec.wakes = make([]int64, 0, bufferSize)
	}
	l.each = r.leg.Pacing != nil || l.follower != nil
	if l.each || l.announcer != nil {
		l.slots = 1
	}
	return l, nil
}

// start brings all workers to the barrier, collects garbage so that the leg begins with none, and releases them.
func (r *legRun) start() (before collected) {
	r.running.Store(int64(len(r.loops)))
	r.ready.Add(len(r.loops))
	for _, l := range r.loops {
		go l.start()
	}
	r.ready.Wait()
	runtime.GC()
	before = readGC()
	r.base = time.Now()
	if r.leg.Pacing != nil {
		r.leg.Pacing.Start(r.base)
	}
	close(r.release)
	return before
}

// now is nanoseconds since the release.
func (r *legRun) now() int64 { return int64(time.Since(r.base)) }

// index returns the row index of a position dealt out.
func (r *legRun) index(position int64) uint64 {
	if r.leg.windowed() {
		position %= r.leg.Keys
	}
	return r.leg.First + uint64(position)
}

// enough tells whether a windowed leg has its least number of operations.
func (r *legRun) enough() bool {
	if r.leg.MinSamples == 0 {
		return true
	}
	t := r.intervals.totals()
	return t.ok+t.failed >= r.leg.MinSamples
}

// classify names the class of an operation's error.
func (r *legRun) classify(err error) string {
	if r.leg.Classify != nil {
		if class := r.leg.Classify(err); class != "" {
			return class
		}
	}
	return ClassOther
}

// judge stops the leg when more operations have failed than may.
func (r *legRun) judge() {
	failed := r.judged() // before those begun: while this worker was not let run, more may have failed than it saw begin
	begun := r.share.claimed()
	if r.budget.rate > 0 {
		begun += r.intervals.totals().followed
	}
	if window := r.window.Load(); window != nil {
		begun += window.claimed()
	}
	if r.budget.spent(failed, begun) {
		r.stop(StoppedErrors, nil)
	}
}

// judged returns how many operations have failed that the error budget is about.
func (r *legRun) judged() int64 { return r.failures.judged.Load() + r.following.judged.Load() }

// fault stops the leg because of an error of ours.
func (r *legRun) fault(err error) { r.stop(StoppedFault, err) }

// stop tells all workers to start no more operations. The first reason is the leg's; later faults are kept beside it.
func (r *legRun) stop(why string, err error) {
	r.stopLock.Lock()
	defer r.stopLock.Unlock()
	if err != nil {
		r.faults = append(r.faults, err)
	}
	if r.why != "" {
		return
	}
	r.why, r.stoppedAt = why, r.now()
	r.stopped.Store(true)
	r.cancelPacing()
	close(r.stopping)
}

// supervise watches over the leg until all workers have ended or were given up.
func (r *legRun) supervise(ctx context.Context) {
	tick := time.NewTicker(watchTick(r.leg.OperationTimeout))
	defer tick.Stop()
	cancelled, stopping := ctx.Done(), r.stopping
	var finish <-chan time.Time
	var cutAt int64
	var closed second
	for {
		select {
		case <-r.allEnded:
			return
		case <-cancelled:
			cancelled = nil
			if r.running.Load() > 0 { // or it ended in the same moment
				r.stop(StoppedCancelled, nil)
			}
		case <-stopping:
			stopping = nil
			finish = time.After(finishGrace)
		case <-finish:
			r.cancelOperations()
			cutAt = r.now()
		case <-tick.C:
			now := r.now()
			if at := r.secondOf(r.watch(now)); at != closed {
				r.intervals.close(at)
				closed = at
			}
			r.watchBacklog(now)
			r.watchWindow(now)
			if r.past(now) {
				r.cancelPacing()
			}
			if r.abandon(now, cutAt) {
				return
			}
		}
	}
}

// past tells whether a windowed leg starts no more operations.
func (r *legRun) past(now int64) bool {
	origin := r.origin.Load()
	return r.leg.windowed() && origin != unset && now-origin >= int64(r.leg.Window) && r.enough()
}

// abandon stops a leg that has a stuck worker and, when all others have ended, gives up the stuck ones. It tells whether none is left.
func (r *legRun) abandon(now, cutAt int64) (none bool) {
	running, stuck := r.stuck(now, cutAt)
	if len(stuck) > 0 {
		r.stop(StoppedStuck, nil)
	}
	if len(stuck) < running {
		return false
	}
	none = true
	for _, l := range stuck {
		none = r.giveUp(l) && none
	}
	return none
}

// secondOf returns the interval of a moment.
func (r *legRun) secondOf(now int64) second {
	origin := r.origin.Load()
	if origin == unset || now < origin {
		return warmupSecond(now)
	}
	return (now - origin) / nanosPerSecond
}
