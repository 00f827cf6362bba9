// Package vector knows the right answer of a search for nearest neighbours: exact distances, held-out queries, the exact nearest rows of a corpus and
// how much of them an engine's answer holds.
//
// The exact answer is defined by Distance alone, in float64 and in one order of summation, so it is the same on every machine. Compute finds it with
// tiles of float32 arithmetic (package tile), which only nominate: a bound on their error decides what is looked at again in float64.
package vector

import (
	"fmt"
	"math"

	"github.com/durabench/durabench/bench/query"
)

// Distance returns how far apart two vectors of the same length are: the smaller, the nearer, by every metric (query.Metric). It is computed in
// float64, in one order of summation, and is the same on every machine. A vector and its copy have the distance 0 by all metrics but the inner product. The
// cosine distance of a zero vector is 2. What cannot be told because a component is not a number is infinitely far.
func Distance(m query.Metric, a, b []float32) float64 {
	if len(a) != len(b) {
		panic(fmt.Sprintf("vector: distance of vectors of %d and %d components", len(a), len(b)))
	}
	switch m {
	case query.Cosine:
		return measure(m, a, b, squares(a), squares(b))
	case query.Euclidean, query.InnerProduct, query.Manhattan:
		return measure(m, a, b, 0, 0)
	}
	panic(fmt.Sprintf("vector: there is no metric %q", m))
}

// measure is Distance for one who knows the vectors' squares, which only the cosine needs.
func measure(m query.Metric, a, b []float32, squaresA, squaresB float64) float64 {
	var d float64
	switch m {
	case query.Cosine:
		if squaresA == 0 || squaresB == 0 {
			return 2
		}
		// The square root of a square is exact, so copies have the cosine 1.
		d = 1 - max(-1, min(1, product(a, b)/math.Sqrt(squaresA*squaresB)))
	case query.Euclidean:
		d = math.Sqrt(differences(a, b))
	case query.InnerProduct:
		d = 0 - product(a, b)
	case query.Manhattan:
		d = absolutes(a, b)
	}
	if math.IsNaN(d) {
		return math.Inf(1)
	}
	return d
}

// The sums below keep four partial sums, on which the processor works side by side; their order is part of the algorithm. Products are converted on their
// own so that no compiler fuses them with the sum, on some machines only.

func squares(a []float32) float64 { return product(a, a) }

// product returns the inner product.
func product(a, b []float32) float64 {
	var s0, s1, s2, s3 float64
	for len(a) >= 4 && len(b) >= 4 {
		s0 += float64(float64(a[0]) * float64(b[0]))
		s1 += float64(float64(a[1]) * float64(b[1]))
		s2 += float64(float64(a[2]) * float64(b[2]))
		s3 += float64(float64(a[3]) * float64(b[3]))
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += float64(float64(a[i]) * float64(b[i]))
	}
	return s0 + s1 + (s2 + s3)
}

// differences returns the sum of the squared differences.
func differences(a, b []float32) float64 {
	var s0, s1, s2, s3 float64
	for len(a) >= 4 && len(b) >= 4 {
		d0, d1 := float64(a[0])-float64(b[0]), float64(a[1])-float64(b[1])
		d2, d3 := float64(a[2])-float64(b[2]), float64(a[3])-float64(b[3])
		s0 += float64(d0 * d0)
		s1 += float64(d1 * d1)
		s2 += float64(d2 * d2)
		s3 += float64(d3 * d3)
		a, b = a[4:], b[4:]
	}
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		s0 += float64(d * d)
	}
	return s0 + s1 + (s2 + s3)
}

// absolutes returns the sum of the absolute differences.
func absolutes(a, b []float32) float64 {
	var s0, s1, s2, s3 float64
	for len(a) >= 4 && len(b) >= 4 {
		s0 += math.Abs(float64(a[0]) - float64(b[0]))
		s1 += math.Abs(float64(a[1]) - float64(b[1]))
		s2 += math.Abs(float64(a[2]) - float64(b[2]))
		s3 += math.Abs(float64(a[3]) - float64(b[3]))
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += math.Abs(float64(a[i]) - float64(b[i]))
	}
	return s0 + s1 + (s2 + s3)
}
