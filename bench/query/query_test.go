package query

import (
	"testing"

	"github.com/durabench/durabench/bench/corpus"
)

// table is a value table with every kind of column.
func table() map[string]any {
	return map[string]any{
		"active": "bool", "number": "int:1..50", "integer": "int", "score": "float:0..100", "grade": "float_enum:0,0.5,1,2.25", "price": "decimal:-5..20",
		"name": "string:0..4", "city": "string_enum:london,paris,new york", "request_id": "uuid", "created_at": "datetime", "raw": "bytes:0..3",
		"words":  "words:30;hello,world,foo,bar-baz,été",
		"tags":   []any{"string_enum:alpha,beta,gamma", "string_enum:gamma,delta"},
		"levels": []any{"int:0..5", "int:3..8"},
		"mixed":  []any{"int", "bool"}, "nested": []any{[]any{"int"}},
		"place":  map[string]any{"code": "string:1", "dotted.name": "int:0..3", "deep": map[string]any{"level": "int_enum:1,2,3"}},
		"vector": "vector:3",
	}
}

func template(t testing.TB) *corpus.Template {
	t.Helper()
	tmpl, err := corpus.ParseTemplate(table())
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func newCorpus(t testing.TB, kind corpus.KeyKind, random bool) *corpus.Corpus {
	t.Helper()
	c, err := corpus.New(11, template(t), kind, random)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// bind binds a predicate.
func bind(t testing.TB, tmpl *corpus.Template, p *Predicate) *Predicate {
	t.Helper()
	s, err := Bind(&Scan{Where: p}, tmpl)
	if err != nil {
		t.Fatalf("bind %s: %v", p, err)
	}
	return s.Where
}

func integer(n int64) Literal { return Literal{Kind: corpus.Int, Int: n} }
func float(x float64) Literal { return Literal{Kind: corpus.Float, Float: x} }
func text(s string) Literal   { return Literal{Kind: corpus.String, Text: s} }
func boolean(b bool) Literal  { return Literal{Kind: corpus.Bool, Bool: b} }
func compare(op Op, path string, values ...Literal) *Predicate {
	p, err := ParsePath(path)
	if err != nil {
		panic(err)
	}
	return &Predicate{Op: op, Path: p, Values: values}
}
func combine(op Op, args ...*Predicate) *Predicate { return &Predicate{Op: op, Args: args} }
