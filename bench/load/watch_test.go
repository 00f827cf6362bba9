package load

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestOperationTimeoutEndsOneOperation(t *testing.T) {
	var ended time.Duration
	s := &script{slots: 64, do: func(ctx context.Context, op op) error {
		if op.index != 5000 {
			return sleep(ctx, 3*time.Microsecond)
		}
		began := time.Now()
		err := sleep(ctx, time.Hour)
		ended = time.Since(began)
		return err
	}}
	result := s.must(t, Leg{Clients: 3, Samples: 100_000, OperationTimeout: 2 * time.Second, MaxErrorRate: 0.5})
	if result.OK != 99_999 || result.Failed != 1 || result.Stopped != "" {
		t.Errorf("%d succeeded, %d failed, stopped %q", result.OK, result.Failed, result.Stopped)
	}
	if e := result.Errors; e[0].Class != ClassTimeout || e[0].Texts[0] != "operation timeout of 2s passed: context canceled" {
		t.Errorf("%+v", result.Errors)
	}
	if ended < 2*time.Second || ended > 2*time.Second+2*time.Second/16+2*time.Millisecond {
		t.Errorf("a timeout of 2s came after %v", ended)
	}
	if top, _ := result.Service.Max(); top > 1e6 {
		t.Errorf("maximum %v: the operation that was ended is in it", time.Duration(top))
	}
}

// The timeout is per operation, however many share a chunk.
func TestOperationTimeoutIsNotForAChunk(t *testing.T) {
	s := &script{slots: 64, do: func(ctx context.Context, op op) error {
		if op.index < 2000 {
			return sleep(ctx, time.Microsecond) // chunks grow
		}
		return sleep(ctx, 900*time.Millisecond) // and then each operation takes almost what it may
	}}
	result := s.must(t, Leg{Samples: 2300, OperationTimeout: time.Second})
	if result.OK != 2300 {
		t.Errorf("%d succeeded, errors %+v", result.OK, result.Errors)
	}
}

// What runs off the clock is not timed, and its time is not the operation's.
func TestOperationTimeoutIsForOperationsOnly(t *testing.T) {
	s := &script{slots: 4, do: taking(time.Millisecond), check: func(op) error {
		time.Sleep(5 * time.Second)
		return nil
	}, ready: func(op) error {
		time.Sleep(5 * time.Second)
		return nil
	}}
	result := s.must(t, Leg{Clients: 2, Samples: 100, OperationTimeout: time.Second, Verify: VerifyAll})
	if result.OK != 100 {
		t.Errorf("%d succeeded, errors %+v", result.OK, result.Errors)
	}
}

func TestAnswerAfterTheTimeoutIsATimeout(t *testing.T) {
	s := &script{do: func(_ context.Context, op op) error {
		if op.number == 1 {
			time.Sleep(3 * time.Second) // whatever its context says
		}
		return nil
	}}
	result := s.must(t, Leg{Samples: 10, OperationTimeout: time.Second, MaxErrorRate: 1})
	if result.OK != 9 || len(result.Errors) != 1 || result.Errors[0].Class != ClassTimeout {
		t.Errorf("%d succeeded, errors %+v", result.OK, result.Errors)
	}
}

func TestManyTimeoutsEachHaveAFreshContext(t *testing.T) {
	result := (&script{do: taking(time.Hour)}).must(t, Leg{Clients: 5, Samples: 40, OperationTimeout: time.Second, MaxErrorRate: 1})
	if result.Failed != 40 || result.Errors[0].Count != 40 || result.Wall < 8*time.Second || result.Wall > 10*time.Second {
		t.Errorf("%d failed, %+v, wall %v", result.Failed, result.Errors, result.Wall)
	}
}

func TestStuckOperationDoesNotHangTheLeg(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unblock := make(chan struct{})
		s := &script{do: func(ctx context.Context, op op) error {
			if op.client == 1 && op.number == 5 {
				<-unblock
			}
			return sleep(ctx, 10*time.Millisecond)
		}}
		began := time.Now()
		result, err := s.runIn(t.Context(), t, Leg{Clients: 3, Samples: 100_000, OperationTimeout: 5 * time.Second, MaxErrorRate: 0.5})
		took := time.Since(began)
		var stuck *StuckError
		if !errors.As(err, &stuck) || len(stuck.Workers) != 1 || stuck.Workers[0] != "client 1 thread 0" {
			t.Errorf("error %v", err)
		}
		if took < 15*time.Second || took > 18*time.Second {
			t.Errorf("given up after %v", took)
		}
		if result.Stopped != StoppedStuck || result.Failed != 1 || result.Errors[0].Class != ClassTimeout {
			t.Errorf("stopped %q, errors %+v", result.Stopped, result.Errors)
		}
		if result.OK < 2*1500 || result.OK > 2*1700+5 {
			t.Errorf("%d operations in %v", result.OK, took)
		}
		before := *result
		close(unblock) // it comes back after all: nothing of the result moves
		synctest.Wait()
		if result.OK != before.OK || result.Service.Count() != before.OK {
			t.Error("the result changed after it was returned")
		}
		for _, breach := range s.breaches {
			t.Error(breach)
		}
	})
}

