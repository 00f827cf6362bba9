package load

import "sync/atomic"

// maxBlock is the most operations a worker claims, and makes ready, at once.
const maxBlock = 64

// share deals a leg's positions, counted from 0, out to its workers, each exactly once. Workers claim blocks from one shared number:
// no worker has a range of its own, because then the slowest connection alone would be working at the end and the throughput would
// be its; and none claims single operations, because then every operation of every core would wait for the same cache line. A block is
// an eighth of a worker's fair part of what is left, at most maxBlock, so that all workers end within an operation or so of each other.
type share struct {
	_       [64]byte // the number's cache line is shared with nothing that is only read
	next    atomic.Int64
	_       [56]byte
	limit   int64 // positions to deal out; 0 for a windowed leg, which has no end
	workers int64
	block   int64 // block of a windowed leg
}

func newShare(leg *Leg) *share {
	workers := int64(leg.Clients) * int64(leg.Threads)
	return &share{limit: leg.Samples, workers: workers, block: blockOf(leg.Keys, workers)}
}

func blockOf(left, workers int64) int64 { return min(max(left/workers/8, 1), maxBlock) }

// claim returns the positions lo to hi-1, none when there are no more.
func (s *share) claim() (lo, hi int64) {
	if s.limit == 0 {
		hi = s.next.Add(s.block)
		return hi - s.block, hi
	}
	for {
		lo = s.next.Load()
		left := s.limit - lo
		if left == 0 {
			return lo, lo
		}
		hi = lo + blockOf(left, s.workers)
		if s.next.CompareAndSwap(lo, hi) {
			return lo, hi
		}
	}
}

// claimed returns how many positions were dealt out: operations begun, or soon to be.
func (s *share) claimed() int64 { return s.next.Load() }
