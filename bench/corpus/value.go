package corpus

import (
	"math"
	"time"
	"unsafe"
)

// Value is one cell of a row. Its bytes, elements and components belong to the Row that it came from and are overwritten when that
// row is filled again.
type Value struct {
	kind   Kind
	bits   uint64
	bytes  []byte
	elems  []Value
	floats []float32
}

// Kind returns the value's type; 0 is an absent value (SQL's NULL), which the generator never makes but a database may return.
func (v *Value) Kind() Kind { return v.kind }

// Bool returns a Bool's value.
func (v *Value) Bool() bool { return v.bits != 0 }

// Int returns an Int's value.
func (v *Value) Int() int64 { return int64(v.bits) }

// Float returns a Float's value.
func (v *Value) Float() float64 { return math.Float64frombits(v.bits) }

// Decimal returns a Decimal in units of 10⁻⁴.
func (v *Value) Decimal() int64 { return int64(v.bits) }

// Unix returns a DateTime as seconds since the Unix epoch.
func (v *Value) Unix() int64 { return int64(v.bits) }

// Time returns a DateTime in UTC.
func (v *Value) Time() time.Time { return time.Unix(int64(v.bits), 0).UTC() }

// Bytes returns the bytes of a String, Bytes or UUID (16 of them).
func (v *Value) Bytes() []byte { return v.bytes }

// Text returns a String's bytes as a string without copying: it is valid as long as the row is not filled again.
func (v *Value) Text() string { return unsafe.String(unsafe.SliceData(v.bytes), len(v.bytes)) }

// UUID returns a UUID's 16 bytes.
func (v *Value) UUID() (id [16]byte) {
	copy(id[:], v.bytes)
	return id
}

// Elems returns an Array's elements, or an Object's members in the order of Field.Elems.
func (v *Value) Elems() []Value { return v.elems }

// Floats returns a Vector's components.
func (v *Value) Floats() []float32 { return v.floats }
