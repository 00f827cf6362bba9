package conformance

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
)

// The rows of this file are set cell by cell, not generated, so that they hold exactly the content that breaks databases and drivers: what a
// generator draws evenly it draws too seldom.

// texts are strings that some layer may take for something else.
var texts = []string{
	"", " ", "  leading and trailing  ", "'", "''", `"`, "`", `\`, `\\`, `\'`, `\n`, "%", "%s%d", "100%_", "_", "--", "/* */", "; DROP TABLE record; --",
	"$1", "?", ":name", "@p", "{}", "[]", "null", "NULL", `\N`, "true", "0", "-0", "1e308", "NaN", "2001-02-03T04:05:06Z",
	"tab\there", "line\nfeed", "return\r\n", "\x01\x02\x1f\x7f", "\ufeffmark", "\ufffd", "\u2028\u2029",
	"ÄÖÜäöüß", "e\u0301 is not \u00e9", "İıI", "漢字かな", "العربية עברית", "👩‍👩‍👧‍👦 🇩🇪 🏴‍☠️", "\U0010ffff", "MiXeD CaSe",
	strings.Repeat("long ", 400),
}

var wholeNumbers = []int64{
	0, 1, -1, 127, 128, -128, -129, 255, 256, 32767, 32768, -32769, 65535, 65536, 1<<31 - 1, 1 << 31, -1 << 31, -1<<31 - 1, 1 << 32,
	1<<52 + 1, 1<<53 - 1, 1 << 53, 1<<53 + 1, -(1 << 53), -(1<<53 + 1), math.MaxInt64 - 1, math.MaxInt64, math.MinInt64 + 1, math.MinInt64,
}

// floats hold nothing that a float32 does not hold exactly, as the corpus promises.
var floats = []float64{
	0, 1, -1, 0.5, float64(float32(0.1)), float64(float32(-0.3)), 1 << 24, 1<<24 - 1, 123456.789e3, 1e10, float64(float32(1e-10)), float64(float32(-1e30)),
	math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, float64(math.Float32frombits(0x00800000)),
	float64(math.Float32frombits(0x007fffff)), float64(math.Nextafter32(1, 2)),
}

// decimals are in units of 10⁻⁴.
var decimals = []int64{0, 1, -1, 9999, 10000, -10000, 10001, 123456789, -5, 100_000_000_000_000, 99_999_999_999_999, -99_999_999_999_999}

// moments are seconds since 1970 from the year 1 to the end of the year 9999.
var moments = []int64{
	0, 1, -1, -86400, 951782400, 1<<31 - 1, 1 << 31, 1 << 32, 1_924_991_999, 4_102_444_800, -2_208_988_800, -5_000_000_000, -12_219_292_801,
	-62_135_596_800, 253_402_300_799,
}

func blobs() [][]byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return [][]byte{{}, {0}, {0, 0, 0}, {0xff}, []byte("text"), []byte(`\x00`), []byte("'"), all}
}

var uuids = [][16]byte{
	{}, {15: 1}, {0: 0x80}, {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef},
	[16]byte([]byte(strings.Repeat("\xff", 16))), [16]byte([]byte(strings.Repeat("\x00\xff", 8))), [16]byte([]byte(`'"\%_;--$1?:@{}[`)),
}

// edges has one column per scalar kind. Its generators say how large the cells may get; tests fill the cells themselves.
var edges = map[string]any{
	"blob": "bytes:0..300", "cash": "decimal", "flag": "bool", "moment": "datetime", "number": "int", "real": "float", "text": "string:0..2100", "unique": "uuid",
}

