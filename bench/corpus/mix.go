package corpus

import "math/bits"

// The corpus has no generator state. Every number it needs is a pure function of where it is needed:
//
//	row  = f(seed, index, version)       one per row
//	cell = f(row, path of the column)    one per scalar
//	word = f(cell, 0), f(cell, 1), …     64 random bits each
//
// so any cell can be made again by anyone, in any order, and a column that is added or removed leaves the others as they were.

// Odd constants without structure of their own: the golden ratio and the multipliers published with wyrand and SplitMix64.
const (
	golden = 0x9e3779b97f4a7c15
	wyStep = 0xa0761d6478bd642f
	wyTwo  = 0xe7037ed1a0b428db
	wyThr  = 0x8ebc6af09c88c6e3
	wyFour = 0x589965cc75374cc3
)

// Domains keep apart what is derived from the same seed.
const (
	domainRow     = 0x01
	domainKey     = 0x02
	domainSeal    = 0x03
	domainCentre  = 0x04
	domainRandom  = 0x05
	domainShuffle = 0x06
	domainHoldout = 0x07
)

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014; constants by Stafford): a bijection of 64-bit words in which every input
// bit changes half of the output bits.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fold multiplies two words to 128 bits and folds the halves together, the mixing step of wyhash.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// word returns the n-th random word of a cell: the n-th output of wyrand (Wang Yi) started at the cell.
func word(cell, n uint64) uint64 {
	s := cell + (n+1)*wyStep
	return fold(s, s^wyTwo)
}

// below maps a random word to [0, n) by multiplication instead of division. A number's probability is off by less than n ÷ 2⁶⁴.
func below(w, n uint64) uint64 {
	hi, _ := bits.Mul64(w, n)
	return hi
}

// unit maps a random word to a float64 in [0, 1) in steps of 2⁻⁵³.
func unit(w uint64) float64 { return float64(w>>11) * 0x1p-53 }

// subkey derives an independent 64-bit key for one purpose from the seed.
func subkey(seed, domain, n uint64) uint64 {
	return mix(mix(seed+golden*domain) + golden*(n+1))
}

// rowKey is the origin of everything in one version of one row. The two keys stop rows of close seeds from lining up.
func rowKey(k1, k2, index uint64, version uint32) uint64 {
	return mix(mix(index^k1) + k2 + uint64(version)*golden)
}

// pathRoot is the path of the value table itself.
const pathRoot = 0x243f6a8885a308d3

// pathMember returns the path of a named member below a parent path.
func pathMember(parent uint64, name string) uint64 {
	h := mix(parent ^ uint64(len(name))*wyThr)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	return mix(h)
}

// pathElem returns the path of element i of an array. It differs from every member's path.
func pathElem(parent, i uint64) uint64 { return mix(^parent + (i+1)*wyFour) }
