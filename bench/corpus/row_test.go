package corpus

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// copyValue decodes one value into another row the way a driver does, with the Set methods alone.
func copyValue(r *Row, dst, src *Value) {
	switch src.Kind() {
	case Bool:
		r.SetBool(dst, src.Bool())
	case Int:
		r.SetInt(dst, src.Int())
	case Float:
		r.SetFloat(dst, src.Float())
	case Decimal:
		r.SetDecimal(dst, src.Decimal())
	case DateTime:
		r.SetUnix(dst, src.Unix())
	case String:
		r.SetString(dst, src.Bytes())
	case Bytes:
		r.SetBytes(dst, src.Bytes())
	case UUID:
		r.SetUUID(dst, src.UUID())
	case Vector:
		r.SetFloats(dst, src.Floats())
	case Array:
		elems := r.SetArray(dst, len(src.Elems()))
		for i := range elems {
			copyValue(r, &elems[i], &src.Elems()[i])
		}
	case Object:
		members := r.SetObject(dst, len(src.Elems()))
		for i := range members {
			copyValue(r, &members[i], &src.Elems()[i])
		}
	default:
		r.SetAbsent(dst)
	}
}

func TestRowsCanBeBuiltByDecoders(t *testing.T) {
	c := mustCorpus(t, 7, everyKind(), KeyInteger, false)
	var want, got Row
	decode := func(index uint64) {
		c.Row(&want, index, 0)
		got.Reset(c.Template())
		for i := range got.Columns {
			if got.Columns[i].Kind() != 0 {
				t.Fatalf("column %d is %s after Reset, want absent", i, got.Columns[i].Kind())
			}
			copyValue(&got, &got.Columns[i], &want.Columns[i])
		}
	}
	for i := range uint64(300) {
		decode(i)
		if column, a, b, same := Diff(c.Template(), &want, &got); !same || want.Checksum() != got.Checksum() {
			t.Fatalf("row %d: %s is %s, decoded as %s", i, column, a, b)
		}
	}
	if n := testing.AllocsPerRun(100, func() { decode(17) }); n != 0 {
		t.Errorf("decoding allocates %v times", n)
	}
	got.SetText(&got.Columns[0], "text")
	if got.Columns[0].Text() != "text" {
		t.Errorf("SetText gives %q", got.Columns[0].Text())
	}
}

// What a decoder hands in belongs to it: the row keeps a copy.
func TestSettersCopy(t *testing.T) {
	tpl := mustTemplate(t, map[string]any{"b": "bytes:3", "s": "string:3", "v": "vector:1"})
	var r Row
	r.Reset(tpl)
	text, raw, floats := []byte("abc"), []byte{1, 2, 3}, []float32{1}
	r.SetBytes(&r.Columns[0], raw)
	r.SetString(&r.Columns[1], text)
	r.SetFloats(&r.Columns[2], floats)
	text[0], raw[0], floats[0] = 'x', 9, 9
	if r.Columns[0].Bytes()[0] != 1 || r.Columns[1].Text() != "abc" || r.Columns[2].Floats()[0] != 1 {
		t.Error("a value changed with the memory it was set from")
	}
}

