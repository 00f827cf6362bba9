package corpus

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// edges are indexes where something could break: small, around powers of two, at the end.
var edges = []uint64{
	0, 1, 2, 9, 10, 99, 255, 256, 65535, 65536,
	1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1 << 32, 1<<32 + 1,
	999_999_999_999, 1_000_000_000_000, MaxRows - 2, MaxRows - 1,
}

// eachKeyForm runs a test for every kind and order of keys.
func eachKeyForm(t *testing.T, test func(t *testing.T, c *Corpus)) {
	for _, kind := range KeyKinds() {
		for _, random := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/random=%t", kind, random), func(t *testing.T) {
				test(t, mustCorpus(t, 42, map[string]any{"a": "bool"}, kind, random))
			})
		}
	}
}

func drawIndex(t *rapid.T, label string) uint64 {
	return rapid.OneOf(rapid.SampledFrom(edges), rapid.Uint64Max(MaxRows-1)).Draw(t, label)
}

func TestKeyLeadsBackToItsRow(t *testing.T) {
	eachKeyForm(t, func(t *testing.T, c *Corpus) {
		check := func(index uint64) error {
			var buf KeyBuffer
			k := c.Key(&buf, index)
			if got, ok := c.Index(k); !ok || got != index {
				return fmt.Errorf("key %s of row %d leads to %d, %t", k, index, got, ok)
			}
			return nil
		}
		for _, index := range edges {
			if err := check(index); err != nil {
				t.Error(err)
			}
		}
		rapid.Check(t, func(t *rapid.T) {
			if err := check(drawIndex(t, "index")); err != nil {
				t.Fatal(err)
			}
		})
	})
}

func TestKeyHasItsForm(t *testing.T) {
	eachKeyForm(t, func(t *testing.T, c *Corpus) {
		var buf KeyBuffer
		for _, index := range edges {
			k := c.Key(&buf, index)
			if k.Kind() != c.KeyKind() {
				t.Fatalf("row %d: kind %s, want %s", index, k.Kind(), c.KeyKind())
			}
			ordered := k.AppendOrdered(nil)
			if len(ordered) != k.Kind().Len() {
				t.Fatalf("row %d: %d bytes, want %d", index, len(ordered), k.Kind().Len())
			}
			switch k.Kind() {
			case KeyInteger:
				if k.Bytes() != nil || k.Int() < 1 || k.Int() > 1<<52 || binary.BigEndian.Uint64(ordered) != uint64(k.Int()) {
					t.Errorf("row %d: integer key %d, bytes %x, ordered %x", index, k.Int(), k.Bytes(), ordered)
				}
				if !c.Random() && k.Int() != int64(index)+1 {
					t.Errorf("row %d: ordered integer key %d", index, k.Int())
				}
			case KeyUUID:
				want := byte(0x70)
				if c.Random() {
					want = 0x40
				}
				if id := k.UUID(); id[6]&0xf0 != want || id[8]&0xc0 != 0x80 {
					t.Errorf("row %d: %s has not version %#x and variant 0b10", index, k, want)
				}
			default:
				if k.Text() != string(k.Bytes()) || strings.Trim(k.Text(), "0123456789abcdef") != "" {
					t.Errorf("row %d: text %q", index, k.Text())
				}
			}
		}
	})
}

func TestKeysNeverCollide(t *testing.T) {
	eachKeyForm(t, func(t *testing.T, c *Corpus) {
		seen := make(map[string]uint64)
		var buf KeyBuffer
		for _, start := range []uint64{0, 1<<31 - 1000, 1<<32 - 1000, MaxRows - 2000} {
			for index := start; index < start+2000; index++ {
				k := string(c.Key(&buf, index).AppendOrdered(nil))
				if other, dup := seen[k]; dup {
					t.Fatalf("rows %d and %d share the key %q", other, index, k)
				}
				seen[k] = index
			}
		}
	})
}

func TestOrderedKeysKeepTheOrderOfTheIndexes(t *testing.T) {
	for _, kind := range KeyKinds() {
		t.Run(string(kind), func(t *testing.T) {
			c := mustCorpus(t, 1, map[string]any{"a": "bool"}, kind, false)
			rapid.Check(t, func(t *rapid.T) {
				a, b := drawIndex(t, "a"), drawIndex(t, "b")
				var bufA, bufB KeyBuffer
				got := bytes.Compare(c.Key(&bufA, a).AppendOrdered(nil), c.Key(&bufB, b).AppendOrdered(nil))
				want := 0
				if a < b {
					want = -1
				} else if a > b {
					want = 1
				}
				if got != want {
					t.Fatalf("keys of rows %d and %d compare as %d, want %d", a, b, got, want)
				}
			})
		})
	}
}

func TestRandomKeysAreScattered(t *testing.T) {
	for _, kind := range KeyKinds() {
		t.Run(string(kind), func(t *testing.T) {
			c := mustCorpus(t, 1, map[string]any{"a": "bool"}, kind, true)
			ascents := 0
			var a, b KeyBuffer
			const n = 4000
			for i := range uint64(n) {
				if bytes.Compare(c.Key(&a, i).AppendOrdered(nil), c.Key(&b, i+1).AppendOrdered(nil)) < 0 {
					ascents++
				}
			}
			if ascents < n*45/100 || ascents > n*55/100 {
				t.Errorf("%d of %d steps go up, want about half", ascents, n)
			}
		})
	}
}

