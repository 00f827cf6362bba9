package surrealdb

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/durabench/durabench/bench/corpus"
)

// appendRow appends a row as an object: its columns by name, each as a value of the type that fits it.
func (s *schema) appendRow(dst []byte, row *corpus.Row) ([]byte, error) {
	return s.appendMembers(appendHead(dst, majorMap, uint64(len(s.fields))), row)
}

// appendKeyedRow appends a row as an object with the key among its members, as INSERT takes it.
func (s *schema) appendKeyedRow(dst []byte, key corpus.Key, row *corpus.Row) ([]byte, error) {
	dst = appendHead(dst, majorMap, uint64(len(s.fields)+1))
	dst, err := s.appendKey(appendText(dst, corpus.KeyColumn), key)
	if err != nil {
		return dst, err
	}
	return s.appendMembers(dst, row)
}

func (s *schema) appendMembers(dst []byte, row *corpus.Row) ([]byte, error) {
	if len(row.Columns) != len(s.fields) {
		return dst, fmt.Errorf("row has %d columns: the table has %d", len(row.Columns), len(s.fields))
	}
	var err error
	for i := range s.fields {
		dst = appendText(dst, s.fields[i].Name)
		if dst, err = appendValue(dst, &s.fields[i], &row.Columns[i]); err != nil {
			return dst, fmt.Errorf("column %s: %w", s.fields[i].Name, err)
		}
	}
	return dst, nil
}

// appendValue appends a value.
func appendValue(dst []byte, f *corpus.Field, v *corpus.Value) ([]byte, error) {
	if v.Kind() != f.Kind {
		if v.Kind() == 0 {
			return appendNone(dst), nil
		}
		return dst, fmt.Errorf("value of kind %s: the column holds %s", v.Kind(), f.Kind)
	}
	switch f.Kind {
	case corpus.Bool:
		return appendBool(dst, v.Bool()), nil
	case corpus.Int:
		return appendInt(dst, v.Int()), nil
	case corpus.Float:
		return appendFloat(dst, v.Float()), nil
	case corpus.Decimal:
		return appendDecimal(dst, v.Decimal()), nil
	case corpus.String:
		return appendText(dst, v.Bytes()), nil
	case corpus.UUID:
		return appendBytes(appendHead(dst, majorTag, tagUUID), v.Bytes()), nil
	case corpus.DateTime:
		return appendDatetime(dst, v.Unix()), nil
	case corpus.Bytes:
		return appendBytes(dst, v.Bytes()), nil
	case corpus.Vector:
		// As floats of 32 bits, of which the server makes 64: it keeps no others.
		dst = appendHead(dst, majorArray, uint64(len(v.Floats())))
		for _, x := range v.Floats() {
			dst = binary.BigEndian.AppendUint32(append(dst, cborFloat32), math.Float32bits(x))
		}
		return dst, nil
	case corpus.Array, corpus.Object:
		return appendElems(dst, f, v.Elems())
	}
	return dst, fmt.Errorf("no values of kind %s", f.Kind)
}

func appendElems(dst []byte, f *corpus.Field, elems []corpus.Value) (_ []byte, err error) {
	if len(elems) != len(f.Elems) {
		return dst, fmt.Errorf("%s of %d elements: the column's have %d", f.Kind, len(elems), len(f.Elems))
	}
	major := byte(majorArray)
	if f.Kind == corpus.Object {
		major = majorMap
	}
	dst = appendHead(dst, major, uint64(len(elems)))
	for i := range elems {
		if f.Kind == corpus.Object {
			dst = appendText(dst, f.Elems[i].Name)
		}
		if dst, err = appendValue(dst, &f.Elems[i], &elems[i]); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, cborTrue)
	}
	return append(dst, cborFalse)
}

func appendDecimal(dst []byte, units int64) []byte {
	var text [24]byte
	return appendText(appendHead(dst, majorTag, tagDecimal), corpus.AppendDecimal(text[:0], units))
}

func appendDatetime(dst []byte, seconds int64) []byte {
	dst = appendHead(appendHead(dst, majorTag, tagDatetime), majorArray, 2)
	return appendInt(appendInt(dst, seconds), 0)
}
