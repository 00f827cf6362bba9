package corpus

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// ParseJSON reads the JSON text of one value of the field, as AppendJSON or a database writes it, into dst, whose memory comes from r. Space
// and the order of members do not matter, and whole numbers may be written like 5.0. Integers are exact. A member that is missing
// and null give an absent value, and an array or vector may be too short, so that Diff can say what a database lost; anything the field has no
// place for is an error, which names its path. After an error dst is not to be used.
func ParseJSON(f *Field, data []byte, r *Row, dst *Value) error {
	s := jsonScanner{data: data, row: r}
	err := s.value(f, dst)
	if err == nil {
		err = s.end()
	}
	if err != nil && f.Name != "" {
		err = within(JoinPath("", f.Name), err)
	}
	return err
}

// ParseJSON resets the row and reads one JSON object into it, as AppendJSON or a database writes it. The rules are those of the function
// ParseJSON. Index and Version are not known from it: Corpus.Unseal tells them.
func (r *Row) ParseJSON(t *Template, data []byte) error {
	r.Reset(t)
	s := jsonScanner{data: data, row: r}
	if err := s.members(t.columns, r.Columns); err != nil {
		return err
	}
	return s.end()
}

// jsonError is an error with the path to where it happened.
type jsonError struct {
	path string
	err  error
}

func (e *jsonError) Error() string { return e.path + ": " + e.err.Error() }

func (e *jsonError) Unwrap() error { return e.err }

// within puts a step in front of an error's path.
func within(step string, err error) error {
	if e, ok := err.(*jsonError); ok {
		if !strings.HasPrefix(e.path, "[") {
			step += "."
		}
		return &jsonError{path: step + e.path, err: e.err}
	}
	return &jsonError{path: step, err: err}
}

// jsonScanner reads JSON guided by a field, so its depth is that of the template.
type jsonScanner struct {
	data []byte
	at   int
	row  *Row
}

// peek skips space and returns the next byte, 0 at the end.
func (s *jsonScanner) peek() byte {
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// end checks that nothing follows.
func (s *jsonScanner) end() error {
	if s.peek(); s.at < len(s.data) {
		return fmt.Errorf("byte %d: %q follows the value", s.at, s.rest())
	}
	return nil
}

// rest returns a little of what comes next, for messages.
func (s *jsonScanner) rest() []byte { return s.data[s.at:min(len(s.data), s.at+20)] }

func (s *jsonScanner) expected(what string) error {
	if s.peek() == 0 && s.at == len(s.data) {
		return fmt.Errorf("byte %d: the text ends where %s should be", s.at, what)
	}
	return fmt.Errorf("byte %d: %q where %s should be", s.at, s.rest(), what)
}

// literal reads one of JSON's words.
func (s *jsonScanner) literal(word string) bool {
	s.peek()
	if len(s.data)-s.at < len(word) || string(s.data[s.at:s.at+len(word)]) != word {
		return false
	}
	s.at += len(word)
	return true
}

func (s *jsonScanner) value(f *Field, v *Value) error {
	if s.literal("null") {
		s.row.SetAbsent(v)
		return nil
	}
	switch f.Kind {
	case Bool:
		switch {
		case s.literal("true"):
			s.row.SetBool(v, true)
		case s.literal("false"):
			s.row.SetBool(v, false)
		default:
			return s.expected("a boolean")
		}
		return nil
	case Int:
		n, err := s.integer()
		s.row.SetInt(v, n)
		return err
	case Float:
		token, err := s.number()
		if err != nil {
			return err
		}
		x, err := strconv.ParseFloat(view(token), 64)
		if err != nil {
			return fmt.Errorf("%s does not fit in a float64", token)
		}
		s.row.SetFloat(v, x)
		return nil
	case Array:
		return s.array(f, v)
	case Object:
		return s.members(f.Elems, s.row.SetObject(v, len(f.Elems)))
	case Vector:
		return s.vector(f, v)
	case Decimal:
		if c := s.peek(); c != '"' { // engines that have decimals may well write a number
			token, err := s.number()
			if err != nil {
				return err
			}
			return s.decimal(token, v)
		}
	}
	text, err := s.text()
	if err != nil {
		return err
	}
	switch f.Kind {
	case String:
		*v = Value{kind: String, bytes: s.row.text.take(len(text))} // where text lies already
	case Decimal:
		return s.decimal(text, v)
	case UUID:
		id, err := ParseUUID(text)
		if err != nil {
			return err
		}
		s.row.SetUUID(v, id)
	case DateTime:
		t, err := time.Parse(time.RFC3339, view(text))
		if err != nil || t.Nanosecond() != 0 {
			return fmt.Errorf("%q is not a time in whole seconds such as 2006-01-02T15:04:05Z", text)
		}
		s.row.SetUnix(v, t.Unix())
	case Bytes:
		n, err := base64.StdEncoding.Decode(text, text)
		if err != nil {
			return fmt.Errorf("not base 64: %w", err)
		}
		*v = Value{kind: Bytes, bytes: s.row.text.take(n)}
	default:
		return fmt.Errorf("no value of kind %s can be read", f.Kind)
	}
	return nil
}

func (s *jsonScanner) decimal(text []byte, v *Value) error {
	units, err := ParseDecimal(text)
	s.row.SetDecimal(v, units)
	return err
}

// list calls read for each element of an array.
func (s *jsonScanner) list(most int, what string, read func(i int) error) (n int, err error) {
	if s.peek() != '[' {
		return 0, s.expected("an array")
	}
	s.at++
	if s.peek() == ']' {
		s.at++
		return 0, nil
	}
	for {
		if n == most {
			return n, fmt.Errorf("more than %d %s", most, what)
		}
		if err := read(n); err != nil {
			return n, within("["+strconv.Itoa(n)+"]", err)
		}
		n++
		switch s.peek() {
		case ',':
			s.at++
		case ']':
			s.at++
			return n, nil
		default:
			return n, s.expected("a comma or the end of the array")
		}
	}
}

func (s *jsonScanner) array(f *Field, v *Value) error {
	elems := s.row.SetArray(v, len(f.Elems))
	n, err := s.list(len(f.Elems), "elements", func(i int) error { return s.value(&f.Elems[i], &elems[i]) })
	v.elems = elems[:n]
	return err
}

func (s *jsonScanner) vector(f *Field, v *Value) error {
	components := s.row.SetVector(v, f.Dim)
	n, err := s.list(f.Dim, "components", func(i int) error {
		token, err := s.number()
		if err != nil {
			return err
		}
		x, err := strconv.ParseFloat(view(token), 32)
		if err != nil {
			return fmt.Errorf("%s does not fit in a float32", token)
		}
		components[i] = float32(x)
		return nil
	})
	v.floats = components[:n]
	return err
}

// members reads an object. Fields not met stay absent.
func (s *jsonScanner) members(fields []Field, values []Value) error {
	if s.peek() != '{' {
		return s.expected("an object")
	}
	s.at++
	if s.peek() == '}' {
		s.at++
		return nil
	}
	for next := 0; ; next++ {
		name, err := s.text()
		if err != nil {
			return err
		}
		i := next // most writers keep the order
		if i >= len(fields) || fields[i].Name != string(name) {
			for i = 0; i < len(fields) && fields[i].Name != string(name); i++ {
			}
		}
		if i == len(fields) {
			return within(JoinPath("", string(name)), fmt.Errorf("byte %d: no such member in the template", s.at))
		}
		next = i
		if values[i].kind != 0 {
			return within(JoinPath("", fields[i].Name), fmt.Errorf("byte %d: the member is there twice", s.at))
		}
		if s.peek() != ':' {
			return s.expected("a colon")
		}
		s.at++
		if err := s.value(&fields[i], &values[i]); err != nil {
			return within(JoinPath("", fields[i].Name), err)
		}
		switch s.peek() {
		case ',':
			s.at++
		case '}':
			s.at++
			return nil
		default:
			return s.expected("a comma or the end of the object")
		}
	}
}

// number reads a number's text, which points into the data.
func (s *jsonScanner) number() ([]byte, error) {
	s.peek()
	i := s.at
	digits := func() bool {
		from := i
		for i < len(s.data) && s.data[i] >= '0' && s.data[i] <= '9' {
			i++
		}
		return i > from
	}
	is := func(c byte) bool { return i < len(s.data) && s.data[i] == c }
	if is('-') {
		i++
	}
	switch {
	case is('0'):
		i++
	case !digits():
		return nil, s.expected("a number")
	}
	if is('.') {
		i++
		if !digits() {
			return nil, s.expected("a number")
		}
	}
	if is('e') || is('E') {
		i++
		if is('+') || is('-') {
			i++
		}
		if !digits() {
			return nil, s.expected("a number")
		}
	}
	token := s.data[s.at:i]
	s.at = i
	return token, nil
}

// integer reads a whole number. One that is written with a point or an exponent is good when a float64 holds it exactly.
func (s *jsonScanner) integer() (int64, error) {
	token, err := s.number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(view(token), 10, 64)
	if err == nil {
		return n, nil
	}
	x, errFloat := strconv.ParseFloat(view(token), 64)
	if !bytes.ContainsAny(token, ".eE") || errFloat != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		return 0, fmt.Errorf("%s is not a whole number of 64 bits", token)
	}
	return int64(x), nil
}

