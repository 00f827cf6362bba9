package surrealdb

import (
	"errors"
	"fmt"

	"github.com/durabench/durabench/bench/corpus"
)

// decodeRow reads a record as the server sends it, the key among its members, into the row.
func (s *schema) decodeRow(from *scanner, row *corpus.Row) (key corpus.Key, err error) {
	row.Reset(s.template)
	keyed := false
	err = readMembers(from, s.fields, func(name string, i int) error {
		if name == corpus.KeyColumn {
			keyed = true
			key, err = s.readKey(from)
			return err
		}
		if i < 0 {
			return fmt.Errorf("the record has a field %q, which the table has not", name)
		}
		return decodeValue(from, &s.fields[i], row, &row.Columns[i])
	})
	if err == nil && !keyed {
		err = errors.New("the record has no ID")
	}
	return key, err
}

// readMembers calls each for the members of an object with the place of each name among the fields, -1 when it is not there.
func readMembers(from *scanner, fields []corpus.Field, each func(name string, i int) error) error {
	n, err := from.count(majorMap)
	if err != nil {
		return err
	}
	next := 0 // the server sends members by name, as fields are
	for range n {
		name, err := from.text()
		if err != nil {
			return err
		}
		place := -1
		for i := range fields {
			if at := (next + i) % len(fields); fields[at].Name == name {
				place, next = at, at+1
				break
			}
		}
		if err := each(name, place); err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
	}
	return nil
}

// decodeValue reads one value, which must be of the field's kind or absent.
func decodeValue(from *scanner, f *corpus.Field, row *corpus.Row, v *corpus.Value) error {
	if from.null() {
		return nil
	}
	switch f.Kind {
	case corpus.Bool:
		major, n, err := from.head()
		if err != nil {
			return err
		}
		if major != majorSimple || n != cborFalse&31 && n != cborTrue&31 {
			return fmt.Errorf("an item of CBOR's major type %d is no boolean", major)
		}
		row.SetBool(v, n == cborTrue&31)
	case corpus.Int:
		n, err := from.int()
		if err != nil {
			return err
		}
		row.SetInt(v, n)
	case corpus.Float:
		x, err := from.float()
		if err != nil {
			return err
		}
		row.SetFloat(v, x)
	case corpus.Decimal:
		if err := from.tag(tagDecimal); err != nil {
			return err
		}
		text, err := from.bytes(majorText)
		if err != nil {
			return err
		}
		units, err := corpus.ParseDecimal(text)
		if err != nil {
			return err
		}
		row.SetDecimal(v, units)
	case corpus.String:
		b, err := from.bytes(majorText)
		if err != nil {
			return err
		}
		row.SetString(v, b)
	case corpus.Bytes:
		b, err := from.bytes(majorBytes)
		if err != nil {
			return err
		}
		row.SetBytes(v, b)
	case corpus.UUID:
		if err := from.tag(tagUUID); err != nil {
			return err
		}
		b, err := from.bytes(majorBytes)
		if err != nil {
			return err
		}
		if len(b) != 16 {
			return fmt.Errorf("UUID has %d bytes", len(b))
		}
		row.SetUUID(v, [16]byte(b))
	case corpus.DateTime:
		seconds, err := readDatetime(from)
		if err != nil {
			return err
		}
		row.SetUnix(v, seconds)
	case corpus.Vector:
		return decodeVector(from, row, v)
	case corpus.Array:
		n, err := from.count(majorArray)
		if err != nil {
			return err
		}
		if n != len(f.Elems) {
			return fmt.Errorf("array of %d elements: it must have %d", n, len(f.Elems))
		}
		elems := row.SetArray(v, n)
		for i := range elems {
			if err := decodeValue(from, &f.Elems[i], row, &elems[i]); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
	case corpus.Object:
		members := row.SetObject(v, len(f.Elems))
		return readMembers(from, f.Elems, func(name string, i int) error {
			if i < 0 {
				return fmt.Errorf("the object has a member %q, which it should not have", name)
			}
			return decodeValue(from, &f.Elems[i], row, &members[i])
		})
	default:
		return fmt.Errorf("no values of kind %s", f.Kind)
	}
	return nil
}

func decodeVector(from *scanner, row *corpus.Row, v *corpus.Value) error {
	n, err := from.count(majorArray)
	if err != nil {
		return err
	}
	components := row.SetVector(v, n)
	for i := range components {
		x, err := from.float()
		if err != nil {
			return err
		}
		if components[i] = float32(x); float64(components[i]) != x {
			return fmt.Errorf("component %d is %v, which is no float of 32 bits", i, x)
		}
	}
	return nil
}

// readDatetime reads a moment of whole seconds.
func readDatetime(from *scanner) (seconds int64, err error) {
	if err := from.tag(tagDatetime); err != nil {
		return 0, err
	}
	n, err := from.count(majorArray)
	if err != nil {
		return 0, err
	}
	var parts [2]int64
	if n > len(parts) {
		return 0, fmt.Errorf("datetime of %d parts", n)
	}
	for i := range n {
		if parts[i], err = from.int(); err != nil {
			return 0, err
		}
	}
	if parts[1] != 0 {
		return 0, fmt.Errorf("moment has a fraction of a second: %d ns", parts[1])
	}
	return parts[0], nil
}
