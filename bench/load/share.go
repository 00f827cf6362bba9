package load

import "sync/atomic"

// maxBlock is the most operations a worker claims, and makes ready, at once.
const maxBlock = 64

// share deals positions, counted from 0, out to a leg's workers, each exactly once. Workers claim blocks from one shared number:
// no worker has a range of its own, because then the slowest connection alone would be working at the end and the throughput would
// be its; and none claims single operations, because then every operation of every core would wait for the same cache line. A block is
// an eighth of a worker's fair part of what is left, at most maxBlock, so that all workers end within an operation or so of each other.
type share struct {
	_       [64]byte // the number's cache line is shared with nothing that is only read
	next    atomic.Int64
	_       [56]byte
	limit   atomic.Int64 // positions to deal out; never for no end
	workers int64
	most    int64 // positions in a block
	first   int64 // what the position 0 stands for
}

// newShare returns the share of a counted leg, or of a windowed one's warm-up.
func newShare(leg *Leg) *share {
	s := &share{workers: int64(leg.Clients) * int64(leg.Threads), most: maxBlock}
	s.limit.Store(leg.Samples)
	if leg.windowed() {
		s.limit.Store(never)
		s.most = blockOf(leg.Keys, s.workers) // a few rows are walked in turn, by all workers
	}
	return s
}

func blockOf(left, workers int64) int64 { return min(max(left/workers/8, 1), maxBlock) }

// claim returns the positions lo to hi-1, none when there are no more.
func (s *share) claim() (lo, hi int64) {
	for {
		lo = s.next.Load()
		left := s.limit.Load() - lo
		if left <= 0 {
			return s.first + lo, s.first + lo
		}
		hi = lo + min(blockOf(left, s.workers), s.most)
		if s.next.CompareAndSwap(lo, hi) {
			return s.first + lo, s.first + hi
		}
	}
}

// claimed returns how many positions were dealt out: operations begun, or soon to be.
func (s *share) claimed() int64 { return s.next.Load() }

// raise lets more be dealt out, never less.
func (s *share) raise(limit int64) {
	for {
		old := s.limit.Load()
		if limit <= old || s.limit.CompareAndSwap(old, limit) {
			return
		}
	}
}
