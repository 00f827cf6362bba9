package query_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// FuzzTerms feeds any text where a file names columns: nothing panics, and what is read is read again from its own text.
func FuzzTerms(f *testing.F) {
	for _, text := range []string{
		"number", "created_at desc", `place."dotted.name" ASC`, "id", `"a b"."c\"d" desc`, "sum(number)", "avg( place.x )", "count", "sum(", `min("(")`, `"`, "..", "a.", "\x00 desc",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if path, err := query.ParsePath(text); err == nil {
			if again, err := query.ParsePath(path.String()); err != nil || !cmp.Equal(again, path) {
				t.Errorf("path %q is %q, which is read as %q, %v", text, path, again, err)
			}
		}
		if order, err := query.DecodeOrder(text); err == nil {
			if again, err := query.DecodeOrder(order[0].String()); err != nil || !cmp.Equal(again, order) {
				t.Errorf("order %q is %q, which is read as %v, %v", text, order[0], again, err)
			}
		} else if problems, ok := errors.AsType[query.Problems](err); !ok || problems[0].Key != "order" {
			t.Errorf("order %q: the error is %T of %v", text, err, err)
		}
		if aggregates, err := query.DecodeAggregates(text); err == nil {
			if again, err := query.DecodeAggregates(aggregates[0].String()); err != nil || !cmp.Equal(again, aggregates) {
				t.Errorf("aggregate %q is %q, which is read as %v, %v", text, aggregates[0], again, err)
			}
		} else if problems, ok := errors.AsType[query.Problems](err); !ok || problems[0].Key != "aggregates" {
			t.Errorf("aggregate %q: the error is %T of %v", text, err, err)
		}
	})
}

// FuzzLiteral compares every column with any value: nothing panics, and what binds travels as JSON and means the same afterwards.
func FuzzLiteral(f *testing.F) {
	for _, text := range []string{"", "l%", `it's "\`, "a\x00b", "👍", "12.50", "1e400", "-0", "2024-05-31T12:00:00Z", "AA==", "6f1ed002-ab8e-4c34-8a0c-3f4a9a3c0a11", "\xff"} {
		f.Add(text, int64(len(text)), 0.5)
	}
	f.Add("x", int64(math.MinInt64), math.Inf(-1))
	f.Add("x", int64(math.MaxInt64), math.NaN())
	tmpl := template(f)
	paths := map[string]query.Op{"name": query.Eq, "tags": query.HasAny, "words": query.MatchAll}
	for _, field := range tmpl.Columns() {
		if _, known := paths[field.Name]; !known && field.Kind != corpus.Object {
			paths[field.Name] = query.Gte
		}
	}
	f.Fuzz(func(t *testing.T, text string, whole int64, fraction float64) {
		for column, op := range paths {
			for _, l := range []query.Literal{
				{}, {Kind: corpus.String, Text: text}, {Kind: corpus.Int, Int: whole}, {Kind: corpus.Float, Float: fraction}, {Kind: corpus.Decimal, Int: whole},
				{Kind: corpus.DateTime, Int: whole}, {Kind: corpus.Bytes, Bytes: []byte(text)}, {Kind: corpus.UUID, Bytes: []byte(text)}, {Kind: corpus.Bool, Bool: whole > 0},
				{Kind: corpus.Kind(whole % 256), Text: text},
			} {
				bound, err := query.Bind(&query.Scan{Where: &query.Predicate{Op: op, Path: query.Path{column}, Values: []query.Literal{l}}}, tmpl)
				if err != nil {
					continue
				}
				data, err := json.Marshal(bound)
				if err != nil {
					t.Fatalf("%s: %v", bound, err)
				}
				var again query.Scan
				if err := json.Unmarshal(data, &again); err != nil {
					t.Fatalf("%s travels as %s: %v", bound, data, err)
				}
				if rebound, err := query.Bind(&again, tmpl); err != nil || rebound.String() != bound.String() || rebound.Digest() != bound.Digest() {
					t.Fatalf("%s travels as %s and comes out as %v, %v", bound, data, rebound, err)
				}
			}
		}
	})
}
