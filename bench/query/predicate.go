// Package query is the one language in which a benchmark says what rows a scan is to find. A predicate is a typed tree over the columns of a
// corpus. It is evaluated here, on rows made by the corpus, which is how the right answer of every scan is known; drivers render it in
// their engines' own languages, with bind parameters.
package query

import "github.com/durabench/durabench/bench/corpus"

// Op is what a predicate does.
type Op string

// The operators. A comparison with an absent value is false, and so is its opposite (Ne included), as in SQL; IsNull alone sees absent
// values. Not turns exactly what its argument finds into what it does not find.
const (
	Eq      Op = "eq"
	Ne      Op = "ne"
	Lt      Op = "lt"
	Lte     Op = "lte"
	Gt      Op = "gt"
	Gte     Op = "gte"
	In      Op = "in"      // the value is one of Values
	Between Op = "between" // Values[0] ≤ value ≤ Values[1]
	IsNull  Op = "is-null"

	Prefix   Op = "prefix" // of a string, by bytes; case matters
	Suffix   Op = "suffix"
	Contains Op = "contains" // a substring

	HasAny Op = "has-any" // an array has an element equal to any of Values
	HasAll Op = "has-all" // an array has, for each of Values, an element equal to it

	MatchAll Op = "match-all" // a text has all of Values as tokens (Tokens)
	MatchAny Op = "match-any" // a text has at least one of Values as a token

	And Op = "and"
	Or  Op = "or"
	Not Op = "not" // of Args[0]
)

// Predicate is a condition on a row: a comparison of the column at Path with Values, or a combination of Args. Trees are built by
// Parse or by hand and checked and bound by Bind; a bound tree is immutable.
type Predicate struct {
	Op     Op
	Path   Path
	Values []Literal
	Args   []*Predicate // of And and Or, at least one; of Not exactly one
}

// Path names a column, or a member nested in object columns: {"geography", "code"}.
type Path []string

// Column tells what a bound path leads to: the field, and the positions that lead there from Row.Columns through Value.Elems.
type Column struct {
	Field *corpus.Field
	At    []int
}

// Literal is a value to compare with, of the kind of the column that it is compared with. Kinds are the corpus's scalars; only the member that
// belongs to the kind is set.
type Literal struct {
	Kind  corpus.Kind
	Bool  bool
	Int   int64   // Int; Decimal in units of 10⁻⁴; DateTime in seconds since the Unix epoch
	Float float64 // Float: a number that a float32 holds exactly
	Text  string  // String: any bytes that are valid UTF-8
	Bytes []byte  // Bytes; UUID: 16 bytes
}
