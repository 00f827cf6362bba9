package sqlrender

import (
	"fmt"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

var comparisons = map[query.Op]string{
	query.Eq: " = ", query.Ne: " <> ", query.Lt: " < ", query.Lte: " <= ", query.Gt: " > ", query.Gte: " >= ",
}

// Condition writes a condition on the rows of the table for a statement that is no scan, and has so many parameters before those of the condition. The
// error is drivers.Unsupported when the engine cannot tell by it.
func Condition(d Dialect, table Table, where *query.Predicate, before int) (sql string, args []query.Literal, err error) {
	b := &Builder{dialect: d, table: table, before: before}
	if err := b.condition(where); err != nil {
		return "", nil, err
	}
	if n := before + len(b.args); n > d.MaxArgs() {
		return "", nil, unsupported("the condition has %d values, a statement takes at most %d", n, d.MaxArgs())
	}
	return b.text.String(), b.args, nil
}

// condition writes a predicate. Where a value is absent it may be NULL, which WHERE takes for false; a NOT is written so that it is not.
func (b *Builder) condition(p *query.Predicate) error {
	switch p.Op {
	case query.And:
		return b.join(p.Args, " AND ")
	case query.Or:
		return b.join(p.Args, " OR ")
	case query.Not:
		if len(p.Args) != 1 {
			return fmt.Errorf("%s has %d arguments, not one", p.Op, len(p.Args))
		}
		b.Write("(")
		if err := b.condition(p.Args[0]); err != nil {
			return err
		}
		b.Write(") IS NOT TRUE")
		return nil
	}
	c, err := b.table.Column(p.Path)
	if err != nil {
		return err
	}
	switch p.Op {
	case query.HasAny, query.HasAll:
		return b.dialect.Elements(b, p.Op, c, p.Values)
	case query.MatchAny, query.MatchAll:
		tokens := make([]string, len(p.Values))
		for i := range p.Values {
			tokens[i] = p.Values[i].Text
		}
		return b.dialect.Match(b, p.Op, c, tokens)
	}
	value, err := b.dialect.Value(c)
	if err != nil {
		return err
	}
	literals := make([]query.Literal, len(p.Values))
	for i, l := range p.Values {
		if literals[i], err = b.dialect.Literal(c, l); err != nil {
			return err
		}
	}
	return b.compare(p, c, value, literals)
}

// compare writes a comparison of one value. The literals are those of the predicate as they are bound.
func (b *Builder) compare(p *query.Predicate, c Column, value string, literals []query.Literal) error {
	least := 1
	switch p.Op {
	case query.IsNull:
		least = 0
	case query.Between:
		least = 2
	}
	if len(literals) < least {
		return fmt.Errorf("column %s: %s has %d values, it needs %d", p.Path, p.Op, len(literals), least)
	}
	switch p.Op {
	case query.IsNull:
		b.Write(value, " IS NULL")
	case query.In:
		b.Write(value, " IN (")
		b.BindList(literals)
		b.Write(")")
	case query.Between:
		b.Write(value, " BETWEEN ")
		b.Bind(literals[0])
		b.Write(" AND ")
		b.Bind(literals[1])
	case query.Prefix, query.Suffix, query.Contains:
		if c.Field.Kind != corpus.String {
			return fmt.Errorf("column %s: %s is for strings, not for %s", p.Path, p.Op, c.Field.Kind)
		}
		if p.Values[0].Text == "" {
			b.Write(value, " IS NOT NULL") // every text begins with, contains and ends with nothing
			return nil
		}
		return b.dialect.Text(b, p.Op, c, p.Values[0].Text)
	default:
		sign, known := comparisons[p.Op]
		if !known {
			return fmt.Errorf("no SQL for operator %q", p.Op)
		}
		b.Write(value, sign)
		b.Bind(literals[0])
	}
	return nil
}

// join writes the arguments of And and Or, each in parentheses unless it is the only one.
func (b *Builder) join(args []*query.Predicate, word string) error {
	if len(args) == 0 {
		return fmt.Errorf("and, or: no arguments")
	}
	for i, p := range args {
		if i > 0 {
			b.Write(word)
		}
		b.Write("(")
		if err := b.condition(p); err != nil {
			return err
		}
		b.Write(")")
	}
	return nil
}
