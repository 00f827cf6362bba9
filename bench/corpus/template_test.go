package corpus

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// crudTable is the value table of crud-bench's default workload, as a TOML decoder gives it.
func crudTable() map[string]any {
	return map[string]any{
		"text":        "string:50",
		"name":        "string:20",
		"age":         "int:1..100",
		"city":        "string_enum:London,Paris,Berlin,Tokyo,New York,Sydney,Madrid,Rome,Beijing,Tokyo",
		"score":       "float:0.0..100.0",
		"number":      "int:1..5000",
		"integer":     "int",
		"active":      "bool",
		"created_at":  "datetime",
		"http_status": "int_enum:200,201,400,404,500",
		"request_id":  "uuid",
		"status":      "string_enum:draft,published,archived",
		"description": "text:100..400",
		"tier":        "int_enum:0,1,2,3",
		"words":       "words:100;hello,world,foo,bar,test,search,data,query,index,document,database,performance",
		"tags": []any{
			"string_enum:alpha,beta,gamma,delta,epsilon",
			"string_enum:theta,iota,kappa,lambda,mu",
			"string_enum:nu,xi,omicron,pi,rho",
		},
		"geography": map[string]any{
			"code":        "string:3",
			"text":        "string:15",
			"location":    "string_enum:Africa,Antarctica,Asia,Europe,North America,South America,Oceania",
			"description": "words:100;hello,world,foo,bar,test,search,data,query,index,document,database,performance",
		},
	}
}

