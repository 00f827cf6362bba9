package measure

import (
	"sync"
	"sync/atomic"
)

// sparse holds pieces of memory by number, each made when it is first needed, and asked for by many at once. Those below a bound are found
// without a lock.
type sparse[T any] struct {
	fixed []atomic.Pointer[T]
	lock  sync.RWMutex
	more  map[uint64]*T
}

// newSparse returns one with a number of pieces that are expected.
func newSparse[T any](expected uint64) sparse[T] {
	return sparse[T]{fixed: make([]atomic.Pointer[T], expected), more: map[uint64]*T{}}
}

// find returns a piece, nil when there is none.
func (s *sparse[T]) find(number uint64) *T {
	if number < uint64(len(s.fixed)) {
		return s.fixed[number].Load()
	}
	s.lock.RLock()
	defer s.lock.RUnlock()
	return s.more[number]
}

// make returns a piece, a new one when there is none.
func (s *sparse[T]) make(number uint64) *T {
	if piece := s.find(number); piece != nil {
		return piece
	}
	if number < uint64(len(s.fixed)) {
		piece := new(T)
		if !s.fixed[number].CompareAndSwap(nil, piece) {
			return s.fixed[number].Load()
		}
		return piece
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.more[number] == nil {
		s.more[number] = new(T)
	}
	return s.more[number]
}

// all calls each with every piece there is.
func (s *sparse[T]) all(each func(number uint64, piece *T)) {
	for number := range s.fixed {
		if piece := s.fixed[number].Load(); piece != nil {
			each(uint64(number), piece)
		}
	}
	s.lock.RLock()
	defer s.lock.RUnlock()
	for number, piece := range s.more {
		each(number, piece)
	}
}
