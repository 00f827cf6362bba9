package query

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/durabench/durabench/bench/corpus"
)

// Literal is a value to compare with, of the kind of the column that it is compared with. Kinds are the corpus's scalars; only the member that
// belongs to the kind is set. The zero Literal is no value.
type Literal struct {
	Kind  corpus.Kind
	Bool  bool
	Int   int64   // Int; Decimal in units of 10⁻⁴; DateTime in seconds since the Unix epoch
	Float float64 // Float: a number that a float32 holds exactly
	Text  string  // String: any bytes that are valid UTF-8
	Bytes []byte  // Bytes; UUID: 16 bytes
}

// LiteralOf returns the scalar value as a literal with memory of its own.
func LiteralOf(v *corpus.Value) Literal {
	l := Literal{Kind: v.Kind()}
	switch l.Kind {
	case corpus.Bool:
		l.Bool = v.Bool()
	case corpus.Int, corpus.Decimal, corpus.DateTime:
		l.Int = v.Int()
	case corpus.Float:
		l.Float = v.Float()
	case corpus.String:
		l.Text = strings.Clone(v.Text())
	case corpus.Bytes, corpus.UUID:
		l.Bytes = bytes.Clone(v.Bytes())
	default:
		return Literal{}
	}
	return l
}

// String returns the literal as it stands in the canonical text of a scan: texts in Go's quotes, bytes as 0x and hexadecimal digits.
func (l Literal) String() string {
	switch l.Kind {
	case corpus.Bool:
		return strconv.FormatBool(l.Bool)
	case corpus.Int:
		return strconv.FormatInt(l.Int, 10)
	case corpus.Float:
		return strconv.FormatFloat(l.Float, 'g', -1, 64)
	case corpus.Decimal:
		return string(corpus.AppendDecimal(nil, l.Int))
	case corpus.DateTime:
		return time.Unix(l.Int, 0).UTC().Format(time.RFC3339)
	case corpus.String:
		return strconv.Quote(l.Text)
	case corpus.UUID:
		return string(corpus.AppendUUID(nil, [16]byte(append(bytes.Clone(l.Bytes), make([]byte, 16)...))))
	case corpus.Bytes:
		return "0x" + hex.EncodeToString(l.Bytes)
	}
	return "none"
}

// Compare orders two literals of the same kind: numbers and times by size, texts, uuids and bytes bytewise, false before true.
func (l Literal) Compare(other Literal) int {
	switch l.Kind {
	case corpus.Bool:
		return compareBool(l.Bool, other.Bool)
	case corpus.Float:
		return cmp.Compare(l.Float, other.Float)
	case corpus.String:
		return strings.Compare(l.Text, other.Text)
	case corpus.UUID, corpus.Bytes:
		return bytes.Compare(l.Bytes, other.Bytes)
	}
	return cmp.Compare(l.Int, other.Int)
}

