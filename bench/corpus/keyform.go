package corpus

import (
	"bytes"
	"encoding/binary"
)

// How a row's index becomes its key. Each form embeds the index, plain or permuted, so that two rows never share a key and the row of a
// key can be found again:
//
//	            ordered                                 random
//	integer     index + 1                               1 + permutation of the index within 2⁵²
//	stringN     13 digits of the index, hash characters hash characters, 13 digits of the index
//	uuid        version 7: index in the 48 time bits    version 4: permuted index in the leading 52 random bits
//
// Integer keys start at 1 because some engines give 0 a meaning of its own, and random ones stay at or below 2⁵², where a double is still exact.
// The hash characters and the remaining bits of a uuid are functions of (seed, index).

const (
	// indexDigits is how many decimal digits every index below MaxRows fits in.
	indexDigits = 13
	// uuidEpoch is the time of row 0 in ordered uuid keys, in milliseconds since the Unix epoch: November 2023, so that engines which
	// read the time find a plausible one. Row n is n milliseconds later.
	uuidEpoch = 1_700_000_000_000
)

// Key returns the key of the row with the index, in dst's memory, without allocating. An index of MaxRows or more has no key and gives
// the zero Key.
func (c *Corpus) Key(dst *KeyBuffer, index uint64) Key {
	if index >= MaxRows {
		return Key{}
	}
	switch c.kind {
	case KeyInteger:
		if c.random {
			index = c.scatter.forward(index)
		}
		return Key{kind: KeyInteger, n: int64(index) + 1}
	case KeyUUID:
		b := dst.bytes[:16]
		c.putUUID(b, index)
		return Key{kind: KeyUUID, bytes: b}
	default:
		b := dst.bytes[:c.kind.Len()]
		c.putText(b, index)
		return Key{kind: c.kind, bytes: b}
	}
}

// Index returns the index of the row that has the key. It is false for a key of another kind and for one that no row has: every byte
// counts, not only those that carry the index.
func (c *Corpus) Index(k Key) (index uint64, ok bool) {
	if k.kind != c.kind {
		return 0, false
	}
	switch c.kind {
	case KeyInteger:
		if k.n < 1 {
			return 0, false
		}
		index = uint64(k.n) - 1
		if c.random {
			if index >= 1<<scatterBits {
				return 0, false
			}
			index = c.scatter.inverse(index)
		}
		return index, index < MaxRows
	case KeyUUID:
		if len(k.bytes) != 16 {
			return 0, false
		}
		index = c.uuidIndex(k.bytes)
	default:
		if len(k.bytes) != c.kind.Len() {
			return 0, false
		}
		if index, ok = c.textIndex(k.bytes); !ok {
			return 0, false
		}
	}
	if index >= MaxRows {
		return 0, false
	}
	var want KeyBuffer
	if !bytes.Equal(c.Key(&want, index).bytes, k.bytes) {
		return 0, false
	}
	return index, true
}

// putText fills b with the string key of the index.
func (c *Corpus) putText(b []byte, index uint64) {
	digits, hash := b[:indexDigits], b[indexDigits:]
	if c.random {
		digits, hash = b[len(b)-indexDigits:], b[:len(b)-indexDigits]
	}
	rest := index
	for i := indexDigits - 1; i >= 0; i-- {
		digits[i] = byte('0' + rest%10)
		rest /= 10
	}
	cell := mix(index ^ c.keyHash)
	for n := uint64(0); len(hash) > 0; n++ {
		var sixteen [16]byte
		w := word(cell, n)
		binary.LittleEndian.PutUint64(sixteen[:8], hexDigits(uint32(w)))
		binary.LittleEndian.PutUint64(sixteen[8:], hexDigits(uint32(w>>32)))
		hash = hash[copy(hash, sixteen[:]):]
	}
}

// textIndex reads the index out of a string key.
func (c *Corpus) textIndex(b []byte) (index uint64, ok bool) {
	digits := b[:indexDigits]
	if c.random {
		digits = b[len(b)-indexDigits:]
	}
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		index = index*10 + uint64(d-'0')
	}
	return index, true
}

// putUUID fills b with the uuid key of the index. The 12 bits after the version and the 62 after the variant are numbered as in RFC 9562.
func (c *Corpus) putUUID(b []byte, index uint64) {
	cell := mix(index ^ c.keyHash)
	first, version, mid := uint64(uuidEpoch)+index, uint64(7), word(cell, 0)>>52
	if c.random {
		p := c.scatter.forward(index)
		first, version, mid = p>>4, 4, p&0xf<<8|word(cell, 0)>>56
	}
	binary.BigEndian.PutUint64(b[:8], first<<16|version<<12|mid)
	binary.BigEndian.PutUint64(b[8:], 0b10<<62|word(cell, 1)>>2)
}

// uuidIndex reads the index out of a uuid key; it may lie outside the limits when the key is none of ours.
func (c *Corpus) uuidIndex(b []byte) uint64 {
	w := binary.BigEndian.Uint64(b[:8])
	if c.random {
		return c.scatter.inverse(w>>16<<4 | w>>8&0xf)
	}
	return w>>16 - uuidEpoch
}

// hexDigits returns the eight lower-case hexadecimal digits of x as the bytes of a word, lowest nibble first. All eight are made at once:
// the nibbles are spread to a byte each, and those above 9 are moved from '0' to 'a'.
func hexDigits(x uint32) uint64 {
	const ones = 0x0101010101010101
	w := uint64(x)
	w = (w | w<<16) & 0x0000ffff0000ffff
	w = (w | w<<8) & 0x00ff00ff00ff00ff
	w = (w | w<<4) & 0x0f0f0f0f0f0f0f0f
	above := (w + 6*ones) >> 4 & ones // 1 in each byte that holds more than 9
	return w + '0'*ones + above*('a'-'0'-10)
}
