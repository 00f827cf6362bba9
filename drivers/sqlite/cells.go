package sqlite

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// appendRow appends the parameters for a row's columns, in the form that columnTypes declares.
func appendRow(params []byte, t *corpus.Template, row *corpus.Row) ([]byte, error) {
	columns := t.Columns()
	if len(row.Columns) != len(columns) {
		return nil, fmt.Errorf("sqlite: the row has %d columns, the table %d", len(row.Columns), len(columns))
	}
	for i := range columns {
		field, cell := &columns[i], &row.Columns[i]
		if cell.Kind() != field.Kind {
			return nil, fmt.Errorf("sqlite: column %q is of kind %s, the row has %s", field.Name, field.Kind, cell.Kind())
		}
		switch field.Kind {
		case corpus.Bool:
			n := int64(0)
			if cell.Bool() {
				n = 1
			}
			params = appendInteger(params, n)
		case corpus.Int:
			params = appendInteger(params, cell.Int())
		case corpus.Decimal:
			params = appendInteger(params, cell.Decimal())
		case corpus.DateTime:
			params = appendInteger(params, cell.Unix())
		case corpus.Float:
			params = appendReal(params, cell.Float())
		case corpus.String:
			params = appendText(params, cell.Bytes())
		case corpus.Bytes, corpus.UUID:
			params = appendBlob(params, cell.Bytes())
		case corpus.Array, corpus.Object:
			params = appendJSON(params, field, cell)
		case corpus.Vector:
			params = appendVector(params, cell.Floats())
		}
	}
	return params, nil
}

// appendJSON writes the JSON where it will lie and its length before it afterwards.
func appendJSON(params []byte, field *corpus.Field, cell *corpus.Value) []byte {
	params = append(params, tagText, 0, 0, 0, 0)
	start := len(params)
	params = corpus.AppendJSON(params, field, cell)
	binary.LittleEndian.PutUint32(params[start-4:], uint32(len(params)-start))
	return params
}

func appendVector(params []byte, components []float32) []byte {
	params = binary.LittleEndian.AppendUint32(append(params, tagBlob), uint32(4*len(components)))
	for _, x := range components {
		params = binary.LittleEndian.AppendUint32(params, math.Float32bits(x))
	}
	return params
}

// decodeRow turns the cells of a record into typed values.
func decodeRow(t *corpus.Template, rec *drivers.Record, row *corpus.Row) error {
	columns := t.Columns()
	if len(rec.Ends) != len(columns) {
		return fmt.Errorf("sqlite: the answer has %d cells, the table %d columns", len(rec.Ends), len(columns))
	}
	row.Reset(t)
	start := 0
	for i := range columns {
		end := rec.Ends[i]
		if end < 0 {
			continue // NULL: the cell stays absent
		}
		if err := decodeCell(&columns[i], rec.Bytes[start:end], row, &row.Columns[i]); err != nil {
			return fmt.Errorf("sqlite: column %q: %w", columns[i].Name, err)
		}
		start = end
	}
	return nil
}

func decodeCell(field *corpus.Field, data []byte, row *corpus.Row, cell *corpus.Value) error {
	switch field.Kind {
	case corpus.String:
		row.SetString(cell, data)
		return nil
	case corpus.Bytes:
		row.SetBytes(cell, data)
		return nil
	case corpus.UUID:
		if len(data) != 16 {
			return fmt.Errorf("uuid of %d bytes", len(data))
		}
		row.SetUUID(cell, [16]byte(data))
		return nil
	case corpus.Array, corpus.Object:
		return corpus.ParseJSON(field, data, row, cell)
	case corpus.Vector:
		if len(data)%4 != 0 {
			return fmt.Errorf("vector of %d bytes", len(data))
		}
		for i, components := 0, row.SetVector(cell, len(data)/4); i < len(components); i++ {
			components[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		return nil
	}
	if len(data) != 8 {
		return fmt.Errorf("number of %d bytes", len(data))
	}
	word := binary.LittleEndian.Uint64(data)
	switch field.Kind {
	case corpus.Bool:
		if word > 1 {
			return fmt.Errorf("bool %d", word)
		}
		row.SetBool(cell, word == 1)
	case corpus.Int:
		row.SetInt(cell, int64(word))
	case corpus.Decimal:
		row.SetDecimal(cell, int64(word))
	case corpus.DateTime:
		row.SetUnix(cell, int64(word))
	case corpus.Float:
		row.SetFloat(cell, math.Float64frombits(word))
	default:
		return fmt.Errorf("kind %s", field.Kind)
	}
	return nil
}
