package sqlrender

import (
	"strings"
	"unicode/utf8"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// Builder collects the text of a statement and what is bound to its parameters.
type Builder struct {
	dialect Dialect
	table   Table
	text    strings.Builder
	args    []query.Literal
	before  int // parameters of the statement before args
}

// Write appends text, which must not come from a literal.
func (b *Builder) Write(parts ...string) {
	for _, part := range parts {
		b.text.WriteString(part)
	}
}

// Bind appends a placeholder and binds the literal to it.
func (b *Builder) Bind(l query.Literal) {
	b.args = append(b.args, l)
	b.Write(b.dialect.Place(b.before + len(b.args)))
}

// BindList appends placeholders with commas between.
func (b *Builder) BindList(literals []query.Literal) {
	for i, l := range literals {
		if i > 0 {
			b.Write(", ")
		}
		b.Bind(l)
	}
}

// Like compares a text by LIKE with what it ends with or contains, and by a range with what it begins with.
func (b *Builder) Like(op query.Op, value, text string) {
	pattern := "%" + EscapeLike(text)
	switch op {
	case query.Prefix:
		b.Range(value, text)
		return
	case query.Contains:
		pattern += "%"
	}
	b.Write(value, " LIKE ")
	b.Bind(query.Literal{Kind: corpus.String, Text: pattern})
}

// Range writes the condition that a text which compares by bytes begins with the prefix: that it lies between the prefix and the next text
// that does not begin with it. An index can serve that.
func (b *Builder) Range(value, prefix string) {
	b.Write(value, " >= ")
	b.Bind(query.Literal{Kind: corpus.String, Text: prefix})
	if next, bounded := After(prefix); bounded {
		b.Write(" AND ", value, " < ")
		b.Bind(query.Literal{Kind: corpus.String, Text: next})
	}
}

// After returns the least valid text above all that begin with the prefix; bounded is false when there is none. Bytes of UTF-8 sort as
// code points do.
func After(prefix string) (next string, bounded bool) {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch {
		case last == utf8.MaxRune:
			continue
		case last+1 == 0xd800: // surrogates are no characters
			last = 0xe000
		default:
			last++
		}
		return prefix + string(last), true
	}
	return "", false
}

// EscapeLike escapes a text for a LIKE pattern with ESCAPE '\'.
func EscapeLike(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}
