package corpus

import (
	"testing"

	"pgregory.net/rapid"
)

// A small domain can be checked whole: every number is hit exactly once, whatever the widths of the halves.
func TestPermutationHitsEveryNumberOnce(t *testing.T) {
	for _, width := range []struct{ left, right uint }{{8, 8}, {7, 9}, {9, 7}, {1, 1}} {
		for seed := range uint64(3) {
			p := newPermutation(width.left, width.right, seed, domainKey)
			size := uint64(1) << (width.left + width.right)
			seen := make([]bool, size)
			for x := range size {
				y := p.forward(x)
				if y >= size || seen[y] {
					t.Fatalf("%v, seed %d: %d maps to %d, which is outside or taken", width, seed, x, y)
				}
				seen[y] = true
				if back := p.inverse(y); back != x {
					t.Fatalf("%v, seed %d: inverse of %d is %d, want %d", width, seed, y, back, x)
				}
			}
		}
	}
}

func TestPermutationIsInvertible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPermutation(26, 26, rapid.Uint64().Draw(t, "seed"), domainKey)
		x := rapid.Uint64Max(1<<52-1).Draw(t, "x")
		y := p.forward(x)
		if y >= 1<<52 || p.inverse(y) != x {
			t.Fatalf("%d maps to %d and back to %d", x, y, p.inverse(y))
		}
	})
}

// Neighbours must land far apart, and the leading bits must be even: that is what makes random keys random.
func TestPermutationScatters(t *testing.T) {
	p := newPermutation(26, 26, 7, domainKey)
	buckets := make([]int, 64)
	ascents := 0
	const n = 1 << 16
	for x := range uint64(n) {
		buckets[p.forward(x)>>46]++
		if p.forward(x+1) > p.forward(x) {
			ascents++
		}
	}
	checkEven(t, "leading bits", buckets)
	if ascents < n*49/100 || ascents > n*51/100 {
		t.Errorf("%d of %d steps go up, want about half", ascents, n)
	}
}
