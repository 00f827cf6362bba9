package wire

import (
	"context"
	"reflect"
	"sync/atomic"

	"github.com/durabench/durabench/drivers"
)

// keepMemory is the most memory, in bytes, that a seat keeps in one buffer for its next operation.
const keepMemory = 256 << 10

// Seat is the place of one operation in flight: a call, and the watch over a context.
type Seat struct {
	*Call
	taken atomic.Bool
	next  uint64 // ID of the next call; seats count apart, in steps of their number

	likes   *atomic.Uintptr // in seats
	watched <-chan struct{} // Done of the context in watch
	stop    func() bool     // ends the watch
	watch   *watch

	interrupt func() // of the watch: lets the seat's operation go

	line line     // of a Direct
	_    [64]byte // seats of different workers share no cache line
}

// seats are a client's seats. Taking and giving them needs no lock.
type seats struct {
	all []Seat
	// likes has the identity of the context that each seat watches: a hint for whom it suits. A worker has one context for all of its
	// operations, so it gets the same seat again and again, and nothing has to be registered anew.
	likes   []atomic.Uintptr
	waiting atomic.Int32
	freed   chan struct{} // holds a token for each seat that was given back while somebody waited
}

func (s *seats) init(n int) {
	s.all, s.likes, s.freed = make([]Seat, n), make([]atomic.Uintptr, n), make(chan struct{}, n)
	for i := range s.all {
		s.all[i].Call, s.all[i].likes, s.all[i].next = newCall(), &s.likes[i], uint64(i)+1
	}
}

// take returns a free seat, the one that watches the context already if there is one.
func (s *seats) take(ctx context.Context) (*Seat, error) {
	seat := s.try(ctx)
	if seat == nil {
		var err error
		if seat, err = s.wait(ctx); err != nil {
			return nil, err
		}
	}
	seat.reset()
	seat.ID = seat.next
	seat.next += uint64(len(s.all))
	return seat, nil
}

func (s *seats) try(ctx context.Context) *Seat {
	if id := identity(ctx); id != 0 {
		for i := range s.likes {
			if s.likes[i].Load() == id && s.all[i].taken.CompareAndSwap(false, true) {
				return &s.all[i]
			}
		}
	}
	for i := range s.all {
		if seat := &s.all[i]; !seat.taken.Load() && seat.taken.CompareAndSwap(false, true) {
			return seat
		}
	}
	return nil
}

// wait waits for a seat: more callers are at work than the client has threads.
func (s *seats) wait(ctx context.Context) (*Seat, error) {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	for {
		if seat := s.try(ctx); seat != nil {
			return seat, nil
		}
		select {
		case <-s.freed:
		case <-ctx.Done():
			return nil, overError(ctx)
		}
	}
}

// give hands a seat back. Memory beyond what an ordinary operation needs is let go.
func (s *seats) give(seat *Seat) {
	if cap(seat.Request) > keepMemory {
		seat.Request = nil
	}
	if cap(seat.Record.Bytes) > keepMemory {
		seat.Record = drivers.Record{}
	}
	seat.taken.Store(false)
	if s.waiting.Load() > 0 {
		select {
		case s.freed <- struct{}{}:
		default: // as many tokens as seats: whoever waits will look again
		}
	}
}

// close ends the watches. Seats in use end theirs themselves or are left to their contexts.
func (s *seats) close() {
	for i := range s.all {
		if seat := &s.all[i]; seat.taken.CompareAndSwap(false, true) {
			seat.unguard()
			s.give(seat)
		}
	}
}

// identity tells contexts apart by their Done channels; 0 for one that is never over.
func identity(ctx context.Context) uintptr {
	done := ctx.Done()
	if done == nil {
		return 0
	}
	return reflect.ValueOf(done).Pointer()
}
