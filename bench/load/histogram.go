package load

import (
	"iter"
	"math"
	"math/bits"
)

// A Histogram's buckets: values below subBuckets have one each; above, every power of two is cut into subBuckets equal parts.
const (
	subBits    = 8
	subBuckets = 1 << subBits
	octaves    = 64 - subBits // one for 0 to 255, and one for each power of two from 2^8 to 2^62: every int64 has its bucket
)

// Histogram counts durations in nanoseconds, 0 to the largest int64, in log-linear buckets that are at most 1/256 (0.4 %) wide. Count,
// minimum, maximum and sum are exact. Nothing is ever dropped or capped. Memory grows by 2 KB with each power of two that is met, and
// by nothing else. The zero value is empty and ready. It is not safe for concurrent use.
type Histogram struct {
	count        int64
	belowMax     int64 // math.MaxInt64 − minimum, so that the zero value needs no case of its own
	max          int64
	sumHi, sumLo uint64 // 128 bits: the sum of durations can pass 2^63 (292 years of them)
	counts       [octaves]*[subBuckets]int64
}

// Bucket is a range of durations with the number that fell in it.
type Bucket struct {
	Low, High int64 // nanoseconds, both inclusive
	Count     int64
}

// place returns the octave of a value and the bucket in it.
func place(ns int64) (octave, bucket int) {
	v := uint64(ns)
	octave = bits.Len64(v|(subBuckets-1)) - subBits
	shift := uint(max(octave, 1)-1) & 63
	return octave, int(v>>shift) & (subBuckets - 1)
}

// bounds is the inverse of place: the least and the largest value of a bucket.
func bounds(octave, bucket int) (low, high int64) {
	if octave == 0 {
		return int64(bucket), int64(bucket)
	}
	shift := octave - 1
	low = int64(subBuckets+bucket) << shift
	return low, low + (1<<shift - 1)
}

// Record counts one duration in nanoseconds. It panics on a negative one, which no clock of ours can measure.
func (h *Histogram) Record(ns int64) {
	octave, bucket := place(ns)
	counts := h.counts[octave] // a negative value has no octave and ends here
	if counts == nil {
		counts = h.grow(octave)
	}
	counts[bucket]++
	h.count++
	h.belowMax = max(h.belowMax, math.MaxInt64-ns)
	h.max = max(h.max, ns)
	lo, carry := bits.Add64(h.sumLo, uint64(ns), 0)
	h.sumLo, h.sumHi = lo, h.sumHi+carry
}

// grow is apart so that Record's usual path stays short.
//
//go:noinline
func (h *Histogram) grow(octave int) *[subBuckets]int64 {
	h.counts[octave] = new([subBuckets]int64)
	return h.counts[octave]
}

// recordAll is Record for many durations at once, at half the cost each: the exact figures stay in registers.
func (h *Histogram) recordAll(durations []int64) {
	belowMax, top, hi, lo := h.belowMax, h.max, h.sumHi, h.sumLo
	var carry uint64
	for _, ns := range durations {
		octave, bucket := place(ns)
		counts := h.counts[octave]
		if counts == nil {
			counts = h.grow(octave)
		}
		counts[bucket]++
		belowMax = max(belowMax, math.MaxInt64-ns)
		top = max(top, ns)
		lo, carry = bits.Add64(lo, uint64(ns), 0)
		hi += carry
	}
	h.belowMax, h.max, h.sumHi, h.sumLo = belowMax, top, hi, lo
	h.count += int64(len(durations))
}

// recordN counts the same duration n times.
func (h *Histogram) recordN(ns, n int64) {
	if n == 0 {
		return
	}
	octave, bucket := place(ns)
	if h.counts[octave] == nil {
		h.grow(octave)
	}
	h.counts[octave][bucket] += n
	h.count += n
	h.belowMax = max(h.belowMax, math.MaxInt64-ns)
	h.max = max(h.max, ns)
	hi, lo := bits.Mul64(uint64(ns), uint64(n))
	h.addSum(hi, lo)
}

