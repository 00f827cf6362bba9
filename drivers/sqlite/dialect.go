package sqlite

import (
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

// dialect is SQLite's SQL over the types of columnTypes. A text compares by bytes (the collation BINARY), and a value out of a JSON document
// has no affinity, so that what is bound has to be of its type already.
type dialect struct {
	// words returns the full-text table that holds the words of a text, "" when there is none.
	words func(path query.Path) string
}

// assumed is the dialect of a database that has every index: whether a scan can run at all is asked before there is one.
var assumed = dialect{words: func(query.Path) string { return "words" }}

func (dialect) Raw() []string            { return []string{"sqlite", "sql"} }
func (dialect) MaxArgs() int             { return maxParameters }
func (dialect) Quote(name string) string { return quote(name) }
func (dialect) Place(n int) string       { return fmt.Sprintf("?%d", n) }

// maxParameters is SQLite's bound unless it is compiled otherwise.
const maxParameters = 32766

// Value takes a decimal out of JSON as the column type has it: in units of 10⁻⁴, which is the text without its point, for it always has
// four decimal places.
func (dialect) Value(c sqlrender.Column) (string, error) {
	if !c.Nested() {
		return quote(c.Root.Name), nil
	}
	path, err := jsonPath(c)
	if err != nil {
		return "", err
	}
	value := fmt.Sprintf("(%s ->> %s)", quote(c.Root.Name), path)
	switch c.Field.Kind {
	case corpus.Decimal:
		return fmt.Sprintf("CAST(replace(%s, '.', '') AS INTEGER)", value), nil
	case corpus.Bytes:
		return "", noBase64(c.Path)
	}
	return value, nil
}

func noBase64(path query.Path) error {
	return drivers.Unsupported{Why: fmt.Sprintf("SQLite has no function that decodes base 64, as which the bytes of %s lie in JSON", path)}
}

// jsonPath is the place of a nested value in its document, as a literal of SQL.
func jsonPath(c sqlrender.Column) (string, error) {
	if err := writable(c.Path); err != nil {
		return "", err
	}
	path := "$"
	for _, name := range c.Path[1:] {
		path += `."` + name + `"`
	}
	return "'" + strings.ReplaceAll(path, "'", "''") + "'", nil
}

// writable refuses a nested value whose name is none in SQLite's JSON paths.
func writable(path query.Path) error {
	for i, name := range path {
		if i > 0 && strings.ContainsAny(name, `"\`) {
			return drivers.Unsupported{Why: fmt.Sprintf(`SQLite's JSON paths have no way to write the name %q`, name)}
		}
	}
	return nil
}

// Literal gives a literal the type that a column of its kind has, or that it has in JSON.
func (dialect) Literal(c sqlrender.Column, l query.Literal) (query.Literal, error) {
	switch l.Kind {
	case corpus.Bool:
		n := int64(0)
		if l.Bool {
			n = 1
		}
		return query.Literal{Kind: corpus.Int, Int: n}, nil
	case corpus.Decimal:
		return query.Literal{Kind: corpus.Int, Int: l.Int}, nil
	case corpus.DateTime:
		if !c.Nested() {
			return query.Literal{Kind: corpus.Int, Int: l.Int}, nil
		}
		return query.Literal{Kind: corpus.String, Text: sqlrender.JSONText(l)}, nil
	case corpus.UUID:
		if !c.Nested() {
			return query.Literal{Kind: corpus.Bytes, Bytes: l.Bytes}, nil
		}
		return query.Literal{Kind: corpus.String, Text: sqlrender.JSONText(l)}, nil
	}
	return l, nil
}

// Text compares the end of a text as a blob: substr on a text stops at the character NUL.
func (d dialect) Text(b *sqlrender.Builder, op query.Op, c sqlrender.Column, text string) error {
	value, err := d.Value(c)
	if err != nil {
		return err
	}
	switch op {
	case query.Prefix:
		b.Range(value, text)
	case query.Suffix:
		b.Write("substr(CAST(", value, " AS BLOB), -")
		b.Bind(query.Literal{Kind: corpus.Int, Int: int64(len(text))})
		b.Write(") = ")
		b.Bind(query.Literal{Kind: corpus.Bytes, Bytes: []byte(text)})
	default:
		b.Write("instr(", value, ", ")
		b.Bind(query.Literal{Kind: corpus.String, Text: text})
		b.Write(") > 0")
	}
	return nil
}

// Elements looks for the values among the elements of the array, which json_each lists. There is no index for that.
func (d dialect) Elements(b *sqlrender.Builder, op query.Op, c sqlrender.Column, values []query.Literal) error {
	array := quote(c.Root.Name)
	if c.Nested() {
		path, err := jsonPath(c)
		if err != nil {
			return err
		}
		array += ", " + path
	}
	bound := make([]query.Literal, len(values))
	for i, l := range values {
		switch l.Kind {
		case corpus.Bool:
			bound[i], _ = d.Literal(c, l)
		case corpus.Int, corpus.Float:
			bound[i] = l
		default:
			bound[i] = query.Literal{Kind: corpus.String, Text: sqlrender.JSONText(l)}
		}
	}
	if op == query.HasAny || len(values) == 1 {
		b.Write("EXISTS (SELECT 1 FROM json_each(", array, ") AS e WHERE e.value IN (")
		b.BindList(bound)
		b.Write("))")
		return nil
	}
	// The values differ from each other, so all of them are there when as many different elements are among them.
	b.Write("(SELECT count(DISTINCT e.value) FROM json_each(", array, ") AS e WHERE e.value IN (")
	b.BindList(bound)
	b.Write(")) = ")
	b.Bind(query.Literal{Kind: corpus.Int, Int: int64(len(values))})
	return nil
}

// Match asks the full-text table for the rows.
func (d dialect) Match(b *sqlrender.Builder, op query.Op, c sqlrender.Column, tokens []string) error {
	table := d.words(c.Path)
	if table == "" {
		return drivers.Unsupported{Why: fmt.Sprintf("SQLite finds words only by a full-text index, and there is none on %s", c.Path)}
	}
	word := " AND "
	if op == query.MatchAny {
		word = " OR "
	}
	phrases := make([]string, len(tokens))
	for i, token := range tokens {
		phrases[i] = `"` + strings.ReplaceAll(token, `"`, `""`) + `"`
	}
	b.Write("rowid IN (SELECT rowid FROM ", quote(table), " WHERE ", quote(table), " MATCH ")
	b.Bind(query.Literal{Kind: corpus.String, Text: strings.Join(phrases, word)})
	b.Write(")")
	return nil
}

// Aggregate leaves integers integers: SQLite adds them up exactly, and fails where the sum has more than 64 bits.
func (dialect) Aggregate(f query.Func, value string, _ sqlrender.Column) string {
	return string(f) + "(" + value + ")"
}

// Page has a LIMIT in any case, without which there is no OFFSET.
func (dialect) Page(limit, offset int64) string {
	if limit == 0 {
		limit = -1
	}
	if offset == 0 {
		return fmt.Sprintf("LIMIT %d", limit)
	}
	return fmt.Sprintf("LIMIT %d OFFSET %d", limit, offset)
}
