package load

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Schedule is one smooth global schedule of an open loop. Workers take its operations one by one from a shared number, each when it has
// ended its last, so that an operation waits only while all workers are busy, and no worker has a rate of its own that comes in bursts. It is
// made for one leg.
type Schedule struct {
	perSecond float64
	poisson   bool
	seed      uint64

	_    [64]byte // the number's cache line is shared with nothing that is only read
	next atomic.Int64
	_    [56]byte
	base time.Time // of the leg's clock

	recent [recentBlocks]atomic.Pointer[block]
	mu     sync.Mutex
	starts []int64 // when each block of a Poisson schedule starts, as far as they are known; the first at 0
}

// blockLen is how many operations of a Poisson schedule are worked out at once: one lock for so many.
const blockLen = 1024

// recentBlocks is how many blocks are kept: workers ask for the next few, each once.
const recentBlocks = 16

// block is a part of a Poisson schedule.
type block struct {
	number int64
	at     [blockLen]int64 // intended starts, nanoseconds since the leg's start
	end    int64           // the last of them
}

// NewSchedule returns a schedule of so many operations a second over all workers: evenly spaced, the first at the leg's start, or, with
// poisson, as independent callers would come. The seed decides the latter.
func NewSchedule(perSecond float64, poisson bool, seed uint64) (*Schedule, error) {
	if !(perSecond > 0 && perSecond <= 1e9) {
		return nil, fmt.Errorf("rate of %v operations a second: want more than 0 and at most a billion", perSecond)
	}
	return &Schedule{perSecond: perSecond, poisson: poisson, seed: seed, starts: []int64{0}}, nil
}

// Start says when the leg starts.
func (s *Schedule) Start(base time.Time) { s.base = base }

// Taken returns how many operations were taken.
func (s *Schedule) Taken() int64 { return s.next.Load() }

// Next takes the next operation and waits until it is due.
func (s *Schedule) Next(ctx context.Context, _ int) (intended time.Duration, err error) {
	intended = time.Duration(s.at(s.next.Add(1) - 1))
	return intended, s.wait(ctx, intended)
}

// wait blocks until a moment of the leg's clock.
func (s *Schedule) wait(ctx context.Context, until time.Duration) error {
	left := until - time.Since(s.base)
	if left <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// at returns when operation n is to start, in nanoseconds.
func (s *Schedule) at(n int64) int64 {
	if !s.poisson {
		return int64(math.Round(float64(n) / s.perSecond * 1e9))
	}
	return s.block(n / blockLen).at[n%blockLen]
}

// block returns a block of a Poisson schedule.
func (s *Schedule) block(number int64) *block {
	slot := &s.recent[number%recentBlocks]
	if b := slot.Load(); b != nil && b.number == number {
		return b
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := slot.Load(); b != nil && b.number == number {
		return b
	}
	b := s.makeBlock(number)
	slot.Store(b)
	return b
}

// makeBlock works out a block, and those before it that are not known yet. Each has random numbers of its own. The caller holds the lock.
func (s *Schedule) makeBlock(number int64) (b *block) {
	for n := min(number, int64(len(s.starts))-1); n <= number; n++ {
		random := rand.New(rand.NewPCG(s.seed, uint64(n)))
		b = &block{number: n}
		at := float64(s.starts[n])
		for i := range b.at {
			at -= math.Log(1-random.Float64()) / s.perSecond * 1e9 // the gaps of a Poisson process are exponential
			b.at[i] = int64(at)
		}
		b.end = b.at[blockLen-1]
		if n == int64(len(s.starts))-1 {
			s.starts = append(s.starts, b.end)
		}
	}
	return b
}

// Due returns how many operations are meant to start before the moment.
func (s *Schedule) Due(before time.Duration) int64 {
	if before <= 0 {
		return 0
	}
	if !s.poisson {
		n := int64(float64(before) / 1e9 * s.perSecond)
		for n > 0 && s.at(n-1) >= int64(before) {
			n--
		}
		for s.at(n) < int64(before) {
			n++
		}
		return n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.starts[len(s.starts)-1] < int64(before) {
		s.makeBlock(int64(len(s.starts)) - 1)
	}
	// The last block that starts before the moment has the last operations before it.
	number, _ := slices.BinarySearch(s.starts, int64(before))
	b := s.makeBlock(int64(max(number-1, 0)))
	within, _ := slices.BinarySearch(b.at[:], int64(before))
	return b.number*blockLen + int64(within)
}

var _ Pacing = (*Schedule)(nil)
