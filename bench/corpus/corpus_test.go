package corpus

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// everyKind is a table with all kinds, nested ones included.
func everyKind() map[string]any {
	return map[string]any{
		"bool":     "bool",
		"int":      "int:-9223372036854775808..9223372036854775807",
		"float":    "float",
		"decimal":  "decimal:-1000..1000",
		"string":   "string:0..40",
		"enum":     "string_enum:\x00nul,\"quoted\"\\,😀,l\u2028s,<tag>,tab\t,tr\x7f",
		"words":    "words:0..60;é,日本,\x01",
		"uuid":     "uuid",
		"datetime": "datetime",
		"bytes":    "bytes:0..40",
		"array":    []any{"int", []any{"bool", "uuid"}, map[string]any{"k": "decimal"}},
		"object": map[string]any{
			"b": "bytes:3", "d": "datetime", "f": "float:-1..1", "i": "int", "s": "text:10..30", "sp ace\"": "bool",
			"v": "vector:5", "y": map[string]any{"z": []any{"string:1"}},
		},
		"vector":    "vector:9:-2..3",
		"clustered": "vector:16:clustered:3:0.1",
	}
}

// A row is the same whatever was made before, and in whatever memory.
func TestRowsArePure(t *testing.T) {
	c := mustCorpus(t, 7, everyKind(), KeyString90, true)
	var used Row
	rapid.Check(t, func(t *rapid.T) {
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			index, version := drawIndex(t, "index"), rapid.Uint32Max(MaxVersions-1).Draw(t, "version")
			var fresh Row
			c.Row(&fresh, index, version)
			c.Row(&used, index, version)
			if column, want, got, same := Diff(c.Template(), &fresh, &used); !same {
				t.Fatalf("row %d, version %d: %s is %s in fresh memory, %s in used", index, version, column, want, got)
			}
			if fresh.Checksum() != used.Checksum() || used.Index != index || used.Version != version {
				t.Fatalf("row %d, version %d: index %d, version %d, checksums %x and %x", index, version, used.Index, used.Version, fresh.Checksum(), used.Checksum())
			}
			if i, v := c.Unseal(used.Columns[len(used.Columns)-1].Int()); i != index || v != version {
				t.Fatalf("row %d, version %d: the seal leads to %d, %d", index, version, i, v)
			}
		}
	})
}

