package access

import (
	"math"

	"github.com/durabench/durabench/bench/corpus"
)

// zipf draws ranks 1 to n with probabilities in proportion to k^-theta, by rejection-inversion (W. Hörmann, G. Derflinger: Rejection-inversion
// to generate variates from monotone discrete distributions, ACM TOMACS 6, 1996). It is exact for every theta from 0 on, 1 included, takes
// no tables, and rejects less than one candidate in six. The approximation that YCSB uses is neither exact nor defined at 1.
//
// The hat is the integral H of x^-theta between k-½ and k+½. A point under it is drawn by inverting H, rounded to the nearest rank k, and
// accepted when it lies under the bar of k.
type zipf struct {
	n              uint64
	theta          float64
	first, last    float64 // H(1½) - 1 and H(n+½): between them lies all there is to draw
	alwaysAccepted float64 // candidates so near above their rank need no look at H
}

func newZipf(n uint64, theta float64) zipf {
	z := zipf{n: n, theta: theta}
	z.first = z.integral(1.5) - 1
	z.last = z.integral(float64(n) + 0.5)
	z.alwaysAccepted = 2 - z.inverse(z.integral(2.5)-z.bar(2))
	return z
}

// draw returns a rank. It takes the words of a stream of its own until one is accepted.
func (z *zipf) draw(random corpus.Random) uint64 {
	for i := uint64(0); ; i++ {
		u := z.last + random.Unit(i)*(z.first-z.last)
		x := z.inverse(u)
		k := min(max(math.Floor(x+0.5), 1), float64(z.n))
		if k-x <= z.alwaysAccepted || u >= z.integral(k+0.5)-z.bar(k) {
			return uint64(k)
		}
	}
}

// bar is k^-theta.
func (z *zipf) bar(k float64) float64 { return math.Exp(-z.theta * math.Log(k)) }

// integral is the antiderivative of x^-theta that is 0 at 1: (x^(1-theta) - 1) ÷ (1-theta), or log x at theta 1.
func (z *zipf) integral(x float64) float64 {
	log := math.Log(x)
	return growth((1-z.theta)*log) * log
}

// inverse undoes integral.
func (z *zipf) inverse(y float64) float64 {
	t := max(y*(1-z.theta), -1) // rounding may lead below the range
	return math.Exp(logGrowth(t) * y)
}

// growth is (e^x - 1) ÷ x, 1 at 0.
func growth(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Expm1(x) / x
	}
	return 1 + x/2*(1+x/3)
}

// logGrowth is log(1+x) ÷ x, 1 at 0.
func logGrowth(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Log1p(x) / x
	}
	return 1 - x*(1.0/2-x/3)
}