// compare orders a value of the literal's kind against it.
func (l *Literal) compare(v *corpus.Value) int {
	switch l.Kind {
	case corpus.Bool:
		return compareBool(v.Bool(), l.Bool)
	case corpus.Float:
		return cmp.Compare(v.Float(), l.Float)
	case corpus.String:
		return strings.Compare(v.Text(), l.Text)
	case corpus.UUID, corpus.Bytes:
		return bytes.Compare(v.Bytes(), l.Bytes)
	}
	return cmp.Compare(v.Int(), l.Int)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// convert returns the literal as one of the kind, e.g. a text as a uuid. Numbers become the nearest that the kind holds when it is Float; anything
// else must fit exactly. It is the identity for a good literal of the kind.
func (l Literal) convert(kind corpus.Kind) (Literal, error) {
	to := Literal{Kind: kind}
	switch {
	case kind == corpus.Float && (l.Kind == corpus.Float || l.Kind == corpus.Int):
		x := l.Float
		if l.Kind == corpus.Int {
			x = float64(l.Int)
		}
		narrow := float32(x)
		if math.IsNaN(x) || math.IsInf(float64(narrow), 0) {
			return to, fmt.Errorf("%s does not fit in a float32", l)
		}
		to.Float = float64(narrow) + 0 // -0 becomes 0, as in the corpus
		return to, nil
	case kind == corpus.Int && l.Kind == corpus.Float:
		if l.Float != math.Trunc(l.Float) || math.Abs(l.Float) >= 1<<63 {
			return to, fmt.Errorf("%s is not a whole number", l)
		}
		to.Int = int64(l.Float)
		return to, nil
	case kind == corpus.Decimal && (l.Kind == corpus.Int || l.Kind == corpus.Float || l.Kind == corpus.String):
		text := l.Text
		if l.Kind == corpus.Int {
			text = strconv.FormatInt(l.Int, 10)
		} else if l.Kind == corpus.Float {
			text = strconv.FormatFloat(l.Float, 'f', -1, 64)
		}
		var err error
		to.Int, err = corpus.ParseDecimal([]byte(text))
		return to, err
	case kind == corpus.DateTime && l.Kind == corpus.String:
		at, err := time.Parse(time.RFC3339, l.Text)
		if err != nil {
			return to, fmt.Errorf("%q is not a time such as 2024-05-31T12:00:00Z", l.Text)
		}
		if at.Nanosecond() != 0 {
			return to, fmt.Errorf("%q has a fraction of a second: times are whole seconds", l.Text)
		}
		to.Int = at.Unix()
		return to, nil
	case kind == corpus.UUID && l.Kind == corpus.String:
		id, err := corpus.ParseUUID([]byte(l.Text))
		to.Bytes = id[:]
		return to, err
	case kind == corpus.Bytes && l.Kind == corpus.String:
		b, err := base64.StdEncoding.DecodeString(l.Text)
		if err != nil {
			return to, fmt.Errorf("%q is not base 64", l.Text)
		}
		to.Bytes = b
		return to, nil
	case kind != l.Kind:
		return to, fmt.Errorf("%s is %s, and the column is %s", l, article(l.Kind), article(kind))
	}
	return l, l.valid()
}

// valid says what no value of the literal's own kind can be like.
func (l Literal) valid() error {
	switch {
	case l.Kind == corpus.String && strings.ToValidUTF8(l.Text, "") != l.Text:
		return fmt.Errorf("%q is not valid UTF-8", l.Text)
	case l.Kind == corpus.UUID && len(l.Bytes) != 16:
		return fmt.Errorf("a uuid has 16 bytes, not %d", len(l.Bytes))
	case l.Kind == corpus.DateTime:
		if year := time.Unix(l.Int, 0).UTC().Year(); year < 0 || year > 9999 {
			return fmt.Errorf("%d seconds from 1970 are in no year from 0 to 9999", l.Int)
		}
	}
	return nil
}

// MarshalJSON writes an object with the kind as its only member, e.g. {"int":21}; null for the zero Literal.
func (l Literal) MarshalJSON() ([]byte, error) {
	var value any
	switch l.Kind {
	case 0:
		return []byte("null"), nil
	case corpus.Bool:
		value = l.Bool
	case corpus.Int:
		value = l.Int
	case corpus.Float:
		value = l.Float
	case corpus.Decimal, corpus.DateTime, corpus.UUID:
		value = l.String()
	case corpus.String:
		value = l.Text
	case corpus.Bytes:
		value = l.Bytes
	default:
		return nil, fmt.Errorf("encode literal: %s is no scalar", article(l.Kind))
	}
	return json.Marshal(map[string]any{l.Kind.String(): value})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Literal) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return fmt.Errorf("decode literal: %w", err)
	}
	*l = Literal{}
	if members == nil {
		return nil
	}
	if len(members) != 1 {
		return fmt.Errorf("decode literal: %d members: it has one", len(members))
	}
	for name, value := range members {
		var err error
		switch name {
		case corpus.Bool.String():
			l.Kind, err = corpus.Bool, json.Unmarshal(value, &l.Bool)
		case corpus.Int.String():
			l.Kind, err = corpus.Int, json.Unmarshal(value, &l.Int)
		case corpus.Float.String():
			l.Kind, err = corpus.Float, json.Unmarshal(value, &l.Float)
		case corpus.String.String():
			l.Kind, err = corpus.String, json.Unmarshal(value, &l.Text)
		case corpus.Bytes.String():
			l.Kind, err = corpus.Bytes, json.Unmarshal(value, &l.Bytes)
		case corpus.Decimal.String():
			*l, err = fromText(value, corpus.Decimal)
		case corpus.DateTime.String():
			*l, err = fromText(value, corpus.DateTime)
		case corpus.UUID.String():
			*l, err = fromText(value, corpus.UUID)
		default:
			err = errors.New("no such kind")
		}
		if err != nil {
			return fmt.Errorf("decode literal %s: %w", name, err)
		}
	}
	return nil
}

// fromText reads a literal that travels as text.
func fromText(value json.RawMessage, kind corpus.Kind) (Literal, error) {
	text := Literal{Kind: corpus.String}
	if err := json.Unmarshal(value, &text.Text); err != nil {
		return Literal{}, err
	}
	return text.convert(kind)
}
