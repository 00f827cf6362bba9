package surrealdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// Major types of CBOR (RFC 8949).
const (
	majorUint   = 0
	majorNegint = 1
	majorBytes  = 2
	majorText   = 3
	majorArray  = 4
	majorMap    = 5
	majorTag    = 6
	majorSimple = 7 // and floats
)

// Single bytes of CBOR.
const (
	cborFalse   = 0xf4
	cborTrue    = 0xf5
	cborNull    = 0xf6
	cborFloat64 = 0xfb
	cborFloat32 = 0xfa
)

// Tags that SurrealDB gives a meaning.
const (
	tagNone     = 6  // null: no value at all
	tagRecord   = 8  // [table, key]
	tagDecimal  = 10 // text
	tagDatetime = 12 // [seconds since 1970, nanoseconds]
	tagUUID     = 37 // 16 bytes
)

// appendHead appends the head of an item.
func appendHead(dst []byte, major byte, n uint64) []byte {
	switch major <<= 5; {
	case n < 24:
		return append(dst, major|byte(n))
	case n <= math.MaxUint8:
		return append(dst, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, major|27), n)
}

func appendInt(dst []byte, n int64) []byte {
	if n < 0 {
		return appendHead(dst, majorNegint, uint64(^n))
	}
	return appendHead(dst, majorUint, uint64(n))
}

func appendText[T string | []byte](dst []byte, s T) []byte {
	return append(appendHead(dst, majorText, uint64(len(s))), s...)
}

func appendBytes(dst, b []byte) []byte {
	return append(appendHead(dst, majorBytes, uint64(len(b))), b...)
}

func appendFloat(dst []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, cborFloat64), math.Float64bits(f))
}

func appendNone(dst []byte) []byte { return append(appendHead(dst, majorTag, tagNone), cborNull) }

// errCut is the error of an item that ends too early.
var errCut = errors.New("the answer is cut off")

// scanner takes items off the front of data. After an error it is of no use.
type scanner struct {
	data []byte
	at   int
}

// head reads the head of the next item. Items without a set length are not read: SurrealDB sends none.
func (s *scanner) head() (major byte, n uint64, err error) {
	if s.at >= len(s.data) {
		return 0, 0, errCut
	}
	first := s.data[s.at]
	s.at++
	major, n = first>>5, uint64(first&31)
	if n < 24 {
		return major, n, nil
	}
	if n > 27 {
		return 0, 0, fmt.Errorf("the answer has an item that begins with byte %#02x, which is not read here", first)
	}
	width := 1 << (n - 24)
	if len(s.data)-s.at < width {
		return 0, 0, errCut
	}
	b := s.data[s.at:]
	s.at += width
	switch width {
	case 1:
		n = uint64(b[0])
	case 2:
		n = uint64(binary.BigEndian.Uint16(b))
	case 4:
		n = uint64(binary.BigEndian.Uint32(b))
	default:
		n = binary.BigEndian.Uint64(b)
	}
	return major, n, nil
}

// maxDepth is how deep items may nest.
const maxDepth = 100

// skip passes over the next item.
func (s *scanner) skip() error { return s.skipBelow(0) }

