package activities

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/durabench/durabench/bench/load"
)

// Heartbeat is what a running activity tells of itself. It is in the details of the pending activity, where the starter reads it.
type Heartbeat struct {
	Step    string `json:"step,omitempty"`
	Attempt int    `json:"attempt,omitempty"` // how often the step was begun
	// Waiting says in words what is going on or waited for; empty while operations are measured.
	Waiting  string         `json:"waiting,omitempty"`
	Progress *load.Progress `json:"progress,omitempty"` // of a running leg
	At       time.Time      `json:"at"`
	// Failures counts the attempts in a row whose agent could not be had, so that this ends.
	Failures int `json:"failures,omitempty"`
	// Starts counts those that did not get a server to run.
	Starts Starts `json:"starts,omitzero"`
}

// Remaining estimates how long the leg will still run; not when it has only begun or is not counted.
func (h Heartbeat) Remaining() (time.Duration, bool) {
	p := h.Progress
	if p == nil || p.Warming {
		return 0, false
	}
	if p.Window > 0 {
		return max(p.Window-p.Elapsed, 0), true
	}
	if p.Total <= 0 || p.Done <= 0 || p.Elapsed <= 0 {
		return 0, false
	}
	perOperation := float64(p.Elapsed) / float64(p.Done)
	return time.Duration(perOperation * float64(p.Total-p.Done)), true
}

// beat sends the latest Heartbeat again and again: every second at first, so that short legs are seen to move, then every few seconds,
// as each one costs the measured machine a little. Cancellation arrives with the answers.
type beat struct {
	ctx    context.Context
	mu     sync.Mutex
	latest Heartbeat
	starts Starts // in each heartbeat
	stop   func()
}

func startBeat(ctx context.Context, first Heartbeat) *beat {
	done := make(chan struct{})
	var once sync.Once
	b := &beat{ctx: ctx, starts: first.Starts, stop: func() { once.Do(func() { close(done) }) }}
	b.tell(first)
	go func() {
		timer := time.NewTimer(beatInterval(0))
		defer timer.Stop()
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-timer.C:
				b.send()
				timer.Reset(beatInterval(n))
			}
		}
	}()
	return b
}

// beatInterval is the pause before heartbeat n.
func beatInterval(n int) time.Duration {
	if n < 15 {
		return time.Second
	}
	return 5 * time.Second
}

// set changes what the next heartbeat says.
func (b *beat) set(h Heartbeat) {
	h.At = time.Now().UTC()
	b.mu.Lock()
	defer b.mu.Unlock()
	h.Starts = b.starts
	b.latest = h
}

// keep has every heartbeat from now on say how the attempts at starting the server went, the one before included.
func (b *beat) keep(starts Starts) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.starts, b.latest.Starts = starts, starts
}

// tell sends a heartbeat at once.
func (b *beat) tell(h Heartbeat) {
	b.set(h)
	b.send()
}

func (b *beat) send() {
	b.mu.Lock()
	latest := b.latest
	b.mu.Unlock()
	activity.RecordHeartbeat(b.ctx, latest)
}
