package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is what the workers of a test do. It notes every operation, and every breach of the Worker contract.
type script struct {
	slots int
	do    func(ctx context.Context, op op) error
	check func(op op) error
	ready func(op op) error

	// overdue allows operations that begin when they should have ended: on a busy machine a worker may be kept waiting at any point.
	overdue bool

	mu       sync.Mutex
	over     bool           // the leg has returned
	done     map[uint64]int // times each row was operated on
	checked  int
	breaches []string
}

// op is one operation of a script.
type op struct {
	client, thread int
	number         int // of its worker's, from 0
	index          uint64
}

func (s *script) newWorker(client, thread int) (Worker, error) {
	return &scripted{script: s, client: client, thread: thread, prepared: make([]uint64, max(s.slots, 1)), next: -1}, nil
}

func (s *script) breach(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breaches = append(s.breaches, fmt.Sprintf(format, args...))
}

// used notes when a worker is used after its leg.
func (s *script) used(how string) {
	s.mu.Lock()
	over := s.over
	s.mu.Unlock()
	if over {
		s.breach("%s after the leg had ended", how)
	}
}

// total returns how many operations were done, and the rows in order.
func (s *script) total() (n int, rows []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, times := range s.done {
		n += times
	}
	return n, slices.Sorted(maps.Keys(s.done))
}

// scripted is one worker of a script.
type scripted struct {
	script         *script
	client, thread int
	prepared       []uint64
	ready, next    int // slots made ready; the one to be done next
	number         int
	current        op
	answered       bool
}

func (w *scripted) Slots() int { return max(w.script.slots, 1) }

func (w *scripted) Ready(slot int, index uint64) error {
	w.script.used("Ready")
	if slot == 0 {
		w.ready, w.next = 0, 0
	}
	if slot != w.ready || slot >= len(w.prepared) {
		w.script.breach("slot %d made ready after %d of %d", slot, w.ready, len(w.prepared))
	}
	w.prepared[slot] = index
	w.ready++
	if w.script.ready != nil {
		return w.script.ready(op{w.client, w.thread, w.number, index})
	}
	return nil
}

func (w *scripted) Do(ctx context.Context, slot int) error {
	w.script.used("Do")
	if slot != w.next || slot >= w.ready {
		w.script.breach("slot %d done, want %d of %d", slot, w.next, w.ready)
	}
	if ctx.Err() != nil && !w.script.overdue {
		w.script.breach("operation begun with a context that is over: %v", ctx.Err())
	}
	w.next++
	w.current = op{w.client, w.thread, w.number, w.prepared[slot]}
	w.number++
	w.script.mu.Lock()
	if w.script.done == nil {
		w.script.done = make(map[uint64]int)
	}
	w.script.done[w.current.index]++
	w.script.mu.Unlock()
	var err error
	if w.script.do != nil {
		err = w.script.do(ctx, w.current)
	}
	w.answered = err == nil
	return err
}

func (w *scripted) Check(slot int) error {
	w.script.used("Check")
	if slot != w.next-1 || !w.answered {
		w.script.breach("slot %d checked after slot %d, answered %v", slot, w.next-1, w.answered)
	}
	w.answered = false
	w.script.mu.Lock()
	w.script.checked++
	w.script.mu.Unlock()
	if w.script.check != nil {
		return w.script.check(w.current)
	}
	return nil
}

// run runs a leg in a bubble of fake time, in which an operation takes exactly what it sleeps, and checks what holds for every leg.
func (s *script) run(t *testing.T, leg Leg) (result *Result, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { result, err = s.runIn(t.Context(), t, leg) })
	return result, err
}

func (s *script) runIn(ctx context.Context, t *testing.T, leg Leg) (*Result, error) {
	t.Helper()
	leg.Clients, leg.Threads = max(leg.Clients, 1), max(leg.Threads, 1)
	result, err := Run(ctx, leg, s.newWorker)
	s.mu.Lock()
	s.over = true
	defer s.mu.Unlock()
	for _, breach := range s.breaches {
		t.Error(breach)
	}
	if result != nil {
		checkResult(t, result)
	}
	return result, err
}

// must is run for a leg that is carried out.
func (s *script) must(t *testing.T, leg Leg) *Result {
	t.Helper()
	result, err := s.run(t, leg)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// mustPaced is must with an operation per period and worker.
func (s *script) mustPaced(t *testing.T, leg Leg, period time.Duration) (result *Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		leg.Pacing = &every{period, time.Now(), make([]atomic.Int64, max(leg.Clients, 1))}
		var err error
		if result, err = s.runIn(t.Context(), t, leg); err != nil {
			t.Fatal(err)
		}
	})
	return result
}

type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkResult checks what holds for every result: its parts agree with each other, and nothing absent is zero.
func checkResult(t failer, r *Result) {
	t.Helper()
	if recorded := r.Service != nil; recorded != (r.OK > 0) {
		t.Errorf("%d operations succeeded, service times there: %v", r.OK, recorded)
	}
	if r.Service != nil && r.Service.Count() != r.OK {
		t.Errorf("%d operations succeeded, %d service times", r.OK, r.Service.Count())
	}
	if r.Response != nil && r.Response.Count() != r.OK {
		t.Errorf("%d operations succeeded, %d response times", r.OK, r.Response.Count())
	}
	if r.Service != nil {
		if least, _ := r.Service.Min(); least < 1 {
			t.Errorf("an operation of %d ns", least)
		}
	}
	var ok, failed, classes, top int64
	for i, interval := range r.Intervals {
		if interval.Second != int64(i) {
			t.Errorf("interval %d is second %d", i, interval.Second)
		}
		if (interval.Service != nil) != (interval.OK > 0) {
			t.Errorf("second %d: %d succeeded, latency %v", i, interval.OK, interval.Service)
		}
		if s := interval.Service; s != nil {
			if s.P50 > s.P99 || s.P99 > s.Max {
				t.Errorf("second %d: %+v", i, *s)
			}
			top = max(top, s.Max)
		}
		ok += interval.OK
		failed += interval.Failed
	}
	if ok != r.OK {
		t.Errorf("%d operations succeeded, the intervals have %d", r.OK, ok)
	}
	if r.Warmup == 0 && failed != r.Failed {
		t.Errorf("%d operations failed, the intervals have %d", r.Failed, failed)
	}
	if r.Service != nil {
		if want, _ := r.Service.Max(); top != want {
			t.Errorf("the longest is %d ns, in the intervals %d ns", want, top)
		}
	}
	for _, e := range r.Errors {
		classes += e.Count
		if len(e.Texts) > 3 {
			t.Errorf("class %s has %d texts", e.Class, len(e.Texts))
		}
	}
	if classes != r.Failed {
		t.Errorf("%d operations failed, the classes have %d", r.Failed, classes)
	}
	if len(r.Examples) > 5 || int64(len(r.Examples)) > r.Wrong || r.Wrong > r.Failed || r.Wrong > r.Checked {
		t.Errorf("%d wrong of %d checked, %d failed, %d examples", r.Wrong, r.Checked, r.Failed, len(r.Examples))
	}
	if r.Wall < 0 || r.Skew < 0 || r.GC.CPUShare < 0 || r.GC.CPUShare > 1 || r.GC.Cycles < 0 || r.GC.Pause < 0 {
		t.Errorf("wall %v, skew %v, GC %+v", r.Wall, r.Skew, r.GC)
	}
}

// taking is an operation that takes d, or as long as its context lets it.
func taking(d time.Duration) func(context.Context, op) error {
	return func(ctx context.Context, _ op) error { return sleep(ctx, d) }
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errRefused = errors.New("connection refused")
