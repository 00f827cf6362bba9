package corpus

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBinaryRoundTrip(t *testing.T) {
	c := mustCorpus(t, 7, everyKind(), KeyInteger, false)
	tpl := c.Template()
	var want, got Row
	var buf []byte
	rapid.Check(t, func(t *rapid.T) {
		index, version := drawIndex(t, "index"), rapid.Uint32Max(MaxVersions-1).Draw(t, "version")
		c.Row(&want, index, version)
		buf = want.AppendBinary(buf[:0], tpl)
		if err := ParseBinary(tpl, buf, &got); err != nil {
			t.Fatal(err)
		}
		if column, a, b, same := Diff(tpl, &want, &got); !same || want.Checksum() != got.Checksum() {
			t.Fatalf("%s is %s, parsed as %s", column, a, b)
		}
	})
	want.SetAbsent(&want.Columns[0])
	if err := ParseBinary(tpl, want.AppendBinary(nil, tpl), &got); err != nil || got.Checksum() != want.Checksum() {
		t.Errorf("a row with an absent column: %v", err)
	}
}

func TestParseBinaryIsStrict(t *testing.T) {
	c := mustCorpus(t, 7, everyKind(), KeyInteger, false)
	tpl := c.Template()
	var r Row
	c.Row(&r, 1, 1)
	whole := r.AppendBinary(nil, tpl)
	for n := range whole {
		if err := ParseBinary(tpl, whole[:n], &r); err == nil {
			t.Fatalf("the first %d of %d bytes are accepted", n, len(whole))
		}
	}
	refuse := func(what string, data []byte, want string) {
		t.Helper()
		if err := ParseBinary(tpl, data, &r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", what, err, want)
		}
	}
	refuse("nothing", nil, "binary row is empty")
	refuse("something else", []byte(`{"a":1}`), "begins with byte 0x7b: it must be 0xdb")
	refuse("a byte too many", append(bytes.Clone(whole), 0), "has 1 bytes after its last column")
	bent := bytes.Clone(whole)
	bent[1] = byte(Int)
	refuse("another kind", bent, "column array: holds a value of kind int (2): it must be array")
	bent = bytes.Clone(whole)
	bent[2] = 2
	refuse("another length", bent, "column array: holds 2 elements: there must be 3")
	bent[5] = 0xff // four billion elements
	refuse("a huge length", bent, "column array: the row is cut off")

	small := mustTemplate(t, map[string]any{"b": "bool", "v": "vector:2"})
	for what, data := range map[string]string{
		"a boolean of 2":      "\xdb\x01\x02",
		"components missing":  "\xdb\x00\x0b\x01\x00\x00\x00\x00\x00\x00\x00\x00",
		"an unknown kind":     "\xdb\xee",
		"no boolean":          "\xdb\x01",
		"a count cut in half": "\xdb\x00\x0b\x02\x00",
	} {
		if err := ParseBinary(small, []byte(data), &r); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}

func FuzzParseBinary(f *testing.F) {
	tpl := mustTemplate(f, everyKind())
	c, err := New(1, tpl, KeyInteger, false)
	if err != nil {
		f.Fatal(err)
	}
	var r Row
	for i := range uint64(3) {
		c.Row(&r, i, 0)
		f.Add(r.AppendBinary(nil, tpl))
	}
	r.Reset(tpl)
	f.Add(r.AppendBinary(nil, tpl))
	f.Add([]byte{})
	f.Add([]byte{formatByte, byte(Array), 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Row
		if ParseBinary(tpl, data, &r) != nil {
			return
		}
		// There is one way to write a row, so what was accepted must come out again.
		if again := r.AppendBinary(nil, tpl); !bytes.Equal(again, data) {
			t.Fatalf("%x becomes %x", data, again)
		}
	})
}