func mustTemplate(t testing.TB, table map[string]any) *Template {
	t.Helper()
	tpl, err := ParseTemplate(table)
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

func mustCorpus(t testing.TB, seed uint64, table map[string]any, kind KeyKind, random bool) *Corpus {
	t.Helper()
	c, err := New(seed, mustTemplate(t, table), kind, random)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestParseTemplateReadsTheGrammar(t *testing.T) {
	tests := []struct {
		name, expr, canonical string
		kind                  Kind
		dim, maxLen           int
	}{
		{"fixed length", "string:50", "string:50", String, 0, 50},
		{"length range is half-open", "string:3..6", "string:3..6", String, 0, 5},
		{"a range of one length is that length", "string:3..4", "string:3", String, 0, 3},
		{"nothing at all", "string:0", "string:0", String, 0, 0},
		{"keywords in any case", "String:50", "string:50", String, 0, 50},
		{"blanks around numbers", " string : 3 .. 6 ", "string:3..6", String, 0, 5},
		{"text overshoots by a word", "text:100..400", "text:100..400", String, 0, 399 + 9},
		{"empty text", "text:0", "text:0", String, 0, 0},
		{"words overshoot by the longest", "words:10;hi,World", "words:10;hi,world", String, 0, 15},
		{"int is 32 bits", "int", "int:-2147483648..2147483647", Int, 0, 0},
		{"int of 64 bits", "int:-9223372036854775808..9223372036854775807", "int:-9223372036854775808..9223372036854775807", Int, 0, 0},
		{"float without range is any float32", "float", "float:-3.4028235e+38..3.4028235e+38", Float, 0, 0},
		{"float", "float:-0.50..1e2", "float:-0.5..100", Float, 0, 0},
		{"decimal", "decimal", "decimal:0.0000..1000000.0000", Decimal, 0, 0},
		{"decimal range", "decimal:-1.5..2", "decimal:-1.5000..2.0000", Decimal, 0, 0},
		{"bytes", "bytes:16..33", "bytes:16..33", Bytes, 0, 32},
		{"bool", "bool", "bool", Bool, 0, 0},
		{"uuid", "uuid", "uuid", UUID, 0, 0},
		{"datetime", "datetime", "datetime", DateTime, 0, 0},
		{"labels are lower-cased like the conditions expect", "string_enum:London,New York,ÉTÉ", "string_enum:london,new york,été", String, 0, 8},
		{"blanks belong to a label", "string_enum: a,b ", "string_enum: a,b ", String, 0, 2},
		{"any label goes", "string_enum:\x00,\",😀\n", "string_enum:\x00,\",😀\n", String, 0, 5},
		{"int labels", "int_enum:1, -2,9223372036854775807", "int_enum:1,-2,9223372036854775807", Int, 0, 0},
		{"float labels", "float_enum:0.10,1e3,-0", "float_enum:0.1,1000,0", Float, 0, 0},
		{"decimal labels", "decimal_enum:1.5,-2", "decimal_enum:1.5000,-2.0000", Decimal, 0, 0},
		{"vector", "vector:3", "vector:3:-1..1", Vector, 3, 0},
		{"vector with range", "vector:3:0..0.5", "vector:3:0..0.5", Vector, 3, 0},
		{"clustered", "vector:8:clustered:20", "vector:8:clustered:20:0.35", Vector, 8, 0},
		{"clustered with sigma", "vector:8:clustered:20:0", "vector:8:clustered:20:0", Vector, 8, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tpl := mustTemplate(t, map[string]any{"x": test.expr})
			got := tpl.Columns()[0]
			if got.Name != "x" || got.Kind != test.kind || got.Dim != test.dim || got.MaxLen != test.maxLen || got.expr != test.canonical {
				t.Errorf("got %s %s, dim %d, max %d, %q; want x %s, dim %d, max %d, %q",
					got.Name, got.Kind, got.Dim, got.MaxLen, got.expr, test.kind, test.dim, test.maxLen, test.canonical)
			}
			if last := tpl.Columns()[1]; last.Name != SealColumn || last.Kind != Int || len(tpl.Columns()) != 2 {
				t.Errorf("the last column is %s of kind %s", last.Name, last.Kind)
			}
			// The canonical form makes the same template again.
			var table map[string]any
			if err := json.Unmarshal([]byte(tpl.Canonical()), &table); err != nil {
				t.Fatal(err)
			}
			if again := mustTemplate(t, table); again.Canonical() != tpl.Canonical() {
				t.Errorf("canonical form %s gives %s", tpl.Canonical(), again.Canonical())
			}
		})
	}
}

func TestColumnsAreSortedAndNested(t *testing.T) {
	tpl := mustTemplate(t, map[string]any{
		"zeta": "bool",
		"Alfa": "int",
		"mid":  map[string]any{"b": "int", "a": []any{"string:1", map[string]any{"deep": "uuid"}}},
	})
	const want = `{"Alfa":"int:-2147483648..2147483647","mid":{"a":["string:1",{"deep":"uuid"}],"b":"int:-2147483648..2147483647"},"zeta":"bool"}`
	if got := tpl.Canonical(); got != want {
		t.Errorf("canonical form\n%s, want\n%s", got, want)
	}
	var names []string
	for _, f := range tpl.Columns() {
		names = append(names, f.Name+" "+f.Kind.String())
	}
	if got := strings.Join(names, ", "); got != "Alfa int, mid object, zeta bool, seal int" {
		t.Errorf("columns %s", got)
	}
	if f := tpl.Columns()[1].Elems[0]; f.Name != "a" || f.Kind != Array || f.Elems[1].Elems[0].Name != "deep" {
		t.Errorf("nested field %+v", f)
	}
}

func TestParseTemplateSaysWhatWouldBeRight(t *testing.T) {
	tests := []struct {
		name  string
		value any
		want  string // part of the message
	}{
		{"typo", "strng:5", `unknown generator "strng": did you mean "string"?`},
		{"typo in an enum", "int_enm:5", `did you mean "int_enum"?`},
		{"nothing near", "lorem:5", `unknown generator "lorem": known are bool, bytes, cluster, datetime, decimal, decimal_enum, float, float_enum, int, int_enum, string, string_enum, text, uuid, vector, words`},
		{"empty", "", `unknown generator ""`},
		{"not UTF-8", "string_enum:\xff", "not valid UTF-8"},
		{"no length", "string", "string needs a length, e.g. string:50 or string:10..20"},
		{"no length after the colon", "text:", "text needs a length"},
		{"length is a word", "bytes:many", `"many" is not a whole number: a length is a number of characters`},
		{"negative length", "string:-1", "length -1 is negative: it is 0 or more"},
		{"negative length in a range", "string:-1..5", "length -1 is negative"},
		{"huge length", "string:1000000000000", "at most 67108864 bytes"},
		{"huge length in a range", "string:1..1000000000000", "at most 67108864 bytes"},
		{"length beyond 64 bits", "string:99999999999999999999", "99999999999999999999 does not fit in 64 bits"},
		{"empty range", "int:5..5", "the range 5..5 is empty: its upper end is not part of it"},
		{"reversed range", "int:100..1", "the range 100..1 is reversed: write the lower end first"},
		{"no range", "int:100", `"100" is not a range: write two numbers joined by two dots, e.g. 1..100`},
		{"half a range", "int:1..", `"" is not a whole number`},
		{"float ends", "float:a..b", `"a" is not a number`},
		{"infinite", "float:0..inf", "inf does not fit in a float32"},
		{"too large for a float32", "float:0..1e39", "1e39 does not fit in a float32"},
		{"not a number", "float:nan..1", `"nan" is not a number`},
		{"equal as float32", "float:16777216..16777216.5", "is empty"},
		{"too many places", "decimal:0..1.00001", "1.00001 has more than 4 decimal places"},
		{"decimal too large", "decimal:0..1000000000000000", "is too large for a decimal"},
		{"argument of bool", "bool:0.5", `bool takes no argument: write "bool"`},
		{"argument of uuid", "uuid:7", `uuid takes no argument`},
		{"argument of datetime", "datetime:", `datetime takes no argument`},
		{"no labels", "string_enum:", "string_enum needs labels separated by commas"},
		{"no colon", "int_enum", "int_enum needs labels"},
		{"empty label", "string_enum:a,,b", "label 2 of 3 is empty: take out the extra comma"},
		{"label that is no number", "int_enum:1,two", `"two" is not a whole number`},
		{"no dictionary", "words:100", "words needs a dictionary after its length, e.g. words:100;hello,world"},
		{"empty dictionary", "words:100;", "words needs labels"},
		{"no dimension", "vector", "vector needs a dimension from 1 to 65536, e.g. vector:768"},
		{"dimension 0", "vector:0", "vector needs a dimension"},
		{"dimension too large", "vector:65537", "vector needs a dimension"},
		{"vector range", "vector:3:1..1", "the range 1..1 is empty"},
		{"vector range too wide", "vector:3:-3e38..3e38", "is wider than a float32 holds"},
		{"vector with too much", "vector:3:0..1:2", "vector takes a dimension and a range, clustered or data"},
		{"clustered by nothing", "vector:3:clustered", "clustered takes a number of clusters"},
		{"clustered around 0", "vector:3:clustered:0", "clustered needs a number of clusters from 1 to"},
		{"centres beyond memory", "vector:65536:clustered:1000000", "clustered needs a number of clusters from 1 to 1024"},
		{"sigma", "vector:3:clustered:1:-1", "sigma is a number from 0 to 1e+06"},
		{"sigma that is none", "vector:3:clustered:1:NaN", "sigma is a number"},
		{"clustered with too much", "vector:3:clustered:1:1:1", "clustered takes a number of clusters and optionally sigma"},
		{"null", nil, "null is not a generator"},
		{"boolean", true, `a boolean is not a generator: write "bool" for random booleans`},
		{"integer", int64(7), `write "int_enum:7" for always this number`},
		{"float literal", 1.5, `write "float_enum:1.5" for always this number`},
		{"time", time.Unix(0, 0), "time.Time is not a generator"},
		{"empty table", map[string]any{}, "an empty table: it needs at least one member"},
		{"empty array", []any{}, "an empty array: it needs at least one element"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := ParseTemplate(map[string]any{"x": test.value})
			var field *FieldError
			if !errors.As(err, &field) {
				t.Fatalf("error %v is no FieldError", err)
			}
			if field.Path != "x" || !strings.Contains(field.Msg, test.want) {
				t.Errorf("%s: %s, want x: …%s…", field.Path, field.Msg, test.want)
			}
			if expr, ok := test.value.(string); ok && field.Expr != expr {
				t.Errorf("expression %q, want %q as written", field.Expr, expr)
			}
		})
	}
}

