package query_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// The reference is a second implementation of what predicates and orders mean, slow and on other data: rows as they come out of JSON.

// jsonRow is a row as decoded from JSON, with exact numbers.
func jsonRow(t testing.TB, c *corpus.Corpus, row *corpus.Row) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(row.AppendJSON(nil, c.Template()))))
	decoder.UseNumber()
	var m map[string]any
	if err := decoder.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

// lookUp returns what is at the path, nil when nothing is.
func lookUp(row map[string]any, path query.Path) any {
	var at any = row
	for _, name := range path {
		m, _ := at.(map[string]any)
		at = m[name]
	}
	return at
}

// plain turns a JSON value into one that plainCompare knows, given the kind it was.
func plain(v any, kind corpus.Kind) any {
	switch kind {
	case corpus.Float: // the shortest number that gives the same float64
		x, err := v.(json.Number).Float64()
		if err != nil {
			panic(err)
		}
		return new(big.Rat).SetFloat64(x)
	case corpus.Int:
		r, ok := new(big.Rat).SetString(v.(json.Number).String())
		if !ok {
			panic(v)
		}
		return r
	case corpus.Decimal:
		r, ok := new(big.Rat).SetString(v.(string))
		if !ok {
			panic(v)
		}
		return r
	case corpus.DateTime:
		at, err := time.Parse(time.RFC3339, v.(string))
		if err != nil {
			panic(err)
		}
		return at
	case corpus.Bytes:
		b, err := base64.StdEncoding.DecodeString(v.(string))
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	return v // bool, string, uuid as text
}

// plainLiteral turns a literal into the same.
func plainLiteral(l query.Literal) any {
	switch l.Kind {
	case corpus.Bool:
		return l.Bool
	case corpus.Int:
		return new(big.Rat).SetInt64(l.Int)
	case corpus.Decimal:
		return big.NewRat(l.Int, 10_000)
	case corpus.Float:
		return new(big.Rat).SetFloat64(l.Float)
	case corpus.DateTime:
		return time.Unix(l.Int, 0)
	case corpus.String:
		return l.Text
	case corpus.UUID:
		return fmt.Sprintf("%x-%x-%x-%x-%x", l.Bytes[:4], l.Bytes[4:6], l.Bytes[6:8], l.Bytes[8:10], l.Bytes[10:])
	}
	return string(l.Bytes)
}

func plainCompare(a, b any) int {
	switch a := a.(type) {
	case bool:
		if a == b.(bool) {
			return 0
		}
		return 1 // only asked for equality
	case *big.Rat:
		return a.Cmp(b.(*big.Rat))
	case time.Time:
		return a.Compare(b.(time.Time))
	}
	return slices.Compare([]byte(a.(string)), []byte(b.(string)))
}

// plainWords is the tokenisation, written once more for the texts of the test's table: letters of ASCII and é, digits.
func plainWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == 'é')
	})
}

// reference evaluates a tree.
func reference(p *query.Predicate, row map[string]any, tmpl *corpus.Template) bool {
	switch p.Op {
	case query.And, query.Or:
		all, some := true, false
		for _, arg := range p.Args {
			is := reference(arg, row, tmpl)
			all, some = all && is, some || is
		}
		return p.Op == query.And && all || p.Op == query.Or && some
	case query.Not:
		return !reference(p.Args[0], row, tmpl)
	}
	v := lookUp(row, p.Path)
	if p.Op == query.IsNull {
		return v == nil
	}
	column, err := query.Resolve(tmpl, p.Path)
	if err != nil {
		panic(err)
	}
	var literals []any
	for _, l := range p.Values {
		literals = append(literals, plainLiteral(l))
	}
	hits := 0
	switch p.Op {
	case query.HasAny, query.HasAll:
		for _, l := range literals {
			if slices.ContainsFunc(v.([]any), func(e any) bool { return plainCompare(plain(e, column.Field.Elems[0].Kind), l) == 0 }) {
				hits++
			}
		}
		return hits > 0 && (p.Op == query.HasAny || hits == len(literals))
	case query.MatchAny, query.MatchAll:
		for _, l := range literals {
			if slices.Contains(plainWords(v.(string)), l.(string)) {
				hits++
			}
		}
		return hits > 0 && (p.Op == query.MatchAny || hits == len(literals))
	}
	value := plain(v, column.Field.Kind)
	switch p.Op {
	case query.Eq:
		return plainCompare(value, literals[0]) == 0
	case query.Ne:
		return plainCompare(value, literals[0]) != 0
	case query.Lt:
		return plainCompare(value, literals[0]) < 0
	case query.Lte:
		return plainCompare(value, literals[0]) <= 0
	case query.Gt:
		return plainCompare(value, literals[0]) > 0
	case query.Gte:
		return plainCompare(value, literals[0]) >= 0
	case query.Between:
		return plainCompare(value, literals[0]) >= 0 && plainCompare(value, literals[1]) <= 0
	case query.In:
		return slices.ContainsFunc(literals, func(l any) bool { return plainCompare(value, l) == 0 })
	case query.Prefix:
		return strings.Index(value.(string), literals[0].(string)) == 0
	case query.Suffix:
		text, end := value.(string), literals[0].(string)
		return len(text) >= len(end) && text[len(text)-len(end):] == end
	case query.Contains:
		return strings.Count(value.(string), literals[0].(string)) > 0
	}
	panic(p.Op)
}

// referenceCompare orders two rows by the terms of an order.
func referenceCompare(a, b *world, order []query.Order, tmpl *corpus.Template) int {
	for _, o := range order {
		var c int
		if len(o.Path) == 0 {
			c = slices.Compare(a.key, b.key)
		} else {
			column, err := query.Resolve(tmpl, o.Path)
			if err != nil {
				panic(err)
			}
			c = plainCompare(plain(lookUp(a.row, o.Path), column.Field.Kind), plain(lookUp(b.row, o.Path), column.Field.Kind))
		}
		if o.Desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// world is all that the reference knows of one row.
type world struct {
	index uint64
	key   []byte // in the order of the keys
	row   map[string]any
}

// worlds makes all rows of the dataset.
func worlds(t testing.TB, d query.Dataset) []*world {
	t.Helper()
	var all []*world
	var row corpus.Row
	var memory corpus.KeyBuffer
	for index := range d.Rows {
		d.Corpus.Row(&row, index, d.Version)
		all = append(all, &world{index, d.Corpus.Key(&memory, index).AppendOrdered(nil), jsonRow(t, d.Corpus, &row)})
	}
	return all
}
