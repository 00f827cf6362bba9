package mysqlbase

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// appendCell appends a value as the driver gives it: numbers as eight bytes, all else as it is. It returns a negative end for NULL.
func appendCell(dst []byte, value driver.Value) (next []byte, end int, err error) {
	switch v := value.(type) {
	case nil:
		return dst, -1, nil
	case []byte:
		dst = append(dst, v...)
	case string:
		dst = append(dst, v...)
	case int64:
		dst = binary.BigEndian.AppendUint64(dst, uint64(v))
	case float64:
		dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(v))
	case float32:
		dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(float64(v)))
	default:
		return dst, 0, fmt.Errorf("the driver gave a value of type %T", value)
	}
	return dst, len(dst), nil
}

// fill appends a row's cells to a record.
func fill(rec *drivers.Record, cells []driver.Value) error {
	for _, cell := range cells {
		next, end, err := appendCell(rec.Bytes, cell)
		if err != nil {
			return err
		}
		rec.Bytes, rec.Ends = next, append(rec.Ends, end)
	}
	return nil
}

// decode turns the cells of a record into values.
func (s *schema) decode(rec *drivers.Record, row *corpus.Row) error {
	if len(rec.Ends) != len(s.columns) {
		row.Reset(s.template)
		return fmt.Errorf("answer has %d cells: the table has %d columns", len(rec.Ends), len(s.columns))
	}
	return s.decodeCells(rec.Bytes, rec.Ends, 0, row)
}

// decodeCells reads one cell for each column; from is where the first begins.
func (s *schema) decodeCells(bytes []byte, ends []int, from int, row *corpus.Row) error {
	row.Reset(s.template)
	for i, end := range ends {
		if end < 0 {
			continue // NULL: absent
		}
		if end < from || end > len(bytes) {
			return fmt.Errorf("answer is damaged: cell %d ends at byte %d of %d", i, end, len(bytes))
		}
		f := s.columns[i].field
		if err := decodeCell(f, bytes[from:end], row, &row.Columns[i]); err != nil {
			return fmt.Errorf("column %s: %w", f.Name, err)
		}
		from = end
	}
	return nil
}

// decodeCell reads one value.
func decodeCell(f *corpus.Field, cell []byte, row *corpus.Row, v *corpus.Value) error {
	if size := sizeOf(f); size > 0 && len(cell) != size {
		return fmt.Errorf("%s value has %d bytes: it must have %d", f.Kind, len(cell), size)
	}
	switch f.Kind {
	case corpus.Bool:
		row.SetBool(v, binary.BigEndian.Uint64(cell) != 0)
	case corpus.Int:
		row.SetInt(v, int64(binary.BigEndian.Uint64(cell)))
	case corpus.Float:
		row.SetFloat(v, math.Float64frombits(binary.BigEndian.Uint64(cell)))
	case corpus.Decimal:
		units, err := corpus.ParseDecimal(cell)
		if err != nil {
			return err
		}
		row.SetDecimal(v, units)
	case corpus.String:
		row.SetString(v, cell)
	case corpus.Bytes:
		row.SetBytes(v, cell)
	case corpus.UUID:
		row.SetUUID(v, [16]byte(cell))
	case corpus.DateTime:
		// Fractions are read too, so that one that was not written is found.
		moment, err := time.Parse("2006-01-02 15:04:05.999999", string(cell))
		if err != nil {
			return fmt.Errorf("moment: %w", err)
		}
		if moment.Nanosecond() != 0 {
			return fmt.Errorf("moment has a fraction of a second: %s", cell)
		}
		row.SetUnix(v, moment.Unix())
	case corpus.Array, corpus.Object:
		return corpus.ParseJSON(f, cell, row, v)
	case corpus.Vector:
		components := row.SetVector(v, len(cell)/4)
		for i := range components {
			components[i] = math.Float32frombits(binary.LittleEndian.Uint32(cell[4*i:]))
		}
	default:
		return fmt.Errorf("no values of kind %s", f.Kind)
	}
	return nil
}

// sizeOf is how many bytes a cell of the field has, 0 when that depends on the value.
func sizeOf(f *corpus.Field) int {
	switch f.Kind {
	case corpus.Bool, corpus.Int, corpus.Float:
		return 8
	case corpus.UUID:
		return 16
	case corpus.Vector:
		return 4 * f.Dim
	}
	return 0
}

// decodeKey reads a key's cell.
func decodeKey(kind corpus.KeyKind, cell []byte) (corpus.Key, error) {
	if kind != corpus.KeyInteger {
		return corpus.ParseKey(kind, cell)
	}
	if len(cell) != 8 {
		return corpus.Key{}, fmt.Errorf("integer key has %d bytes: it must have 8", len(cell))
	}
	return corpus.IntegerKey(int64(binary.BigEndian.Uint64(cell))), nil
}
