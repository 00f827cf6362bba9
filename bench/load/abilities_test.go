package load

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// announced is a worker that notes what it is told.
type announced struct {
	Worker
	t         *testing.T
	announced bool // the last announcement
	told      int  // announcements since the last Do
	failEvery int
	cannot    bool
	done      int
	checks    *[]int
}

func (w *announced) Announce(_ int, check bool) bool {
	w.announced, w.told = check && !w.cannot, w.told+1
	return w.announced
}

func (w *announced) Do(ctx context.Context, slot int) error {
	if w.told != 1 {
		w.t.Errorf("operation %d was announced %d times", w.done, w.told)
	}
	w.told = 0
	w.done++
	if err := w.Worker.Do(ctx, slot); err != nil {
		return err
	}
	if w.failEvery > 0 && w.done%w.failEvery == 0 {
		return errRefused
	}
	return nil
}

func (w *announced) Check(slot int) error {
	if !w.announced {
		w.t.Errorf("operation %d is checked without announcement", w.done)
	}
	*w.checks = append(*w.checks, w.done)
	return w.Worker.Check(slot)
}

func TestChecksAreAnnounced(t *testing.T) {
	for name, c := range map[string]struct {
		leg       Leg
		failEvery int
		cannot    bool
		checks    []int
	}{
		"sample":      {Leg{Samples: 250}, 0, false, []int{1, 102, 203}},
		"all":         {Leg{Samples: 5, Verify: VerifyAll}, 0, false, []int{1, 2, 3, 4, 5}},
		"none":        {Leg{Samples: 250, Verify: VerifyNone}, 0, false, nil},
		"one fails":   {Leg{Samples: 250, MaxErrorRate: 1}, 102, false, []int{1, 103, 205}}, // the next answer is checked in place of the one that did not come
		"cannot":      {Leg{Samples: 250, Verify: VerifyAll}, 0, true, nil},
		"with window": {Leg{Warmup: time.Second, Window: time.Second, Keys: 3}, 0, false, []int{1, 101}},
	} {
		t.Run(name, func(t *testing.T) {
			var checks []int
			s := &script{slots: 8, do: taking(10 * time.Millisecond)}
			synctest.Test(t, func(t *testing.T) {
				leg := c.leg
				leg.Clients, leg.Threads = 1, 1
				result, err := Run(t.Context(), leg, func(client, thread int) (Worker, error) {
					inner, err := s.newWorker(client, thread)
					return &announced{Worker: inner, t: t, failEvery: c.failEvery, cannot: c.cannot, checks: &checks}, err
				})
				if err != nil {
					t.Fatal(err)
				}
				checkResult(t, result)
			})
			if !slices.Equal(checks, c.checks) {
				t.Errorf("operations %v were checked, want %v", checks, c.checks)
			}
		})
	}
}

// A wrong answer that Do sees at once is a wrong answer, not an error.
func TestDoMayFindAWrongAnswer(t *testing.T) {
	s := &script{do: func(_ context.Context, op op) error {
		if op.number == 7 {
			return &Mismatch{Want: "100 rows", Got: "99 rows"}
		}
		return nil
	}}
	result := s.must(t, Leg{Samples: 100})
	if result.Wrong != 1 || result.Failed != 1 || result.Errors[0].Class != ClassWrong || result.Examples[0].Got != "99 rows" || !result.OverBudget {
		t.Errorf("%+v", result)
	}
}

// sorted is a worker with operations of two kinds: those on odd rows are the second kind.
type sorted struct {
	*scripted
}

func (w sorted) Kind(int) int { return int(w.current.index % 2) }

