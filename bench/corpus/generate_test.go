package corpus

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

// eachValue makes a column of one expression and calls check for n rows.
func eachValue(t *testing.T, expr string, n int, check func(v *Value)) {
	t.Helper()
	c := mustCorpus(t, 20260908, map[string]any{"x": expr}, KeyInteger, false)
	var r Row
	for i := range n {
		c.Row(&r, uint64(i), 0)
		check(&r.Columns[0])
	}
}

func TestGeneratorsStayInTheirRanges(t *testing.T) {
	text := func(pattern string) func(v *Value) error {
		re := regexp.MustCompile(pattern)
		return func(v *Value) error {
			if !re.Match(v.Bytes()) {
				return fmt.Errorf("%q does not match %s", v.Text(), pattern)
			}
			return nil
		}
	}
	between := func(lo, hi int64, number func(v *Value) int64) func(v *Value) error {
		return func(v *Value) error {
			if n := number(v); n < lo || n >= hi {
				return fmt.Errorf("%d is not in [%d, %d)", n, lo, hi)
			}
			return nil
		}
	}
	floats := func(lo, hi float64) func(v *Value) error {
		return func(v *Value) error {
			x := v.Float()
			if !(x >= lo && x < hi) || float64(float32(x)) != x || x == 0 && math.Signbit(x) {
				return fmt.Errorf("%v is not a float32 in [%v, %v) without negative zero", x, lo, hi)
			}
			return nil
		}
	}
	length := func(lo, hi int) func(v *Value) error {
		return func(v *Value) error {
			if n := len(v.Bytes()); n < lo || n >= hi {
				return fmt.Errorf("%d bytes are not in [%d, %d)", n, lo, hi)
			}
			return nil
		}
	}
	tests := []struct {
		name, expr string
		kind       Kind
		check      func(v *Value) error
	}{
		{"string of one length", "string:23", String, text(`^[A-Za-z0-9]{23}$`)},
		{"string of a range", "string:3..6", String, text(`^[A-Za-z0-9]{3,5}$`)},
		{"empty string", "string:0", String, length(0, 1)},
		{"text", "text:40..80", String, text(`^[A-Za-z0-9]{2,9}( [A-Za-z0-9]{2,9})*$`)},
		{"text reaches its length and overshoots by a word at most", "text:40", String, length(40, 50)},
		{"shortest text", "text:1", String, text(`^[A-Za-z0-9]{2,9}$`)},
		{"words", "words:30;Hello,world,é", String, text(`^(hello|world|é)( (hello|world|é))*$`)},
		{"words reach their length and overshoot by a word at most", "words:30;hello,world", String, length(30, 36)},
		{"int", "int", Int, between(math.MinInt32, math.MaxInt32, (*Value).Int)},
		{"int range", "int:-5..5", Int, between(-5, 5, (*Value).Int)},
		{"int of one value", "int:7..8", Int, between(7, 8, (*Value).Int)},
		{"int of the whole width", "int:-9223372036854775808..9223372036854775807", Int, between(math.MinInt64, math.MaxInt64, (*Value).Int)},
		{"float", "float", Float, floats(-math.MaxFloat32, math.MaxFloat32)},
		{"float range", "float:0.0..100.0", Float, floats(0, 100)},
		{"float of one value", "float:16777216..16777218", Float, floats(16777216, 16777218)},
		{"float around zero", "float:-1e-45..1e-45", Float, floats(-2e-45, 1.4e-45)},
		{"decimal", "decimal", Decimal, between(0, 10_000_000_000, (*Value).Decimal)},
		{"decimal range", "decimal:-0.5..0.25", Decimal, between(-5000, 2500, (*Value).Decimal)},
		{"bytes", "bytes:5..9", Bytes, length(5, 9)},
		{"datetime", "datetime", DateTime, between(0, 1_924_991_999, (*Value).Unix)},
		{"uuid", "uuid", UUID, func(v *Value) error {
			if id := v.UUID(); id[6]>>4 != 4 || id[8]>>6 != 0b10 {
				return fmt.Errorf("%x has not version 4 and variant 0b10", id)
			}
			return nil
		}},
		{"bool", "bool", Bool, func(*Value) error { return nil }},
		{"float labels are float32", "float_enum:0.1", Float, func(v *Value) error {
			if v.Float() != float64(float32(0.1)) {
				return fmt.Errorf("%v", v.Float())
			}
			return nil
		}},
		{"decimal labels", "decimal_enum:-1.25", Decimal, between(-12500, -12499, (*Value).Decimal)},
		{"labels of all sorts", "string_enum:\x00,'\";--,😀", String, text("^(\x00|'\";--|😀)$")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tpl := mustTemplate(t, map[string]any{"x": test.expr})
			eachValue(t, test.expr, 2000, func(v *Value) {
				if v.Kind() != test.kind {
					t.Fatalf("kind %s, want %s", v.Kind(), test.kind)
				}
				if err := test.check(v); err != nil {
					t.Fatal(err)
				}
				if m := tpl.Columns()[0].MaxLen; (v.Kind() == String || v.Kind() == Bytes) && len(v.Bytes()) > m {
					t.Fatalf("%d bytes, but MaxLen is %d", len(v.Bytes()), m)
				}
			})
		})
	}
}

