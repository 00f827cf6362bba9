package vector

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/query"
)

func TestDistancesByHand(t *testing.T) {
	a, b := []float32{3, 4, 0, 0, 0}, []float32{0, 4, -3, 0, 0}
	require.Equal(t, 1-16.0/25, Distance(query.Cosine, a, b))
	require.Equal(t, math.Sqrt(18), Distance(query.Euclidean, a, b))
	require.Equal(t, -16.0, Distance(query.InnerProduct, a, b))
	require.Equal(t, 6.0, Distance(query.Manhattan, a, b))
	zero := make([]float32, 5)
	require.Equal(t, 2.0, Distance(query.Cosine, a, zero))
	require.Equal(t, 2.0, Distance(query.Cosine, zero, zero))
	require.Equal(t, 2.0, Distance(query.Cosine, a, []float32{-6, -8, 0, 0, 0}))
	require.Equal(t, math.Float64bits(0), math.Float64bits(Distance(query.InnerProduct, a, zero)), "no negative zero")
	nan := []float32{float32(math.NaN()), 0, 0, 0, 0}
	for _, m := range query.Metrics {
		require.Equal(t, math.Inf(1), Distance(m, a, nan), m)
	}
	require.Panics(t, func() { Distance(query.Cosine, a, zero[:4]) })
	require.Panics(t, func() { Distance("hamming", a, b) })
}

// A vector and its copy are at the distance 0, whatever the rounding.
func TestCopiesAreAtNoDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 2000 {
		scale := math.Pow(10, float64(i%60-30))
		v := filled(1+r.IntN(300), func() float32 { return float32(scale * r.NormFloat64()) })
		for _, m := range []query.Metric{query.Cosine, query.Euclidean, query.Manhattan} {
			require.Equal(t, 0.0, Distance(m, v, v), "%s %v", m, v)
		}
	}
}

// Distances are right to 13 digits, against arithmetic of 300 bits, and the same both ways round.
func TestDistancesAgainstExactArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	exact := func() *big.Float { return new(big.Float).SetPrec(300) }
	for range 300 {
		dim := 1 + r.IntN(200)
		a, b := filled(dim, func() float32 { return float32(r.NormFloat64()) }), filled(dim, func() float32 { return float32(r.NormFloat64()) })
		product, aa, bb, squares, absolutes := exact(), exact(), exact(), exact(), exact()
		for i := range a {
			x, y := exact().SetFloat64(float64(a[i])), exact().SetFloat64(float64(b[i]))
			product.Add(product, exact().Mul(x, y))
			aa.Add(aa, exact().Mul(x, x))
			bb.Add(bb, exact().Mul(y, y))
			d := exact().Sub(x, y)
			squares.Add(squares, exact().Mul(d, d))
			absolutes.Add(absolutes, d.Abs(d))
		}
		float := func(x *big.Float) float64 { f, _ := x.Float64(); return f }
		lengths := exact().Sqrt(exact().Mul(aa, bb))
		for m, want := range map[query.Metric]float64{
			query.Cosine:       1 - float(exact().Quo(product, lengths)),
			query.Euclidean:    float(exact().Sqrt(squares)),
			query.InnerProduct: -float(product),
			query.Manhattan:    float(absolutes),
		} {
			got := Distance(m, a, b)
			require.InDelta(t, want, got, 1e-13*max(1, float(lengths)), m)
			require.Equal(t, got, Distance(m, b, a), m)
		}
	}
}

// These bits are the same on every machine.
func TestDistancesArePinned(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	a, b := filled(101, func() float32 { return float32(r.Float64()) }), filled(101, func() float32 { return float32(r.Float64()) })
	for m, want := range map[query.Metric]uint64{query.Cosine: 0x3fc4b932a28bf558, query.Euclidean: 0x400c9669fea5526d, query.InnerProduct: 0xc04077d6cc7bd850, query.Manhattan: 0x403d1849c8da0000} {
		require.Equal(t, want, math.Float64bits(Distance(m, a, b)), "%s: %#x", m, math.Float64bits(Distance(m, a, b)))
	}
}
