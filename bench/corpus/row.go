package corpus

import "math"

// Row is memory for one row: a generator fills it (Corpus.Row), or a driver decodes a database's answer into it (Reset, then the Set methods).
// Its memory is used again each time, so that in the steady state neither allocates. Whatever was read out of a row before is
// overwritten then. A Row belongs to one goroutine. The zero Row is ready.
type Row struct {
	Index   uint64 // of a generated row
	Version uint32 // of a generated row
	Columns []Value

	values arena[Value]
	text   arena[byte]
	floats arena[float32]
}

// Reset empties the row and shapes it for a decoder: one absent value per column of the template, in its order.
func (r *Row) Reset(t *Template) {
	r.shape(t)
	r.Index, r.Version = 0, 0
}

func (r *Row) shape(t *Template) {
	r.values.reset()
	r.text.reset()
	r.floats.reset()
	r.Columns = r.elems(len(t.columns))
}

// SetAbsent makes v absent, SQL's NULL.
func (r *Row) SetAbsent(v *Value) { *v = Value{} }

// SetBool makes v a Bool.
func (r *Row) SetBool(v *Value, b bool) {
	*v = Value{kind: Bool}
	if b {
		v.bits = 1
	}
}

// SetInt makes v an Int.
func (r *Row) SetInt(v *Value, n int64) { *v = Value{kind: Int, bits: uint64(n)} }

// SetFloat makes v a Float. Nothing is rounded: a driver that gets a column of single precision as text must parse it as such.
func (r *Row) SetFloat(v *Value, f float64) { *v = Value{kind: Float, bits: math.Float64bits(f)} }

// SetDecimal makes v a Decimal of so many units of 10⁻⁴.
func (r *Row) SetDecimal(v *Value, units int64) { *v = Value{kind: Decimal, bits: uint64(units)} }

// SetUnix makes v a DateTime, in seconds since the Unix epoch.
func (r *Row) SetUnix(v *Value, seconds int64) { *v = Value{kind: DateTime, bits: uint64(seconds)} }

// SetString makes v a String with a copy of the text.
func (r *Row) SetString(v *Value, text []byte) {
	*v = Value{kind: String, bytes: r.text.take(len(text))}
	copy(v.bytes, text)
}

// SetText is SetString for a text that comes as a string.
func (r *Row) SetText(v *Value, text string) {
	*v = Value{kind: String, bytes: r.text.take(len(text))}
	copy(v.bytes, text)
}

// SetBytes makes v a Bytes with a copy of b.
func (r *Row) SetBytes(v *Value, b []byte) {
	*v = Value{kind: Bytes, bytes: r.text.take(len(b))}
	copy(v.bytes, b)
}

// SetUUID makes v a UUID.
func (r *Row) SetUUID(v *Value, id [16]byte) {
	*v = Value{kind: UUID, bytes: r.text.take(16)}
	copy(v.bytes, id[:])
}

// SetFloats makes v a Vector with a copy of the components.
func (r *Row) SetFloats(v *Value, components []float32) {
	copy(r.SetVector(v, len(components)), components)
}

// SetVector makes v a Vector and returns its n components, zeros or not, for the caller to fill.
func (r *Row) SetVector(v *Value, n int) []float32 {
	*v = Value{kind: Vector, floats: r.floats.take(n)}
	return v.floats
}

// SetArray makes v an Array and returns its n elements, absent, for the caller to set.
func (r *Row) SetArray(v *Value, n int) []Value {
	*v = Value{kind: Array, elems: r.elems(n)}
	return v.elems
}

// SetObject makes v an Object and returns its n members, absent, for the caller to set. They are in the order of Field.Elems.
func (r *Row) SetObject(v *Value, n int) []Value {
	*v = Value{kind: Object, elems: r.elems(n)}
	return v.elems
}

// elems hands out n absent values.
func (r *Row) elems(n int) []Value {
	v := r.values.take(n)
	clear(v)
	return v
}

// arena hands out pieces of one block of memory and takes them all back at once. When the block is too small it starts a larger one and leaves
// the old block to the pieces that lie in it, so after a few rounds one block is large enough for all.
type arena[T any] struct {
	block []T
}

func (a *arena[T]) reset() { a.block = a.block[:0] }

// take hands out n elements with whatever they held before.
func (a *arena[T]) take(n int) []T {
	a.reserve(n)
	end := len(a.block) + n
	piece := a.block[len(a.block):end:end]
	a.block = a.block[:end]
	return piece
}

// reserve returns n elements that the next take will start with, for a caller who does not know yet how many it will need.
func (a *arena[T]) reserve(n int) []T {
	if cap(a.block)-len(a.block) < n {
		a.block = make([]T, 0, max(2*cap(a.block), n, 64))
	}
	return a.block[len(a.block) : len(a.block)+n]
}
