package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
)

// Bounds of a scan, so that no input exhausts the stack or the memory.
const (
	maxDepth  = 64      // of a predicate
	maxWords  = 64      // of MatchAll and MatchAny: one bit each
	maxValues = 10_000  // of one comparison
	maxPage   = 1 << 20 // Offset + Limit of an ordered scan: so many rows are kept to work out the answer
)

// Bind checks a scan against the template and returns it ready for use: paths are resolved, literals have the kinds of their columns, lists are
// sorted without repetitions, words are in lower case, and what was left out is filled in (Project becomes Full, Order the key when After is set). The
// argument is not changed, and a bound scan binds to itself. The error is Problems, all of them at once.
//
// Of a raw scan only the numbers are checked.
func Bind(s *Scan, t *corpus.Template) (*Scan, error) {
	b := &binder{template: t}
	out := *s
	out.Order = slices.Clone(s.Order)
	b.checkShape(&out)
	if s.Where != nil {
		out.Where = b.predicate(s.Where, "where", 1)
	}
	b.checkOrder(&out)
	b.checkAggregates(&out)
	if err := b.problems.err(); err != nil {
		return nil, err
	}
	return &out, nil
}

// CheckRows finds what makes a bound scan pointless on so many rows. The error is Problems.
func (s *Scan) CheckRows(rows uint64) error {
	var problems Problems
	if s.Offset > 0 && uint64(s.Offset) >= rows {
		problems.add("start", "%d is beyond the %d rows: nothing would be found", s.Offset, rows)
	}
	if s.After != nil && *s.After >= rows {
		problems.add("after", "there is no row %d: rows are counted from 0 to %d", *s.After, rows-1)
	}
	return problems.err()
}

// binder binds one scan and collects what is wrong with it.
type binder struct {
	template *corpus.Template
	problems Problems
}

// checkShape checks what needs no template.
func (b *binder) checkShape(s *Scan) {
	if s.Offset < 0 {
		b.problems.add("start", "must not be negative, is %d", s.Offset)
	}
	if s.Limit < 0 {
		b.problems.add("limit", "must not be negative, is %d", s.Limit)
	}
	if s.Raw != nil && (s.Where != nil || len(s.Order) > 0 || s.After != nil || len(s.Aggregates) > 0 || len(s.GroupBy) > 0) {
		b.problems.add("condition", "conditions in the engines' own words do not go with where, order, after, aggregates or group_by")
	}
	if len(s.Aggregates) == 0 {
		switch s.Project {
		case "":
			s.Project = Full
		case ID, Full, Count:
		default:
			b.problems.add("projection", "%q is none of id, full, count", string(s.Project))
		}
		if len(s.GroupBy) > 0 {
			b.problems.add("group_by", "needs aggregates, e.g. aggregates = [\"count\"]")
		}
	}
}

// predicate binds one node of a tree. place is where it is in a tree without keys.
func (b *binder) predicate(p *Predicate, place string, depth int) *Predicate {
	out := *p
	if p.key != "" {
		place = p.key
	}
	if depth > maxDepth {
		b.problems.add(place, "nested too deep: at most %d levels", maxDepth)
		return &out
	}
	operator, known := operators[p.Op]
	if !known {
		b.problems.add(place, "%q is not an operator", string(p.Op))
		return &out
	}
	if operator.combines {
		b.combination(&out, place, depth)
		return &out
	}
	if len(p.Args) > 0 {
		b.problems.add(place, "%s takes no conditions", p.Op)
	}
	out.column = nil
	column, err := Resolve(b.template, p.Path)
	if err != nil {
		b.problems.add(place, "%v%s", err, b.orOperators(p.Path))
		return &out
	}
	kind, err := operator.fits(p, column.Field)
	if err != nil {
		b.problems.add(place, "%v", err)
		return &out
	}
	out.column = &column
	out.Values = b.values(p, place, kind, operator)
	return &out
}

// orOperators names the operators there are, for a path that ends in what is neither a member nor nearly an operator.
func (b *binder) orOperators(path Path) string {
	last := len(path) - 1
	if last < 1 || meantOperator(path[last]) != "" {
		return ""
	}
	if around, err := Resolve(b.template, path[:last]); err != nil || around.Field.Kind == corpus.Object {
		return ""
	}
	return fmt.Sprintf("; operators are %s", strings.Join(Operators(), ", "))
}

