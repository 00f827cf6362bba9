package corpus

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestJSONRoundTrip(t *testing.T) {
	c := mustCorpus(t, 7, everyKind(), KeyInteger, false)
	tpl := c.Template()
	var want, got Row
	var buf []byte
	rapid.Check(t, func(t *rapid.T) {
		index, version := drawIndex(t, "index"), rapid.Uint32Max(MaxVersions-1).Draw(t, "version")
		c.Row(&want, index, version)
		buf = want.AppendJSON(buf[:0], tpl)
		if !json.Valid(buf) {
			t.Fatalf("not JSON: %s", buf)
		}
		if err := got.ParseJSON(tpl, buf); err != nil {
			t.Fatalf("%v in %s", err, buf)
		}
		if column, a, b, same := Diff(tpl, &want, &got); !same || want.Checksum() != got.Checksum() {
			t.Fatalf("%s is %s, parsed as %s from %s", column, a, b, buf)
		}
		// What another program makes of it: members in another order, floats as float64.
		var generic any
		if err := json.Unmarshal(buf, &generic); err != nil {
			t.Fatal(err)
		}
		members := generic.(map[string]any)
		delete(members, SealColumn) // is an integer of 63 bits, which float64 does not hold
		delete(members, "int")
		object, list := members["object"].(map[string]any), members["array"].([]any)
		spaced, err := json.MarshalIndent(map[string]any{"array": list, "object": object, "float": members["float"], "vector": members["vector"]}, " ", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := got.ParseJSON(tpl, spaced); err != nil {
			t.Fatalf("%v in %s", err, spaced)
		}
		for i, f := range tpl.Columns() {
			if got.Columns[i].Kind() != 0 && got.Columns[i].checksum(0) != want.Columns[i].checksum(0) {
				t.Fatalf("column %s changes on the way through another program: %s", f.Name, spaced)
			}
		}
	})
}

// rowOf makes a row of one column by hand.
func rowOf(t *testing.T, expr any, set func(r *Row, v *Value)) (*Template, *Row) {
	t.Helper()
	tpl := mustTemplate(t, map[string]any{"x": expr})
	r := &Row{}
	r.Reset(tpl)
	set(r, &r.Columns[0])
	return tpl, r
}

func TestAppendJSON(t *testing.T) {
	tests := []struct {
		name string
		expr any
		set  func(r *Row, v *Value)
		want string
	}{
		{"absent", "int", func(*Row, *Value) {}, `null`},
		{"bool", "bool", func(r *Row, v *Value) { r.SetBool(v, true) }, `true`},
		{"largest int", "int", func(r *Row, v *Value) { r.SetInt(v, math.MaxInt64) }, `9223372036854775807`},
		{"smallest int", "int", func(r *Row, v *Value) { r.SetInt(v, math.MinInt64) }, `-9223372036854775808`},
		{"float32 0.1 as the float64 it is", "float", func(r *Row, v *Value) { r.SetFloat(v, float64(float32(0.1))) }, `0.10000000149011612`},
		{"whole float", "float", func(r *Row, v *Value) { r.SetFloat(v, 3) }, `3`},
		{"huge float", "float", func(r *Row, v *Value) { r.SetFloat(v, -3e38) }, `-3e+38`},
		{"tiny float", "float", func(r *Row, v *Value) { r.SetFloat(v, 1e-7) }, `1e-07`},
		{"no number", "float", func(r *Row, v *Value) { r.SetFloat(v, math.NaN()) }, `null`},
		{"infinity", "float", func(r *Row, v *Value) { r.SetFloat(v, math.Inf(-1)) }, `null`},
		{"decimal", "decimal", func(r *Row, v *Value) { r.SetDecimal(v, -12340) }, `"-1.2340"`},
		{"quotes and controls", "string:0", func(r *Row, v *Value) { r.SetText(v, "\"\\/\b\f\n\r\t\x00\x1f\x7f") }, `"\"\\/\u0008\u000c\n\r\t\u0000\u001f` + "\x7f" + `"`},
		{"emoji as they are", "string:0", func(r *Row, v *Value) { r.SetText(v, "é日😀") }, `"é日😀"`},
		{"bytes that are no UTF-8", "string:0", func(r *Row, v *Value) { r.SetText(v, "a\xffb\xf0\x9f") }, `"` + "a\ufffdb\ufffd\ufffd" + `"`},
		{"the replacement character itself", "string:0", func(r *Row, v *Value) { r.SetText(v, "\ufffd") }, `"` + "\ufffd" + `"`},
		{"uuid", "uuid", func(r *Row, v *Value) { r.SetUUID(v, [16]byte{0: 0xAB, 15: 1}) }, `"ab000000-0000-0000-0000-000000000001"`},
		{"date before 1970", "datetime", func(r *Row, v *Value) { r.SetUnix(v, -1) }, `"1969-12-31T23:59:59Z"`},
		{"bytes", "bytes:0", func(r *Row, v *Value) { r.SetBytes(v, []byte{0, 255, 62, 63}) }, `"AP8+Pw=="`},
		{"vector", "vector:3", func(r *Row, v *Value) { r.SetFloats(v, []float32{0.1, -1, 1e-9}) }, `[0.1,-1,1e-09]`},
		{"array", []any{"int", "bool"}, func(r *Row, v *Value) { r.SetInt(&r.SetArray(v, 2)[0], 1) }, `[1,null]`},
		{"object", map[string]any{"b\"": "int", "a": "int"}, func(r *Row, v *Value) { r.SetInt(&r.SetObject(v, 2)[1], 1) }, `{"a":null,"b\"":1}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tpl, r := rowOf(t, test.expr, test.set)
			if got := string(AppendJSON([]byte("…"), &tpl.Columns()[0], &r.Columns[0])); got != "…"+test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if got, want := string(r.AppendJSON(nil, tpl)), `{"x":`+test.want+`,"seal":null}`; got != want {
				t.Errorf("row %s, want %s", got, want)
			}
		})
	}
}

func TestParseJSON(t *testing.T) {
	tests := []struct {
		name string
		expr any
		data string
		want string // as AppendJSON writes it, or the error
	}{
		{"space everywhere", []any{"int", map[string]any{"a": "bool"}}, " [ 1 ,\n{\t\"a\" :\r true } ] ", `[1,{"a":true}]`},
		{"members in any order", map[string]any{"a": "int", "b": "int", "c": "int"}, `{"c":3,"a":1,"b":2}`, `{"a":1,"b":2,"c":3}`},
		{"members missing", map[string]any{"a": "int", "b": "int"}, `{"b":2}`, `{"a":null,"b":2}`},
		{"no members", map[string]any{"a": "int"}, `{}`, `{"a":null}`},
		{"elements missing", []any{"int", "int"}, `[1]`, `[1]`},
		{"no elements", []any{"int"}, `[]`, `[]`},
		{"components missing", "vector:3", `[1, 0.1]`, `[1,0.1]`},
		{"null", "int", ` null `, `null`},
		{"exact integers", "int", `9223372036854775807`, `9223372036854775807`},
		{"above what a double holds", "int", `9007199254740993`, `9007199254740993`},
		{"integer with a point", "int", `5.0`, `5`},
		{"integer with an exponent", "int", `-1.5e3`, `-1500`},
		{"float that is whole", "float", `3`, `3`},
		{"float of many digits", "float", `0.100000001490116119384765625`, `0.10000000149011612`},
		{"decimal as a string", "decimal", `"1.5"`, `"1.5000"`},
		{"decimal as a number", "decimal", `-1.50000`, `"-1.5000"`},
		{"uuid in capitals", "uuid", `"AB000000-0000-0000-0000-000000000001"`, `"ab000000-0000-0000-0000-000000000001"`},
		{"time with an offset", "datetime", `"1970-01-01T01:00:00.000+01:00"`, `"1970-01-01T00:00:00Z"`},
		{"escapes", "string:0", `"\"\\\/\b\f\n\r\t\u00e9\u65E5\uD83D\uDE00\u0000"`, `"\"\\/\u0008\u000c\n\r\té日😀\u0000"`},
		{"escaped member name", map[string]any{"é": "int"}, `{"\u00e9":1}`, `{"é":1}`},

		{"nothing", "int", ``, `x: byte 0: the text ends where a number should be`},
		{"something after", "int", `1 2`, `x: byte 2: "2" follows the value`},
		{"integer too large", "int", `9223372036854775808`, `x: 9223372036854775808 is not a whole number of 64 bits`},
		{"integer that is none", "int", `1.5`, `x: 1.5 is not a whole number of 64 bits`},
		{"integer that a double rounds", "int", `1e17`, `x: 1e17 is not a whole number of 64 bits`},
		{"leading zero", "int", `01`, `x: byte 1: "1" follows the value`},
		{"lone minus", "int", `-`, `a number should be`},
		{"point without digits", "float", `1.`, `a number should be`},
		{"exponent without digits", "float", `1e+`, `a number should be`},
		{"no JSON number", "float", `NaN`, `x: byte 0: "NaN" where a number should be`},
		{"too large", "float", `1e999`, `x: 1e999 does not fit in a float64`},
		{"component too large", "vector:1", `[1e39]`, `x[0]: 1e39 does not fit in a float32`},
		{"string for a number", "int", `"1"`, `where a number should be`},
		{"number for a string", "string:1", `1`, `x: byte 0: "1" where a string should be`},
		{"half a word", "bool", `tru`, `where a boolean should be`},
		{"no array", []any{"int"}, `{}`, `where an array should be`},
		{"no object", map[string]any{"a": "int"}, `[]`, `where an object should be`},
		{"array not closed", []any{"int"}, `[1`, `the text ends where a comma or the end of the array should be`},
		{"object not closed", map[string]any{"a": "int"}, `{"a":1`, `the text ends where a comma or the end of the object should be`},
		{"no colon", map[string]any{"a": "int"}, `{"a" 1}`, `where a colon should be`},
		{"trailing comma", map[string]any{"a": "int"}, `{"a":1,}`, `where a string should be`},
		{"too many elements", []any{"int"}, `[1,2]`, `x: more than 1 elements`},
		{"too many components", "vector:1", `[1,2]`, `x: more than 1 components`},
		{"unknown member", map[string]any{"a": map[string]any{"b": "int"}}, `{"a":{"c d":1}}`, `x.a."c d": byte 11: no such member in the template`},
		{"member twice", map[string]any{"a": "int"}, `{"a":1,"a":2}`, `x.a: byte 10: the member is there twice`},
		{"deep", map[string]any{"a": []any{"int", []any{"bool"}}}, `{"a":[1,[2]]}`, `x.a[1][0]: byte 9: "2]]}" where a boolean should be`},
		{"decimal with five places", "decimal", `"1.00001"`, `x: 1.00001 has more than 4 decimal places`},
		{"bad uuid", "uuid", `"ab"`, `x: "ab" is not a uuid`},
		{"bad time", "datetime", `"2020-01-01"`, `x: "2020-01-01" is not a time in whole seconds`},
		{"fraction of a second", "datetime", `"2020-01-01T00:00:00.5Z"`, `is not a time in whole seconds`},
		{"bad base 64", "bytes:0", `"a"`, `x: not base 64`},
		{"string without end", "string:0", `"abc`, `the string has no end`},
		{"string that ends in an escape", "string:0", `"abc\"`, `the string has no end`},
		{"control character", "string:0", "\"a\nb\"", `byte 2: control character 0x0a in a string`},
		{"no escape", "string:0", `"\x"`, `is no escape`},
		{"bad digits", "string:0", `"\u12g4"`, `is no escape`},
		{"digits cut short", "string:0", `"\u12"`, `is no escape`},
		{"high surrogate alone", "string:0", `"\ud83d"`, `is no escape`},
		{"high surrogate with something else", "string:0", `"\ud83d\u0041"`, `is no escape`},
		{"low surrogate alone", "string:0", `"\ude00"`, `is no escape`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tpl, r := rowOf(t, test.expr, func(*Row, *Value) {})
			f, v := &tpl.Columns()[0], &r.Columns[0]
			if err := ParseJSON(f, []byte(test.data), r, v); err != nil {
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want %s", err, test.want)
				}
				return
			}
			if got := string(AppendJSON(nil, f, v)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func FuzzParseJSON(f *testing.F) {
	tpl := mustTemplate(f, everyKind())
	c, err := New(1, tpl, KeyInteger, false)
	if err != nil {
		f.Fatal(err)
	}
	var r Row
	for i := range uint64(3) {
		c.Row(&r, i, 0)
		f.Add(r.AppendJSON(nil, tpl))
	}
	for _, seed := range []string{`{}`, `{"array":[1,[true`, `{"object":{"y":{"z":["\ud83d\ude00"]}}}`, `{"string":"\`, `{"int":1e400}`, `{"vector":[1e39]}`, "null"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r, again Row
		if r.ParseJSON(tpl, data) != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("accepted what is not JSON: %q", data)
		}
		text := r.AppendJSON(nil, tpl)
		if err := again.ParseJSON(tpl, text); err != nil {
			// Years that RFC 3339 cannot say come from offsets at the ends of the calendar.
			if strings.Contains(err.Error(), "is not a time") {
				return
			}
			t.Fatalf("%v in its own text %s", err, text)
		}
		if second := again.AppendJSON(nil, tpl); string(second) != string(text) {
			t.Fatalf("%s becomes %s", text, second)
		}
	})
}
