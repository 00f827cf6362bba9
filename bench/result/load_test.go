package result

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/load"
)

// flaky is a worker each of whose operations takes a moment; every so many fail, and every so many answer wrongly.
type flaky struct {
	fail, wrong uint64
	at          [4]uint64
	cancel      func() // called at row 500
}

func (w *flaky) Slots() int                         { return len(w.at) }
func (w *flaky) Ready(slot int, index uint64) error { w.at[slot] = index; return nil }

func (w *flaky) Do(_ context.Context, slot int) error {
	if w.cancel != nil && w.at[slot] == 500 {
		w.cancel()
	}
	if w.fail > 0 && w.at[slot]%w.fail == w.fail-1 {
		return errors.New("try again")
	}
	return nil
}

func (w *flaky) Check(slot int) error {
	if w.wrong > 0 && w.at[slot]%w.wrong == 0 {
		return &load.Mismatch{Index: w.at[slot], Column: "c", Want: "a", Got: "b"}
	}
	return nil
}

// What really comes out of a leg, whatever happened in it, is a leg that can be written, and its verdict follows.
func TestWhatTheLoopMeasuresIsValid(t *testing.T) {
	for _, tc := range []struct {
		name   string
		leg    load.Leg
		worker flaky
		want   Verdict
	}{
		{"counted", load.Leg{Samples: 5_000}, flaky{}, Valid},
		{"first error stops it", load.Leg{Samples: 5_000}, flaky{fail: 700}, Failed},
		{"within the error budget", load.Leg{Samples: 5_000, MaxErrorRate: 0.01}, flaky{fail: 700}, Valid},
		{"past the error budget", load.Leg{Samples: 5_000, MaxErrorRate: 0.01}, flaky{fail: 10}, Failed},
		{"everything fails, as allowed", load.Leg{Samples: 500, MaxErrorRate: 1}, flaky{fail: 1}, Failed},
		{"wrong answers", load.Leg{Samples: 5_000, MaxErrorRate: 1, Verify: load.VerifyAll}, flaky{wrong: 100}, Invalid},
		{"nothing checked", load.Leg{Samples: 5_000, Verify: load.VerifyNone}, flaky{}, Unverified},
		{"cancelled", load.Leg{Samples: 1_000_000_000}, flaky{cancel: func() {}}, Interrupted},
		{"a window after a warm-up", load.Leg{Warmup: 20 * time.Millisecond, Window: 50 * time.Millisecond, Keys: 1000, Verify: load.VerifyAll}, flaky{}, Valid},
		{"failures in the warm-up too", load.Leg{Warmup: 20 * time.Millisecond, Window: 50 * time.Millisecond, Keys: 1000, MaxErrorRate: 0.5}, flaky{fail: 10}, Valid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tc.leg.Clients, tc.leg.Threads = 2, 3
			r, err := load.Run(ctx, tc.leg, func(int, int) (load.Worker, error) {
				w := tc.worker
				if w.cancel != nil {
					w.cancel = cancel
				}
				return &w, nil
			})
			if r == nil {
				t.Fatal(err)
			}
			m, err := MeasuredFrom(r)
			if err != nil {
				t.Fatal(err)
			}
			m.ServerNote, m.AgentNote = "not sampled", "not sampled"
			leg := Leg{ID: "read", Title: "Read", Kind: "read", Clients: 2, Threads: 3, Planned: tc.leg.Samples, Measured: m, Attempts: 1}
			leg.Verdict, leg.Why = VerdictOf(Facts{
				Planned: tc.leg.Samples, InFlight: 6, Measured: m, Proof: ProofOf("read"), VerifyOff: tc.leg.Verify == load.VerifyNone, AgentCPUs: 2,
			})
			if leg.Verdict != tc.want {
				t.Errorf("verdict %q (%s), want %q", leg.Verdict, leg.Why, tc.want)
			}
			if err := leg.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}
