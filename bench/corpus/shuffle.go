package corpus

import "math/bits"

// Shuffle is a keyed bijection of [0, n): an order of n things that looks random and takes no memory. The zero Shuffle is not of use.
type Shuffle struct {
	p permutation
	n uint64
}

// NewShuffle returns the shuffle of n things, at least 1 and at most MaxRows, with a seed for one purpose.
func NewShuffle(seed uint64, purpose string, n uint64) Shuffle {
	if n < 1 || n > MaxRows {
		panic("corpus: a shuffle of no things, or of too many")
	}
	width := uint(max(bits.Len64(n-1), 4))
	key := subkey(seed, domainShuffle, pathMember(0, purpose))
	return Shuffle{newPermutation(width/2, width-width/2, key, domainShuffle), n}
}

// Len returns n.
func (s *Shuffle) Len() uint64 { return s.n }

// At returns what stands at the place i, which must be below n. The permutation below is of the next power of two: where it leads outside,
// it is followed on until it comes back, which takes two steps or less on average for all but a handful of things. A bijection that is
// followed so is one still.
func (s *Shuffle) At(i uint64) uint64 {
	for {
		if i = s.p.forward(i); i < s.n {
			return i
		}
	}
}

// Place is the inverse of At: the place at which i stands.
func (s *Shuffle) Place(i uint64) uint64 {
	for {
		if i = s.p.inverse(i); i < s.n {
			return i
		}
	}
}
