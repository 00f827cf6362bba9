package query

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestSumsAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, scale := range []float64{math.SmallestNonzeroFloat32, 1e-40, 1e-3, 1, 1e6, 1e38} {
		want := new(big.Rat)
		var a, b floatSum
		for i := range 2000 {
			x := float64(float32((rng.Float64()*2 - 1) * scale * math.Exp2(float64(rng.IntN(40)-20))))
			if math.IsInf(x, 0) {
				x = math.MaxFloat32
			}
			want.Add(want, new(big.Rat).SetFloat64(x))
			if i%3 == 0 {
				a.add(x)
			} else {
				b.add(x)
			}
			if i%100 == 0 {
				a.carry()
			}
		}
		a.merge(&b)
		if a.rat().Cmp(want) != 0 {
			t.Errorf("at a scale of %g: %s, want %s", scale, a.rat(), want)
		}
	}
	want := new(big.Int)
	var a, b wholeSum
	for i := range 2000 {
		n := int64(rng.Uint64())
		if i%7 == 0 {
			n = math.MinInt64
		}
		want.Add(want, big.NewInt(n))
		if i%2 == 0 {
			a.add(n)
		} else {
			b.add(n)
		}
	}
	if a.merge(b); a.rat().Cmp(new(big.Rat).SetInt(want)) != 0 {
		t.Errorf("whole: %s, want %s", a.rat(), want)
	}
}

func TestFloatSumTakesEveryEdge(t *testing.T) {
	for _, x := range []float64{
		0, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0x1p-126, 0x1p-127, math.MaxFloat32, -math.MaxFloat32, 1, -1, 0.5, 1 << 24,
	} {
		var s floatSum
		for range 3 {
			s.add(x)
		}
		want := new(big.Rat).SetFloat64(x)
		if want.Mul(want, big.NewRat(3, 1)); s.rat().Cmp(want) != 0 {
			t.Errorf("three times %g is %s", x, s.rat())
		}
	}
}
