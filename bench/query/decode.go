package query

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/durabench/durabench/bench/corpus"
)

// Decode reads a condition as a workload file holds it, in a table that a TOML decoder has decoded. docs/workloads.md describes the form:
//
//	where = { number = 21 }
//	where = { number = { gte = 18, lte = 21 }, "place.code" = { in = ["a", "b"] } }
//	where = { any = [{ tags = { has_all = ["a", "b"] } }, { not = { words = { match_all = "hello world" } } }] }
//
// What the table says is not known to fit any columns before Bind. The error is Problems, whose keys begin with "where", as do those of Bind for the tree
// that is returned.
func Decode(where map[string]any) (*Predicate, error) {
	var d decoder
	p := d.all("where", d.table("where", where, nil, 1))
	if err := d.problems.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// DecodeOrder reads the terms of an order: a text such as "created_at desc", or an array of them. "id" is the key. The error is Problems, whose keys begin
// with "order".
func DecodeOrder(value any) ([]Order, error) {
	return terms("order", value, `a column such as "created_at" or "created_at desc"`, parseOrder)
}

// DecodeAggregates reads aggregates: a text such as "count" or "sum(number)", or an array of them. The error is Problems, whose keys begin
// with "aggregates".
func DecodeAggregates(value any) ([]Aggregate, error) {
	return terms("aggregates", value, `"count" or a function of a column such as "sum(number)"`, parseAggregate)
}

// Operators returns the operators of comparisons as a workload file spells them, sorted.
func Operators() []string {
	var names []string
	for op, o := range operators {
		if !o.combines {
			names = append(names, op.spelling())
		}
	}
	slices.Sort(names)
	return names
}

// spelling returns the operator as a workload file spells it.
func (op Op) spelling() string { return strings.ReplaceAll(string(op), "-", "_") }

// operatorOf returns the operator that a workload file spells so.
func operatorOf(name string) (Op, bool) {
	op := Op(strings.ReplaceAll(name, "_", "-"))
	o, known := operators[op]
	return op, known && !o.combines && !strings.Contains(name, "-")
}

// decoder reads one condition and collects what is wrong with it.
type decoder struct {
	problems Problems
}

// all joins conditions that must all hold.
func (d *decoder) all(key string, conditions []*Predicate) *Predicate {
	if len(conditions) == 1 {
		return conditions[0]
	}
	return &Predicate{Op: And, Args: conditions, key: key}
}

// table reads the conditions in a table. path is the column that it stands under, nil where a condition begins: there all, any and not may stand.
func (d *decoder) table(key string, table map[string]any, path Path, depth int) []*Predicate {
	if len(table) == 0 {
		d.problems.add(key, "is empty: it needs a condition, e.g. { number = { eq = 21 } }")
	}
	if depth > maxDepth {
		d.problems.add(key, "nested too deep: at most %d levels", maxDepth)
		return nil
	}
	var conditions []*Predicate
	for _, name := range slices.Sorted(maps.Keys(table)) {
		below, value := corpus.JoinPath(key, name), table[name]
		if path == nil {
			if p, is := d.combination(below, name, value, depth); is {
				conditions = append(conditions, p)
				continue
			}
		} else if op, is := operatorOf(name); is {
			conditions = append(conditions, d.comparison(below, op, path, value))
			continue
		}
		tail, err := ParsePath(strings.TrimPrefix(name, "."))
		if err != nil {
			d.problems.add(below, "%v", err)
			continue
		}
		conditions = append(conditions, d.column(below, append(path[:len(path):len(path)], tail...), value, depth)...)
	}
	return conditions
}

// combination reads all, any and not. It is false when the name is that of a column.
func (d *decoder) combination(key, name string, value any, depth int) (p *Predicate, is bool) {
	switch name {
	case "not":
		table, ok := value.(map[string]any)
		if !ok {
			d.problems.add(key, "needs a condition, e.g. { not = { number = { eq = 21 } } }")
			return nil, true
		}
		return &Predicate{Op: Not, Args: []*Predicate{d.all(key, d.table(key, table, nil, depth+1))}, key: key}, true
	case "all", "any":
	default:
		return nil, false
	}
	p = &Predicate{Op: map[string]Op{"all": And, "any": Or}[name], key: key}
	elements, ok := elements(value)
	if !ok || len(elements) == 0 {
		d.problems.add(key, "needs an array of conditions, e.g. { %s = [{ number = 21 }, { number = 22 }] }", name)
	}
	for i, element := range elements {
		at := fmt.Sprintf("%s[%d]", key, i)
		table, ok := element.(map[string]any)
		if !ok {
			d.problems.add(at, "is no condition: write a table, e.g. { number = { eq = 21 } }")
			continue
		}
		p.Args = append(p.Args, d.all(at, d.table(at, table, nil, depth+1)))
	}
	return p, true
}

// column reads what is said of a column: a value that it equals, or a table of operators and members.
func (d *decoder) column(key string, path Path, value any, depth int) []*Predicate {
	switch value := value.(type) {
	case map[string]any:
		return d.table(key, value, path, depth+1)
	case []any:
		d.problems.add(key, "an array needs an operator, e.g. { in = […] }, { between = […] } or { has_any = […] }")
		return nil
	}
	return []*Predicate{d.comparison(key, Eq, path, value)}
}

// comparison reads the values of an operator.
func (d *decoder) comparison(key string, op Op, path Path, value any) *Predicate {
	p := &Predicate{Op: op, Path: path, key: key}
	list, isList := elements(value)
	switch {
	case op == IsNull:
		yes, ok := value.(bool)
		if !ok {
			d.problems.add(key, "is true or false")
		}
		if !yes {
			return &Predicate{Op: Not, Args: []*Predicate{p}, key: key}
		}
		return p
	case op == Between && (!isList || len(list) != 2):
		d.problems.add(key, "needs an array of the lower and the upper end, e.g. [18, 21]")
		return p
	case op == In && !isList:
		d.problems.add(key, "needs an array of values, e.g. [18, 21]")
		return p
	case !isList:
		list = []any{value}
	case operators[op].most == 1:
		d.problems.add(key, "takes one value, not an array")
		return p
	}
	for i, v := range list {
		at := key
		if isList {
			at = fmt.Sprintf("%s[%d]", key, i)
		}
		literal, err := literalOf(v)
		if err != nil {
			d.problems.add(at, "%v", err)
			continue
		}
		if words := op == MatchAll || op == MatchAny; words && !isList && literal.Kind == corpus.String {
			for _, token := range Tokens(literal.Text) {
				p.Values = append(p.Values, Literal{Kind: corpus.String, Text: token})
			}
			continue
		}
		p.Values = append(p.Values, literal)
	}
	return p
}

// literalOf returns a TOML value as a literal of the kind that is nearest to it.
func literalOf(v any) (Literal, error) {
	switch v := v.(type) {
	case bool:
		return Literal{Kind: corpus.Bool, Bool: v}, nil
	case int64:
		return Literal{Kind: corpus.Int, Int: v}, nil
	case int:
		return Literal{Kind: corpus.Int, Int: int64(v)}, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Literal{}, fmt.Errorf("%v is not a number to compare with", v)
		}
		return Literal{Kind: corpus.Float, Float: v}, nil
	case string:
		return Literal{Kind: corpus.String, Text: v}, nil
	case time.Time:
		return literalOfTime(v)
	case interface {
		AsTime(*time.Location) time.Time // TOML's dates and times without a zone
	}:
		return literalOfTime(v.AsTime(time.UTC))
	}
	return Literal{}, fmt.Errorf("is no value to compare with: write a text, a number, a time, true or false")
}

