package mysqlbase

import (
	"database/sql/driver"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

// An index can be on a column only. What is to be indexed and is none becomes a generated column, with the index and for as long as there is one on
// it: a value nested in JSON, which takes no place in the table (VIRTUAL), or the words of a text as query.Tokens has them, which do (STORED), because
// full-text indexes tell upper from lower case where the text's collation does, and have words of their own: o'neil is only neil to InnoDB, x²y and
// foo_bar are one word. Scans name the column in place of what it is generated from.
const (
	valuePrefix = "durabench_value_"
	wordsPrefix = "durabench_words_"
)

// generated are the generated columns that there are, which all have an index, and what else is known of words.
type generated struct {
	indexed []string // columns with an index
	words   []string // columns with a full-text index
	// assumed tells that every text has a full-text index: whether a scan can run at all is asked before there is one.
	assumed            bool
	minToken, maxToken int // characters of the words that full-text indexes keep
}

func (g generated) has(column string) bool { return slices.Contains(g.indexed, column) }

func (g generated) hasWords(column string) bool { return g.assumed || slices.Contains(g.words, column) }

// assumed are those of a database that has every full-text index, on a server of ours.
var assumed = generated{assumed: true, minToken: minToken, maxToken: maxToken}

// valueColumn is the name of the column that is generated for a path.
func valueColumn(path query.Path) string { return valuePrefix + hashed(path) }

// hashed is a name for a path that is short enough for every path.
func hashed(path query.Path) string {
	hash := fnv.New64a()
	hash.Write([]byte(path.String()))
	return fmt.Sprintf("%016x", hash.Sum64())
}

// wordsColumn is the column that a full-text index on the words of a text is on: the text itself where it has only words in lower case.
func wordsColumn(c sqlrender.Column) string {
	if !c.Nested() && lower(c.Field.Domain().Words) {
		return c.Root.Name
	}
	return wordsPrefix + hashed(c.Path)
}

// lower tells that there are words, and none that InnoDB could take for others than they are: only lower-case letters and digits of ASCII, and separators
// other than _ and the apostrophe.
func lower(words []string) bool {
	return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool {
		return strings.ContainsFunc(word, func(r rune) bool { return r >= 0x80 || r >= 'A' && r <= 'Z' || r == '_' || r == '\'' })
	})
}

// valueSQL is the type and expression of a generated column for a value, Unsupported when it cannot be indexed.
func (d dialect) valueSQL(c sqlrender.Column) (string, error) {
	expression, err := d.nested(c)
	if err != nil {
		return "", err
	}
	text := func(characters int) string {
		return fmt.Sprintf("VARCHAR(%d) CHARACTER SET utf8mb4 COLLATE %s", max(characters, 1), d.product.collation())
	}
	var sql string
	switch f := c.Field; f.Kind {
	case corpus.Bool, corpus.Int:
		sql = "BIGINT"
	case corpus.Float:
		sql = "DOUBLE"
	case corpus.Decimal:
		sql = decimalType
	case corpus.DateTime:
		sql = text(momentLength)
	case corpus.UUID:
		sql = text(uuidLength)
	case corpus.String, corpus.Bytes:
		if f.MaxLen > maxInline {
			return "", drivers.Unsupported{Why: fmt.Sprintf("%s has values of up to %d bytes, and an index of %s takes up to %d", c.Path, f.MaxLen, d.product.Title, maxInline)}
		}
		if sql = text(f.MaxLen); f.Kind == corpus.Bytes {
			sql = fmt.Sprintf("VARBINARY(%d)", max(f.MaxLen, 1))
		}
	default:
		return "", drivers.Unsupported{Why: fmt.Sprintf("an index is on single values: %s is of kind %s", c.Path, f.Kind)}
	}
	return fmt.Sprintf("%s GENERATED ALWAYS AS (%s) VIRTUAL", sql, expression), nil
}

// wordsSQL is the type and expression of a generated column for words: what are no letters and digits become spaces, letters lower-case ones.
func (d dialect) wordsSQL(c sqlrender.Column) (string, error) {
	value, err := dialect{product: d.product}.Value(c)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s CHARACTER SET utf8mb4 COLLATE %s GENERATED ALWAYS AS (LOWER(REGEXP_REPLACE(%s, %s, ' '))) STORED",
		long(4*c.Field.MaxLen, "TEXT"), d.product.collation(), value, literal(`[^\p{L}\p{Nd}]+`)), nil
}

// generatedNow asks on a connection which indexes the table has.
func (d *database) generatedNow(conn driver.Conn) (generated, error) {
	g := generated{minToken: d.minToken, maxToken: d.maxToken}
	rows, err := queryText(conn, "SHOW INDEX FROM "+d.table())
	for _, row := range rows {
		const column, kind = 4, 10
		g.indexed = append(g.indexed, row[column])
		if row[kind] == "FULLTEXT" {
			g.words = append(g.words, row[column])
		}
	}
	return g, err
}