// Both ends of a range must be met, the upper exclusively, and all values equally often.
func TestChoicesAreEven(t *testing.T) {
	tests := []struct {
		name, expr string
		classes    int
		class      func(v *Value) int
	}{
		{"int", "int:-3..17", 20, func(v *Value) int { return int(v.Int()) + 3 }},
		{"int32", "int", 16, func(v *Value) int { return int(uint32(v.Int()) >> 28) }},
		{"int64", "int:-9223372036854775808..9223372036854775807", 16, func(v *Value) int { return int(uint64(v.Int()) >> 60) }},
		{"low bits", "int", 16, func(v *Value) int { return int(v.Int() & 15) }},
		{"float", "float:0..1", 32, func(v *Value) int { return int(v.Float() * 32) }},
		{"decimal", "decimal:0..0.0020", 20, func(v *Value) int { return int(v.Decimal()) }},
		{"bool", "bool", 2, func(v *Value) int { return int(v.bits) }},
		{"datetime", "datetime", 10, func(v *Value) int { return int(v.Unix() * 10 / 1_924_991_999) }},
		{"string length", "string:0..11", 11, func(v *Value) int { return len(v.Bytes()) }},
		{"text length", "text:1", 8, func(v *Value) int { return len(v.Bytes()) - 2 }},
		{"first character", "string:1", 62, func(v *Value) int { return strings.IndexByte(alphabet, v.Bytes()[0]) }},
		{"tenth character", "string:10", 62, func(v *Value) int { return strings.IndexByte(alphabet, v.Bytes()[9]) }},
		{"eleventh character", "string:11", 62, func(v *Value) int { return strings.IndexByte(alphabet, v.Bytes()[10]) }},
		{"last character of a text's word", "text:1", 62, func(v *Value) int {
			return strings.IndexByte(alphabet, v.Bytes()[len(v.Bytes())-1])
		}},
		{"first word", "words:1;a,b,c", 3, func(v *Value) int { return int(v.Bytes()[0] - 'a') }},
		{"second word", "words:2;a,b,c", 3, func(v *Value) int { return int(v.Bytes()[2] - 'a') }},
		{"bytes", "bytes:9", 256, func(v *Value) int { return int(v.Bytes()[8]) }},
		{"uuid", "uuid", 256, func(v *Value) int { return int(v.Bytes()[15]) }},
		{"vector", "vector:2", 16, func(v *Value) int { return int((v.Floats()[1] + 1) * 8) }},
		{"vector range", "vector:3:2..4", 16, func(v *Value) int { return int((v.Floats()[2] - 2) * 8) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			counts := make([]int, test.classes)
			eachValue(t, test.expr, 20_000, func(v *Value) { counts[test.class(v)]++ })
			checkEven(t, test.expr, counts)
		})
	}
}

func TestRepeatedLabelsWeighMore(t *testing.T) {
	counts := make(map[string]int)
	eachValue(t, "string_enum:Tokyo,Paris,Tokyo,Rome", 20_000, func(v *Value) { counts[v.Text()]++ })
	if len(counts) != 3 {
		t.Errorf("labels %v, want tokyo, paris and rome", counts)
	}
	checkWeights(t, "labels", []int{counts["tokyo"], counts["paris"], counts["rome"]}, []float64{2, 1, 1})
}

// Neighbouring rows, versions and columns share all but a bit of what they are made of; nothing of that may show.
func TestNeighboursAreIndependent(t *testing.T) {
	c := mustCorpus(t, 0, map[string]any{
		"a": "int:0..8", "b": "int:0..8", "l": []any{"int:0..8", "int:0..8"}, "o": map[string]any{"a": "int:0..8"},
	}, KeyInteger, false)
	other := mustCorpus(t, 1, map[string]any{"a": "int:0..8"}, KeyInteger, false)
	counts := make(map[string][]int)
	count := func(what string, x, y int64) {
		if counts[what] == nil {
			counts[what] = make([]int, 64)
		}
		counts[what][x*8+y]++
	}
	var r, next, newer, foreign Row
	for i := range uint64(10_000) {
		c.Row(&r, i, 0)
		c.Row(&next, i+1, 0)
		c.Row(&newer, i, 1)
		other.Row(&foreign, i, 0)
		a := r.Columns[0].Int()
		count("next row", a, next.Columns[0].Int())
		count("next version", a, newer.Columns[0].Int())
		count("next seed", a, foreign.Columns[0].Int())
		count("next column", a, r.Columns[1].Int())
		count("same name below", a, r.Columns[3].Elems()[0].Int())
		count("next element", r.Columns[2].Elems()[0].Int(), r.Columns[2].Elems()[1].Int())
	}
	for what, pairs := range counts {
		checkEven(t, what, pairs)
	}
}
