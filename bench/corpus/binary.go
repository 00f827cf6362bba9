package corpus

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The binary form is what key-value engines store: as much work and space as a careful application would spend, and no more. All numbers are
// little-endian.
//
//	row      formatByte, then the value of each column in the order of Template.Columns; names are not stored
//	value    the kind in one byte, 0 when absent, then
//	  bool                           one byte, 0 or 1
//	  int, decimal, datetime, float  eight bytes
//	  uuid                           sixteen bytes
//	  string, bytes                  length in four bytes, then so many
//	  array, object                  number of elements in four bytes, then their values
//	  vector                         number of components in four bytes, then four bytes each

// formatByte begins every row, so that something else is not taken for one. It changes with the format.
const formatByte = 0xdb

// AppendBinary appends the row in binary form. It allocates nothing when dst is large enough.
func (r *Row) AppendBinary(dst []byte, _ *Template) []byte {
	dst = append(dst, formatByte)
	for i := range r.Columns {
		dst = r.Columns[i].appendBinary(dst)
	}
	return dst
}

func (v *Value) appendBinary(dst []byte) []byte {
	dst = append(dst, byte(v.kind))
	switch v.kind {
	case 0:
	case Bool:
		dst = append(dst, byte(v.bits))
	case UUID:
		dst = append(dst, v.bytes...)
	case String, Bytes:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v.bytes)))
		dst = append(dst, v.bytes...)
	case Array, Object:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v.elems)))
		for i := range v.elems {
			dst = v.elems[i].appendBinary(dst)
		}
	case Vector:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v.floats)))
		for _, x := range v.floats {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
		}
	default:
		dst = binary.LittleEndian.AppendUint64(dst, v.bits)
	}
	return dst
}

// ParseBinary resets r and reads a row in binary form into it. It is strict: everything must be as AppendBinary writes it for the template,
// to the last byte; the error names the column. Index and Version are not known from it: Corpus.Unseal tells them.
func ParseBinary(t *Template, data []byte, r *Row) error {
	r.Reset(t)
	if len(data) == 0 {
		return fmt.Errorf("binary row is empty")
	}
	if data[0] != formatByte {
		return fmt.Errorf("binary row begins with byte %#02x: it must be %#02x", data[0], formatByte)
	}
	s := binaryScanner{data: data[1:], row: r}
	for i := range t.columns {
		if err := s.value(&t.columns[i], &r.Columns[i]); err != nil {
			return fmt.Errorf("binary row, column %s: %w", t.columns[i].Name, err)
		}
	}
	if len(s.data) > 0 {
		return fmt.Errorf("binary row has %d bytes after its last column", len(s.data))
	}
	return nil
}

// binaryScanner takes values off the front of the data.
type binaryScanner struct {
	data []byte
	row  *Row
}

// take returns the next n bytes, nil when fewer are left.
func (s *binaryScanner) take(n int) []byte {
	if n > len(s.data) {
		return nil
	}
	b := s.data[:n:n]
	s.data = s.data[n:]
	return b
}

// count reads a number of things that take at least size bytes each.
func (s *binaryScanner) count(size int) (int, error) {
	b := s.take(4)
	if b == nil {
		return 0, s.truncated()
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	if n*uint64(size) > uint64(len(s.data)) {
		return 0, s.truncated()
	}
	return int(n), nil
}

func (s *binaryScanner) truncated() error {
	return fmt.Errorf("the row is cut off: %d bytes are left where more are needed", len(s.data))
}

func (s *binaryScanner) value(f *Field, v *Value) error {
	kind := s.take(1)
	if kind == nil {
		return s.truncated()
	}
	if kind[0] == 0 {
		return nil // absent already
	}
	if Kind(kind[0]) != f.Kind {
		return fmt.Errorf("holds a value of kind %s (%d): it must be %s", Kind(kind[0]), kind[0], f.Kind)
	}
	switch f.Kind {
	case Bool:
		b := s.take(1)
		if b == nil {
			return s.truncated()
		}
		if b[0] > 1 {
			return fmt.Errorf("holds %d for a boolean", b[0])
		}
		s.row.SetBool(v, b[0] == 1)
	case UUID:
		b := s.take(16)
		if b == nil {
			return s.truncated()
		}
		s.row.SetUUID(v, [16]byte(b))
	case String, Bytes:
		n, err := s.count(1)
		if err != nil {
			return err
		}
		*v = Value{kind: f.Kind, bytes: s.row.text.take(n)}
		copy(v.bytes, s.take(n))
	case Array, Object:
		n, err := s.count(1)
		if err != nil {
			return err
		}
		if n != len(f.Elems) {
			return fmt.Errorf("holds %d elements: there must be %d", n, len(f.Elems))
		}
		*v = Value{kind: f.Kind, elems: s.row.elems(n)}
		for i := range v.elems {
			if err := s.value(&f.Elems[i], &v.elems[i]); err != nil {
				return err
			}
		}
	case Vector:
		n, err := s.count(4)
		if err != nil {
			return err
		}
		if n != f.Dim {
			return fmt.Errorf("holds %d components: there must be %d", n, f.Dim)
		}
		components := s.row.SetVector(v, n)
		b := s.take(4 * n)
		for i := range components {
			components[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	default:
		b := s.take(8)
		if b == nil {
			return s.truncated()
		}
		*v = Value{kind: f.Kind, bits: binary.LittleEndian.Uint64(b)}
	}
	return nil
}
