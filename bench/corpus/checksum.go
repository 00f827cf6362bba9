package corpus

import (
	"encoding/binary"
	"math"
)

// Checksum returns a 64-bit checksum of all columns in their order, kinds and nesting included. It depends on the content alone: it is the
// same in every process, on every machine and for a row that was generated or decoded. Equal rows have equal checksums; unequal ones
// share one with a probability of about 2⁻⁶⁴. It is not cryptographic.
//
// It is built like wyhash: each step folds 16 bytes into the state by one 64 × 64 bit multiplication.
func (r *Row) Checksum() uint64 {
	h := fold(uint64(len(r.Columns))^wyStep, wyThr)
	for i := range r.Columns {
		h = r.Columns[i].checksum(h)
	}
	return h
}

// checksum folds the value into the state h.
func (v *Value) checksum(h uint64) uint64 {
	tag := uint64(v.kind) * golden
	switch v.kind {
	case String, Bytes, UUID:
		return checksumBytes(v.bytes, h^tag)
	case Vector:
		h = fold(h^wyTwo, tag^uint64(len(v.floats)))
		return checksumFloats(v.floats, h)
	case Array, Object:
		h = fold(h^wyTwo, tag^uint64(len(v.elems)))
		for i := range v.elems {
			h = v.elems[i].checksum(h)
		}
		return h
	}
	return fold(h^wyThr, v.bits^tag^wyFour)
}

// checksumBytes folds the bytes and their number into the state. Long texts run through two independent lanes, so that the processor need
// not wait for one multiplication before it starts the next.
func checksumBytes(b []byte, h uint64) uint64 {
	n := uint64(len(b))
	lane := h ^ wyStep
	for ; len(b) > 32; b = b[32:] {
		h = fold(binary.LittleEndian.Uint64(b)^wyTwo, binary.LittleEndian.Uint64(b[8:])^h)
		lane = fold(binary.LittleEndian.Uint64(b[16:])^wyThr, binary.LittleEndian.Uint64(b[24:])^lane)
	}
	if len(b) > 16 {
		h = fold(binary.LittleEndian.Uint64(b)^wyTwo, binary.LittleEndian.Uint64(b[8:])^h)
		b = b[16:]
	}
	var lo, hi uint64 // the last 0 to 16 bytes
	switch {
	case len(b) >= 8:
		lo, hi = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[len(b)-8:])
	case len(b) >= 4:
		lo, hi = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[len(b)-4:]))
	case len(b) > 0:
		lo = uint64(b[0])<<16 | uint64(b[len(b)/2])<<8 | uint64(b[len(b)-1])
	}
	return fold(fold(lo^wyTwo, hi^h)^n, lane^wyFour)
}

// checksumFloats folds the components into the state, four at a time.
func checksumFloats(f []float32, h uint64) uint64 {
	for ; len(f) >= 4; f = f[4:] {
		a := uint64(math.Float32bits(f[0])) | uint64(math.Float32bits(f[1]))<<32
		b := uint64(math.Float32bits(f[2])) | uint64(math.Float32bits(f[3]))<<32
		h = fold(a^wyTwo, b^h)
	}
	for _, x := range f {
		h = fold(uint64(math.Float32bits(x))^wyTwo, h^wyFour)
	}
	return h
}