func TestKindsHaveTheirOwnHistograms(t *testing.T) {
	s := &script{slots: 8, do: func(ctx context.Context, op op) error {
		if op.index == 31 {
			return errRefused
		}
		return sleep(ctx, time.Duration(1+op.index%2)*time.Millisecond)
	}}
	synctest.Test(t, func(t *testing.T) {
		leg := Leg{Clients: 3, Threads: 2, Samples: 1000, MaxErrorRate: 1, Kinds: []string{"read", "update"}}
		result, err := Run(t.Context(), leg, func(client, thread int) (Worker, error) {
			inner, err := s.newWorker(client, thread)
			return sorted{inner.(*scripted)}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, result)
		read, update := result.Kinds[0], result.Kinds[1]
		if read.Name != "read" || read.OK != 500 || read.Failed != 0 || update.OK != 499 || update.Failed != 1 {
			t.Fatalf("%+v %+v", read, update)
		}
		slowest, _ := read.Service.Max()
		fastest, _ := update.Service.Min()
		if slowest != 1e6 || fastest != 2e6 {
			t.Errorf("reads up to %d ns, updates from %d ns", slowest, fastest)
		}
	})
}

func TestKindsNeedNames(t *testing.T) {
	_, err := Run(t.Context(), Leg{Clients: 1, Threads: 1, Samples: 1}, func(int, int) (Worker, error) {
		return sorted{&scripted{script: &script{}, prepared: make([]uint64, 1)}}, nil
	})
	if err == nil {
		t.Error("a leg of kinds without names is run")
	}
}

// followed is a worker each of whose n-th operations is followed by two more.
type followed struct {
	*scripted
	every   uint64
	follow  func(ctx context.Context, i int) error
	done    *[]int
	prepare error
}

func (w followed) Following(int) (int, error) {
	if w.current.index%w.every == 0 {
		return 2, w.prepare
	}
	return 0, nil
}
func (w followed) Follow(ctx context.Context, _, i int) error { return w.follow(ctx, i) }
func (w followed) Followed(_, done int) {
	w.script.mu.Lock()
	*w.done = append(*w.done, done)
	w.script.mu.Unlock()
}

func (s *script) following(t *testing.T, leg Leg, w followed) (result *Result, done []int, err error) {
	synctest.Test(t, func(t *testing.T) {
		leg.Clients, leg.Threads = 2, 1
		result, err = Run(t.Context(), leg, func(client, thread int) (Worker, error) {
			inner, err := s.newWorker(client, thread)
			v := w
			v.scripted, v.done = inner.(*scripted), &done
			return v, err
		})
	})
	return result, done, err
}

func TestFollowingOperationsAreTimedApart(t *testing.T) {
	s := &script{slots: 8, do: taking(time.Millisecond)}
	result, done, err := s.following(t, Leg{Samples: 100}, followed{every: 10, follow: func(ctx context.Context, i int) error {
		return sleep(ctx, time.Duration(3+i)*time.Millisecond)
	}})
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, result)
	slowest, _ := result.Service.Max()
	least, _ := result.Followed.Service.Min()
	most, _ := result.Followed.Service.Max()
	if result.OK != 100 || slowest != 1e6 || result.Followed.OK != 20 || result.Followed.Failed != 0 || least != 3e6 || most != 4e6 {
		t.Errorf("%d operations up to %d ns, %+v from %d to %d ns", result.OK, slowest, *result.Followed, least, most)
	}
	if !slices.Equal(done, []int{2, 2, 2, 2, 2, 2, 2, 2, 2, 2}) {
		t.Errorf("following operations done: %v", done)
	}
}

func TestFollowingOperationsFail(t *testing.T) {
	fail := func(_ context.Context, i int) error {
		if i == 1 {
			return errRefused
		}
		return nil
	}
	// No failure is allowed: the first ends the leg.
	result, _, err := (&script{do: taking(time.Millisecond)}).following(t, Leg{Samples: 100}, followed{every: 10, follow: fail})
	if err != nil || result.Stopped != StoppedErrors || !result.OverBudget || result.Failed != 0 || result.Followed.Failed < 1 {
		t.Errorf("%v: %+v", err, result)
	}
	// One in twenty may fail, and in all one in twelve do; one in five may.
	for rate, over := range map[float64]bool{0.05: true, 0.2: false} {
		result, done, err := (&script{do: taking(time.Millisecond)}).following(t, Leg{Samples: 1000, MaxErrorRate: rate}, followed{every: 10, follow: fail})
		if err != nil || result.OverBudget != over {
			t.Errorf("rate %v: over budget %v (%v)", rate, result.OverBudget, err)
		}
		if !over && (result.OK != 1000 || result.Followed.OK != 100 || result.Followed.Failed != 100 || result.Followed.Errors[0].Count != 100 || len(done) != 100 || done[0] != 1) {
			t.Errorf("rate %v: %+v", rate, result)
		}
	}
	_, _, err = (&script{}).following(t, Leg{Samples: 10}, followed{every: 10, prepare: errors.New("no pair")})
	if err == nil {
		t.Error("following operations that cannot be made ready are no fault")
	}
}