func TestParseTemplateReportsAllProblemsWithTheirPlace(t *testing.T) {
	deep := any("int")
	for range 40 {
		deep = []any{deep}
	}
	_, err := ParseTemplate(map[string]any{
		"seal":                  "int",
		"ID":                    "int",
		"Name":                  "string:1",
		"name":                  "string:1",
		"a b":                   "strin:1",
		"tags":                  []any{"bool", "bolo", map[string]any{"x": int64(3)}},
		"geo":                   map[string]any{"code": "string:x", "": "bool", "nul\x00": "bool"},
		"deep":                  deep,
		strings.Repeat("n", 64): "bool",
		"two":                   "int_enum:a,,2",
	})
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("error %v joins nothing", err)
	}
	var got []string
	for _, e := range joined.Unwrap() {
		got = append(got, e.(*FieldError).Path)
	}
	if !slices.IsSorted(got) {
		t.Errorf("paths are not sorted: %q", got)
	}
	want := []string{
		"ID", `"a b"`, "deep" + strings.Repeat("[0]", 32), `geo.""`, "geo.code", `geo."nul\x00"`, "name", strings.Repeat("n", 64),
		"seal", "tags[1]", "tags[2].x", "two", "two",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s\n%v", diff, err)
	}
	for _, text := range []string{
		`value.tags[1] = "bolo": unknown generator "bolo": did you mean "bool"?`,
		`value.seal: column "seal" is reserved`,
		`value.ID: column "ID" is reserved for the key`,
		`column "name" differs from column "Name" only in case`,
		"has 64 bytes: a column's name may have at most 63",
	} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("no %q in\n%v", text, err)
		}
	}
	if _, err := ParseTemplate(nil); err == nil || !strings.Contains(err.Error(), "at least one column") {
		t.Errorf("an empty table gives %v", err)
	}
}