// A key that no row has must not be taken for one, however close it is.
func TestIndexRefusesForeignKeys(t *testing.T) {
	eachKeyForm(t, func(t *testing.T, c *Corpus) {
		var buf KeyBuffer
		k := c.Key(&buf, 12345)
		if c.KeyKind() == KeyInteger {
			for _, n := range []int64{0, -1, -1 << 63, 1<<63 - 1} {
				if index, ok := c.Index(IntegerKey(n)); ok {
					t.Errorf("integer key %d is taken for row %d's", n, index)
				}
			}
		} else {
			for i := range k.Bytes() {
				bent := k.Clone()
				bent.Bytes()[i] ^= 1
				if index, ok := c.Index(bent); ok && index == 12345 {
					t.Errorf("key with byte %d changed is taken for row %d's", i, index)
				}
			}
			short := k.Clone()
			short.bytes = short.bytes[:len(short.bytes)-1]
			if _, ok := c.Index(short); ok {
				t.Error("a key cut short is accepted")
			}
			bad := k.Clone()
			for i := range bad.bytes {
				bad.bytes[i] = 0xff
			}
			if _, ok := c.Index(bad); ok {
				t.Error("a key of bytes 0xff is accepted")
			}
		}
		if _, ok := c.Index(Key{}); ok {
			t.Error("the zero key is accepted")
		}
		if k := c.Key(&buf, MaxRows); k.Kind() != "" || k.Bytes() != nil || k.Int() != 0 {
			t.Errorf("row %d beyond the limit has the key %s", uint64(MaxRows), k)
		}
	})
}

// The random integer keys of rows beyond the limit exist in the permutation's domain; they belong to no row.
func TestIndexRefusesRandomIntegersBeyondTheLimit(t *testing.T) {
	c := mustCorpus(t, 1, map[string]any{"a": "bool"}, KeyInteger, true)
	beyond := IntegerKey(int64(c.scatter.forward(MaxRows)) + 1)
	if index, ok := c.Index(beyond); ok {
		t.Errorf("key %s is taken for row %d's", beyond, index)
	}
	if index, ok := c.Index(IntegerKey(1<<52 + 1)); ok {
		t.Errorf("a key above 2⁵² is taken for row %d's", index)
	}
}

func TestParseKeyUndoesAppendOrdered(t *testing.T) {
	eachKeyForm(t, func(t *testing.T, c *Corpus) {
		var buf KeyBuffer
		for _, index := range edges {
			k := c.Key(&buf, index)
			got, err := ParseKey(k.Kind(), k.AppendOrdered(nil))
			if err != nil || !got.Equal(k) {
				t.Errorf("row %d: parsed %v, %v, want %v", index, got, err, k)
			}
		}
	})
	for _, bad := range []struct {
		kind    KeyKind
		ordered string
		want    string
	}{
		{"strin26", "", `unknown key kind "strin26": valid are integer, string26, string90, string250, string506, uuid`},
		{"", "", "unknown key kind"},
		{KeyInteger, "1234567", "integer key has 7 bytes: it must have 8"},
		{KeyInteger, "\xff\xff\xff\xff\xff\xff\xff\xff", "integer key -1 is negative"},
		{KeyUUID, "", "uuid key has 0 bytes: it must have 16"},
		{KeyString26, strings.Repeat("a", 27), "string26 key has 27 bytes: it must have 26"},
	} {
		if _, err := ParseKey(bad.kind, []byte(bad.ordered)); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("ParseKey(%q, %q) = %v, want %q", bad.kind, bad.ordered, err, bad.want)
		}
	}
}

func TestCloneOutlivesTheBuffer(t *testing.T) {
	c := mustCorpus(t, 1, map[string]any{"a": "bool"}, KeyString26, false)
	var buf KeyBuffer
	k := c.Key(&buf, 1)
	text, clone := k.String(), k.Clone()
	c.Key(&buf, 2)
	if clone.String() != text || k.String() == text {
		t.Errorf("clone is %s, the key in the buffer %s; want %s and another", clone, k, text)
	}
}

func TestSealLeadsBackToIndexAndVersion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Corpus{seals: newPermutation(31, 32, rapid.Uint64().Draw(t, "seed"), domainSeal)}
		index, version := drawIndex(t, "index"), rapid.Uint32Max(MaxVersions-1).Draw(t, "version")
		seal := c.seal(index, version)
		if i, v := c.Unseal(seal); seal < 0 || i != index || v != version {
			t.Fatalf("seal %d of (%d, %d) gives (%d, %d)", seal, index, version, i, v)
		}
	})
	c := mustCorpus(t, 1, map[string]any{"a": "bool"}, KeyInteger, false)
	for _, beyond := range []struct {
		index   uint64
		version uint32
	}{{MaxRows, 0}, {0, MaxVersions}, {1<<64 - 1, 1<<32 - 1}} {
		var r Row
		c.Row(&r, beyond.index, beyond.version)
		seal := r.Columns[len(r.Columns)-1].Int()
		if index, version := c.Unseal(seal); seal != -1 || index < MaxRows || version < MaxVersions {
			t.Errorf("row %v beyond the limits has seal %d, which leads to (%d, %d)", beyond, seal, index, version)
		}
	}
}
