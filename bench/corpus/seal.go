package corpus

import "math"

// SealColumn is the name of the column that every row carries last. Its Int holds the row's index and version, scrambled with the seed
// so that the numbers are spread like random ones, and lies in [0, 2⁶³).
const SealColumn = "seal"

// Limits of what a seal can carry. Rows beyond them get the seal -1, and keys beyond MaxRows are the zero Key.
const (
	MaxRows     = 1 << 40 // an index is below
	MaxVersions = 1 << 23 // a version is below
)

// noSeal marks a row outside the limits: no valid seal is negative.
const noSeal = -1

// seal packs an index of 40 bits and a version of 23 bits into 63 and permutes them.
func (c *Corpus) seal(index uint64, version uint32) int64 {
	if index >= MaxRows || version >= MaxVersions {
		return noSeal
	}
	return int64(c.seals.forward(index<<23 | uint64(version)))
}

// Unseal returns the index and the version that a seal was made of. Every non-negative seal is that of exactly one row; a negative one
// is that of none and gives math.MaxUint64 and math.MaxUint32, which lie outside the limits.
func (c *Corpus) Unseal(seal int64) (index uint64, version uint32) {
	if seal < 0 {
		return math.MaxUint64, math.MaxUint32
	}
	x := c.seals.inverse(uint64(seal))
	return x >> 23, uint32(x & (MaxVersions - 1))
}
