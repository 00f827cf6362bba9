package mysqlbase

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// keyColumn is the key's column, table the name of the table, mark the comment on a table of ours: one without it is left alone.
const (
	keyColumn = "`" + corpus.KeyColumn + "`"
	tableName = "`" + drivers.Table + "`"
	mark      = "durabench: made and dropped by benchmark runs"
)

const (
	// maxColumns is InnoDB's limit of columns per table, less one for the key.
	maxColumns = 1017 - 1
	// maxInline is the longest text or binary value, in bytes, that gets a VARCHAR or VARBINARY: InnoDB's keys have at most 3,072 bytes, and a
	// character may take four of them.
	maxInline = 3072 / 4
	// inlineBudget bounds those of one row together: the server allows a row 65,535 bytes, longer types not counted.
	inlineBudget = 48 << 10
)

// decimalType holds every int64 of units.
const decimalType = "DECIMAL(19,4)"

// column is a column of the table.
type column struct {
	name  string // quoted
	field *corpus.Field
	sql   string // type as CREATE TABLE takes it
	place string // of a value in a statement
	// inline tells that the type can be indexed whole; a TEXT or BLOB only by a prefix.
	inline bool
}

// schema is the shape of the table for a corpus.
type schema struct {
	template *corpus.Template
	key      corpus.KeyKind
	keySQL   string
	columns  []column
	mariaDB  bool
	searched bool // vectors are of MariaDB's own type
}

// newSchema chooses the columns' types: of rows that will be searched, vectors have MariaDB's own. It refuses what the server cannot hold.
func newSchema(p Product, c *corpus.Corpus, searches bool) (*schema, error) {
	fields := c.Template().Columns()
	if len(fields) > maxColumns {
		return nil, drivers.Unsupported{Why: fmt.Sprintf("%s tables have at most %d columns beside the key, the value template has %d", p.Title, maxColumns, len(fields))}
	}
	s := &schema{template: c.Template(), key: c.KeyKind(), keySQL: keyType(c.KeyKind()), mariaDB: p.MariaDB, searched: searches && p.MariaDB}
	budget := inlineBudget
	names := map[string]string{}
	for i := range fields {
		f := &fields[i]
		folded := strings.ToLower(f.Name)
		if other, taken := names[folded]; taken {
			return nil, drivers.Unsupported{Why: fmt.Sprintf("%s does not tell the columns %s and %s apart: it ignores case in their names", p.Title, other, f.Name)}
		}
		names[folded] = f.Name
		if folded == corpus.KeyColumn {
			return nil, drivers.Unsupported{Why: fmt.Sprintf("%s does not tell the column %s from the key's, %s: it ignores case in their names", p.Title, f.Name, corpus.KeyColumn)}
		}
		column := column{name: quote(f.Name), field: f, place: "?"}
		if err := column.choose(p, &budget); err != nil {
			return nil, err
		}
		if s.searched && f.Kind == corpus.Vector {
			if f.Dim > maxDimensions {
				return nil, drivers.Unsupported{Why: fmt.Sprintf("column %s: a vector of MariaDB has at most %d dimensions, not %d", f.Name, maxDimensions, f.Dim)}
			}
			column.sql, column.place = fmt.Sprintf("VECTOR(%d)", f.Dim), vectorPlace // of the same form
		}
		s.columns = append(s.columns, column)
	}
	return s, nil
}

// keyType is the type of the key's column. Text keys are ASCII and compared by bytes.
func keyType(kind corpus.KeyKind) string {
	switch kind {
	case corpus.KeyInteger:
		return "BIGINT"
	case corpus.KeyUUID:
		return "BINARY(16)"
	default:
		return fmt.Sprintf("VARCHAR(%d) CHARACTER SET ascii COLLATE ascii_bin", kind.Len())
	}
}

