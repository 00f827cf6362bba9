package postgres

import (
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

// dialect is PostgreSQL's SQL over the columns' types. Texts compare by bytes because the table's texts have the collation "C", as nested ones
// get it here.
type dialect struct{}

func (dialect) Raw() []string            { return []string{"postgres", "sql"} }
func (dialect) MaxArgs() int             { return maxParameters }
func (dialect) Quote(name string) string { return quote(name) }
func (dialect) Place(n int) string       { return fmt.Sprintf("$%d", n) }

// maxParameters is the protocol's bound: their number has 16 bits.
const maxParameters = 65535

// document is the path into a jsonb column; last is -> for a document and ->> for a text.
func document(c sqlrender.Column, last string) string {
	var b strings.Builder
	b.WriteString(quote(c.Root.Name))
	for i, name := range c.Path[1:] {
		arrow := "->"
		if i == len(c.Path)-2 {
			arrow = last
		}
		b.WriteString(arrow + literal(name))
	}
	return b.String()
}

// literal writes the name of a member.
func literal(name string) string {
	text := "'" + strings.ReplaceAll(strings.ReplaceAll(name, `\`, `\\`), "'", "''") + "'"
	if strings.Contains(name, `\`) {
		return " E" + text
	}
	return text
}

// Value casts what is nested to the type that a column of its kind has. All but timestamptz: a cast to that depends on the session's time
// zone, so that no index could have it; as texts of one length, moments have the same order.
func (dialect) Value(c sqlrender.Column) (string, error) {
	if !c.Nested() {
		return quote(c.Root.Name), nil
	}
	text := "(" + document(c, "->>") + ")"
	switch c.Field.Kind {
	case corpus.String, corpus.DateTime:
		return text + ` COLLATE "C"`, nil
	case corpus.Bool:
		return text + "::boolean", nil
	case corpus.Int:
		return text + "::bigint", nil
	case corpus.Float:
		return text + "::double precision", nil
	case corpus.Decimal:
		return text + "::numeric", nil
	case corpus.UUID:
		return text + "::uuid", nil
	case corpus.Bytes:
		return "decode(" + text + ", 'base64')", nil
	}
	return text, nil
}

// Literal binds a literal as what its column is.
func (dialect) Literal(c sqlrender.Column, l query.Literal) (query.Literal, error) {
	if err := checkText(c.Path, l.Text); err != nil {
		return l, err
	}
	if c.Nested() && l.Kind == corpus.DateTime {
		return query.Literal{Kind: corpus.String, Text: sqlrender.JSONText(l)}, nil
	}
	return l, nil
}

func checkText(path query.Path, text string) error {
	if strings.Contains(text, "\x00") {
		return drivers.Unsupported{Why: fmt.Sprintf("PostgreSQL text cannot hold the character NUL, with which %s is compared", path)}
	}
	return nil
}

// Text uses LIKE but for the beginning of a text, which an ordinary index serves only as a range.
func (d dialect) Text(b *sqlrender.Builder, op query.Op, c sqlrender.Column, text string) error {
	value, err := d.Value(c)
	if err == nil {
		b.Like(op, value, text)
	}
	return err
}

// Elements uses containment, which a GIN index serves.
func (dialect) Elements(b *sqlrender.Builder, op query.Op, c sqlrender.Column, values []query.Literal) error {
	array := quote(c.Root.Name)
	if c.Nested() {
		array = "(" + document(c, "->") + ")"
	}
	var all, one []byte
	for i, l := range values {
		if err := checkText(c.Path, l.Text); err != nil {
			return err
		}
		one = sqlrender.AppendJSON(one[:0], l)
		if op == query.HasAll {
			if i > 0 {
				all = append(all, ',')
			}
			all = append(all, one...)
			continue
		}
		if i > 0 {
			b.Write(" OR ")
		}
		b.Write(array, " @> ")
		b.Bind(sqlrender.JSONLiteral("[" + string(one) + "]"))
	}
	if op == query.HasAll {
		b.Write(array, " @> ")
		b.Bind(sqlrender.JSONLiteral("[" + string(all) + "]"))
	}
	return nil
}

// wordCollation knows the letters and digits of all scripts, as PostgreSQL's own packages and images have it; the collation "C" knows those of English.
const wordCollation = `"und-x-icu"`

// wordsOf is the expression that a full-text index is on: the tokens of query.Tokens. PostgreSQL's own parser would take addresses, paths and numbers
// for words of their own kind, so that "read/write" had neither of the two. The two letters are those that lower turns into something else
// than another letter of the same text: İ gets a dot of its own, and Σ at the end of a word its other form.
func (d dialect) wordsOf(c sqlrender.Column) (string, error) {
	value, err := d.Value(c)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("array_to_tsvector(array_remove(regexp_split_to_array(lower(translate(%s, 'İΣ', 'iσ') COLLATE %s), '[^[:alnum:]]+'), ''))", value, wordCollation), nil
}

// Match binds a query of all tokens, which are nothing but letters and digits.
func (d dialect) Match(b *sqlrender.Builder, op query.Op, c sqlrender.Column, tokens []string) error {
	words, err := d.wordsOf(c)
	if err != nil {
		return err
	}
	sign := "' & '"
	if op == query.MatchAny {
		sign = "' | '"
	}
	b.Write(words, " @@ ")
	b.Bind(query.Literal{Kind: corpus.String, Text: "'" + strings.Join(tokens, sign) + "'"})
	b.Write("::tsquery")
	return nil
}

// Aggregate leaves the type to PostgreSQL: sums of bigint and of numeric are numeric, which holds them exactly.
func (dialect) Aggregate(f query.Func, value string, _ sqlrender.Column) string {
	return string(f) + "(" + value + ")"
}

// Page writes what is not 0.
func (dialect) Page(limit, offset int64) string {
	switch {
	case limit == 0:
		return fmt.Sprintf("OFFSET %d", offset)
	case offset == 0:
		return fmt.Sprintf("LIMIT %d", limit)
	}
	return fmt.Sprintf("LIMIT %d OFFSET %d", limit, offset)
}
