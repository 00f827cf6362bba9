// Package query is the one language in which a benchmark says what rows a scan is to find. A predicate is a typed tree over the columns of a
// corpus. It is evaluated here, on rows made by the corpus, which is how the right answer of every scan is known; drivers render it in
// their engines' own languages, with bind parameters.
package query

import "slices"

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
// Decode or by hand, and checked and bound by Bind; a bound tree is immutable.
type Predicate struct {
	Op     Op           `json:"op"`
	Path   Path         `json:"path,omitempty"`
	Values []Literal    `json:"values,omitempty"`
	Args   []*Predicate `json:"args,omitempty"` // of And and Or, at least one; of Not exactly one

	key    string  // where the file says so; empty in a tree built by hand
	column *Column // of a comparison; nil before Bind
}

// Column returns what the path of a bound comparison leads to. It is nil for a combination, and before Bind: what is bound does not travel as JSON.
func (p *Predicate) Column() *Column { return p.column }

// Equal tells whether two trees are the same, bound or not.
func (p *Predicate) Equal(other *Predicate) bool {
	if p == nil || other == nil {
		return p == other
	}
	return p.String() == other.String()
}

// Paths returns the columns that the tree compares, each once, in the order in which they first come.
func (p *Predicate) Paths() []Path {
	var paths []Path
	if len(p.Path) > 0 {
		paths = append(paths, p.Path)
	}
	for _, arg := range p.Args {
		for _, path := range arg.Paths() {
			if !slices.ContainsFunc(paths, func(other Path) bool { return slices.Equal(path, other) }) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// Path names a column, or a member nested in object columns: {"geography", "code"}.
type Path []string