// combination binds the arguments of And, Or and Not.
func (b *binder) combination(p *Predicate, place string, depth int) {
	if len(p.Path) > 0 || len(p.Values) > 0 {
		b.problems.add(place, "%s takes conditions only, no column and no values", p.Op)
	}
	switch {
	case p.Op == Not && len(p.Args) != 1:
		b.problems.add(place, "not takes one condition, not %d", len(p.Args))
	case len(p.Args) == 0:
		b.problems.add(place, "needs at least one condition")
	}
	args := make([]*Predicate, 0, len(p.Args))
	for i, arg := range p.Args {
		below := fmt.Sprintf("%s.args[%d]", place, i)
		if arg == nil {
			b.problems.add(below, "is nil")
			continue
		}
		args = append(args, b.predicate(arg, below, depth+1))
	}
	p.Args = args
}

// values gives the literals of a comparison the kind of the column, and checks their number and order.
func (b *binder) values(p *Predicate, place string, kind corpus.Kind, operator operator) []Literal {
	if n := len(p.Values); n < operator.least || n > operator.most {
		b.problems.add(place, "%s", operator.wrongNumber(n))
		return nil
	}
	var values []Literal
	for i, v := range p.Values {
		literal, err := v.convert(kind)
		if err == nil {
			literal, err = operator.accept(literal)
		}
		if err != nil {
			at := place
			if len(p.Values) > 1 && p.key != "" {
				at = fmt.Sprintf("%s[%d]", place, i)
			}
			b.problems.add(at, "%v", err)
			continue
		}
		values = append(values, literal)
	}
	if p.Op == Between && len(values) == 2 && values[0].Compare(values[1]) > 0 {
		b.problems.add(place, "the range %s to %s is reversed: write the lower end first", values[0], values[1])
	}
	if operator.set {
		slices.SortFunc(values, Literal.Compare)
		values = slices.CompactFunc(values, func(x, y Literal) bool { return x.Compare(y) == 0 })
	}
	return values
}

// checkOrder checks the order of the rows and what depends on it.
func (b *binder) checkOrder(s *Scan) {
	seen := map[string]bool{}
	for i, term := range s.Order {
		place := fmt.Sprintf("order[%d]", i)
		name := Order{Path: term.Path}.String()
		if seen[name] {
			b.problems.add(place, "%s is there twice", name)
		}
		seen[name] = true
		if len(term.Path) == 0 {
			continue
		}
		column, err := Resolve(b.template, term.Path)
		if err != nil {
			b.problems.add(place, "%v", err)
		} else if !isOrdered(column.Field.Kind) {
			b.problems.add(place, "rows have no order by column %s: it is %s", term.Path, article(column.Field.Kind))
		}
	}
	if s.After != nil {
		if len(s.Order) > 1 || len(s.Order) == 1 && (len(s.Order[0].Path) > 0 || s.Order[0].Desc) {
			b.problems.add("after", "pages by the key: leave out the order, or order by %q", corpus.KeyColumn)
		}
		s.Order = []Order{{}}
	}
	if len(s.Order) == 0 {
		return
	}
	switch {
	case s.Offset > 0 && s.Limit == 0:
		b.problems.add("start", "needs a limit when rows are in order")
	case s.Offset > maxPage || s.Limit > maxPage-s.Offset:
		b.problems.add("limit", "start and limit of an ordered scan may come to at most %d rows", maxPage)
	}
}

// checkAggregates checks aggregates and groups.
func (b *binder) checkAggregates(s *Scan) {
	if len(s.GroupBy) > 0 {
		if column, err := Resolve(b.template, s.GroupBy); err != nil {
			b.problems.add("group_by", "%v", err)
		} else if !isScalar(column.Field.Kind) {
			b.problems.add("group_by", "rows cannot be grouped by column %s: it is %s", s.GroupBy, article(column.Field.Kind))
		}
	}
	if len(s.Aggregates) == 0 {
		return
	}
	for _, other := range []struct {
		key   string
		given bool
	}{
		{"projection", s.Project != ""}, {"order", len(s.Order) > 0 && s.After == nil}, {"start", s.Offset != 0}, {"limit", s.Limit != 0},
		{"after", s.After != nil},
	} {
		if other.given {
			b.problems.add(other.key, "does not go with aggregates: they are of all rows that match")
		}
	}
	for i, a := range s.Aggregates {
		place := fmt.Sprintf("aggregates[%d]", i)
		switch a.Func {
		case Number:
			if len(a.Path) > 0 {
				b.problems.add(place, "count counts rows: leave out column %s", a.Path)
			}
			continue
		case Sum, Avg, Min, Max:
		default:
			b.problems.add(place, "%q is none of count, sum, avg, min, max", string(a.Func))
			continue
		}
		column, err := Resolve(b.template, a.Path)
		if err != nil {
			b.problems.add(place, "%v", err)
		} else if !isNumber(column.Field.Kind) {
			b.problems.add(place, "%s is of numbers: column %s is %s", a.Func, a.Path, article(column.Field.Kind))
		}
	}
}
