package query

import (
	"fmt"
	"math"

	"github.com/durabench/durabench/bench/corpus"
)

// operator is what Bind has to know of an operator.
type operator struct {
	combines    bool // And, Or, Not
	least, most int  // values
	set         bool // its values are a set
	on          func(corpus.Kind) bool
	what        string // the kinds that on accepts, for messages
	elements    bool   // it looks at the elements of an array
	accept      func(Literal) (Literal, error)
}

// operators are all there are.
var operators = map[Op]operator{
	Eq:      {least: 1, most: 1, on: isScalar, what: "single values", accept: asIs},
	Ne:      {least: 1, most: 1, on: isScalar, what: "single values", accept: asIs},
	Lt:      {least: 1, most: 1, on: isOrdered, what: "numbers, texts, times, uuids and bytes", accept: asIs},
	Lte:     {least: 1, most: 1, on: isOrdered, what: "numbers, texts, times, uuids and bytes", accept: asIs},
	Gt:      {least: 1, most: 1, on: isOrdered, what: "numbers, texts, times, uuids and bytes", accept: asIs},
	Gte:     {least: 1, most: 1, on: isOrdered, what: "numbers, texts, times, uuids and bytes", accept: asIs},
	In:      {least: 1, most: maxValues, set: true, on: isScalar, what: "single values", accept: asIs},
	Between: {least: 2, most: 2, on: isOrdered, what: "numbers, texts, times, uuids and bytes", accept: asIs},
	IsNull:  {on: func(corpus.Kind) bool { return true }},

	Prefix:   {least: 1, most: 1, on: isText, what: "texts", accept: someText},
	Suffix:   {least: 1, most: 1, on: isText, what: "texts", accept: someText},
	Contains: {least: 1, most: 1, on: isText, what: "texts", accept: someText},

	HasAny: {least: 1, most: maxValues, set: true, on: isScalar, what: "arrays", elements: true, accept: asIs},
	HasAll: {least: 1, most: maxValues, set: true, on: isScalar, what: "arrays", elements: true, accept: asIs},

	MatchAll: {least: 1, most: maxWords, set: true, on: isText, what: "texts", accept: oneWord},
	MatchAny: {least: 1, most: maxWords, set: true, on: isText, what: "texts", accept: oneWord},

	And: {combines: true, most: math.MaxInt},
	Or:  {combines: true, most: math.MaxInt},
	Not: {combines: true, most: 1},
}

// fits returns the kind that the values of a comparison must have, or why the operator does not fit the column.
func (o operator) fits(p *Predicate, f *corpus.Field) (corpus.Kind, error) {
	if !o.elements {
		if o.on(f.Kind) {
			return f.Kind, nil
		}
		hint := ""
		if f.Kind == corpus.Array && (p.Op == Eq || p.Op == Ne || p.Op == In || p.Op == Contains) {
			hint = "; use has_any or has_all"
		}
		if f.Kind == corpus.Object && len(f.Elems) > 0 {
			hint = fmt.Sprintf("; name a member, e.g. %s", append(p.Path[:len(p.Path):len(p.Path)], f.Elems[0].Name))
		}
		return 0, fmt.Errorf("%s is for %s: column %s is %s%s", p.Op.spelling(), o.what, p.Path, article(f.Kind), hint)
	}
	if f.Kind != corpus.Array {
		return 0, fmt.Errorf("%s is for arrays: column %s is %s", p.Op.spelling(), p.Path, article(f.Kind))
	}
	kind := f.Elems[0].Kind
	for i := range f.Elems {
		switch k := f.Elems[i].Kind; {
		case !isScalar(k):
			return 0, fmt.Errorf("%s is for arrays of single values: column %s has an element that is %s", p.Op.spelling(), p.Path, article(k))
		case k != kind:
			return 0, fmt.Errorf("%s is for arrays of one kind: column %s has %s and %s", p.Op.spelling(), p.Path, article(kind), article(k))
		}
	}
	return kind, nil
}

// wrongNumber says how many values the operator takes.
func (o operator) wrongNumber(n int) string {
	switch {
	case o.most == 0:
		return fmt.Sprintf("takes no values, not %d", n)
	case o.least == o.most && o.least == 1:
		return fmt.Sprintf("takes one value, not %d", n)
	case o.least == o.most:
		return fmt.Sprintf("takes %d values, not %d", o.least, n)
	case n < o.least:
		return "needs at least one value"
	}
	return fmt.Sprintf("takes at most %d values, not %d", o.most, n)
}

// asIs takes any value.
func asIs(l Literal) (Literal, error) { return l, nil }

// someText refuses the empty text: every text begins with it, ends with it and contains it.
func someText(l Literal) (Literal, error) {
	if l.Text == "" {
		return l, fmt.Errorf("an empty text is found in every row")
	}
	return l, nil
}

// oneWord returns the text as the one token that it has to be.
func oneWord(l Literal) (Literal, error) {
	tokens := Tokens(l.Text)
	if len(tokens) != 1 || len(tokens[0]) == 0 {
		return l, fmt.Errorf("%s is not one word: words are runs of letters and digits", l)
	}
	l.Text = tokens[0]
	return l, nil
}

func isScalar(k corpus.Kind) bool { return k >= corpus.Bool && k <= corpus.Bytes }

func isOrdered(k corpus.Kind) bool { return isScalar(k) && k != corpus.Bool }

func isText(k corpus.Kind) bool { return k == corpus.String }

func isNumber(k corpus.Kind) bool { return k == corpus.Int || k == corpus.Float || k == corpus.Decimal }
