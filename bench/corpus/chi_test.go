package corpus

import (
	"math"
	"testing"
)

// checkEven fails when counts are less even than chance allows.
func checkEven(t *testing.T, what string, counts []int) {
	t.Helper()
	weights := make([]float64, len(counts))
	for i := range weights {
		weights[i] = 1
	}
	checkWeights(t, what, counts, weights)
}

// checkWeights compares counts with weights by the chi-square statistic. Seeds are fixed, so that a test passes always or never; the bound of six
// standard deviations is one that a correct generator misses for one seed in many millions. A statistic far too low means that the
// numbers are not random but dealt out in turn.
func checkWeights(t *testing.T, what string, counts []int, weights []float64) {
	t.Helper()
	var n, total float64
	for i := range counts {
		n += float64(counts[i])
		total += weights[i]
	}
	var chi float64
	for i := range counts {
		expected := n * weights[i] / total
		if expected < 20 {
			t.Fatalf("%s: only %.1f expected in class %d: draw more", what, expected, i)
		}
		d := float64(counts[i]) - expected
		chi += d * d / expected
	}
	freedom := float64(len(counts) - 1)
	if z := (chi - freedom) / math.Sqrt(2*freedom); math.Abs(z) > 6 {
		t.Errorf("%s: chi-square %.1f at %.0f degrees of freedom is %.1f standard deviations off: %v", what, chi, freedom, z, counts)
	}
}
