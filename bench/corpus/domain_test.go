package corpus

import (
	"slices"
	"strings"
	"testing"
)

// TestValuesAreInTheirDomains makes many rows and looks whether each value is one that its domain allows.
func TestValuesAreInTheirDomains(t *testing.T) {
	c := mustCorpus(t, 3, map[string]any{
		"flag": "bool", "small": "int:-3..3", "any": "int", "frac": "float:-1..1", "price": "decimal:-5..20", "at": "datetime", "id2": "uuid",
		"label": "string_enum:a,b,é", "code": "int_enum:1,5", "name": "string:0..4", "prose": "text:0..20", "words": "words:5..30;hello,new york", "raw": "bytes:1..3",
		"list": []any{"int"}, "vector": "vector:2",
	}, KeyInteger, false)
	fields := c.Template().Columns()
	lowest, highest := map[string]int64{}, map[string]int64{}
	var r Row
	for index := range uint64(5000) {
		c.Row(&r, index, 0)
		for i := range fields {
			f, v := &fields[i], &r.Columns[i]
			d := f.Domain()
			in := true
			switch f.Kind {
			case Array, Vector:
				in = d.Values == nil && !d.Plain && d.MaxLen == 0
			case Float:
				in = d.LoFloat <= v.Float() && v.Float() < d.HiFloat
			case Bool, Int, Decimal, DateTime:
				in = d.Lo <= v.Int() && v.Int() <= d.Hi
				lowest[f.Name], highest[f.Name] = min(lowest[f.Name], v.Int()), max(highest[f.Name], v.Int())
			case String, Bytes:
				in = d.MinLen <= len(v.Bytes()) && len(v.Bytes()) <= d.MaxLen
			}
			if d.Values != nil {
				in = in && slices.ContainsFunc(d.Values, func(other Value) bool { return other.checksum(0) == v.checksum(0) })
			}
			if d.Words != nil {
				for rest := v.Text(); rest != ""; rest = strings.TrimPrefix(rest, " ") {
					i := slices.IndexFunc(d.Words, func(w string) bool { return strings.HasPrefix(rest, w) })
					if in = in && i >= 0; !in {
						break
					}
					rest = rest[len(d.Words[i]):]
				}
			}
			if d.Plain {
				in = in && strings.Trim(v.Text(), alphabet+" ") == ""
			}
			if !in {
				t.Fatalf("row %d: %s = %s is outside of %+v", index, f.Name, v.describe(), d)
			}
		}
	}
	if lowest["small"] != -3 || highest["small"] != 2 || fields[len(fields)-1].Domain().Lo != 0 {
		t.Errorf("small has %d to %d", lowest["small"], highest["small"])
	}
}