// choose sets the type of the column.
func (c *column) choose(p Product, budget *int) error {
	f := c.field
	c.inline = true
	switch f.Kind {
	case corpus.Bool:
		c.sql = "BOOLEAN"
	case corpus.Int:
		c.sql = "BIGINT"
	case corpus.Float:
		c.sql = "DOUBLE"
	case corpus.Decimal:
		c.sql = decimalType
	case corpus.String:
		collated := " CHARACTER SET utf8mb4 COLLATE " + p.collation()
		if c.inline = take(budget, f.MaxLen, 4); c.inline {
			c.sql = fmt.Sprintf("VARCHAR(%d)", max(f.MaxLen, 1)) + collated
		} else {
			c.sql = long(f.MaxLen, "TEXT") + collated
		}
	case corpus.Bytes:
		if c.inline = take(budget, f.MaxLen, 1); c.inline {
			c.sql = fmt.Sprintf("VARBINARY(%d)", max(f.MaxLen, 1))
		} else {
			c.sql = long(f.MaxLen, "BLOB")
		}
	case corpus.UUID:
		c.sql = "BINARY(16)"
	case corpus.DateTime:
		c.sql = "DATETIME(6)"
	case corpus.Array, corpus.Object:
		c.sql, c.inline = "JSON", false
	case corpus.Vector:
		// Four bytes per component, the least significant first: the form that both vendors' vector types take.
		c.sql, c.inline = long(4*f.Dim, "BLOB"), false
	default:
		return drivers.Unsupported{Why: fmt.Sprintf("column %s: no %s type for values of kind %s", f.Name, p.Title, f.Kind)}
	}
	return nil
}

// take tells whether a value of so many characters fits into the row itself, and takes its bytes off the budget.
func take(budget *int, characters, bytesEach int) bool {
	need := max(characters, 1) * bytesEach
	if characters > maxInline || need > *budget {
		return false
	}
	*budget -= need
	return true
}

// long is the smallest type of TEXT or BLOB that holds so many bytes.
func long(size int, kind string) string {
	switch {
	case size < 1<<16:
		return kind
	case size < 1<<24:
		return "MEDIUM" + kind
	default:
		return "LONG" + kind
	}
}

// quote quotes an identifier.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// names lists the columns, the key first; columnNames leaves it out.
func (s *schema) names() string { return keyColumn + ", " + s.columnNames() }

