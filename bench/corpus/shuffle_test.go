package corpus

import "testing"

func TestShuffleIsABijection(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 15, 16, 17, 1000, 4096, 4097} {
		s := NewShuffle(42, "test", n)
		seen := make([]bool, n)
		for i := range n {
			at := s.At(i)
			if at >= n || seen[at] {
				t.Fatalf("of %d: %d stands at %d, which is outside or taken", n, at, i)
			}
			seen[at] = true
			if place := s.Place(at); place != i {
				t.Fatalf("of %d: %d stands at %d and not at %d", n, at, i, place)
			}
		}
	}
}

// Neighbours are torn apart, and seeds and purposes shuffle differently.
func TestShuffleScatters(t *testing.T) {
	const n = 10_000
	a, b, c := NewShuffle(1, "x", n), NewShuffle(2, "x", n), NewShuffle(1, "y", n)
	beside, sameSeed, samePurpose := 0, 0, 0
	for i := range uint64(n - 1) {
		if d := int64(a.At(i)) - int64(a.At(i+1)); d >= -1 && d <= 1 {
			beside++
		}
		if a.At(i) == b.At(i) {
			sameSeed++
		}
		if a.At(i) == c.At(i) {
			samePurpose++
		}
	}
	// By chance there are 2 pairs of neighbours, and 1 thing at the same place.
	if beside > 15 || sameSeed > 12 || samePurpose > 12 {
		t.Errorf("%d neighbours, %d at the same place with another seed, %d for another purpose", beside, sameSeed, samePurpose)
	}
}

func TestRandomIsUniform(t *testing.T) {
	const draws, cells = 100_000, 100
	for name, r := range map[string]Random{
		"seed 1": NewRandom(1, "a"), "seed 2": NewRandom(2, "a"), "purpose": NewRandom(1, "b"), "derived": NewRandom(1, "a").At(7),
	} {
		var counts [cells]int
		for n := range uint64(draws) {
			counts[r.Below(n, cells)]++
		}
		var chi float64
		for _, count := range counts {
			d := float64(count) - draws/cells
			chi += d * d / (draws / cells)
		}
		if chi > 170 { // 99 degrees of freedom: p < 10⁻⁵
			t.Errorf("%s: chi-square %v", name, chi)
		}
		if u := r.Unit(5); u < 0 || u >= 1 {
			t.Errorf("%s: %v", name, u)
		}
	}
}