func TestDiffNamesTheFirstDifference(t *testing.T) {
	tpl := mustTemplate(t, map[string]any{
		"b":    "bool",
		"by":   "bytes:3",
		"dec":  "decimal",
		"f":    "float:0..1",
		"geo":  map[string]any{"code": "string:3", "x y": "int"},
		"i":    "int",
		"long": "string:300",
		"t":    "datetime",
		"tags": []any{"string:1", "string:1"},
		"u":    "uuid",
		"v":    "vector:3",
	})
	c, err := New(1, tpl, KeyInteger, false)
	if err != nil {
		t.Fatal(err)
	}
	column := func(r *Row, name string) *Value {
		for i, f := range tpl.Columns() {
			if f.Name == name {
				return &r.Columns[i]
			}
		}
		t.Fatalf("no column %s", name)
		return nil
	}
	set := func(r *Row) { // values that are easy to read
		r.SetBool(column(r, "b"), true)
		r.SetBytes(column(r, "by"), []byte{1, 2, 255})
		r.SetDecimal(column(r, "dec"), 12345)
		r.SetFloat(column(r, "f"), 0.5)
		r.SetInt(column(r, "i"), -7)
		r.SetText(column(r, "long"), strings.Repeat("é", 150))
		r.SetUnix(column(r, "t"), -1)
		r.SetUUID(column(r, "u"), [16]byte{15: 1})
		r.SetFloats(column(r, "v"), []float32{1, 2, 3})
		tags := r.SetArray(column(r, "tags"), 2)
		r.SetText(&tags[0], "a")
		r.SetText(&tags[1], "b")
		geo := r.SetObject(column(r, "geo"), 2)
		r.SetText(&geo[0], "abc")
		r.SetInt(&geo[1], 1)
	}
	tests := []struct {
		name              string
		change            func(r *Row)
		column, want, got string
	}{
		{"nothing", func(*Row) {}, "", "", ""},
		{"a boolean", func(r *Row) { r.SetBool(column(r, "b"), false) }, "b", "true", "false"},
		{"the kind", func(r *Row) { r.SetInt(column(r, "b"), 1) }, "b", "bool true", "int 1"},
		{"a lost value", func(r *Row) { r.SetAbsent(column(r, "i")) }, "i", "int -7", "absent"},
		{"bytes", func(r *Row) { r.SetBytes(column(r, "by"), []byte{1, 2}) }, "by", "0102ff", "0102"},
		{"a decimal", func(r *Row) { r.SetDecimal(column(r, "dec"), -1) }, "dec", "1.2345", "-0.0001"},
		{"a float", func(r *Row) { r.SetFloat(column(r, "f"), math.NaN()) }, "f", "0.5", "NaN"},
		{"negative zero", func(r *Row) { r.SetFloat(column(r, "f"), math.Copysign(0, -1)) }, "f", "0.5", "-0"},
		{"a date before 1970", func(r *Row) { r.SetUnix(column(r, "t"), 0) }, "t", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z"},
		{"a uuid", func(r *Row) { r.SetUUID(column(r, "u"), [16]byte{}) }, "u",
			"00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000000"},
		{"a component", func(r *Row) { column(r, "v").Floats()[2] = 0.1 }, "v[2]", "3", "0.1"},
		{"a short vector", func(r *Row) { r.SetFloats(column(r, "v"), nil) }, "v", "vector of 3", "vector of 0"},
		{"an element", func(r *Row) { r.SetText(&column(r, "tags").Elems()[1], "") }, "tags[1]", `"b"`, `""`},
		{"a short array", func(r *Row) { r.SetArray(column(r, "tags"), 1) }, "tags", "array of 2", "array of 1"},
		{"a member", func(r *Row) { r.SetText(&column(r, "geo").Elems()[0], "ab\x00") }, "geo.code", `"abc"`, `"ab\x00"`},
		{"a member with a quoted name", func(r *Row) { r.SetInt(&column(r, "geo").Elems()[1], 2) }, `geo."x y"`, "1", "2"},
		{"far down a long text", func(r *Row) {
			r.SetText(column(r, "long"), strings.Repeat("é", 140)+"!"+strings.Repeat("é", 9))
		}, "long", `byte 272 of 300: "éééééééééééééé"`, `byte 272 of 299: "éééé!ééééééééé"`},
		{"a text cut short", func(r *Row) { r.SetText(column(r, "long"), "") }, "long",
			`byte 0 of 300: "` + strings.Repeat("é", 20) + `"`, `""`},
		{"a text of control characters", func(r *Row) { r.SetText(column(r, "long"), strings.Repeat("\x01", 300)) }, "long",
			`byte 0 of 300: "` + strings.Repeat("é", 20) + `"`, `byte 0 of 300: "` + strings.Repeat(`\x01`, 15) + "\\x0…"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var want, got Row
			c.Row(&want, 1, 1)
			c.Row(&got, 1, 1)
			set(&want)
			set(&got)
			test.change(&got)
			column, wantText, gotText, same := Diff(tpl, &want, &got)
			if column != test.column || same != (test.column == "") {
				t.Fatalf("difference in %q, same %t, want %q", column, same, test.column)
			}
			if wantText != test.want || gotText != test.got {
				t.Errorf("texts %s and %s, want %s and %s", wantText, gotText, test.want, test.got)
			}
			if n := max(utf8.RuneCountInString(wantText), utf8.RuneCountInString(gotText)); n > 80 {
				t.Errorf("a text has %d characters", n)
			}
			if same != (want.Checksum() == got.Checksum()) {
				t.Error("the checksums say otherwise")
			}
		})
	}
	var want, got Row
	c.Row(&want, 1, 1)
	c.Row(&got, 1, 1)
	got.Columns = got.Columns[:2]
	if column, _, gotText, same := Diff(tpl, &want, &got); same || column != "dec" || gotText != "no such column" {
		t.Errorf("a row without a column: %q, %q, %t", column, gotText, same)
	}
}

// Every byte, its place, its column and its kind count.
func TestChecksumDependsOnEverything(t *testing.T) {
	tpl := mustTemplate(t, map[string]any{"a": "string:1", "b": "string:1"})
	seen := make(map[uint64]string)
	add := func(what string, a, b func(r *Row, v *Value)) {
		var r Row
		r.Reset(tpl)
		a(&r, &r.Columns[0])
		b(&r, &r.Columns[1])
		sum := r.Checksum()
		if other, dup := seen[sum]; dup {
			t.Fatalf("%s and %s have the same checksum", what, other)
		}
		seen[sum] = what
	}
	text := func(s string) func(*Row, *Value) { return func(r *Row, v *Value) { r.SetText(v, s) } }
	raw := func(s string) func(*Row, *Value) { return func(r *Row, v *Value) { r.SetBytes(v, []byte(s)) } }
	number := func(n int64) func(*Row, *Value) { return func(r *Row, v *Value) { r.SetInt(v, n) } }
	absent := func(*Row, *Value) {}
	add("absent", absent, absent)
	for n := range 100 {
		zeros := strings.Repeat("\x00", n)
		add("zeros in a", text(zeros), absent)
		add("zeros in b", absent, text(zeros))
		add("zero bytes", raw(zeros), absent)
		if n > 0 {
			add("zeros moved over", text(zeros), text("\x00"))
		}
		for i := range n {
			one := []byte(zeros)
			one[i] = 1
			add("a bit", text(string(one)), absent)
		}
		add("a number", number(int64(n)), absent)
		add("a number in b", absent, number(int64(n)))
		add("a vector of zeros", func(r *Row, v *Value) { r.SetFloats(v, make([]float32, n)) }, absent)
		add("an array of absents", func(r *Row, v *Value) { r.SetArray(v, n) }, absent)
		add("an object of absents", func(r *Row, v *Value) { r.SetObject(v, n) }, absent)
	}
	add("true", func(r *Row, v *Value) { r.SetBool(v, true) }, absent)
	add("decimal", func(r *Row, v *Value) { r.SetDecimal(v, 1) }, absent)
	add("datetime", func(r *Row, v *Value) { r.SetUnix(v, 1) }, absent)
}