func TestRowsAreTheSameForAllWhoMakeThemAtOnce(t *testing.T) {
	c := mustCorpus(t, 7, everyKind(), KeyUUID, true)
	const rows, workers = 200, 8
	var want [rows]string
	var r Row
	var buf KeyBuffer
	describe := func(r *Row, buf *KeyBuffer, i uint64) string {
		c.Row(r, i, uint32(i%3))
		return fmt.Sprintf("%x %s", r.Checksum(), c.Key(buf, i))
	}
	for i := range want {
		want[i] = describe(&r, &buf, uint64(i))
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			var r Row
			var buf KeyBuffer
			for step := range rows {
				i := (step*37 + w*11) % rows // each in an order of its own
				if got := describe(&r, &buf, uint64(i)); got != want[i] {
					t.Errorf("worker %d: row %d is %s, want %s", w, i, got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

// A column's values depend on its name, not on what stands beside it.
func TestColumnsDoNotTouchEachOther(t *testing.T) {
	table := everyKind()
	full := mustCorpus(t, 7, table, KeyInteger, false)
	var all, one Row
	for i, f := range full.Template().Columns() {
		if f.Name == SealColumn {
			continue
		}
		alone := mustCorpus(t, 7, map[string]any{f.Name: table[f.Name]}, KeyInteger, false)
		for index := range uint64(20) {
			full.Row(&all, index, 3)
			alone.Row(&one, index, 3)
			if want, got := all.Columns[i].checksum(0), one.Columns[0].checksum(0); want != got {
				t.Errorf("column %s of row %d changes when it stands alone", f.Name, index)
			}
		}
	}
}

// An update must really rewrite, every column of it.
func TestEveryColumnChangesWithVersionRowAndSeed(t *testing.T) {
	// Columns with few values keep theirs now and then; over 64 rows none keeps all.
	a, b := mustCorpus(t, 7, everyKind(), KeyInteger, false), mustCorpus(t, 8, everyKind(), KeyInteger, false)
	changed := map[string]map[string]bool{"version": {}, "row": {}, "seed": {}}
	var base, other Row
	for i := range uint64(64) {
		a.Row(&base, i, 0)
		compare := func(what string, c *Corpus, index uint64, version uint32) {
			c.Row(&other, index, version)
			for k, f := range a.Template().Columns() {
				if base.Columns[k].checksum(0) != other.Columns[k].checksum(0) {
					changed[what][f.Name] = true
				}
			}
		}
		compare("version", a, i, 1)
		compare("row", a, i+1, 0)
		compare("seed", b, i, 0)
	}
	for what, columns := range changed {
		for _, f := range a.Template().Columns() {
			if !columns[f.Name] {
				t.Errorf("column %s never changes with the %s", f.Name, what)
			}
		}
	}
}

func TestDigestNamesEverythingThatDecidesTheContent(t *testing.T) {
	base := mustCorpus(t, 1, map[string]any{"a": "string:5"}, KeyInteger, false)
	if again := mustCorpus(t, 1, map[string]any{"a": "String:5..6"}, KeyInteger, false); again.Digest() != base.Digest() {
		t.Error("another spelling of the same template has another digest")
	}
	if d := base.Digest(); len(d) != 64 || strings.Trim(d, "0123456789abcdef") != "" {
		t.Errorf("digest %q is no hexadecimal SHA-256", d)
	}
	seen := map[string]string{base.Digest(): "the base"}
	for what, c := range map[string]*Corpus{
		"seed":        mustCorpus(t, 2, map[string]any{"a": "string:5"}, KeyInteger, false),
		"expression":  mustCorpus(t, 1, map[string]any{"a": "string:6"}, KeyInteger, false),
		"column":      mustCorpus(t, 1, map[string]any{"b": "string:5"}, KeyInteger, false),
		"nesting":     mustCorpus(t, 1, map[string]any{"a": []any{"string:5"}}, KeyInteger, false),
		"key kind":    mustCorpus(t, 1, map[string]any{"a": "string:5"}, KeyUUID, false),
		"random keys": mustCorpus(t, 1, map[string]any{"a": "string:5"}, KeyInteger, true),
	} {
		if other, dup := seen[c.Digest()]; dup {
			t.Errorf("another %s has the digest of %s", what, other)
		}
		seen[c.Digest()] = what
	}
}

func TestNewRefusesWhatItCannotMake(t *testing.T) {
	if _, err := New(1, nil, KeyInteger, false); err == nil {
		t.Error("a corpus without a template is made")
	}
	tpl := mustTemplate(t, map[string]any{"a": "int"})
	if _, err := New(1, tpl, "string", false); err == nil || !strings.Contains(err.Error(), "valid are integer, string26") {
		t.Errorf("error %v does not list the key kinds", err)
	}
	for _, kind := range KeyKinds() {
		if got, err := ParseKeyKind(string(kind)); got != kind || err != nil {
			t.Errorf("ParseKeyKind(%q) = %q, %v", kind, got, err)
		}
	}
	c, err := New(5, tpl, KeyUUID, true)
	if err != nil || c.Seed() != 5 || c.Template() != tpl || c.KeyKind() != KeyUUID || !c.Random() {
		t.Errorf("the corpus does not say what it was made of: %+v, %v", c, err)
	}
}

// After the first rows nothing is allocated any more.
func TestNothingIsAllocated(t *testing.T) {
	c := mustCorpus(t, 7, everyKind(), KeyInteger, true)
	tpl := c.Template()
	var r, decoded Row
	var binary, text []byte
	for i := range uint64(300) {
		c.Row(&r, i, 0)
		binary, text = r.AppendBinary(binary[:0], tpl), r.AppendJSON(text[:0], tpl)
		if err := ParseBinary(tpl, binary, &decoded); err != nil {
			t.Fatal(err)
		}
		if err := decoded.ParseJSON(tpl, text); err != nil {
			t.Fatal(err)
		}
	}
	i := uint64(0)
	check := func(what string, f func()) {
		t.Helper()
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
	check("Row", func() { c.Row(&r, i%300, 0); i++ })
	check("Checksum", func() { r.Checksum() })
	check("AppendBinary", func() { binary = r.AppendBinary(binary[:0], tpl) })
	check("ParseBinary", func() {
		if err := ParseBinary(tpl, binary, &decoded); err != nil {
			t.Error(err)
		}
	})
	check("AppendJSON", func() { text = r.AppendJSON(text[:0], tpl) })
	check("ParseJSON", func() {
		if err := decoded.ParseJSON(tpl, text); err != nil {
			t.Error(err)
		}
	})
	check("Diff", func() { Diff(tpl, &r, &decoded) })
	for _, kind := range KeyKinds() {
		for _, random := range []bool{false, true} {
			c := mustCorpus(t, 7, map[string]any{"a": "bool"}, kind, random)
			var buf KeyBuffer
			ordered := make([]byte, 0, 512)
			check("Key "+string(kind), func() { c.Key(&buf, i); i++ })
			check("Index "+string(kind), func() { c.Index(c.Key(&buf, i)) })
			check("AppendOrdered "+string(kind), func() { ordered = c.Key(&buf, i).AppendOrdered(ordered[:0]) })
		}
	}
}
