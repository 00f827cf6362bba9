package load

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// durations draws from every magnitude alike, with the edges of buckets and of the type more often than chance would.
func durations() *rapid.Generator[int64] {
	edges := []int64{0, 1, 2, 255, 256, 257, 511, 512, 513, 1 << 40, 1<<40 - 1, math.MaxInt64 - 1, math.MaxInt64}
	return rapid.OneOf(
		rapid.SampledFrom(edges),
		rapid.Int64Range(0, 1000),
		rapid.Custom(func(t *rapid.T) int64 {
			return rapid.Int64Range(0, math.MaxInt64).Draw(t, "value") >> rapid.IntRange(0, 62).Draw(t, "shift")
		}),
	)
}

func fill(values []int64) *Histogram {
	h := new(Histogram)
	for _, v := range values {
		h.Record(v)
	}
	return h
}

func TestEveryValueIsInItsOwnBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := durations().Draw(t, "ns")
		low, high := bounds(place(v))
		if v < low || v > high {
			t.Fatalf("%d is outside its bucket %d to %d", v, low, high)
		}
		if width := high - low; width > 0 && float64(width)/float64(low) > 1.0/subBuckets {
			t.Fatalf("bucket %d to %d is wider than 1/%d", low, high, subBuckets)
		}
	})
}

func TestBucketsTileTheRange(t *testing.T) {
	next := int64(0)
	for octave := range octaves {
		for bucket := range subBuckets {
			low, high := bounds(octave, bucket)
			if low != next || high < low {
				t.Fatalf("octave %d bucket %d is %d to %d, want it to start at %d", octave, bucket, low, high, next)
			}
			if high == math.MaxInt64 {
				if octave != octaves-1 || bucket != subBuckets-1 {
					t.Fatalf("the range ends in octave %d bucket %d", octave, bucket)
				}
				return
			}
			next = high + 1
		}
	}
	t.Fatalf("the range ends at %d", next-1)
}

func TestQuantileIsWithinABucketOfTheExactOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(durations(), 1, 300).Draw(t, "values")
		h := fill(values)
		slices.Sort(values)
		qs := append(rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 20).Draw(t, "qs"), 0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1)
		slices.Sort(qs)
		before := int64(0)
		for _, q := range qs {
			got, ok := h.Quantile(q)
			if !ok {
				t.Fatalf("q %v: absent", q)
			}
			rank := max(int(math.Ceil(q*float64(len(values))*(1-1e-15))), 1)
			want := values[rank-1]
			if got < want || float64(got-want) > float64(want)/subBuckets {
				t.Fatalf("q %v of %d values: got %d, exact %d", q, len(values), got, want)
			}
			if got < before {
				t.Fatalf("q %v: %d is below the quantile before, %d", q, got, before)
			}
			before = got
		}
		if got, _ := h.Quantile(0); got != values[0] {
			t.Fatalf("q 0: got %d, want the minimum %d", got, values[0])
		}
		if got, _ := h.Quantile(1); got != values[len(values)-1] {
			t.Fatalf("q 1: got %d, want the maximum %d", got, values[len(values)-1])
		}
	})
}

func TestQuantileTakesTheNearestRank(t *testing.T) {
	h := new(Histogram)
	for v := int64(1); v <= 100; v++ { // each has a bucket of its own
		h.Record(v)
	}
	for percent := int64(1); percent <= 100; percent++ {
		if got, _ := h.Quantile(float64(percent) / 100); got != percent {
			t.Errorf("p%d of 1 to 100 is %d", percent, got)
		}
	}
	if got, _ := h.Quantile(0.001); got != 1 {
		t.Errorf("q 0.001 of 1 to 100 is %d, want the first", got)
	}
	if got, _ := h.Quantile(0.505); got != 51 {
		t.Errorf("q 0.505 of 1 to 100 is %d, want the 51st", got)
	}
}

func TestQuantileRefusesPercentages(t *testing.T) {
	for _, q := range []float64{-0.01, 1.01, 99, math.NaN(), math.Inf(1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Quantile(%v) answered", q)
				}
			}()
			fill([]int64{1}).Quantile(q)
		}()
	}
}

func TestNoSamplesNoFigures(t *testing.T) {
	used := fill([]int64{5, 1 << 50})
	used.Reset()
	for name, h := range map[string]*Histogram{"new": new(Histogram), "reset": used} {
		t.Run(name, func(t *testing.T) {
			if h.Count() != 0 {
				t.Errorf("count %d", h.Count())
			}
			if v, ok := h.Min(); ok {
				t.Errorf("minimum %d", v)
			}
			if v, ok := h.Max(); ok {
				t.Errorf("maximum %d", v)
			}
			if v, ok := h.Mean(); ok {
				t.Errorf("mean %v", v)
			}
			for _, q := range []float64{0, 0.5, 0.99, 1} {
				if v, ok := h.Quantile(q); ok {
					t.Errorf("quantile %v is %d", q, v)
				}
			}
			for b := range h.Buckets() {
				t.Errorf("bucket %v", b)
			}
		})
	}
}