func (s *scanner) skipBelow(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("the answer nests deeper than %d levels", maxDepth)
	}
	major, n, err := s.head()
	if err != nil {
		return err
	}
	switch major {
	case majorBytes, majorText:
		if n > uint64(len(s.data)-s.at) {
			return errCut
		}
		s.at += int(n)
		return nil
	case majorArray, majorMap, majorTag:
		items := n
		if major == majorMap {
			items = 2 * n
		} else if major == majorTag {
			items = 1
		}
		if items > uint64(len(s.data)-s.at) {
			return errCut // each takes a byte at least
		}
		for ; items > 0; items-- {
			if err := s.skipBelow(depth + 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// expect reads the head of an item that must be of the major type.
func (s *scanner) expect(major byte) (n uint64, err error) {
	got, n, err := s.head()
	if err == nil && got != major {
		err = fmt.Errorf("the answer has an item of CBOR's major type %d where one of type %d is expected", got, major)
	}
	return n, err
}

// count reads the number of items of an array or map.
func (s *scanner) count(major byte) (int, error) {
	n, err := s.expect(major)
	if err == nil && n > uint64(len(s.data)-s.at) {
		err = errCut
	}
	return int(n), err
}

// bytes reads a text or bytes without copying.
func (s *scanner) bytes(major byte) ([]byte, error) {
	n, err := s.count(major)
	if err != nil {
		return nil, err
	}
	b := s.data[s.at : s.at+n : s.at+n]
	s.at += n
	return b, nil
}

// text reads a text as a string without copying: it changes with the data.
func (s *scanner) text() (string, error) {
	b, err := s.bytes(majorText)
	return unsafe.String(unsafe.SliceData(b), len(b)), err
}

// tag reads a tag that must be the one given.
func (s *scanner) tag(want uint64) error {
	got, err := s.expect(majorTag)
	if err == nil && got != want {
		err = fmt.Errorf("the answer has a value with tag %d where one with tag %d is expected", got, want)
	}
	return err
}

// int reads an integer.
func (s *scanner) int() (int64, error) {
	major, n, err := s.head()
	switch {
	case err != nil:
		return 0, err
	case major > majorNegint:
		return 0, fmt.Errorf("the answer has an item of CBOR's major type %d where an integer is expected", major)
	case n > math.MaxInt64:
		return 0, errors.New("the answer has an integer of more than 64 bits")
	case major == majorNegint:
		return ^int64(n), nil
	}
	return int64(n), nil
}

// float reads a float of any width.
func (s *scanner) float() (float64, error) {
	if s.at >= len(s.data) {
		return 0, errCut
	}
	first := s.data[s.at]
	major, n, err := s.head()
	switch {
	case err != nil:
		return 0, err
	case major == majorSimple && first&31 == 27:
		return math.Float64frombits(n), nil
	case major == majorSimple && first&31 == 26:
		return float64(math.Float32frombits(uint32(n))), nil
	case major == majorSimple && first&31 == 25:
		return half(uint16(n)), nil
	}
	return 0, fmt.Errorf("the answer has an item that begins with byte %#02x where a float is expected", first)
}

// half is the number that a float of 16 bits holds.
func half(bits uint16) float64 {
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	f := math.Ldexp(1+fraction/1024, exponent-15)
	switch {
	case exponent == 0:
		f = math.Ldexp(fraction, -24)
	case exponent == 31 && fraction == 0:
		f = math.Inf(1)
	case exponent == 31:
		f = math.NaN()
	}
	if bits>>15 != 0 {
		return -f
	}
	return f
}

// null tells whether the next item is NULL or NONE, and passes over it if so.
func (s *scanner) null() bool {
	rest := s.data[s.at:]
	switch {
	case len(rest) > 0 && rest[0] == cborNull:
		s.at++
		return true
	case len(rest) > 1 && rest[0] == majorTag<<5|tagNone && rest[1] == cborNull:
		s.at += 2
		return true
	}
	return false
}

// value reads any item, for answers that are looked at off the clock: maps become map[string]any, arrays []any, numbers int64 or float64, texts
// string, bytes []byte, NULL and NONE nil, and of what has another tag the content is returned.
func (s *scanner) value() (any, error) {
	if s.null() {
		return nil, nil
	}
	if s.at >= len(s.data) {
		return nil, errCut
	}
	switch first := s.data[s.at]; first >> 5 {
	case majorUint, majorNegint:
		return s.int()
	case majorBytes:
		return s.bytes(majorBytes)
	case majorText:
		b, err := s.bytes(majorText)
		return string(b), err
	case majorArray:
		n, err := s.count(majorArray)
		values := make([]any, n)
		for i := 0; i < n && err == nil; i++ {
			values[i], err = s.value()
		}
		return values, err
	case majorMap:
		n, err := s.count(majorMap)
		values := make(map[string]any, n)
		for i := 0; i < n && err == nil; i++ {
			var name []byte
			if name, err = s.bytes(majorText); err == nil {
				values[string(name)], err = s.value()
			}
		}
		return values, err
	case majorTag:
		if _, _, err := s.head(); err != nil {
			return nil, err
		}
		return s.value()
	default:
		if first == cborFalse || first == cborTrue {
			s.at++
			return first == cborTrue, nil
		}
		return s.float()
	}
}
