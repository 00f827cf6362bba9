package surrealdb

import (
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

// analyzer takes texts apart into words as query.Tokens does, as near as SurrealDB comes: at blanks and at the punctuation of ASCII. (Its
// tokenizer "class" would part letters from digits too.)
const (
	analyzer           = "durabench_words"
	analyzerDefinition = "DEFINE ANALYZER OVERWRITE " + analyzer + " TOKENIZERS blank, punct FILTERS lowercase COMMENT '" + comment + "'"
)

// Names of what an answer with aggregates has beside the aggregates, which are a0, a1 and so on.
const (
	rowsName  = "durabench_rows"
	groupName = "durabench_group"
)

// rendered is a scan in SurrealQL. A literal is never part of the text: it is always bound as a parameter, $p0 and so on.
type rendered struct {
	scan *query.Scan
	text string
	args []query.Literal
	// key is bound as $after when the scan has After.
	key corpus.Key
	// lists are the parameters that are arrays, by the number of their first argument: how many arguments each takes.
	lists map[int]int
	// group is the column of GroupBy, nil without one; values are those of the aggregates, nil for a Number.
	group  *corpus.Field
	values []*corpus.Field
}

// grouped tells that the answer is of aggregates.
func (r *rendered) grouped() bool { return len(r.scan.Aggregates) > 0 }

// counted tells that the answer is one number.
func (r *rendered) counted() bool { return !r.grouped() && r.scan.Project == query.Count }

// renderer writes one scan.
type renderer struct {
	rendered
	corpus *corpus.Corpus
	// words tells whether a full-text index on the path is there to be asked; otherwise texts are taken apart one by one.
	words func(query.Path) bool
	asked bool // a full-text index
	out   strings.Builder
}

// render writes a scan. The error is drivers.Unsupported when it cannot be run.
func render(c *corpus.Corpus, s *query.Scan, words func(query.Path) bool) (*rendered, error) {
	r := &renderer{rendered: rendered{scan: s, lists: map[int]int{}}, corpus: c, words: words}
	write := r.rows
	if r.grouped() {
		write = r.groups
	}
	if err := write(); err != nil {
		return nil, fmt.Errorf("scan %s: %w", s.ID, err)
	}
	r.text = r.out.String()
	return &r.rendered, nil
}

func (r *renderer) write(parts ...string) {
	for _, part := range parts {
		r.out.WriteString(part)
	}
}

// bind writes a parameter.
func (r *renderer) bind(l query.Literal) {
	r.write(fmt.Sprintf("$p%d", len(r.args)))
	r.args = append(r.args, l)
}

// bindList writes a parameter that is an array of the literals.
func (r *renderer) bindList(literals []query.Literal) {
	r.lists[len(r.args)] = len(literals)
	r.write(fmt.Sprintf("$p%d", len(r.args)))
	r.args = append(r.args, literals...)
}

// idiom is a path as SurrealQL writes it.
func idiom(path query.Path) string {
	parts := make([]string, len(path))
	for i, part := range path {
		parts[i] = name(part)
	}
	return strings.Join(parts, ".")
}

// rows writes a scan for records, or for their number.
func (r *renderer) rows() error {
	s := r.scan
	paged := s.Limit != 0 || s.Offset != 0
	switch {
	case s.Project == query.Count && !paged:
		r.write("SELECT count() FROM ")
	case s.Project == query.Count:
		r.write("SELECT count() FROM (SELECT VALUE id FROM ")
	case s.Project == query.Full:
		r.write("SELECT * FROM ")
	case s.Project == query.ID && r.sorted():
		// What is sorted by has to be selected, so the keys are taken out of what is.
		r.write("SELECT VALUE id FROM (SELECT ", r.selected(), " FROM ")
	case s.Project == query.ID:
		r.write("SELECT VALUE id FROM ")
	default:
		return fmt.Errorf("no projection %q", s.Project)
	}
	if err := r.source(); err != nil {
		return err
	}
	// How many rows a page has does not depend on their order.
	if s.Project != query.Count {
		if err := r.order(); err != nil {
			return err
		}
	}
	if s.Limit != 0 {
		r.write(fmt.Sprintf(" LIMIT %d", s.Limit))
	}
	if s.Offset != 0 {
		r.write(fmt.Sprintf(" START %d", s.Offset))
	}
	switch {
	case s.Project == query.Count && paged:
		r.write(") GROUP ALL")
	case s.Project == query.Count:
		r.write(" GROUP ALL")
	case s.Project == query.ID && r.sorted():
		r.write(")")
	}
	return nil
}

// sorted tells that records are in an order of something else than their keys.
func (r *renderer) sorted() bool {
	if r.scan.Raw != nil {
		return r.scan.Raw.HasOrder
	}
	for _, term := range r.scan.Order {
		if len(term.Path) > 0 {
			return true
		}
	}
	return false
}

// selected is what a subquery has to select, for the keys to be taken out and for its order.
func (r *renderer) selected() string {
	if r.scan.Raw != nil {
		return "*"
	}
	terms := "id"
	for _, term := range r.scan.Order {
		if len(term.Path) > 0 {
			terms += ", " + idiom(term.Path)
		}
	}
	return terms
}

// source writes what is scanned, and the condition. Keyset paging is a range of keys, which come in their order.
func (r *renderer) source() error {
	s := r.scan
	if s.After == nil {
		r.write(drivers.Table)
	} else {
		r.write(rangeAfter)
		var buffer corpus.KeyBuffer
		if r.key = r.corpus.Key(&buffer, *s.After).Clone(); r.key.Kind() == "" {
			return fmt.Errorf("there is no row %d to begin after", *s.After)
		}
	}
	if s.Raw != nil && s.Raw.HasWhere {
		text := s.Raw.Where[dialect]
		if text == "" {
			return drivers.Unsupported{Why: "the file has no condition for " + dialect}
		}
		r.write(" WHERE ", text)
		return nil
	}
	if s.Where == nil {
		return nil
	}
	r.write(" WHERE ")
	if s.Where.Op == query.In && len(s.Where.Values) <= mostBranches {
		r.eitherOf(s.Where)
		return nil
	}
	return r.condition(s.Where, true)
}

// mostBranches is how many values an IN may have to be written as so many equalities.
const mostBranches = 64

// eitherOf writes an IN that is the whole condition as equalities. An index of several columns serves those and not the IN; beside other conditions it
// is the other way round, for every index.
func (r *renderer) eitherOf(p *query.Predicate) {
	value := idiom(p.Path)
	for i, l := range p.Values {
		if i > 0 {
			r.write(" OR ")
		}
		r.write(value, " = ")
		r.bind(l)
	}
}

// dialect is SurrealQL's name in query.Raw.
const dialect = "surrealdb"

// The records from a key on, without and with the one that has it.
const (
	rangeAfter = "type::record('" + drivers.Table + "', record::id($after)>..)"
	rangeFrom  = "type::record('" + drivers.Table + "', record::id($after)..)"
)

// order writes the order, typed or raw.
func (r *renderer) order() error {
	s := r.scan
	if s.Raw != nil && s.Raw.HasOrder {
		text := s.Raw.Order[dialect]
		if text == "" {
			return drivers.Unsupported{Why: "the file has no order for " + dialect}
		}
		r.write(" ORDER BY ", text)
		return nil
	}
	if s.After != nil {
		return nil // the range has it
	}
	for i, term := range s.Order {
		separator := ", "
		if i == 0 {
			separator = " ORDER BY "
		}
		value := corpus.KeyColumn
		if len(term.Path) > 0 {
			value = idiom(term.Path)
		}
		r.write(separator, value)
		if term.Desc {
			r.write(" DESC")
		}
	}
	return nil
}

// groups writes a scan for aggregates. The number of rows is always among what comes back: without any row there is to be no group.
func (r *renderer) groups() error {
	s := r.scan
	r.write("SELECT count() AS ", rowsName)
	for i, a := range s.Aggregates {
		var field *corpus.Field
		value := "count()"
		if a.Func != query.Number {
			column, err := query.Resolve(r.corpus.Template(), a.Path)
			if err != nil {
				return err
			}
			field = column.Field
			value = aggregate(a.Func, field.Kind, idiom(a.Path))
		}
		r.values = append(r.values, field)
		r.write(fmt.Sprintf(", %s AS a%d", value, i))
	}
	if len(s.GroupBy) > 0 {
		column, err := query.Resolve(r.corpus.Template(), s.GroupBy)
		if err != nil {
			return err
		}
		r.group = column.Field
		r.write(", ", idiom(s.GroupBy), " AS ", groupName)
	}
	r.write(" FROM ")
	if err := r.source(); err != nil {
		return err
	}
	if r.group != nil {
		r.write(" GROUP BY ", groupName)
	} else {
		r.write(" GROUP ALL")
	}
	return nil
}

// aggregate is an aggregate function of a value. Sums of integers are worked out as decimals, because as integers they go wrong without a word when
// they have more than 64 bits.
func aggregate(f query.Func, kind corpus.Kind, value string) string {
	if kind == corpus.Int && (f == query.Sum || f == query.Avg) {
		value = "<decimal> " + value
	}
	function := string(f)
	if f == query.Avg {
		function = "mean"
	}
	return "math::" + function + "(" + value + ")"
}

var comparisons = map[query.Op]string{
	query.Eq: " = ", query.Lt: " < ", query.Lte: " <= ", query.Gt: " > ", query.Gte: " >= ",
}

// condition writes a predicate. It is true or false, so that ! turns it into exactly its opposite; what SurrealQL itself takes for true of a
// NONE, which stands below all values and is unequal to them, is ruled out. must tells that no row is found for which it is false.
func (r *renderer) condition(p *query.Predicate, must bool) error {
	switch p.Op {
	case query.And:
		return r.join(p.Args, " AND ", must)
	case query.Or:
		return r.join(p.Args, " OR ", must && len(p.Args) == 1)
	case query.Not:
		if len(p.Args) != 1 {
			return fmt.Errorf("%s has %d arguments, not one", p.Op, len(p.Args))
		}
		r.write("!(")
		if err := r.condition(p.Args[0], false); err != nil {
			return err
		}
		r.write(")")
		return nil
	}
	least := 1
	switch p.Op {
	case query.IsNull:
		least = 0
	case query.Between:
		least = 2
	}
	if len(p.Values) < least {
		return fmt.Errorf("column %s: %s has %d values, it needs %d", p.Path, p.Op, len(p.Values), least)
	}
	value := idiom(p.Path)
	switch p.Op {
	case query.IsNull:
		r.write(value, " = NONE")
	case query.Ne:
		r.write(value, " != NONE AND ", value, " != ")
		r.bind(p.Values[0])
	case query.Lt, query.Lte:
		r.write(value, " > NONE AND ", value, comparisons[p.Op])
		r.bind(p.Values[0])
	case query.Eq, query.Gt, query.Gte:
		r.write(value, comparisons[p.Op])
		r.bind(p.Values[0])
	case query.Between:
		r.write(value, " >= ")
		r.bind(p.Values[0])
		r.write(" AND ", value, " <= ")
		r.bind(p.Values[1])
	case query.In:
		r.write(value, " IN ")
		r.bindList(p.Values)
	default:
		return r.within(p, value, must)
	}
	return nil
}

// join writes the arguments of And and Or, each in parentheses.
func (r *renderer) join(args []*query.Predicate, word string, must bool) error {
	if len(args) == 0 {
		return fmt.Errorf("and, or: no arguments")
	}
	for i, p := range args {
		if i > 0 {
			r.write(word)
		}
		r.write("(")
		if err := r.condition(p, must); err != nil {
			return err
		}
		r.write(")")
	}
	return nil
}

// within writes a condition on a text or an array.
func (r *renderer) within(p *query.Predicate, value string, must bool) error {
	switch p.Op {
	case query.Prefix:
		// A range, which an index can serve; texts compare by bytes.
		r.write(value, " >= ")
		r.bind(p.Values[0])
		if next, bounded := sqlrender.After(p.Values[0].Text); bounded {
			r.write(" AND ", value, " < ")
			r.bind(query.Literal{Kind: corpus.String, Text: next})
		}
	case query.Suffix:
		r.write(value, " != NONE AND string::ends_with(", value, ", ")
		r.bind(p.Values[0])
		r.write(")")
	case query.Contains:
		r.write(value, " CONTAINS ")
		r.bind(p.Values[0])
	case query.HasAny, query.HasAll:
		word := map[query.Op]string{query.HasAny: " CONTAINSANY ", query.HasAll: " CONTAINSALL "}[p.Op]
		if len(p.Values) == 1 {
			r.write(value, " CONTAINS ")
			r.bind(p.Values[0])
			return nil
		}
		r.write(value, word)
		r.bindList(p.Values)
	case query.MatchAny, query.MatchAll:
		r.match(p, value, must)
	default:
		return fmt.Errorf("no SurrealQL for operator %q", p.Op)
	}
	return nil
}

// match writes the condition that a text has the words. The operators of the full-text index are right only where the index itself finds the
// rows: for one condition, which every row must fulfil. Where they are tried on a row that something else found, SurrealDB 3.0.2 takes all words for
// any of them, and without an index they are false of every row, without an error. Everywhere else texts are taken apart one by one, by the
// same analyzer.
func (r *renderer) match(p *query.Predicate, value string, must bool) {
	if !must || r.asked || !r.words(p.Path) {
		word := map[query.Op]string{query.MatchAny: "CONTAINSANY ", query.MatchAll: "CONTAINSALL "}[p.Op]
		r.write(value, " != NONE AND search::analyze('", analyzer, "', ", value, ") ", word)
		r.bindList(p.Values)
		return
	}
	r.asked = true
	words := make([]string, len(p.Values))
	for i, l := range p.Values {
		words[i] = l.Text
	}
	r.write(value, map[query.Op]string{query.MatchAny: " @OR@ ", query.MatchAll: " @AND@ "}[p.Op])
	r.bind(query.Literal{Kind: corpus.String, Text: strings.Join(words, " ")})
}