func TestFollowingOperationsHaveTheTimeout(t *testing.T) {
	result, _, err := (&script{do: taking(time.Millisecond)}).following(t, Leg{Samples: 20, MaxErrorRate: 1, OperationTimeout: time.Second},
		followed{every: 10, follow: func(ctx context.Context, _ int) error { return sleep(ctx, time.Minute) }})
	if err != nil || result.Followed.Failed != 2 || result.Followed.Errors[0].Class != ClassTimeout || result.OK != 20 {
		t.Errorf("%v: %+v", err, result)
	}
}

// The warm-up is not timed: what follows its operations is not either, and only its failures are seen.
func TestFollowingOperationsOfTheWarmUpAreNotTimed(t *testing.T) {
	var calls atomic.Int64
	result, done, err := (&script{do: taking(10 * time.Millisecond)}).following(t, Leg{Warmup: time.Second, Window: 2 * time.Second, Keys: 1000, MaxErrorRate: 1},
		followed{every: 10, follow: func(ctx context.Context, i int) error {
			if calls.Add(1) > 6 { // which are over by the middle of the warm-up
				return sleep(ctx, time.Millisecond)
			}
			if i == 1 {
				return errRefused
			}
			return sleep(ctx, 100*time.Millisecond)
		}})
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, result)
	f := result.Followed
	slowest, _ := f.Service.Max()
	if slowest != 1e6 || f.OK != 2*f.Whole || f.Whole == 0 || f.Whole >= int64(len(done)) || f.Failed == 0 || f.Errors[0].Count != f.Failed {
		t.Errorf("of %d times: %+v, up to %d ns", len(done), *f, slowest)
	}
}

// counting is a worker that counts what it is told to.
type counting struct {
	*scripted
	rows, told *atomic.Int64
}

func (w counting) Count(int) {
	w.told.Add(1)
	w.rows.Add(int64(w.current.number))
}

// A worker's own figures are of the operations in the leg's: none of the warm-up, and none that failed, whatever for.
func TestCountersAreToldOfWhatCounts(t *testing.T) {
	for name, leg := range map[string]Leg{
		"samples": {Samples: 5000, MaxErrorRate: 1, Verify: VerifyAll},
		"sampled": {Samples: 5000, MaxErrorRate: 1},
		"warm-up": {Warmup: time.Second, Window: time.Second, Keys: 1000, MaxErrorRate: 1, Verify: VerifyAll, OperationTimeout: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var rows, told atomic.Int64
				s := &script{slots: 8, do: func(ctx context.Context, op op) error {
					switch {
					case op.number%10 == 3:
						return errRefused
					case op.number == 77:
						time.Sleep(2 * time.Second) // past the timeout, and answered all the same
						return nil
					}
					return sleep(ctx, time.Millisecond)
				}, check: func(op op) error {
					if op.number%10 == 5 {
						return &Mismatch{Want: "this", Got: "that"}
					}
					return nil
				}}
				leg.Clients, leg.Threads = 2, 1
				result, err := Run(t.Context(), leg, func(client, thread int) (Worker, error) {
					inner, err := s.newWorker(client, thread)
					return counting{inner.(*scripted), &rows, &told}, err
				})
				if err != nil {
					t.Fatal(err)
				}
				if result.OK == 0 || result.Failed == 0 || told.Load() != result.OK || rows.Load() == 0 {
					t.Errorf("%d operations counted, %d succeeded, %d of the warm-up, %d failed", told.Load(), result.OK, result.Warmup, result.Failed)
				}
				if leg.Warmup > 0 && result.Warmup == 0 {
					t.Error("there was no warm-up")
				}
			})
		})
	}
}