// text reads a string. The result lies where the row's next piece of text begins and must be taken there, or used before another is read.
func (s *jsonScanner) text() ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.expected("a string")
	}
	end := s.at + 1
	for end < len(s.data) && s.data[end] != '"' {
		if s.data[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(s.data) {
		return nil, fmt.Errorf("byte %d: the string has no end", s.at)
	}
	raw := s.data[s.at+1 : end]
	out := s.row.text.reserve(len(raw)) // no escape is shorter than what it stands for
	n := 0
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c < ' ':
			return nil, fmt.Errorf("byte %d: control character %#02x in a string", s.at+1+i, c)
		case c != '\\':
			out[n] = c
			n, i = n+1, i+1
		default:
			r, size, ok := unescape(raw[i:])
			if !ok {
				return nil, fmt.Errorf("byte %d: %q is no escape", s.at+1+i, raw[i:min(len(raw), i+6)])
			}
			n += utf8.EncodeRune(out[n:], r)
			i += size
		}
	}
	s.at = end + 1
	return out[:n], nil
}

// unescape reads the escape that b begins with, a pair of surrogates included.
func unescape(b []byte) (r rune, size int, ok bool) {
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2, true
	case 'b':
		return '\b', 2, true
	case 'f':
		return '\f', 2, true
	case 'n':
		return '\n', 2, true
	case 'r':
		return '\r', 2, true
	case 't':
		return '\t', 2, true
	case 'u':
		if r, ok = hexRune(b); !ok {
			return 0, 0, false
		}
		if !utf16.IsSurrogate(r) {
			return r, 6, true
		}
		if len(b) < 12 || b[6] != '\\' || b[7] != 'u' {
			return 0, 0, false
		}
		low, _ := hexRune(b[6:])
		r = utf16.DecodeRune(r, low)
		return r, 12, r != utf8.RuneError
	}
	return 0, 0, false
}

// hexRune reads the four digits of an escape such as \u00e9.
func hexRune(b []byte) (r rune, ok bool) {
	if len(b) < 6 {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// view returns bytes as a string without copying.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