func (h *Histogram) addSum(hi, lo uint64) {
	var carry uint64
	h.sumLo, carry = bits.Add64(h.sumLo, lo, 0)
	h.sumHi += hi + carry
}

// Count returns the number of durations recorded.
func (h *Histogram) Count() int64 { return h.count }

// Min returns the exact least duration in nanoseconds; ok is false when there is none.
func (h *Histogram) Min() (ns int64, ok bool) {
	if h.count == 0 {
		return 0, false
	}
	return math.MaxInt64 - h.belowMax, true
}

// Max returns the exact largest duration in nanoseconds; ok is false when there is none.
func (h *Histogram) Max() (ns int64, ok bool) { return h.max, h.count > 0 }

// Sum returns the exact sum of all durations in nanoseconds, hi × 2^64 + lo.
func (h *Histogram) Sum() (hi, lo uint64) { return h.sumHi, h.sumLo }

// Mean returns the mean duration in nanoseconds, from the exact sum; ok is false when there is none.
func (h *Histogram) Mean() (ns float64, ok bool) {
	if h.count == 0 {
		return 0, false
	}
	return (float64(h.sumHi)*(1<<64) + float64(h.sumLo)) / float64(h.count), true
}

// Quantile returns the duration in nanoseconds that a share q, 0 to 1, of all durations does not exceed; ok is false when there is
// none. It is by nearest rank: of n durations in order, the one numbered ⌈q·n⌉ (the first for q near 0), told as the upper bound of
// its bucket and never above the exact maximum. So it is at or at most 1/256 above the true one, and never falls as q rises. Quantile(0)
// is the exact minimum and Quantile(1) the exact maximum. It panics on a q outside 0 to 1: 99 in place of 0.99 is a mistake to be
// found, not a missing value.
func (h *Histogram) Quantile(q float64) (ns int64, ok bool) {
	switch {
	case !(q >= 0 && q <= 1):
		panic("load: quantile outside 0 to 1")
	case h.count == 0:
		return 0, false
	case q == 0:
		return h.Min()
	case q == 1:
		return h.max, true
	}
	// q·n may come out a hair above a whole number (0.07 × 100 = 7.000000000000001), which is not to ask for the next rank.
	rank := int64(math.Ceil(q * float64(h.count) * (1 - 1e-15)))
	rank = min(max(rank, 1), h.count)
	for b := range h.Buckets() {
		if rank -= b.Count; rank <= 0 {
			return min(b.High, h.max), true
		}
	}
	return h.max, true
}

// Merge adds every duration of other, which may be nil. It is exact: in whatever order and grouping histograms are merged, the result
// is that of recording all durations in one.
func (h *Histogram) Merge(other *Histogram) {
	if other == nil || other.count == 0 {
		return
	}
	for octave, from := range other.counts {
		if from == nil {
			continue
		}
		to := h.counts[octave]
		if to == nil {
			to = h.grow(octave)
		}
		for i, n := range from {
			to[i] += n
		}
	}
	h.count += other.count
	h.belowMax = max(h.belowMax, other.belowMax)
	h.max = max(h.max, other.max)
	h.addSum(other.sumHi, other.sumLo)
}

// Reset empties the histogram and keeps its memory.
func (h *Histogram) Reset() {
	for _, counts := range h.counts {
		if counts != nil {
			clear(counts[:])
		}
	}
	h.count, h.belowMax, h.max, h.sumHi, h.sumLo = 0, 0, 0, 0, 0
}

// Buckets yields the buckets that hold something, from the shortest durations to the longest.
func (h *Histogram) Buckets() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		for octave, counts := range h.counts {
			if counts == nil {
				continue
			}
			for i, n := range counts {
				if n == 0 {
					continue
				}
				low, high := bounds(octave, i)
				if !yield(Bucket{Low: low, High: high, Count: n}) {
					return
				}
			}
		}
	}
}