func testValues(t *testing.T, h Harness) {
	bytes := blobs()
	s := h.open(t, makeCorpus(t, edges, corpus.KeyInteger, false))
	c := s.caller(0)
	most := max(len(texts), len(wholeNumbers), len(floats), len(decimals), len(moments), len(bytes), len(uuids))
	for i := range most {
		c.fill(func(name string, row *corpus.Row, cell *corpus.Value) {
			switch name {
			case "blob":
				row.SetBytes(cell, bytes[i%len(bytes)])
			case "cash":
				row.SetDecimal(cell, decimals[i%len(decimals)])
			case "flag":
				row.SetBool(cell, i%2 == 1)
			case "moment":
				row.SetUnix(cell, moments[i%len(moments)])
			case "number":
				row.SetInt(cell, wholeNumbers[i%len(wholeNumbers)])
			case "real":
				row.SetFloat(cell, floats[i%len(floats)])
			case "text":
				row.SetString(cell, []byte(texts[i%len(texts)]))
			case "unique":
				row.SetUUID(cell, uuids[i%len(uuids)])
			}
		})
		if err := c.roundTrip(t.Context(), corpus.IntegerKey(int64(i+1)), &c.row); err != nil {
			t.Errorf("row %d: %v", i, err)
		}
	}

	// Engines disagree on whether they keep the sign of −0, which is why no corpus has one. It must come back as some zero.
	c.fill(func(name string, row *corpus.Row, cell *corpus.Value) {
		setEdge(row, c.field(name), cell, 0, new(int))
		if name == "real" {
			row.SetFloat(cell, math.Copysign(0, -1))
		}
	})
	key := corpus.IntegerKey(1 << 20)
	must(t, c.client.Create(t.Context(), key, &c.row))
	must(t, c.client.Read(t.Context(), key, &c.record))
	must(t, c.client.Decode(&c.record, &c.got))
	for i, column := range c.corpus.Template().Columns() {
		if column.Name == "real" && (c.got.Columns[i].Kind() != corpus.Float || c.got.Columns[i].Float() != 0) {
			t.Errorf("−0 comes back as %v of kind %s", c.got.Columns[i].Float(), c.got.Columns[i].Kind())
		}
	}
}

// field returns the column of the name.
func (c *caller) field(name string) *corpus.Field {
	fields := c.corpus.Template().Columns()
	return &fields[slices.IndexFunc(fields, func(f corpus.Field) bool { return f.Name == name })]
}

// fill makes the caller's row by setting every column with set; the seal is filled in.
func (c *caller) fill(set func(name string, row *corpus.Row, cell *corpus.Value)) {
	c.row.Reset(c.corpus.Template())
	for i, column := range c.corpus.Template().Columns() {
		if column.Name == corpus.SealColumn {
			c.row.SetInt(&c.row.Columns[i], 1)
			continue
		}
		set(column.Name, &c.row, &c.row.Columns[i])
	}
}

// testNUL wants the character NUL stored exactly, or refused where the harness declares that the engine cannot hold it.
func testNUL(t *testing.T, h Harness) {
	for _, nested := range []bool{false, true} {
		value, name := map[string]any{"text": "string:0..20"}, "text"
		if nested {
			value, name = map[string]any{"deep": []any{"string:0..20"}}, "nested"
		}
		t.Run(name, func(t *testing.T) {
			s := h.open(t, makeCorpus(t, value, corpus.KeyInteger, false))
			c := s.caller(0)
			for i, text := range []string{"\x00", "a\x00b", "\x00\x00end", "start\x00"} {
				c.fill(func(_ string, row *corpus.Row, cell *corpus.Value) {
					if nested {
						cell = &row.SetArray(cell, 1)[0]
					}
					row.SetString(cell, []byte(text))
				})
				key := corpus.IntegerKey(int64(i + 1))
				err := c.client.Create(t.Context(), key, &c.row)
				if err != nil && h.NoNUL != "" {
					t.Logf("%q is refused: %v (%s)", text, err, h.NoNUL)
					wantMiss(t, "read of the refused row", c.client.Read(t.Context(), key, &c.record))
					continue
				}
				must(t, err)
				must(t, c.client.Read(t.Context(), key, &c.record))
				if err := c.same(&c.record, &c.row); err != nil {
					t.Errorf("%q: %v", text, err)
				}
			}
			// The client is as good as before the refusals.
			must(t, c.create(t.Context(), 100, 0))
			must(t, c.check(t.Context(), 100, 0))
		})
	}
}

// testNestedValues puts the edges into arrays and objects, which many engines hold in another form than columns.
func testNestedValues(t *testing.T, h Harness) {
	value := map[string]any{
		"deep": map[string]any{
			"inner": map[string]any{"list": []any{"int", "int", "int"}, "more": map[string]any{"flag": "bool"}},
			"text":  "string:0..2100",
		},
		"everything": map[string]any{
			"blob": "bytes:0..300", "cash": "decimal", "flag": "bool", "moment": "datetime", "number": "int", "real": "float", "text": "string:0..2100",
			"unique": "uuid",
		},
		"list":  []any{"string:0..2100", "int", "bool"},
		"pairs": []any{[]any{"int", "string:0..2100"}, map[string]any{"name": "string:0..2100"}},
	}
	if h.NoArraysInArrays != "" {
		delete(value, "pairs")
	}
	s := h.open(t, makeCorpus(t, value, corpus.KeyInteger, false))
	c := s.caller(0)
	fields := c.corpus.Template().Columns()
	for i := range max(len(texts), len(wholeNumbers)) {
		n := 0
		c.row.Reset(c.corpus.Template())
		for j := range fields {
			setEdge(&c.row, &fields[j], &c.row.Columns[j], i, &n)
		}
		if err := c.roundTrip(t.Context(), corpus.IntegerKey(int64(i+1)), &c.row); err != nil {
			t.Errorf("row %d: %v", i, err)
		}
	}
	// And what the generators themselves make of the template.
	for index := uint64(1000); index < 1050; index++ {
		must(t, c.create(t.Context(), index, 3))
		must(t, c.check(t.Context(), index, 3))
	}
}

