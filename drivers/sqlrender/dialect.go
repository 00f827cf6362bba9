// Package sqlrender writes scans and indexes in SQL, for every engine that speaks it. What engines have in common is written here; what they
// do not is a Dialect, which lives with its driver because it follows from the types that the driver keeps values in.
//
// A literal is never part of a text: it is always bound as a parameter. Comparisons are by bytes and numbers are exact, as package query
// defines them, so a dialect has to see to collations, to the folding of case and to types that round.
package sqlrender

import (
	"fmt"
	"slices"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// Dialect is what is particular to an engine's SQL. Its methods are pure. What the engine cannot do is drivers.Unsupported.
type Dialect interface {
	// Raw are the dialect's names in query.Raw, the preferred first.
	Raw() []string
	// MaxArgs is the most parameters that a statement may have.
	MaxArgs() int
	// Quote quotes an identifier.
	Quote(name string) string
	// Place is the placeholder of parameter n, counted from 1.
	Place(n int) string
	// Value is the expression of a scalar, be it a column or nested in one. It compares, orders and groups as package query says, by bytes and
	// exactly, with what Literal makes of literals.
	Value(c Column) (string, error)
	// Literal turns a literal of the column's kind into what is bound to be compared with Value.
	Literal(c Column, l query.Literal) (query.Literal, error)
	// Text writes the condition that a string begins with, ends with or contains a text that is not empty (Prefix, Suffix, Contains). See
	// Builder.Range for one way to write Prefix.
	Text(b *Builder, op query.Op, c Column, text string) error
	// Elements writes the condition that an array has any or all of the values (HasAny, HasAll). It may be NULL only where the array is.
	Elements(b *Builder, op query.Op, c Column, values []query.Literal) error
	// Match writes the condition that a text has any or all of the tokens (MatchAny, MatchAll).
	Match(b *Builder, op query.Op, c Column, tokens []string) error
	// Aggregate is the expression of an aggregate over Value, of a type that keeps the precision query.Group asks for.
	Aggregate(f query.Func, value string, c Column) string
	// Page is what follows the order: LIMIT and OFFSET. One of the two is not 0.
	Page(limit, offset int64) string
}

// Column is a resolved path.
type Column struct {
	Path query.Path
	// Root is the column of the table; Field is what the path leads to, which is Root itself unless the path is nested.
	Root, Field *corpus.Field
}

// Nested tells that the value lies within a document in the column Root.
func (c Column) Nested() bool { return len(c.Path) > 1 }

// Table is the table that is asked.
type Table struct {
	Name   string // quoted as the dialect needs it, with its schema
	Corpus *corpus.Corpus
}

// Column resolves a path.
func (t Table) Column(path query.Path) (Column, error) {
	found, err := query.Resolve(t.Corpus.Template(), path)
	if err != nil {
		return Column{}, err
	}
	root := &t.Corpus.Template().Columns()[found.At[0]]
	return Column{Path: path, Root: root, Field: found.Field}, nil
}

// KeyLiteral is a key as it is bound.
func KeyLiteral(key corpus.Key) query.Literal {
	switch key.Kind() {
	case corpus.KeyInteger:
		return query.Literal{Kind: corpus.Int, Int: key.Int()}
	case corpus.KeyUUID:
		return query.Literal{Kind: corpus.UUID, Bytes: slices.Clone(key.Bytes())}
	}
	return query.Literal{Kind: corpus.String, Text: strings.Clone(key.Text())}
}

// JSONLiteral is JSON text as it is bound: its Kind is Array, which no other literal has.
func JSONLiteral(text string) query.Literal { return query.Literal{Kind: corpus.Array, Text: text} }

// Set makes v the value that the literal is.
func Set(row *corpus.Row, v *corpus.Value, l query.Literal) {
	switch l.Kind {
	case corpus.Bool:
		row.SetBool(v, l.Bool)
	case corpus.Int:
		row.SetInt(v, l.Int)
	case corpus.Float:
		row.SetFloat(v, l.Float)
	case corpus.Decimal:
		row.SetDecimal(v, l.Int)
	case corpus.DateTime:
		row.SetUnix(v, l.Int)
	case corpus.String:
		row.SetText(v, l.Text)
	case corpus.UUID:
		row.SetUUID(v, [16]byte(l.Bytes))
	case corpus.Bytes:
		row.SetBytes(v, l.Bytes)
	}
}

// AppendJSON appends a literal as the corpus writes a value of its kind in JSON.
func AppendJSON(dst []byte, l query.Literal) []byte {
	var row corpus.Row
	var v corpus.Value
	Set(&row, &v, l)
	return corpus.AppendJSON(dst, &corpus.Field{Kind: l.Kind}, &v)
}

// JSONText is the text of a literal that the corpus writes as a JSON string: a decimal, a moment, a uuid, bytes or a string.
func JSONText(l query.Literal) string {
	if l.Kind == corpus.String {
		return l.Text
	}
	return strings.Trim(string(AppendJSON(nil, l)), `"`)
}

// unsupported is the error for what no dialect can do.
func unsupported(format string, args ...any) error {
	return drivers.Unsupported{Why: fmt.Sprintf(format, args...)}
}
