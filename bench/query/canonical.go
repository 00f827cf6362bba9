package query

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
)

// String returns the predicate as text for people and for digests: trees are the same when their texts are, up to the kinds of their literals, which
// follow from the template when both are bound.
func (p *Predicate) String() string {
	if p == nil {
		return "true"
	}
	switch p.Op {
	case And:
		return p.join(" and ")
	case Or:
		return p.join(" or ")
	case Not:
		return "not " + p.join(", ")
	case IsNull:
		return p.Path.String() + " is null"
	}
	values := make([]string, len(p.Values))
	for i, v := range p.Values {
		values[i] = v.String()
	}
	sign, symbolic := signs[p.Op]
	switch {
	case symbolic && len(values) == 1:
		return fmt.Sprintf("%s %s %s", p.Path, sign, values[0])
	case p.Op == Between && len(values) == 2:
		return fmt.Sprintf("%s between %s and %s", p.Path, values[0], values[1])
	}
	return fmt.Sprintf("%s %s (%s)", p.Path, strings.ReplaceAll(string(p.Op), "-", " "), strings.Join(values, ", "))
}

// signs are the operators that are written as such.
var signs = map[Op]string{Eq: "=", Ne: "!=", Lt: "<", Lte: "<=", Gt: ">", Gte: ">="}

// join returns the arguments' texts in parentheses.
func (p *Predicate) join(between string) string {
	args := make([]string, len(p.Args))
	for i, arg := range p.Args {
		args[i] = arg.String()
	}
	return "(" + strings.Join(args, between) + ")"
}

// String returns the term as a workload file spells it.
func (o Order) String() string {
	text := corpus.KeyColumn
	if len(o.Path) > 0 {
		text = o.Path.String()
	}
	if o.Desc {
		text += " desc"
	}
	return text
}

// String returns the aggregate as a workload file spells it, e.g. "sum(number)".
func (a Aggregate) String() string {
	if len(a.Path) == 0 {
		return string(a.Func)
	}
	return fmt.Sprintf("%s(%s)", a.Func, a.Path)
}

// String returns the canonical text of the scan, ID left out: select full where number = 21 order by created_at desc limit 10. A raw scan's words
// are not in it.
func (s *Scan) String() string {
	if len(s.Aggregates) > 0 {
		return "aggregate " + list(s.Aggregates) + s.tail()
	}
	return "select " + string(s.Project) + s.tail()
}

// tail returns what the answer depends on whatever is returned of each row.
func (s *Scan) tail() string {
	var b strings.Builder
	if s.Where != nil {
		b.WriteString(" where " + s.Where.String())
	}
	if len(s.GroupBy) > 0 {
		b.WriteString(" group by " + s.GroupBy.String())
	}
	if s.After != nil {
		fmt.Fprintf(&b, " after row %d", *s.After)
	}
	if len(s.Order) > 0 {
		b.WriteString(" order by " + list(s.Order))
	}
	if s.Offset > 0 {
		fmt.Fprintf(&b, " offset %d", s.Offset)
	}
	if s.Limit > 0 {
		fmt.Fprintf(&b, " limit %d", s.Limit)
	}
	return b.String()
}

// shape is what the expected answer depends on: scans that differ only in ID and projection share it.
func (s *Scan) shape() string {
	if len(s.Aggregates) > 0 {
		return s.String()
	}
	return "rows" + s.tail()
}

// list joins terms with commas.
func list[T fmt.Stringer](terms []T) string {
	texts := make([]string, len(terms))
	for i, t := range terms {
		texts[i] = t.String()
	}
	return strings.Join(texts, ", ")
}

// Digest returns the hexadecimal SHA-256 of the canonical text of a bound scan. On one template, scans of the same digest have the same answer.
func (s *Scan) Digest() string {
	sum := sha256.Sum256([]byte(s.String()))
	return hex.EncodeToString(sum[:])
}
