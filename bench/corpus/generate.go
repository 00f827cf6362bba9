package corpus

import (
	"encoding/binary"
	"math"
)

// generator makes the values of one scalar or vector field. It is immutable.
type generator interface {
	// fill makes the value of a cell in v, which is zero, with its memory taken from r.
	fill(c *Corpus, r *Row, v *Value, cell uint64)
}

// rangeGen makes whole numbers from lo, span different ones. Ints, decimals and datetimes are such.
type rangeGen struct {
	kind Kind
	lo   int64
	span uint64
}

func newRangeGen(kind Kind, lo, hi int64) *rangeGen {
	return &rangeGen{kind: kind, lo: lo, span: uint64(hi) - uint64(lo)}
}

func (g *rangeGen) fill(_ *Corpus, _ *Row, v *Value, cell uint64) {
	v.kind, v.bits = g.kind, uint64(g.lo)+below(word(cell, 0), g.span)
}

// floatGen makes numbers of [lo, hi), rounded to float32.
type floatGen struct {
	lo, width float64
	hi        float32
}

func newFloatGen(lo, hi float32) *floatGen {
	return &floatGen{lo: float64(lo), width: float64(hi) - float64(lo), hi: hi}
}

func (g *floatGen) fill(_ *Corpus, _ *Row, v *Value, cell uint64) {
	// The product is converted on its own because a compiler may otherwise fuse it with the sum, on some machines only.
	x := float32(float64(unit(word(cell, 0))*g.width) + g.lo)
	if x >= g.hi {
		x = math.Nextafter32(g.hi, float32(math.Inf(-1))) // rounded up to the end, which is not part of the range
	}
	v.kind, v.bits = Float, math.Float64bits(float64(x+0)) // -0 becomes 0
}

// boolGen makes either boolean.
type boolGen struct{}

func (boolGen) fill(_ *Corpus, _ *Row, v *Value, cell uint64) {
	v.kind, v.bits = Bool, word(cell, 0)>>63
}

// uuidGen makes uuids of version 4: 122 random bits, the version and the variant.
type uuidGen struct{}

func (uuidGen) fill(_ *Corpus, r *Row, v *Value, cell uint64) {
	b := r.text.take(16)
	binary.BigEndian.PutUint64(b[:8], word(cell, 0)&^0xf000|0x4000)
	binary.BigEndian.PutUint64(b[8:], word(cell, 1)>>2|0b10<<62)
	v.kind, v.bytes = UUID, b
}

// enumGen chooses one of the values. Their bytes are shared by all rows.
type enumGen struct {
	values []Value
}

func (g *enumGen) fill(_ *Corpus, _ *Row, v *Value, cell uint64) {
	*v = g.values[below(word(cell, 0), uint64(len(g.values)))]
}

// bytesGen makes random bytes.
type bytesGen struct {
	n lengths
}

func (g *bytesGen) fill(_ *Corpus, r *Row, v *Value, cell uint64) {
	n := g.n.pick(cell)
	b := r.text.reserve(n + 8)
	for i, k := 0, uint64(1); i < n; i, k = i+8, k+1 {
		binary.LittleEndian.PutUint64(b[i:], word(cell, k))
	}
	v.kind, v.bytes = Bytes, r.text.take(n)
}
