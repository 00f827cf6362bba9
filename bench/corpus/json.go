package corpus

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// How values are written as JSON:
//
//	bool              true, false
//	int               a number, all 63 bits of it
//	float             the shortest number that gives the same float64, so that every reader finds exactly the value
//	decimal           a string with four decimal places
//	string            a string
//	uuid              a string in canonical form
//	datetime          a string in RFC 3339, UTC, whole seconds
//	bytes             a string in base 64
//	array, object     an array, an object with its members sorted by name
//	vector            an array of the shortest numbers that give the same float32
//	absent            null, as are floats that JSON has no number for

// AppendJSON appends a value of the field as JSON without any space.
func AppendJSON(dst []byte, f *Field, v *Value) []byte {
	switch v.kind {
	case Bool:
		return strconv.AppendBool(dst, v.Bool())
	case Int:
		return strconv.AppendInt(dst, v.Int(), 10)
	case Float:
		return appendFloat(dst, v.Float(), 64)
	case Decimal:
		return append(AppendDecimal(append(dst, '"'), v.Decimal()), '"')
	case String:
		return appendQuoted(dst, v.Text())
	case UUID:
		return append(AppendUUID(append(dst, '"'), v.UUID()), '"')
	case DateTime:
		return append(v.Time().AppendFormat(append(dst, '"'), time.RFC3339), '"')
	case Bytes:
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), v.bytes), '"')
	case Array:
		dst = append(dst, '[')
		for i := range min(len(v.elems), len(f.Elems)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, &f.Elems[i], &v.elems[i])
		}
		return append(dst, ']')
	case Object:
		return appendObject(dst, f.Elems, v.elems)
	case Vector:
		dst = append(dst, '[')
		for i, x := range v.floats {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendFloat(dst, float64(x), 32)
		}
		return append(dst, ']')
	}
	return append(dst, "null"...)
}

// AppendJSON appends the whole row as one JSON object, its members in the order of Template.Columns.
func (r *Row) AppendJSON(dst []byte, t *Template) []byte {
	return appendObject(dst, t.columns, r.Columns)
}

func appendObject(dst []byte, fields []Field, values []Value) []byte {
	dst = append(dst, '{')
	for i := range min(len(fields), len(values)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, fields[i].Name), ':')
		dst = AppendJSON(dst, &fields[i], &values[i])
	}
	return append(dst, '}')
}

// appendFloat appends a number the way ECMAScript and encoding/json do: exponents only for the very small and the very large.
func appendFloat(dst []byte, x float64, bitSize int) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(dst, "null"...)
	}
	format := byte('f')
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, x, format, -1, bitSize)
}

// appendQuoted appends a JSON string. Bytes that are not UTF-8, which only a database can have returned, become U+FFFD.
func appendQuoted(dst []byte, text string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	plain := 0 // text[plain:i] is waiting to be copied as it is
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(text[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, text[plain:i]...)
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
		default:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		}
		i += size
		plain = i
	}
	return append(append(dst, text[plain:]...), '"')
}
