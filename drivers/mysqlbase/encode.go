package mysqlbase

import (
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/durabench/durabench/bench/corpus"
)

// arguments is memory for the values bound to one statement.
type arguments struct {
	values []driver.Value
	text   []byte // what values point into
}

func (a *arguments) reset() { a.values, a.text = a.values[:0], a.text[:0] }

// key adds a key, which has to be of the table's kind.
func (a *arguments) key(s *schema, key corpus.Key) error {
	switch {
	case key.Kind() != s.key:
		return fmt.Errorf("key %v of kind %q: the table's key is of kind %q", key, key.Kind(), s.key)
	case s.key == corpus.KeyInteger:
		a.values = append(a.values, key.Int())
	default:
		a.values = append(a.values, key.Bytes())
	}
	return nil
}

// row adds the cells of a row. Bytes are not copied: they are the caller's until the statement has run.
func (a *arguments) row(s *schema, row *corpus.Row) error {
	for i := range s.columns {
		value, err := a.cell(s.columns[i].field, &row.Columns[i])
		if err != nil {
			return fmt.Errorf("column %s: %w", s.columns[i].field.Name, err)
		}
		a.values = append(a.values, value)
	}
	return nil
}

// cell is a value in the form that the driver sends.
func (a *arguments) cell(f *corpus.Field, v *corpus.Value) (driver.Value, error) {
	if v.Kind() != f.Kind {
		return nil, fmt.Errorf("value of kind %s in a column of kind %s", v.Kind(), f.Kind)
	}
	switch f.Kind {
	case corpus.Bool:
		return v.Bool(), nil
	case corpus.Int:
		return v.Int(), nil
	case corpus.Float:
		return v.Float(), nil
	case corpus.Decimal:
		return a.made(func(dst []byte) []byte { return corpus.AppendDecimal(dst, v.Decimal()) }), nil
	case corpus.String, corpus.Bytes, corpus.UUID:
		if b := v.Bytes(); b != nil {
			return b, nil
		}
		return []byte{}, nil // nil would be NULL
	case corpus.DateTime:
		return a.made(func(dst []byte) []byte { return time.Unix(v.Unix(), 0).UTC().AppendFormat(dst, time.DateTime) }), nil
	case corpus.Array, corpus.Object:
		return a.made(func(dst []byte) []byte { return corpus.AppendJSON(dst, f, v) }), nil
	case corpus.Vector:
		return a.vector(v.Floats()), nil
	}
	return nil, fmt.Errorf("no form for values of kind %s", f.Kind)
}

// made returns what appends makes, in the arguments' memory. When that has to grow, earlier values go on pointing into the old one.
func (a *arguments) made(appends func([]byte) []byte) []byte {
	from := len(a.text)
	a.text = appends(a.text)
	return a.text[from:len(a.text):len(a.text)]
}
