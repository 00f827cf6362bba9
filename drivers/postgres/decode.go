package postgres

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// decode turns the cells of a record into values.
func (s *schema) decode(rec *drivers.Record, row *corpus.Row) error {
	row.Reset(s.template)
	if len(rec.Ends) != len(s.columns) {
		return fmt.Errorf("answer has %d cells: the table has %d columns", len(rec.Ends), len(s.columns))
	}
	from := 0
	for i, end := range rec.Ends {
		if end < 0 {
			continue // NULL: absent
		}
		if end < from || end > len(rec.Bytes) {
			return fmt.Errorf("answer is damaged: cell %d ends at byte %d of %d", i, end, len(rec.Bytes))
		}
		f := s.columns[i].field
		if err := s.decodeCell(f, rec.Bytes[from:end], row, &row.Columns[i]); err != nil {
			return fmt.Errorf("column %s: %w", f.Name, err)
		}
		from = end
	}
	return nil
}

// decodeCell reads one value in the binary form of the table's column.
func (s *schema) decodeCell(f *corpus.Field, cell []byte, row *corpus.Row, v *corpus.Value) error {
	if s.searched && f.Kind == corpus.Vector {
		return decodeVector(cell, row, v)
	}
	return decodeCell(f, cell, row, v)
}

// decodeCell reads one value in the binary form of PostgreSQL's own types.
func decodeCell(f *corpus.Field, cell []byte, row *corpus.Row, v *corpus.Value) error {
	want := func(n int) error {
		if len(cell) != n {
			return fmt.Errorf("%s value has %d bytes: it must have %d", f.Kind, len(cell), n)
		}
		return nil
	}
	switch f.Kind {
	case corpus.Bool:
		if err := want(1); err != nil {
			return err
		}
		row.SetBool(v, cell[0] != 0)
	case corpus.Int:
		if err := want(8); err != nil {
			return err
		}
		row.SetInt(v, int64(binary.BigEndian.Uint64(cell)))
	case corpus.Float:
		if err := want(8); err != nil {
			return err
		}
		row.SetFloat(v, math.Float64frombits(binary.BigEndian.Uint64(cell)))
	case corpus.Decimal:
		units, err := decodeNumeric(cell)
		if err != nil {
			return err
		}
		row.SetDecimal(v, units)
	case corpus.String:
		row.SetString(v, cell)
	case corpus.Bytes:
		row.SetBytes(v, cell)
	case corpus.UUID:
		if err := want(16); err != nil {
			return err
		}
		row.SetUUID(v, [16]byte(cell))
	case corpus.DateTime:
		if err := want(8); err != nil {
			return err
		}
		micros := int64(binary.BigEndian.Uint64(cell))
		if micros%1_000_000 != 0 {
			return fmt.Errorf("moment has a fraction of a second: %d µs after 2000-01-01", micros)
		}
		row.SetUnix(v, micros/1_000_000+epoch)
	case corpus.Array, corpus.Object:
		if len(cell) == 0 || cell[0] != jsonbVersion {
			return fmt.Errorf("jsonb value does not begin with version %d", jsonbVersion)
		}
		return corpus.ParseJSON(f, cell[1:], row, v)
	case corpus.Vector:
		return decodeReals(cell, row, v)
	default:
		return fmt.Errorf("no values of kind %s", f.Kind)
	}
	return nil
}

// decodeNumeric reads a numeric as units of 10⁻⁴, exactly or not at all.
func decodeNumeric(cell []byte) (units int64, err error) {
	if len(cell) < 8 {
		return 0, fmt.Errorf("numeric value has %d bytes: it must have at least 8", len(cell))
	}
	n := int(binary.BigEndian.Uint16(cell))
	weight := int(int16(binary.BigEndian.Uint16(cell[2:])))
	sign := binary.BigEndian.Uint16(cell[4:])
	if len(cell) != 8+2*n {
		return 0, fmt.Errorf("numeric value of %d digits has %d bytes: it must have %d", n, len(cell), 8+2*n)
	}
	if sign != 0 && sign != numericNegative {
		return 0, fmt.Errorf("numeric value is not a number (sign %#x)", sign)
	}
	magnitude := uint64(0)
	for i := range weight + 2 { // down to the digit of weight -1, the fraction
		digit := uint64(0)
		if i < n {
			digit = uint64(binary.BigEndian.Uint16(cell[8+2*i:]))
		}
		if digit >= numericBase || magnitude > (math.MaxUint64-digit)/numericBase {
			return 0, fmt.Errorf("numeric value is too large or damaged")
		}
		magnitude = magnitude*numericBase + digit
	}
	for i := max(weight+2, 0); i < n; i++ {
		if binary.BigEndian.Uint16(cell[8+2*i:]) != 0 {
			return 0, fmt.Errorf("numeric value has more than four decimal places")
		}
	}
	if sign == numericNegative {
		if magnitude > 1<<63 {
			return 0, fmt.Errorf("numeric value is too large")
		}
		return int64(-magnitude), nil
	}
	if magnitude > math.MaxInt64 {
		return 0, fmt.Errorf("numeric value is too large")
	}
	return int64(magnitude), nil
}

// decodeReals reads a one-dimensional array of real.
func decodeReals(cell []byte, row *corpus.Row, v *corpus.Value) error {
	if len(cell) < 12 {
		return fmt.Errorf("array has %d bytes: it must have at least 12", len(cell))
	}
	dimensions, elem := binary.BigEndian.Uint32(cell), binary.BigEndian.Uint32(cell[8:])
	if elem != oidFloat4 || dimensions > 1 {
		return fmt.Errorf("array of %d dimensions and element type %d: it must be of one and of type %d", dimensions, elem, oidFloat4)
	}
	n := 0
	if dimensions == 1 {
		if len(cell) < 20 {
			return fmt.Errorf("array is cut off after %d bytes", len(cell))
		}
		n = int(binary.BigEndian.Uint32(cell[12:]))
		cell = cell[20:]
	} else {
		cell = cell[12:]
	}
	if len(cell) != 8*n {
		return fmt.Errorf("array of %d components has %d bytes: it must have %d, without NULLs", n, len(cell), 8*n)
	}
	components := row.SetVector(v, n)
	for i := range components {
		components[i] = math.Float32frombits(binary.BigEndian.Uint32(cell[8*i+4:]))
	}
	return nil
}
