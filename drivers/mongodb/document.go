package mongodb

import (
	"fmt"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/durabench/durabench/bench/corpus"
)

const (
	// subtypeGeneric and subtypeUUID are BSON's subtypes of binary data.
	subtypeGeneric, subtypeUUID = 0x00, 0x04
	// decimalPlaces is how many decimal places the corpus's decimals have.
	decimalPlaces = 4
)

// appendDocument appends a row as a document, with the key first when there is one.
func (s *schema) appendDocument(dst []byte, key *corpus.Key, row *corpus.Row) ([]byte, error) {
	at, dst := bsoncore.AppendDocumentStart(dst)
	var err error
	if key != nil {
		if dst, err = s.appendKey(dst, *key); err != nil {
			return dst, err
		}
	}
	for i := range s.fields {
		if dst, err = s.appendElement(dst, s.fields[i].Name, &s.fields[i], &row.Columns[i]); err != nil {
			return dst, fmt.Errorf("field %s: %w", s.fields[i].Name, err)
		}
	}
	return bsoncore.AppendDocumentEnd(dst, at)
}

// appendFilter appends the document that finds a key.
func (s *schema) appendFilter(dst []byte, key corpus.Key) ([]byte, error) {
	at, dst := bsoncore.AppendDocumentStart(dst)
	dst, err := s.appendKey(dst, key)
	if err != nil {
		return dst, err
	}
	return bsoncore.AppendDocumentEnd(dst, at)
}

// appendKey appends the element _id.
func (s *schema) appendKey(dst []byte, key corpus.Key) ([]byte, error) {
	return s.appendKeyAs(dst, "_id", key)
}

// appendKeyAs appends a key as the element of the name.
func (s *schema) appendKeyAs(dst []byte, name string, key corpus.Key) ([]byte, error) {
	if key.Kind() != s.key {
		return dst, fmt.Errorf("key %v of kind %q: the collection's keys are of kind %q", key, key.Kind(), s.key)
	}
	switch s.key {
	case corpus.KeyInteger:
		return bsoncore.AppendInt64Element(dst, name, key.Int()), nil
	case corpus.KeyUUID:
		return bsoncore.AppendBinaryElement(dst, name, subtypeUUID, key.Bytes()), nil
	}
	return bsoncore.AppendStringElement(dst, name, key.Text()), nil
}

// appendElement appends a value as the element of the name.
func (s *schema) appendElement(dst []byte, name string, f *corpus.Field, v *corpus.Value) ([]byte, error) {
	if v.Kind() != f.Kind {
		return dst, fmt.Errorf("value of kind %s in a field of kind %s", v.Kind(), f.Kind)
	}
	switch f.Kind {
	case corpus.Bool:
		return bsoncore.AppendBooleanElement(dst, name, v.Bool()), nil
	case corpus.Int:
		return bsoncore.AppendInt64Element(dst, name, v.Int()), nil
	case corpus.Float:
		return bsoncore.AppendDoubleElement(dst, name, v.Float()), nil
	case corpus.Decimal:
		if s.units {
			return bsoncore.AppendInt64Element(dst, name, v.Decimal()), nil
		}
		high, low := decimal128(v.Decimal())
		return bsoncore.AppendDecimal128Element(dst, name, high, low), nil
	case corpus.String:
		return bsoncore.AppendStringElement(dst, name, v.Text()), nil
	case corpus.UUID:
		return bsoncore.AppendBinaryElement(dst, name, subtypeUUID, v.Bytes()), nil
	case corpus.Bytes:
		return bsoncore.AppendBinaryElement(dst, name, subtypeGeneric, v.Bytes()), nil
	case corpus.DateTime:
		return bsoncore.AppendDateTimeElement(dst, name, v.Unix()*1000), nil
	case corpus.Array:
		return s.appendArray(dst, name, f, v)
	case corpus.Object:
		return s.appendObject(dst, name, f, v)
	case corpus.Vector:
		at, dst := bsoncore.AppendArrayElementStart(dst, name)
		for i, component := range v.Floats() {
			dst = bsoncore.AppendDoubleElement(dst, strconv.Itoa(i), float64(component))
		}
		return bsoncore.AppendArrayEnd(dst, at)
	}
	return dst, fmt.Errorf("no BSON type for values of kind %s", f.Kind)
}

func (s *schema) appendArray(dst []byte, name string, f *corpus.Field, v *corpus.Value) ([]byte, error) {
	at, dst := bsoncore.AppendArrayElementStart(dst, name)
	elems := v.Elems()
	if len(elems) != len(f.Elems) {
		return dst, fmt.Errorf("array of %d elements in a field of %d", len(elems), len(f.Elems))
	}
	var err error
	for i := range elems {
		if dst, err = s.appendElement(dst, strconv.Itoa(i), &f.Elems[i], &elems[i]); err != nil {
			return dst, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return bsoncore.AppendArrayEnd(dst, at)
}

func (s *schema) appendObject(dst []byte, name string, f *corpus.Field, v *corpus.Value) ([]byte, error) {
	at, dst := bsoncore.AppendDocumentElementStart(dst, name)
	members := v.Elems()
	if len(members) != len(f.Elems) {
		return dst, fmt.Errorf("object of %d members in a field of %d", len(members), len(f.Elems))
	}
	var err error
	for i := range members {
		if dst, err = s.appendElement(dst, f.Elems[i].Name, &f.Elems[i], &members[i]); err != nil {
			return dst, fmt.Errorf("member %s: %w", f.Elems[i].Name, err)
		}
	}
	return bsoncore.AppendDocumentEnd(dst, at)
}

// decimal128 is so many units of 10⁻⁴ in IEEE 754's decimal format of 128 bits with a binary coefficient: a sign, an exponent biased by 6176 in the
// 14 bits after it (for coefficients this small), and the coefficient.
func decimal128(units int64) (high, low uint64) {
	const exponent = uint64(6176 - decimalPlaces)
	high = exponent << 49
	if units < 0 {
		return high | 1<<63, -uint64(units)
	}
	return high, uint64(units)
}

// unitsOf is the other way: any finite decimal that is a whole number of units.
func unitsOf(d bson.Decimal128) (int64, error) { return corpus.ParseDecimal([]byte(d.String())) }
