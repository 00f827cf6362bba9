package query

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
)

// Matches tells whether the predicate finds the row, which belongs to the template that the predicate is bound to. A nil predicate finds every
// row. A tree that is not bound panics.
func Matches(p *Predicate, row *corpus.Row) bool {
	if p == nil {
		return true
	}
	switch p.Op {
	case And:
		for _, arg := range p.Args {
			if !Matches(arg, row) {
				return false
			}
		}
		return true
	case Or:
		for _, arg := range p.Args {
			if Matches(arg, row) {
				return true
			}
		}
		return false
	case Not:
		return !Matches(p.Args[0], row)
	}
	if p.column == nil {
		panic(fmt.Sprintf("query: predicate %s is not bound", p))
	}
	return p.holds(p.column.value(row))
}

// holds tells whether a comparison is true of a value.
func (p *Predicate) holds(v *corpus.Value) bool {
	if v.Kind() == 0 {
		return p.Op == IsNull
	}
	switch p.Op {
	case Eq:
		return p.Values[0].compare(v) == 0
	case Ne:
		return p.Values[0].compare(v) != 0
	case Lt:
		return p.Values[0].compare(v) < 0
	case Lte:
		return p.Values[0].compare(v) <= 0
	case Gt:
		return p.Values[0].compare(v) > 0
	case Gte:
		return p.Values[0].compare(v) >= 0
	case Between:
		return p.Values[0].compare(v) >= 0 && p.Values[1].compare(v) <= 0
	case In:
		_, found := slices.BinarySearchFunc(p.Values, v, func(l Literal, v *corpus.Value) int { return -l.compare(v) })
		return found
	case Prefix:
		return strings.HasPrefix(v.Text(), p.Values[0].Text)
	case Suffix:
		return strings.HasSuffix(v.Text(), p.Values[0].Text)
	case Contains:
		return strings.Contains(v.Text(), p.Values[0].Text)
	case HasAny:
		return p.elements(v, 1)
	case HasAll:
		return p.elements(v, len(p.Values))
	case MatchAny:
		return p.words(v, 1)
	case MatchAll:
		return p.words(v, len(p.Values))
	}
	return false // IsNull of a value that is there
}

// elements tells whether the array has elements equal to at least so many of the different values.
func (p *Predicate) elements(array *corpus.Value, enough int) bool {
	for i := range p.Values {
		if has(array, &p.Values[i]) {
			if enough--; enough == 0 {
				return true
			}
		}
	}
	return false
}

// has tells whether the array has an element equal to the literal.
func has(array *corpus.Value, l *Literal) bool {
	elems := array.Elems()
	for i := range elems {
		if elems[i].Kind() == l.Kind && l.compare(&elems[i]) == 0 {
			return true
		}
	}
	return false
}

// words tells whether the text has at least so many of the different words.
func (p *Predicate) words(text *corpus.Value, enough int) bool {
	var found uint64
	for token, rest := nextToken(text.Bytes()); token != nil; token, rest = nextToken(rest) {
		for i := range p.Values {
			if isToken(token, p.Values[i].Text) {
				if found |= 1 << i; bits.OnesCount64(found) >= enough {
					return true
				}
			}
		}
	}
	return false
}
