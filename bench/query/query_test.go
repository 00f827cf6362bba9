package query_test

import (
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/query/querytest"
)

func template(t testing.TB) *corpus.Template {
	t.Helper()
	tmpl, err := corpus.ParseTemplate(querytest.Table())
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
func bind(t testing.TB, tmpl *corpus.Template, p *query.Predicate) *query.Predicate {
	t.Helper()
	s, err := query.Bind(&query.Scan{Where: p}, tmpl)
	if err != nil {
		t.Fatalf("bind %s: %v", p, err)
	}
	return s.Where
}

func integer(n int64) query.Literal { return query.Literal{Kind: corpus.Int, Int: n} }
func float(x float64) query.Literal { return query.Literal{Kind: corpus.Float, Float: x} }
func text(s string) query.Literal   { return query.Literal{Kind: corpus.String, Text: s} }
func boolean(b bool) query.Literal  { return query.Literal{Kind: corpus.Bool, Bool: b} }
func compare(op query.Op, path string, values ...query.Literal) *query.Predicate {
	p, err := query.ParsePath(path)
	if err != nil {
		panic(err)
	}
	return &query.Predicate{Op: op, Path: p, Values: values}
}
func tree(op query.Op, args ...*query.Predicate) *query.Predicate {
	return &query.Predicate{Op: op, Args: args}
}
