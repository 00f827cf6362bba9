package mysqlbase

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

// dialect is the family's SQL over the columns' types. Texts compare by bytes because the table's texts have such a collation, as nested ones get
// it here.
type dialect struct {
	product Product
	// made are the generated columns of the table, which stand for what they are generated from.
	made generated
}

func (dialect) Raw() []string            { return []string{"mysql"} }
func (dialect) MaxArgs() int             { return mostValues }
func (dialect) Quote(name string) string { return quote(name) }
func (dialect) Place(int) string         { return "?" }

// Value is the column, or a value in a JSON document, cast to the type that a column of its kind has. All but moments and uuids, whose texts have
// one length, and so the same order.
func (d dialect) Value(c sqlrender.Column) (string, error) {
	if !c.Nested() {
		return quote(c.Root.Name), nil
	}
	if name := valueColumn(c.Path); d.made.has(name) {
		return quote(name), nil
	}
	return d.nested(c)
}

// nested is a value in a JSON document.
func (d dialect) nested(c sqlrender.Column) (string, error) {
	document, path := quote(c.Root.Name), jsonPath(c.Path)
	typed := func(sql string) string {
		if d.product.MariaDB {
			return fmt.Sprintf("CAST(JSON_VALUE(%s, %s) AS %s)", document, path, sql)
		}
		return fmt.Sprintf("JSON_VALUE(%s, %s RETURNING %s)", document, path, sql)
	}
	text := func(characters int) string {
		if characters > maxInline {
			characters = longText
		}
		return typed(fmt.Sprintf("CHAR(%d) CHARACTER SET utf8mb4", max(characters, 1))) + " COLLATE " + d.product.collation()
	}
	switch c.Field.Kind {
	case corpus.Bool, corpus.Int: // of a boolean both servers make 1 and 0
		return typed("SIGNED"), nil
	case corpus.Float:
		return typed("DOUBLE"), nil
	case corpus.Decimal:
		return typed(decimalType), nil
	case corpus.String:
		return text(c.Field.MaxLen), nil
	case corpus.UUID:
		return text(uuidLength), nil
	case corpus.DateTime:
		return text(momentLength), nil
	case corpus.Bytes:
		return "FROM_BASE64(" + text((c.Field.MaxLen+2)/3*4) + ")", nil
	}
	return fmt.Sprintf("JSON_EXTRACT(%s, %s)", document, path), nil // to know whether it is there
}

const (
	// The lengths of the texts of uuids and moments in JSON, and of the longest decimal.
	uuidLength, momentLength, decimalLength = 36, 20, 21
	// longText is the length in characters of nested texts that are too long to be indexed.
	longText = 1 << 20
)