func (s *schema) columnNames() string {
	var names []string
	for _, c := range s.columns {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

// operation is what a prepared statement does.
type operation int

// The operations. The first are those of single rows, prepared from the start, as indexes of session.statements.
const (
	create operation = iota
	read
	update
	remove
	operations
	createMany
	readMany
	replaceMany
	lockMany
	removeMany
	lock   // reads a row to replace it
	ranged // reads rows in the order of their keys
)

// statements are the SQL of the operations on single rows.
func (s *schema) statements() [operations]string {
	var sets []string
	for _, c := range s.columns {
		sets = append(sets, c.name+" = "+c.place)
	}
	return [operations]string{
		create: s.insertSQL(1),
		read:   fmt.Sprintf("SELECT %s FROM %s WHERE %s = ?", s.columnNames(), tableName, keyColumn),
		update: fmt.Sprintf("UPDATE %s SET %s WHERE %s = ?", tableName, strings.Join(sets, ", "), keyColumn),
		remove: fmt.Sprintf("DELETE FROM %s WHERE %s = ?", tableName, keyColumn),
	}
}

// insertSQL adds n rows.
func (s *schema) insertSQL(n int) string {
	places := "(?"
	for _, c := range s.columns {
		places += ", " + c.place
	}
	places += ")"
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES %s", tableName, s.names(), places+strings.Repeat(", "+places, n-1))
}

// sizedSQL is the SQL of an operation on n rows.
func (s *schema) sizedSQL(kind operation, n int) string {
	where := fmt.Sprintf(" FROM %s WHERE %s IN (?%s)", tableName, keyColumn, strings.Repeat(", ?", n-1))
	switch kind {
	case createMany:
		return s.insertSQL(n)
	case replaceMany:
		return s.replaceSQL(n)
	case readMany:
		return "SELECT " + s.names() + where
	case lockMany:
		return "SELECT " + keyColumn + where + " FOR UPDATE"
	case removeMany:
		return "DELETE" + where
	}
	panic(fmt.Sprintf("mysqlbase: operation %d is not of many rows", kind))
}

// replaceSQL writes n rows over those that are there.
//
// MySQL joins the table with the new rows, whose values get their columns' types by casts. MariaDB takes the types of such rows from the statement's
// first use, so there it is an INSERT that updates where the key is there already; should another row be there, equal in a unique index, its key becomes
// NULL, which is refused. (That INSERT would do on MySQL too, were it not for full-text indexes: MySQL 9.7 leaves all rows but the last of the
// statement out of them, and of a REPLACE as well.)
func (s *schema) replaceSQL(n int) string {
	var sets []string
	if s.mariaDB {
		for _, c := range s.columns {
			sets = append(sets, fmt.Sprintf("%[1]s = VALUES(%[1]s)", c.name))
		}
		return s.insertSQL(n) + fmt.Sprintf(" ON DUPLICATE KEY UPDATE %[1]s = IF(%[2]s.%[1]s = VALUES(%[1]s), %[2]s.%[1]s, NULL), ", keyColumn, tableName) + strings.Join(sets, ", ")
	}
	places := []string{s.castKey()}
	for _, c := range s.columns {
		places = append(places, c.cast())
		sets = append(sets, fmt.Sprintf("%s.%s = new.%[2]s", tableName, c.name))
	}
	row := "ROW(" + strings.Join(places, ", ") + ")"
	return fmt.Sprintf("UPDATE %s JOIN (VALUES %s) AS new (%s) ON %[1]s.%[4]s = new.%[4]s SET %[5]s",
		tableName, row+strings.Repeat(", "+row, n-1), s.names(), keyColumn, strings.Join(sets, ", "))
}

// castKey is a parameter of the type of the key.
func (s *schema) castKey() string {
	switch s.key {
	case corpus.KeyInteger:
		return "CAST(? AS SIGNED)"
	case corpus.KeyUUID:
		return "CAST(? AS BINARY(16))"
	}
	return fmt.Sprintf("CAST(? AS CHAR(%d) CHARACTER SET ascii) COLLATE ascii_bin", s.key.Len())
}

// cast is a parameter of about the type of the column.
func (c *column) cast() string {
	sql := map[corpus.Kind]string{
		corpus.Bool: "SIGNED", corpus.Int: "SIGNED", corpus.Float: "DOUBLE", corpus.Decimal: decimalType, corpus.String: "CHAR CHARACTER SET utf8mb4", corpus.DateTime: "DATETIME(6)",
		corpus.UUID: "BINARY(16)", corpus.Bytes: "BINARY", corpus.Vector: "BINARY", corpus.Array: "JSON", corpus.Object: "JSON",
	}[c.field.Kind]
	return "CAST(? AS " + sql + ")"
}

// lockSQL reads a row and keeps others from it.
func (s *schema) lockSQL() string { return s.statements()[read] + " FOR UPDATE" }

// rangeSQL reads rows in the order of their keys.
func (s *schema) rangeSQL() string {
	return fmt.Sprintf("SELECT %s FROM %s WHERE %[3]s >= ? ORDER BY %[3]s LIMIT ?", s.names(), tableName, keyColumn)
}

// The servers order texts by so many bytes of them, unless they are told to look at more, and can be told to look at so many.
const vendorSortLength, maxSortLength = 1024, 8 << 20

// sortLength is by how many bytes texts have to be ordered, 0 when the servers do by themselves.
func (s *schema) sortLength() int {
	longest := 0
	for _, c := range s.columns {
		longest = max(longest, longestText(c.field))
	}
	if longest *= 4; longest <= vendorSortLength {
		return 0
	}
	return min(longest, maxSortLength)
}

// longestText is the length of the longest text or binary value in a field.
func longestText(f *corpus.Field) int {
	longest := f.MaxLen
	for i := range f.Elems {
		longest = max(longest, longestText(&f.Elems[i]))
	}
	return longest
}

// createSQL makes the table.
func (s *schema) createSQL() string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (%s %s NOT NULL PRIMARY KEY", tableName, keyColumn, s.keySQL)
	for _, c := range s.columns {
		fmt.Fprintf(&b, ", %s %s NOT NULL", c.name, c.sql)
	}
	b.WriteString(") ENGINE=InnoDB")
	return b.String() + fmt.Sprintf(" COMMENT='%s'", comment(b.String()))
}

// comment is the comment on a table made by the SQL: it tells tables of ours from others, and those of one spec from those of another.
func comment(sql string) string {
	sum := sha256.Sum256([]byte(sql))
	return mark + ", shape " + hex.EncodeToString(sum[:8])
}
