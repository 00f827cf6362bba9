package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/durabench/durabench/bench/corpus"
)

// epoch is PostgreSQL's epoch, 2000-01-01, in seconds since 1970.
const epoch = 946_684_800

// jsonbVersion begins every jsonb value in binary form.
const jsonbVersion = 1

// appendCells appends the key and all values of the row as they stand in a Bind message and in a binary COPY: each with its length in
// four bytes before it.
func (s *schema) appendCells(dst []byte, key corpus.Key, row *corpus.Row) ([]byte, error) {
	dst, err := s.appendKey(dst, key)
	if err != nil {
		return dst, err
	}
	if len(row.Columns) != len(s.columns) {
		return dst, fmt.Errorf("row has %d columns: the table has %d", len(row.Columns), len(s.columns))
	}
	for i := range s.columns {
		if f := s.columns[i].field; s.searched && f.Kind == corpus.Vector && row.Columns[i].Kind() == corpus.Vector {
			dst = appendVector(dst, row.Columns[i].Floats())
		} else if dst, err = appendCell(dst, f, &row.Columns[i]); err != nil {
			return dst, fmt.Errorf("column %s: %w", s.columns[i].field.Name, err)
		}
	}
	return dst, nil
}

// appendKey appends the key with its length.
func (s *schema) appendKey(dst []byte, key corpus.Key) ([]byte, error) {
	switch key.Kind() {
	case corpus.KeyInteger:
		if s.keyOID != oidInt8 {
			return dst, s.wrongKey(key)
		}
		dst = binary.BigEndian.AppendUint32(dst, 8)
		return binary.BigEndian.AppendUint64(dst, uint64(key.Int())), nil
	case corpus.KeyUUID:
		if s.keyOID != oidUUID {
			return dst, s.wrongKey(key)
		}
	case "":
		return dst, s.wrongKey(key)
	default:
		if s.keyOID != oidText {
			return dst, s.wrongKey(key)
		}
	}
	return appendSized(dst, key.Bytes()), nil
}

func (s *schema) wrongKey(key corpus.Key) error {
	return fmt.Errorf("key %q is of kind %q: the table's key is %s", key, key.Kind(), s.keySQL)
}

func appendSized(dst, b []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(b)))
	return append(dst, b...)
}

func appendSized8(dst []byte, bits uint64) []byte {
	dst = binary.BigEndian.AppendUint32(dst, 8)
	return binary.BigEndian.AppendUint64(dst, bits)
}

// appendCell appends one value in the binary form of its column's type.
func appendCell(dst []byte, f *corpus.Field, v *corpus.Value) ([]byte, error) {
	if v.Kind() != f.Kind {
		if v.Kind() == 0 {
			return binary.BigEndian.AppendUint32(dst, math.MaxUint32), nil // NULL
		}
		return dst, fmt.Errorf("value of kind %s: the column holds %s", v.Kind(), f.Kind)
	}
	switch f.Kind {
	case corpus.Bool:
		b := byte(0)
		if v.Bool() {
			b = 1
		}
		return append(dst, 0, 0, 0, 1, b), nil
	case corpus.Int:
		return appendSized8(dst, uint64(v.Int())), nil
	case corpus.Float:
		return appendSized8(dst, math.Float64bits(v.Float())), nil
	case corpus.Decimal:
		return appendNumeric(dst, v.Decimal()), nil
	case corpus.String:
		if at := bytes.IndexByte(v.Bytes(), 0); at >= 0 {
			return dst, fmt.Errorf("PostgreSQL text cannot hold the character NUL, which stands at byte %d", at)
		}
		return appendSized(dst, v.Bytes()), nil
	case corpus.Bytes, corpus.UUID:
		return appendSized(dst, v.Bytes()), nil
	case corpus.DateTime:
		return appendSized8(dst, uint64((v.Unix()-epoch)*1_000_000)), nil
	case corpus.Array, corpus.Object:
		at := len(dst)
		dst = corpus.AppendJSON(append(dst, 0, 0, 0, 0, jsonbVersion), f, v)
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		return dst, nil
	case corpus.Vector:
		return appendReals(dst, v.Floats()), nil
	}
	return dst, fmt.Errorf("no binary form for values of kind %s", f.Kind)
}

// Numbers of type numeric are written in base 10000, so four decimal places are one digit.
const (
	numericBase     = 10_000
	numericNegative = 0x4000
	numericScale    = 4
)

// appendNumeric appends so many units of 10⁻⁴.
func appendNumeric(dst []byte, units int64) []byte {
	sign, magnitude := uint16(0), uint64(units)
	if units < 0 {
		sign, magnitude = numericNegative, -magnitude
	}
	var digits [6]uint16 // from the least: the fraction, then the whole number
	n := 0
	for rest := magnitude; rest > 0; rest /= numericBase {
		digits[n] = uint16(rest % numericBase)
		n++
	}
	least := 0 // zeros at the end are not sent
	for least < n && digits[least] == 0 {
		least++
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(8+2*(n-least)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(n-least))
	dst = binary.BigEndian.AppendUint16(dst, uint16(max(n-2, -1))) // weight of the first digit; the fraction's is -1
	dst = binary.BigEndian.AppendUint16(dst, sign)
	dst = binary.BigEndian.AppendUint16(dst, numericScale)
	for i := n - 1; i >= least; i-- {
		dst = binary.BigEndian.AppendUint16(dst, digits[i])
	}
	return dst
}

// appendReals appends a one-dimensional array of real.
func appendReals(dst []byte, components []float32) []byte {
	if len(components) == 0 {
		dst = binary.BigEndian.AppendUint32(dst, 12)
		dst = binary.BigEndian.AppendUint64(dst, 0) // no dimensions, no NULLs
		return binary.BigEndian.AppendUint32(dst, oidFloat4)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(20+8*len(components)))
	dst = binary.BigEndian.AppendUint32(dst, 1) // dimensions
	dst = binary.BigEndian.AppendUint32(dst, 0) // no NULLs
	dst = binary.BigEndian.AppendUint32(dst, oidFloat4)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(components)))
	dst = binary.BigEndian.AppendUint32(dst, 1) // first index
	for _, x := range components {
		dst = append(dst, 0, 0, 0, 4)
		dst = binary.BigEndian.AppendUint32(dst, math.Float32bits(x))
	}
	return dst
}
