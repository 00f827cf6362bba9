package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// noisy is a machine whose load is a function of time.
type noisy struct {
	cpu     func(second int) float64 // CPUs that all processes use
	ours    float64                  // of them we do
	blocked func(second int) int
	average func(second int) float64
}

func constantly[T any](v T) func(int) T { return func(int) T { return v } }

// until returns a value that is first one and from a second on another.
func until[T any](second int, before, after T) func(int) T {
	return func(s int) T {
		if s < second {
			return before
		}
		return after
	}
}

func (n noisy) reader() func() (load, error) {
	begun := time.Now()
	var l load
	at := begun
	return func() (load, error) {
		now := time.Now()
		second := int(now.Sub(begun) / time.Second)
		passed := now.Sub(at).Seconds()
		l.busy += time.Duration((n.cpu(second-1) + n.ours) * passed * float64(time.Second))
		l.ours += time.Duration(n.ours * passed * float64(time.Second))
		at = now
		l.average = n.average(second)
		l.blocked = 0
		if n.blocked != nil {
			l.blocked = n.blocked(second)
		}
		return l, nil
	}
}

func TestQuietMachineIsAwaited(t *testing.T) {
	for _, tc := range []struct {
		name  string
		noisy noisy
		takes time.Duration
		fails bool
	}{
		{"quiet for long", noisy{cpu: constantly(0.1), average: constantly(0.1)}, 3 * time.Second, false},
		// The load average of a machine on which we have just compiled: it falls for a minute yet, but nothing runs any more.
		{"it was our own load", noisy{cpu: constantly(0.1), average: constantly(7.5)}, 15 * time.Second, false},
		{"we use two CPUs now", noisy{cpu: constantly(0.1), ours: 2, average: constantly(0.2)}, 3 * time.Second, false},
		// The load average does not know of it yet.
		{"a burst has just begun", noisy{cpu: constantly(3.0), average: constantly(0.1)}, 20 * time.Second, true},
		{"a burst ends", noisy{cpu: until(10, 1.0, 0.0), average: constantly(0.3)}, 12 * time.Second, false},
		{"a burst ends and the average remembers", noisy{cpu: until(4, 4.0, 0.0), average: constantly(0.8)}, 18 * time.Second, false},
		{"always busy", noisy{cpu: constantly(0.6), average: constantly(0.6)}, 20 * time.Second, true},
		{"waiting for a disk is load too", noisy{cpu: constantly(0.0), blocked: constantly(1), average: constantly(0.2)}, 20 * time.Second, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []string
				q := quietWait{
					below: 0.5, most: 20 * time.Second, read: tc.noisy.reader(),
					blame: func() string { return "cc1 (12) 0.90" }, progress: func(line string) { told = append(told, line) },
				}
				begun := time.Now()
				saw, err := q.wait(t.Context())
				if took := time.Since(begun); took != tc.takes || (err != nil) != tc.fails {
					t.Errorf("after %v: %+v, %v", took, saw, err)
				}
				if tc.fails && (!strings.Contains(err.Error(), "not quiet within 20s: the load of others is ") || !strings.Contains(err.Error(), "busiest: cc1 (12) 0.90")) {
					t.Error(err)
				}
				if want := int(tc.takes / (5 * time.Second)); len(told) < want-1 || len(told) > want {
					t.Errorf("told %q in %v", told, tc.takes)
				}
			})
		})
	}
}

func TestAwaitingQuietEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wanted := errors.New("cancelled")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 7*time.Second, wanted)
		defer cancel()
		q := quietWait{below: 0.5, most: time.Hour, read: noisy{cpu: constantly(2.0), average: constantly(2.0)}.reader(), progress: func(string) {}}
		begun := time.Now()
		if _, err := q.wait(ctx); !errors.Is(err, wanted) || time.Since(begun) != 7*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		unreadable := errors.New("no /proc")
		q.read = func() (load, error) { return load{}, unreadable }
		if _, err := q.wait(t.Context()); !errors.Is(err, unreadable) {
			t.Error(err)
		}
	})
}