// setEdge fills a cell, nested ones included, with edge number i of its kind. The counter n makes neighbours of the same kind differ.
func setEdge(row *corpus.Row, f *corpus.Field, cell *corpus.Value, i int, n *int) {
	*n++
	at := func(length int) int { return (i + *n - 1) % length }
	switch f.Kind {
	case corpus.Bool:
		row.SetBool(cell, (i+*n)%2 == 0)
	case corpus.Int:
		if f.Name == corpus.SealColumn {
			row.SetInt(cell, int64(i))
			return
		}
		row.SetInt(cell, wholeNumbers[at(len(wholeNumbers))])
	case corpus.Float:
		row.SetFloat(cell, floats[at(len(floats))])
	case corpus.Decimal:
		row.SetDecimal(cell, decimals[at(len(decimals))])
	case corpus.String:
		row.SetString(cell, []byte(texts[at(len(texts))]))
	case corpus.UUID:
		row.SetUUID(cell, uuids[at(len(uuids))])
	case corpus.DateTime:
		row.SetUnix(cell, moments[at(len(moments))])
	case corpus.Bytes:
		row.SetBytes(cell, blobs()[at(len(blobs()))])
	case corpus.Array:
		cells := row.SetArray(cell, len(f.Elems))
		for j := range cells {
			setEdge(row, &f.Elems[j], &cells[j], i, n)
		}
	case corpus.Object:
		cells := row.SetObject(cell, len(f.Elems))
		for j := range cells {
			setEdge(row, &f.Elems[j], &cells[j], i, n)
		}
	}
}

// testVectors stores vectors as content; searching them is another ability.
func testVectors(t *testing.T, h Harness) { storeVectors(t, h) }

// storeVectors stores vectors with every float32 that could be mistaken, on a database that the tweaks change.
func storeVectors(t *testing.T, h Harness, tweaks ...tweak) {
	components := []float32{0, 1, -1, 0.1, -0.3, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, math.Float32frombits(0x00800000), 1e-20, 16777217}
	for _, dim := range []int{1, 3, 768} {
		t.Run(fmt.Sprint(dim), func(t *testing.T) {
			value := map[string]any{"embedding": fmt.Sprintf("vector:%d", dim), "near": "vector:8:clustered:4"}
			s := h.open(t, makeCorpus(t, value, corpus.KeyInteger, false), tweaks...)
			c := s.caller(0)
			components := slices.Clone(components)
			if s.config.Searches && h.ShortVectors != "" {
				c.fill(func(name string, row *corpus.Row, cell *corpus.Value) {
					vector := row.SetVector(cell, map[string]int{"embedding": dim, "near": 8}[name])
					clear(vector)
					vector[0] = math.MaxFloat32
				})
				if err := c.client.Create(t.Context(), corpus.IntegerKey(999), &c.row); err == nil {
					t.Errorf("a vector of length %v was taken, and %s", float32(math.MaxFloat32), h.ShortVectors)
				}
				for i, x := range components {
					components[i] = max(-1e17, min(x, 1e17))
				}
			}
			for i := range 3 {
				c.fill(func(name string, row *corpus.Row, cell *corpus.Value) {
					n := dim
					if name == "near" {
						n = 8
					}
					vector := row.SetVector(cell, n)
					for j := range vector {
						vector[j] = components[(i+j)%len(components)]
					}
				})
				if err := c.roundTrip(t.Context(), corpus.IntegerKey(int64(1000+i)), &c.row); err != nil {
					t.Errorf("row %d: %v", i, err)
				}
			}
			for index := range uint64(5) {
				must(t, c.create(t.Context(), index, 0))
				must(t, c.check(t.Context(), index, 0))
			}
		})
	}
}
