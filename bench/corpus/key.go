package corpus

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unsafe"
)

// KeyColumn is the name that drivers give the key's column. No column of a template may have it.
const KeyColumn = "id"

// KeyKind is a form of key, spelled as the --key flag takes it. The zero KeyKind is no form.
type KeyKind string

// The key kinds.
const (
	KeyInteger   KeyKind = "integer"   // a positive 64-bit integer
	KeyString26  KeyKind = "string26"  // text of exactly 26 bytes: digits and lower-case hexadecimal
	KeyString90  KeyKind = "string90"  // the same with 90 bytes
	KeyString250 KeyKind = "string250" // the same with 250 bytes
	KeyString506 KeyKind = "string506" // the same with 506 bytes
	KeyUUID      KeyKind = "uuid"      // 16 bytes with the version and variant bits of RFC 9562
)

// KeyKinds returns every key kind, the default first.
func KeyKinds() []KeyKind {
	return []KeyKind{KeyInteger, KeyString26, KeyString90, KeyString250, KeyString506, KeyUUID}
}

// ParseKeyKind returns the kind with the name, or an error that lists the valid ones.
func ParseKeyKind(name string) (KeyKind, error) {
	var valid []string
	for _, k := range KeyKinds() {
		if string(k) == name {
			return k, nil
		}
		valid = append(valid, string(k))
	}
	return "", fmt.Errorf("unknown key kind %q: valid are %s", name, strings.Join(valid, ", "))
}

// Len returns how many bytes AppendOrdered appends for a key of the kind, 0 for no kind.
func (k KeyKind) Len() int {
	switch k {
	case KeyInteger:
		return 8
	case KeyString26:
		return 26
	case KeyString90:
		return 90
	case KeyString250:
		return 250
	case KeyString506:
		return 506
	case KeyUUID:
		return 16
	}
	return 0
}

// Key is the key of one row. It is passed by value; the bytes of string and uuid keys belong to the KeyBuffer (or whatever memory) it was
// made in and change when that is used again. The zero Key is no key.
type Key struct {
	kind  KeyKind
	n     int64
	bytes []byte
}

// KeyBuffer is memory for one key, owned by the caller and used again and again.
type KeyBuffer struct {
	bytes [506]byte
}

// IntegerKey returns the integer key n. Keys of a corpus are positive; a driver may be tried with any.
func IntegerKey(n int64) Key { return Key{kind: KeyInteger, n: n} }

// ParseKey reads the form that AppendOrdered writes. The key points into ordered. It checks the length, and that an integer is not
// negative, but not that the key belongs to a corpus: that is Corpus.Index.
func ParseKey(kind KeyKind, ordered []byte) (Key, error) {
	if kind.Len() == 0 {
		_, err := ParseKeyKind(string(kind))
		return Key{}, err
	}
	if len(ordered) != kind.Len() {
		return Key{}, fmt.Errorf("%s key has %d bytes: it must have %d", kind, len(ordered), kind.Len())
	}
	if kind == KeyInteger {
		n := int64(binary.BigEndian.Uint64(ordered))
		if n < 0 {
			return Key{}, fmt.Errorf("integer key %d is negative: the byte form orders positive keys only", n)
		}
		return IntegerKey(n), nil
	}
	return Key{kind: kind, bytes: ordered}, nil
}

// Kind returns the key's form, "" for the zero Key.
func (k Key) Kind() KeyKind { return k.kind }

// Int returns an integer key's number, 0 for other kinds.
func (k Key) Int() int64 { return k.n }

// Bytes returns a string key's text or a uuid key's 16 bytes without copying, nil for integer keys.
func (k Key) Bytes() []byte { return k.bytes }

// Text returns Bytes as a string without copying: it changes when the key's memory is used again.
func (k Key) Text() string { return unsafe.String(unsafe.SliceData(k.bytes), len(k.bytes)) }

// UUID returns a uuid key's 16 bytes, zeros for other kinds.
func (k Key) UUID() (id [16]byte) {
	if k.kind == KeyUUID {
		copy(id[:], k.bytes)
	}
	return id
}

// AppendOrdered appends the byte form, whose bytewise order is the order of the keys: eight big-endian bytes for a (non-negative)
// integer, the text, or the 16 bytes of a uuid.
func (k Key) AppendOrdered(dst []byte) []byte {
	if k.kind == KeyInteger {
		return binary.BigEndian.AppendUint64(dst, uint64(k.n))
	}
	return append(dst, k.bytes...)
}

// String returns the key for people: a decimal number, the text, or a uuid such as "018bcfe5-6800-7000-8000-000000000000".
func (k Key) String() string {
	switch k.kind {
	case KeyInteger:
		return strconv.FormatInt(k.n, 10)
	case KeyUUID:
		return string(AppendUUID(nil, k.UUID()))
	}
	return string(k.bytes)
}

// Clone returns the key in memory of its own.
func (k Key) Clone() Key {
	k.bytes = bytes.Clone(k.bytes)
	return k
}

// Equal tells whether both keys have the same kind and content.
func (k Key) Equal(other Key) bool {
	return k.kind == other.kind && k.n == other.n && bytes.Equal(k.bytes, other.bytes)
}
