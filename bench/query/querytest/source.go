// Package querytest draws random predicates and scans for tests: of query itself, and of drivers against it.
package querytest

import (
	"fmt"
	"math/rand/v2"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// Source draws predicates and scans over a dataset: their literals come from real rows, from near them, and from the edges of their kinds. What it
// draws is bound. It belongs to one goroutine.
type Source struct {
	// Accept, when not nil, tells whether a comparison may be drawn, e.g. because an engine can run it; others are drawn again.
	Accept func(*query.Predicate) bool
	// AcceptOrder is the same for a term of an order.
	AcceptOrder func(query.Order) bool

	data    query.Dataset
	columns []column
	row     corpus.Row
}

// column is something that a comparison may be about.
type column struct {
	path query.Path
	query.Column
}

// New returns a source over the dataset, which needs at least one row.
func New(d query.Dataset) *Source {
	s := &Source{data: d}
	s.collect(d.Corpus.Template().Columns(), nil)
	return s
}

// collect finds all columns and members.
func (s *Source) collect(fields []corpus.Field, parent query.Path) {
	for i := range fields {
		path := append(parent[:len(parent):len(parent)], fields[i].Name)
		found, err := query.Resolve(s.data.Corpus.Template(), path)
		if err != nil {
			panic(fmt.Sprintf("querytest: %v", err)) // the path was made from the template
		}
		s.columns = append(s.columns, column{path, found})
		if fields[i].Kind == corpus.Object {
			s.collect(fields[i].Elems, path)
		}
	}
}

// Predicate draws a tree of at most depth levels below its root.
func (s *Source) Predicate(rng *rand.Rand, depth int) *query.Predicate {
	bound, err := query.Bind(&query.Scan{Where: s.tree(rng, depth)}, s.data.Corpus.Template())
	if err != nil {
		panic(fmt.Sprintf("querytest: a predicate that does not bind: %v", err))
	}
	return bound.Where
}

func (s *Source) tree(rng *rand.Rand, depth int) *query.Predicate {
	if depth <= 0 || rng.IntN(4) == 0 {
		return s.comparison(rng)
	}
	if rng.IntN(4) == 0 {
		return &query.Predicate{Op: query.Not, Args: []*query.Predicate{s.tree(rng, depth-1)}}
	}
	p := &query.Predicate{Op: pick(rng, query.And, query.Or)}
	for range 1 + rng.IntN(3) {
		p.Args = append(p.Args, s.tree(rng, depth-1))
	}
	return p
}

// most is how often something is drawn until it is accepted.
const most = 10_000

// comparison draws one that binds and is accepted.
func (s *Source) comparison(rng *rand.Rand) *query.Predicate {
	for range most {
		c := s.columns[rng.IntN(len(s.columns))]
		p := s.of(rng, c)
		bound, err := query.Bind(&query.Scan{Where: p}, s.data.Corpus.Template())
		if err == nil && (s.Accept == nil || s.Accept(bound.Where)) {
			return p
		}
	}
	panic("querytest: no comparison is accepted")
}

// of draws a comparison of the column. Few do not bind, e.g. a range whose ends are the wrong way round.
func (s *Source) of(rng *rand.Rand, c column) *query.Predicate {
	p := &query.Predicate{Path: c.path}
	count := 1
	switch c.Field.Kind {
	case corpus.Object, corpus.Vector:
		p.Op = query.IsNull
		return p
	case corpus.Array:
		p.Op = pick(rng, query.HasAny, query.HasAll, query.HasAny, query.HasAll, query.IsNull)
		count = 1 + rng.IntN(3)
	case corpus.Bool:
		p.Op = pick(rng, query.Eq, query.Ne, query.In, query.IsNull)
	case corpus.String:
		p.Op = pick(rng, query.Eq, query.Ne, query.Lt, query.Lte, query.Gt, query.Gte, query.In, query.Between, query.IsNull, query.Prefix,
			query.Suffix, query.Contains, query.Prefix, query.Suffix, query.Contains, query.MatchAll, query.MatchAny)
	default:
		p.Op = pick(rng, query.Eq, query.Ne, query.Lt, query.Lte, query.Gt, query.Gte, query.In, query.Between, query.IsNull)
	}
	switch p.Op {
	case query.IsNull:
		return p
	case query.Between:
		count = 2
	case query.In:
		count = 1 + rng.IntN(12)
	case query.MatchAll, query.MatchAny:
		count = 1 + rng.IntN(3)
	}
	for range count {
		p.Values = append(p.Values, s.literal(rng, c, p.Op))
	}
	if p.Op == query.Between && p.Values[0].Compare(p.Values[1]) > 0 {
		p.Values[0], p.Values[1] = p.Values[1], p.Values[0]
	}
	return p
}

// value draws what a row holds in the column: of an array, in one of its elements.
func (s *Source) value(rng *rand.Rand, c column) query.Literal {
	s.data.Corpus.Row(&s.row, rng.Uint64N(s.data.Rows), s.data.Version)
	values := s.row.Columns
	for _, i := range c.At[:len(c.At)-1] {
		values = values[i].Elems()
	}
	v := &values[c.At[len(c.At)-1]]
	if v.Kind() == corpus.Array {
		v = &v.Elems()[rng.IntN(len(v.Elems()))]
	}
	return query.LiteralOf(v)
}

// Scan draws a scan of any shape that is accepted: rows, a count or aggregates.
func (s *Source) Scan(rng *rand.Rand) *query.Scan {
	for range most {
		scan := s.scan(rng)
		if bound, err := query.Bind(scan, s.data.Corpus.Template()); err == nil {
			return bound
		}
	}
	panic("querytest: no scan binds")
}

func (s *Source) scan(rng *rand.Rand) *query.Scan {
	scan := &query.Scan{ID: "random"}
	if rng.IntN(8) > 0 {
		scan.Where = s.tree(rng, rng.IntN(4))
	}
	if rng.IntN(6) == 0 {
		s.aggregate(rng, scan)
		return scan
	}
	scan.Project = pick(rng, query.ID, query.Full, query.Count)
	switch rng.IntN(5) {
	case 0:
		after := rng.Uint64N(s.data.Rows)
		scan.After = &after
	case 1, 2:
		for range 1 + rng.IntN(2) {
			scan.Order = append(scan.Order, s.order(rng))
		}
	}
	if rng.IntN(3) > 0 {
		scan.Limit = 1 + rng.Int64N(pick(rng, int64(s.data.Rows)*2, 20))
	}
	if rng.IntN(3) == 0 {
		scan.Offset = rng.Int64N(pick(rng, int64(s.data.Rows), 20))
	}
	return scan
}

// order draws a term of an order; it may be one that does not bind.
func (s *Source) order(rng *rand.Rand) query.Order {
	for range most {
		o := query.Order{Desc: rng.IntN(2) == 0}
		if rng.IntN(6) > 0 {
			o.Path = s.columns[rng.IntN(len(s.columns))].path
		}
		if s.AcceptOrder == nil || s.AcceptOrder(o) {
			return o
		}
	}
	panic("querytest: no order is accepted")
}

// aggregate draws aggregates and a group; they may be ones that do not bind.
func (s *Source) aggregate(rng *rand.Rand, scan *query.Scan) {
	for range 1 + rng.IntN(3) {
		a := query.Aggregate{Func: pick(rng, query.Number, query.Sum, query.Avg, query.Min, query.Max)}
		if a.Func != query.Number {
			a.Path = s.columns[rng.IntN(len(s.columns))].path
		}
		scan.Aggregates = append(scan.Aggregates, a)
	}
	if rng.IntN(2) == 0 {
		scan.GroupBy = s.columns[rng.IntN(len(s.columns))].path
	}
}

// pick draws one of the values.
func pick[T any](rng *rand.Rand, values ...T) T { return values[rng.IntN(len(values))] }