// jsonPath is the place of a nested value in its document, as a literal of SQL. Names in paths are quoted as in JSON.
func jsonPath(path query.Path) string {
	var b strings.Builder
	b.WriteString("$")
	for _, name := range path[1:] {
		b.WriteString(`."` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`)
	}
	return literal(b.String())
}

// Literal gives a literal the form that a column of its kind has, or that it has in JSON.
func (dialect) Literal(c sqlrender.Column, l query.Literal) (query.Literal, error) {
	if c.Nested() && (l.Kind == corpus.DateTime || l.Kind == corpus.UUID) {
		return query.Literal{Kind: corpus.String, Text: sqlrender.JSONText(l)}, nil
	}
	return l, nil
}

// Text uses LIKE but for the beginning of a text, which an ordinary index serves only as a range.
func (d dialect) Text(b *sqlrender.Builder, op query.Op, c sqlrender.Column, text string) error {
	value, err := d.Value(c)
	if err == nil {
		b.Like(op, value, text)
	}
	return err
}

// Elements uses the functions for JSON arrays, which MySQL's multi-valued indexes serve: a condition for each value of HasAll, of which the server
// looks up one and checks the others, where all in one it would look up all of them.
func (d dialect) Elements(b *sqlrender.Builder, op query.Op, c sqlrender.Column, values []query.Literal) error {
	array := d.array(c)
	if op == query.HasAny && !d.product.MariaDB {
		b.Write("JSON_OVERLAPS(", array, ", CAST(")
		b.Bind(sqlrender.JSONLiteral(jsonArray(values)))
		b.Write(" AS JSON))")
		return nil
	}
	word := " AND "
	if op == query.HasAny {
		word = " OR "
	}
	for i, l := range values {
		if i > 0 {
			b.Write(word)
		}
		if sql := exactly(l); sql != "" && d.product.MariaDB {
			b.Write("EXISTS (SELECT 1 FROM JSON_TABLE(", quote(c.Root.Name), ", ", strings.TrimSuffix(jsonPath(c.Path), "'"), "[*]' COLUMNS (n ", sql, " PATH '$')) AS e WHERE e.n = ")
			b.Bind(l)
			b.Write(")")
			continue
		}
		b.Write("JSON_CONTAINS(", array, ", ")
		b.Bind(sqlrender.JSONLiteral(string(sqlrender.AppendJSON(nil, l))))
		b.Write(")")
	}
	return nil
}

// exactly is the type in which numbers of an array have to be compared where MariaDB's JSON_CONTAINS takes some for equal that are not: it compares doubles,
// and such as are close to each other for equal.
func exactly(l query.Literal) string {
	const exactDouble = 1 << 53 // up to which doubles tell whole numbers apart
	switch {
	case l.Kind == corpus.Float:
		return "DOUBLE"
	case l.Kind == corpus.Int && (l.Int >= exactDouble || l.Int <= -exactDouble):
		return "BIGINT"
	}
	return ""
}

// array is an array, be it a column or nested in one.
func (dialect) array(c sqlrender.Column) string {
	if c.Nested() {
		return fmt.Sprintf("JSON_EXTRACT(%s, %s)", quote(c.Root.Name), jsonPath(c.Path))
	}
	return quote(c.Root.Name)
}

// jsonArray is an array of the literals.
func jsonArray(values []query.Literal) string {
	array := []byte("[")
	for i, l := range values {
		if i > 0 {
			array = append(array, ',')
		}
		array = sqlrender.AppendJSON(array, l)
	}
	return string(append(array, ']'))
}

// Match asks the full-text index in boolean mode, where + before a word says that it has to be there. A token has no characters that mean something
// there.
func (d dialect) Match(b *sqlrender.Builder, op query.Op, c sqlrender.Column, tokens []string) error {
	column := wordsColumn(c)
	if !d.made.hasWords(column) {
		return drivers.Unsupported{Why: fmt.Sprintf("InnoDB finds words only by a full-text index, and there is none on %s", c.Path)}
	}
	sign := ""
	if op == query.MatchAll {
		sign = "+"
	}
	search := make([]string, len(tokens))
	for i, token := range tokens {
		if n := len([]rune(token)); n < d.made.minToken || n > d.made.maxToken {
			return drivers.Unsupported{Why: fmt.Sprintf("the server keeps words of %d to %d letters (innodb_ft_min_token_size, innodb_ft_max_token_size), and %q has %d",
				d.made.minToken, d.made.maxToken, token, n)}
		}
		search[i] = sign + token
	}
	b.Write("MATCH(", quote(column), ") AGAINST(")
	b.Bind(query.Literal{Kind: corpus.String, Text: strings.Join(search, " ")})
	b.Write(" IN BOOLEAN MODE)")
	return nil
}

// Aggregate leaves the type to the server: sums and averages of whole numbers and decimals are decimals, exact or with as many places as the session
// asks for.
func (dialect) Aggregate(f query.Func, value string, _ sqlrender.Column) string {
	return string(f) + "(" + value + ")"
}

// Page has a LIMIT in any case, without which there is no OFFSET.
func (dialect) Page(limit, offset int64) string {
	page := "LIMIT 18446744073709551615"
	if limit > 0 {
		page = "LIMIT " + strconv.FormatInt(limit, 10)
	}
	if offset > 0 {
		page += " OFFSET " + strconv.FormatInt(offset, 10)
	}
	return page
}
