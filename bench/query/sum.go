package query

import (
	"math"
	"math/big"
	"math/bits"
)

// wholeSum is an exact sum of whole numbers of 64 bits: 128 bits hold 2⁶³ of them.
type wholeSum struct {
	hi int64
	lo uint64
}

func (s *wholeSum) add(n int64) { s.merge(wholeSum{hi: n >> 63, lo: uint64(n)}) }

func (s *wholeSum) merge(other wholeSum) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, other.lo, 0)
	s.hi += other.hi + int64(carry)
}

// rat returns the sum exactly.
func (s *wholeSum) rat() *big.Rat {
	sum := new(big.Int).Lsh(big.NewInt(s.hi), 64)
	return new(big.Rat).SetInt(sum.Add(sum, new(big.Int).SetUint64(s.lo)))
}

// Limits of float32 numbers: each is a whole number of at most mantissa bits times a power of two, the smallest of which is 2^-lowest.
const (
	lowest = 149
	limbs  = 10 // of 32 bits: 277 for the numbers, the rest for carries
)

// floatSum is an exact sum of numbers that a float32 holds: a fixed-point number in units of 2⁻¹⁴⁹ whose limbs overlap, so that carries need
// be moved only once in a while.
type floatSum struct {
	limbs   [limbs]int64
	pending int // additions since the carries were moved
}

// maxPending additions of less than 2³² each leave a limb below 2⁶³.
const maxPending = 1 << 30

func (s *floatSum) add(x float64) {
	if x == 0 {
		return
	}
	fraction, exponent := math.Frexp(x) // |fraction| in [½, 1)
	mantissa := int64(math.Abs(fraction) * (1 << 24))
	shift := exponent - 24 + lowest
	if shift < 0 { // a subnormal float32: its lowest bits are zeros
		mantissa >>= -shift
		shift = 0
	}
	wide := mantissa << (shift % 32) // at most 24 + 31 bits
	low, high := wide&math.MaxUint32, wide>>32
	if x < 0 {
		low, high = -low, -high
	}
	s.limbs[shift/32] += low
	s.limbs[shift/32+1] += high
	if s.pending++; s.pending == maxPending {
		s.carry()
	}
}

// carry moves what a limb holds beyond 32 bits up to the next.
func (s *floatSum) carry() {
	for i := range limbs - 1 {
		s.limbs[i+1] += s.limbs[i] >> 32
		s.limbs[i] &= math.MaxUint32
	}
	s.pending = 0
}

func (s *floatSum) merge(other *floatSum) {
	s.carry()
	carried := *other
	carried.carry()
	for i := range limbs {
		s.limbs[i] += carried.limbs[i]
	}
	s.pending = 1
}

// rat returns the sum exactly.
func (s *floatSum) rat() *big.Rat {
	sum := new(big.Int)
	for i := limbs - 1; i >= 0; i-- {
		sum.Lsh(sum, 32)
		sum.Add(sum, big.NewInt(s.limbs[i]))
	}
	return new(big.Rat).SetFrac(sum, new(big.Int).Lsh(big.NewInt(1), lowest))
}