func TestOneAndTwoSamples(t *testing.T) {
	one := fill([]int64{123_456_789}) // a value whose bucket does not end at it
	for _, q := range []float64{0, 0.01, 0.5, 0.99, 1} {
		if got, ok := one.Quantile(q); !ok || got != 123_456_789 {
			t.Errorf("one sample, q %v: %d %v", q, got, ok)
		}
	}
	two := fill([]int64{100, 123_456_789})
	if got, _ := two.Quantile(0.5); got != 100 {
		t.Errorf("two samples, q 0.5: %d, want the first", got)
	}
	if got, _ := two.Quantile(0.51); got != 123_456_789 {
		t.Errorf("two samples, q 0.51: %d, want the second", got)
	}
	if mean, _ := two.Mean(); mean != 123_456_889.0/2 {
		t.Errorf("mean %v", mean)
	}
}

// sysbench caps percentiles at 100 s, and others at an hour: a percentile past the top must not read as the top.
func TestLongOperationsAreNotCapped(t *testing.T) {
	const day = int64(86400e9)
	for _, ns := range []int64{200e9, 3601e9, day, 365 * day, math.MaxInt64} {
		h := fill([]int64{1e6, 1e6, ns})
		if p99, _ := h.Quantile(0.99); p99 < ns {
			t.Errorf("p99 of an operation of %d ns is %d", ns, p99)
		}
		if top, _ := h.Max(); top != ns {
			t.Errorf("maximum of an operation of %d ns is %d", ns, top)
		}
	}
}

func TestSumDoesNotOverflow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := new(big.Int)
		h := new(Histogram)
		for _, v := range rapid.SliceOf(durations()).Draw(t, "values") {
			n := rapid.Int64Range(1, 1000).Draw(t, "times")
			h.recordN(v, n)
			want.Add(want, new(big.Int).Mul(big.NewInt(v), big.NewInt(n)))
		}
		hi, lo := h.Sum()
		got := new(big.Int).Add(new(big.Int).Lsh(new(big.Int).SetUint64(hi), 64), new(big.Int).SetUint64(lo))
		if got.Cmp(want) != 0 {
			t.Fatalf("sum %v, want %v", got, want)
		}
	})
}

func TestMergeIsRecordingAllInOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(durations())
		a, b, c := values.Draw(t, "a"), values.Draw(t, "b"), values.Draw(t, "c")
		want := fill(slices.Concat(a, b, c))

		left := fill(a) // (a + b) + c
		left.Merge(fill(b))
		left.Merge(fill(c))
		right := fill(c) // c + (b + a)
		inner := fill(b)
		inner.Merge(fill(a))
		right.Merge(inner)
		right.Merge(nil)
		for _, got := range []*Histogram{left, right} {
			if !same(got, want) {
				t.Fatalf("merged %v, want %v", got, want)
			}
		}
		left.Reset()
		left.Merge(want)
		if !same(left, want) {
			t.Fatal("a histogram that was reset is not empty")
		}
	})
}

// same tells whether two histograms hold the same; one may have more empty memory than the other.
func same(a, b *Histogram) bool {
	return a.count == b.count && a.belowMax == b.belowMax && a.max == b.max && a.sumHi == b.sumHi && a.sumLo == b.sumLo &&
		cmp.Equal(slices.Collect(a.Buckets()), slices.Collect(b.Buckets()))
}

func TestHistogramKeepsItsMemory(t *testing.T) {
	h := new(Histogram)
	allocs := testing.AllocsPerRun(10, func() {
		for v := int64(1); v < 1<<30; v = v*3/2 + 1 {
			h.Record(v)
		}
		h.Reset()
	})
	if allocs != 0 {
		t.Errorf("%v allocations after the first run", allocs)
	}
	sparse := fill([]int64{1e6, 1e6 + 1, 1e6 + 2})
	grown := 0
	for _, counts := range sparse.counts {
		if counts != nil {
			grown++
		}
	}
	if grown != 1 {
		t.Errorf("%d octaves for values of one", grown)
	}
}

func BenchmarkHistogramRecord(b *testing.B) {
	values := make([]int64, 4096)
	for i := range values {
		values[i] = int64(1e5 + rand.ExpFloat64()*5e5)
	}
	h := new(Histogram)
	for i := 0; b.Loop(); i++ {
		h.Record(values[i&4095])
	}
}

func BenchmarkHistogramMerge(b *testing.B) {
	from, to := new(Histogram), new(Histogram)
	for range 100_000 {
		from.Record(int64(1e5 + rand.ExpFloat64()*5e5))
	}
	for b.Loop() {
		to.Merge(from)
	}
}