func TestStuckOffTheClockDoesNotHangTheLegEither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unblock := make(chan struct{})
		s := &script{do: taking(time.Millisecond), check: func(op op) error {
			if op.client == 1 {
				<-unblock
			}
			return nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		result, err := s.runIn(ctx, t, Leg{Clients: 2, Window: time.Hour, Keys: 10})
		var stuck *StuckError
		if !errors.As(err, &stuck) || stuck.Workers[0] != "client 1 thread 0 (off the clock)" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if result.Stopped != StoppedCancelled || result.Failed != 0 || result.OK < 5000 || result.OK > 5001 {
			t.Errorf("stopped %q, %d failed, %d succeeded", result.Stopped, result.Failed, result.OK)
		}
		close(unblock)
		synctest.Wait()
	})
}

func TestStuckErrorNamesAFew(t *testing.T) {
	err := &StuckError{After: time.Second}
	for range 100 {
		err.Workers = append(err.Workers, "client 1 thread 2")
	}
	if text := err.Error(); len(text) > 300 || !strings.Contains(text, "and 92 more") {
		t.Error(text)
	}
}

func TestCancelledLegKeepsWhatItHas(t *testing.T) {
	cause := errors.New("run cancelled by its user")
	for name, c := range map[string]struct {
		leg    Leg
		do     func(context.Context, op) error
		ok     int64
		failed int64
		took   time.Duration
	}{
		"running operations end":           {Leg{Clients: 4, Samples: 1000}, taking(2 * time.Second), 4 * 5, 0, 10 * time.Second},
		"long ones are cut off":            {Leg{Clients: 4, Samples: 1000}, taking(9 * time.Second), 4, 4, 12 * time.Second},
		"windowed":                         {Leg{Clients: 4, Window: time.Hour, Keys: 7}, taking(time.Second), 40, 0, 10 * time.Second},
		"in the warm-up":                   {Leg{Warmup: time.Hour, Window: time.Hour, Keys: 7}, taking(time.Second), 0, 0, 0},
		"before an operation has ended":    {Leg{Samples: 10}, taking(time.Hour), 0, 1, 12 * time.Second},
		"errors of the cut are not judged": {Leg{Samples: 10, MaxErrorRate: 0.5}, taking(time.Hour), 0, 1, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				time.AfterFunc(9*time.Second+500*time.Millisecond, func() { cancel(cause) })
				result, err := (&script{do: c.do}).runIn(ctx, t, c.leg)
				if !errors.Is(err, cause) {
					t.Errorf("error %v, want the cause", err)
				}
				if result.Stopped != StoppedCancelled || result.OK != c.ok || result.Failed != c.failed || result.OverBudget {
					t.Errorf("stopped %q, %d succeeded, %d failed, over budget %v", result.Stopped, result.OK, result.Failed, result.OverBudget)
				}
				if result.Failed > 0 && result.Errors[0].Class != ClassCancelled {
					t.Errorf("%+v", result.Errors)
				}
				if result.Wall.Round(time.Second) != c.took {
					t.Errorf("wall %v, want %v", result.Wall, c.took)
				}
			})
		})
	}
}

func TestCancelledBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &script{}
	result, err := s.runIn(ctx, t, Leg{Samples: 10})
	if n, _ := s.total(); result != nil || !errors.Is(err, context.Canceled) || n != 0 {
		t.Errorf("result %v, error %v, %d operations", result, err, n)
	}
}

// Cancelled while the last operations run: they all end, so the leg is whole and no error.
func TestCancelledWithNothingLeftToDo(t *testing.T) {
	for name, leg := range map[string]Leg{
		"counted":  {Clients: 5, Samples: 10},
		"windowed": {Clients: 5, Window: 1200 * time.Millisecond, Keys: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				defer cancel()
				result, err := (&script{do: taking(time.Second)}).runIn(ctx, t, leg)
				if err != nil || result.Stopped != "" || result.OK != 10 {
					t.Errorf("error %v, stopped %q, %d succeeded", err, result.Stopped, result.OK)
				}
			})
		})
	}
}

func TestRunningOperationsAreCutOffWhenTheLegFails(t *testing.T) {
	s := &script{do: func(ctx context.Context, op op) error {
		if op.client == 0 {
			_ = sleep(ctx, time.Second)
			return errRefused
		}
		return sleep(ctx, time.Hour)
	}}
	result := s.must(t, Leg{Clients: 4, Samples: 100})
	if result.Stopped != StoppedErrors || result.Failed != 4 || result.Wall != time.Second+finishGrace {
		t.Errorf("stopped %q, %d failed, wall %v", result.Stopped, result.Failed, result.Wall)
	}
	if result.Errors[0].Class != ClassCancelled || result.Errors[0].Count != 3 || result.Errors[1].Class != ClassOther {
		t.Errorf("%+v", result.Errors)
	}
}
