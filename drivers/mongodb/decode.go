package mongodb

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/durabench/durabench/bench/corpus"
)

// decode reads a document into a row. Fields come in the order in which they were written, unless somebody else wrote them. The key is the zero
// Key when the document has none.
func (s *schema) decode(document []byte, row *corpus.Row) (key corpus.Key, err error) {
	row.Reset(s.template)
	return s.eachField(document, func(at int, value bsoncore.Value) error {
		if err := s.decodeValue(&s.fields[at], value, row, &row.Columns[at]); err != nil {
			return fmt.Errorf("field %s: %w", s.fields[at].Name, err)
		}
		return nil
	})
}

// eachField hands over the fields of a document with their places in the template, and returns the key.
func (s *schema) eachField(document []byte, each func(at int, value bsoncore.Value) error) (key corpus.Key, err error) {
	elements, err := bsoncore.Document(document).Elements()
	if err == nil {
		err = checkEnd(document)
	}
	if err != nil {
		return key, fmt.Errorf("document is damaged: %w", err)
	}
	next := 0
	for _, element := range elements {
		name := element.Key()
		if name == "_id" {
			if key, err = s.decodeKey(element.Value()); err != nil {
				return key, err
			}
			continue
		}
		at := find(s.fields, name, next)
		if at < 0 {
			return key, fmt.Errorf("document has the field %q, which no row has", name)
		}
		next = at + 1
		if err := each(at, element.Value()); err != nil {
			return key, err
		}
	}
	return key, nil
}

// checkEnd makes sure that a document has the length that it says, and its last byte.
func checkEnd(document []byte) error {
	length, _, ok := bsoncore.ReadLength(document)
	if !ok || int(length) != len(document) || document[len(document)-1] != 0 {
		return fmt.Errorf("it says that it has %d bytes, and has %d", length, len(document))
	}
	return nil
}

// find returns the place of a name, looking where it is likely first; negative when there is none.
func find(fields []corpus.Field, name string, likely int) int {
	if likely < len(fields) && fields[likely].Name == name {
		return likely
	}
	for i := range fields {
		if fields[i].Name == name {
			return i
		}
	}
	return -1
}

// decodeKey reads the value of _id.
func (s *schema) decodeKey(value bsoncore.Value) (corpus.Key, error) {
	switch s.key {
	case corpus.KeyInteger:
		if n, ok := value.Int64OK(); ok {
			return corpus.IntegerKey(n), nil
		}
	case corpus.KeyUUID:
		if subtype, data, ok := value.BinaryOK(); ok && subtype == subtypeUUID {
			return corpus.ParseKey(s.key, data)
		}
	default:
		if text, ok := value.StringValueOK(); ok {
			return corpus.ParseKey(s.key, []byte(text))
		}
	}
	return corpus.Key{}, fmt.Errorf("key comes back as %s, and keys are of kind %s", value.Type, s.key)
}

// decodeValue reads one value, which has to be of the type that was written.
func (s *schema) decodeValue(f *corpus.Field, value bsoncore.Value, row *corpus.Row, v *corpus.Value) error {
	if value.Type == bsoncore.TypeNull {
		return nil // absent
	}
	other := func() error { return fmt.Errorf("value comes back as %s, and was written as %s", value.Type, f.Kind) }
	switch f.Kind {
	case corpus.Bool:
		b, ok := value.BooleanOK()
		if !ok {
			return other()
		}
		row.SetBool(v, b)
	case corpus.Int:
		n, ok := value.Int64OK()
		if !ok {
			return other()
		}
		row.SetInt(v, n)
	case corpus.Float:
		n, ok := value.DoubleOK()
		if !ok {
			return other()
		}
		row.SetFloat(v, n)
	case corpus.Decimal:
		return s.decodeDecimal(value, row, v, other)
	case corpus.String:
		text, ok := value.StringValueOK()
		if !ok {
			return other()
		}
		row.SetText(v, text)
	case corpus.UUID:
		subtype, data, ok := value.BinaryOK()
		if !ok || subtype != subtypeUUID || len(data) != 16 {
			return other()
		}
		row.SetUUID(v, [16]byte(data))
	case corpus.Bytes:
		subtype, data, ok := value.BinaryOK()
		if !ok || subtype != subtypeGeneric {
			return other()
		}
		row.SetBytes(v, data)
	case corpus.DateTime:
		millis, ok := value.DateTimeOK()
		if !ok || millis%1000 != 0 {
			return other()
		}
		row.SetUnix(v, millis/1000)
	case corpus.Array:
		return s.decodeArray(f, value, row, v)
	case corpus.Object:
		return s.decodeObject(f, value, row, v)
	case corpus.Vector:
		return decodeVector(value, row, v)
	default:
		return fmt.Errorf("no values of kind %s", f.Kind)
	}
	return nil
}

func (s *schema) decodeDecimal(value bsoncore.Value, row *corpus.Row, v *corpus.Value, other func() error) error {
	if s.units {
		n, ok := value.Int64OK()
		if !ok {
			return other()
		}
		row.SetDecimal(v, n)
		return nil
	}
	high, low, ok := value.Decimal128OK()
	if !ok {
		return other()
	}
	units, err := unitsOf(bson.NewDecimal128(high, low))
	if err != nil {
		return err
	}
	row.SetDecimal(v, units)
	return nil
}

func (s *schema) decodeArray(f *corpus.Field, value bsoncore.Value, row *corpus.Row, v *corpus.Value) error {
	array, ok := value.ArrayOK()
	if !ok {
		return fmt.Errorf("array comes back as %s", value.Type)
	}
	values, err := array.Values()
	if err != nil {
		return fmt.Errorf("array is damaged: %w", err)
	}
	if len(values) > len(f.Elems) {
		return fmt.Errorf("array has %d elements, and was written with %d", len(values), len(f.Elems))
	}
	elems := row.SetArray(v, len(f.Elems)) // those that are missing stay absent
	for i := range values {
		if err := s.decodeValue(&f.Elems[i], values[i], row, &elems[i]); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

func (s *schema) decodeObject(f *corpus.Field, value bsoncore.Value, row *corpus.Row, v *corpus.Value) error {
	document, ok := value.DocumentOK()
	if !ok {
		return fmt.Errorf("object comes back as %s", value.Type)
	}
	elements, err := document.Elements()
	if err != nil {
		return fmt.Errorf("object is damaged: %w", err)
	}
	members := row.SetObject(v, len(f.Elems))
	for i, element := range elements {
		at := find(f.Elems, element.Key(), i)
		if at < 0 {
			return fmt.Errorf("object has the member %q, which was not written", element.Key())
		}
		if err := s.decodeValue(&f.Elems[at], element.Value(), row, &members[at]); err != nil {
			return fmt.Errorf("member %s: %w", element.Key(), err)
		}
	}
	return nil
}

func decodeVector(value bsoncore.Value, row *corpus.Row, v *corpus.Value) error {
	array, ok := value.ArrayOK()
	if !ok {
		return fmt.Errorf("vector comes back as %s", value.Type)
	}
	values, err := array.Values()
	if err != nil {
		return fmt.Errorf("vector is damaged: %w", err)
	}
	components := row.SetVector(v, len(values))
	for i := range values {
		component, ok := values[i].DoubleOK()
		if !ok || float64(float32(component)) != component {
			return fmt.Errorf("component %d comes back as %v", i, values[i])
		}
		components[i] = float32(component)
	}
	return nil
}