func FuzzParseTemplate(f *testing.F) {
	for _, expr := range []string{
		"string:50", "text:1..9", "words:5;a,b", "int", "int:-1..1", "float", "float:0..1e9", "decimal:0..1", "bytes:4", "bool", "uuid", "datetime",
		"string_enum:a,\x00,😀", "int_enum:1,2", "float_enum:1e-3,-0", "decimal_enum:1.5", "vector:3", "vector:3:0..1", "vector:4:clustered:2:0.1", "cluster:v",
		"strng", "int:9..1", "text:99999999999999999999", "İ:5", "vector:1:clustered:1:nan", "float:-3.4e38..3.4e38", "int:..",
	} {
		f.Add("x", expr)
	}
	f.Add("seal", "int")
	f.Add("a.b c", "bool")
	f.Fuzz(func(t *testing.T, name, expr string) {
		tpl, err := ParseTemplate(map[string]any{name: expr, "o": map[string]any{name: []any{expr}}})
		if err != nil {
			var field *FieldError
			if !errors.As(err, &field) || field.Msg == "" {
				t.Fatalf("error %v says nothing", err)
			}
			return
		}
		var table map[string]any
		if err := json.Unmarshal([]byte(tpl.Canonical()), &table); err != nil {
			t.Fatalf("%v in the canonical form %s", err, tpl.Canonical())
		}
		again, err := ParseTemplate(table)
		if err != nil || again.Canonical() != tpl.Canonical() {
			t.Fatalf("canonical form %s gives %v, %v", tpl.Canonical(), again, err)
		}
		for _, field := range tpl.Columns() {
			if field.MaxLen > 1<<16 || field.Dim > 1<<10 {
				return // nothing wrong with it, only slow
			}
			if g, ok := field.gen.(*clusteredGen); ok && g.n*g.dim > 1<<16 {
				return
			}
		}
		c, err := New(1, tpl, KeyInteger, false)
		if err != nil {
			t.Fatal(err)
		}
		var r, back Row
		for i := range uint64(3) {
			c.Row(&r, i, 0)
			for k, field := range tpl.Columns() {
				if v := &r.Columns[k]; (v.Kind() == String || v.Kind() == Bytes) && len(v.Bytes()) > field.MaxLen {
					t.Fatalf("%s of %d bytes, at most %d were announced", field.Kind, len(v.Bytes()), field.MaxLen)
				}
			}
			if err := ParseBinary(tpl, r.AppendBinary(nil, tpl), &back); err != nil || back.Checksum() != r.Checksum() {
				t.Fatalf("binary form: %v", err)
			}
			if err := back.ParseJSON(tpl, r.AppendJSON(nil, tpl)); err != nil || back.Checksum() != r.Checksum() {
				t.Fatalf("JSON form: %v in %s", err, r.AppendJSON(nil, tpl))
			}
		}
	})
}
