package corpus

import "math"

// Domain tells which values a field can have, as far as that is simply said. Where a member does not say anything, any value of the kind is possible.
type Domain struct {
	Values []Value // every value, of enums and booleans; nil when there are more. Not to be modified.
	// Lo and Hi are the least and the largest Int, Decimal (in units of 10⁻⁴) or DateTime (in seconds).
	Lo, Hi int64
	// LoFloat and HiFloat bound a Float: LoFloat ≤ value < HiFloat.
	LoFloat, HiFloat float64
	// MinLen and MaxLen bound the length in bytes of a String or Bytes.
	MinLen, MaxLen int
	Words          []string // of a text that is made of words of a dictionary, joined by spaces; nil when it is not
	// Plain tells that a String has only the characters A-Z a-z 0-9 and spaces.
	Plain bool
}

// Domain returns the field's domain: that of a scalar, the zero Domain for other kinds.
func (f *Field) Domain() Domain {
	if f.Kind == Array || f.Kind == Object || f.Kind == Vector {
		return Domain{}
	}
	d := Domain{Lo: math.MinInt64, Hi: math.MaxInt64, LoFloat: math.Inf(-1), HiFloat: math.Inf(1), MaxLen: math.MaxInt}
	switch g := f.gen.(type) {
	case nil:
		d.Lo = 0 // the seal
	case *enumGen:
		d.Values = g.values
	case boolGen:
		d.Values = []Value{{kind: Bool}, {kind: Bool, bits: 1}}
	case *rangeGen:
		d.Lo, d.Hi = g.lo, g.lo+int64(g.span-1)
	case *clusterGen:
		d.Lo, d.Hi = 0, int64(g.of.n-1)
	case *floatGen:
		d.LoFloat, d.HiFloat = g.lo, float64(g.hi)
	case *bytesGen:
		d.MinLen, d.MaxLen = g.n.from, f.MaxLen
	case *stringGen:
		d.MinLen, d.MaxLen, d.Plain = g.n.from, f.MaxLen, true
	case *textGen:
		d.MinLen, d.MaxLen, d.Plain = g.n.from, f.MaxLen, true
	case *wordsGen:
		d.MinLen, d.MaxLen, d.Words = g.n.from, f.MaxLen, g.words
	}
	return d
}