func literalOfTime(t time.Time) (Literal, error) {
	if t.Nanosecond() != 0 {
		return Literal{}, fmt.Errorf("%s has a fraction of a second: times are whole seconds", t.Format(time.RFC3339Nano))
	}
	return Literal{Kind: corpus.DateTime, Int: t.Unix()}, nil
}

// elements returns the elements of an array, whichever way a TOML decoder returns it.
func elements(value any) ([]any, bool) {
	switch value := value.(type) {
	case []any:
		return value, true
	case []map[string]any: // an array of tables
		var elements []any
		for _, table := range value {
			elements = append(elements, table)
		}
		return elements, true
	}
	return nil, false
}

// terms reads a text, or an array of texts, with parse.
func terms[T any](key string, value any, wanted string, parse func(string) (T, error)) ([]T, error) {
	var problems Problems
	var read []T
	list, isList := elements(value)
	if !isList {
		list = []any{value}
	}
	if len(list) == 0 {
		problems.add(key, "is empty: leave it out, or name %s", wanted)
	}
	for i, element := range list {
		at := key
		if isList {
			at = fmt.Sprintf("%s[%d]", key, i)
		}
		text, ok := element.(string)
		if !ok {
			problems.add(at, "must be %s", wanted)
			continue
		}
		term, err := parse(text)
		if err != nil {
			problems.add(at, "%v", err)
			continue
		}
		read = append(read, term)
	}
	return read, problems.err()
}

// parseOrder reads "path", "path asc" or "path desc".
func parseOrder(text string) (Order, error) {
	name, direction := strings.TrimSpace(text), ""
	if at := lastSpace(name); at >= 0 {
		name, direction = strings.TrimSpace(name[:at]), name[at+1:]
	}
	o := Order{Desc: strings.EqualFold(direction, "desc")}
	if direction != "" && !o.Desc && !strings.EqualFold(direction, "asc") {
		return o, fmt.Errorf("%q is neither asc nor desc", direction)
	}
	if name == corpus.KeyColumn {
		return o, nil
	}
	path, err := ParsePath(name)
	o.Path = path
	return o, err
}

// lastSpace returns where the last space is that is not in a quoted name, -1 when there is none.
func lastSpace(text string) int {
	last, quoted := -1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t'):
			last = i
		}
	}
	return last
}

// parseAggregate reads "count" or "function(path)".
func parseAggregate(text string) (Aggregate, error) {
	name, argument, isCall := strings.Cut(strings.TrimSpace(text), "(")
	a := Aggregate{Func: Func(strings.TrimSpace(name))}
	if !isCall {
		if a.Func != Number {
			return a, fmt.Errorf("%q is no aggregate: write count, or a function of a column such as sum(number)", text)
		}
		return a, nil
	}
	argument, closed := strings.CutSuffix(argument, ")")
	if !closed {
		return a, fmt.Errorf("%q lacks the closing parenthesis", text)
	}
	path, err := ParsePath(strings.TrimSpace(argument))
	a.Path = path
	return a, err
}
