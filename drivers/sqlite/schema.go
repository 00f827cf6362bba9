package sqlite

import (
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// columnTypes are the types that columns are declared with. The table is STRICT, so a column holds its type and nothing else, and a read
// needs no look at what each cell happens to be.
//
//	bool      0 or 1
//	decimal   units of 10⁻⁴: exact, ordered and as fast as any integer
//	datetime  seconds since 1970
//	uuid      16 bytes
//	array, object   JSON text, which SQLite's JSON functions work on
//	vector    float32 components, little-endian
var columnTypes = map[corpus.Kind]string{
	corpus.Bool:     "INTEGER",
	corpus.Int:      "INTEGER",
	corpus.Float:    "REAL",
	corpus.Decimal:  "INTEGER",
	corpus.String:   "TEXT",
	corpus.UUID:     "BLOB",
	corpus.DateTime: "INTEGER",
	corpus.Bytes:    "BLOB",
	corpus.Array:    "TEXT",
	corpus.Object:   "TEXT",
	corpus.Vector:   "BLOB",
}

// schema is the SQL of a corpus's table.
type schema struct {
	template             *corpus.Template
	drop, create         string
	insert, update, read string
	remove, load, count  string
	whole, ranged        string // the columns with the key before them: of one row, of rows in the order of the keys
}

// newSchema writes the SQL. Parameter 1 is always the key, and the columns follow.
func newSchema(c *corpus.Corpus) (*schema, error) {
	columns := c.Template().Columns()
	seen := map[string]string{corpus.KeyColumn: "the key's column"}
	declared := []string{quote(corpus.KeyColumn) + " " + keyType(c.KeyKind())}
	var names, places, sets []string
	for i := range columns {
		column := &columns[i]
		// SQLite takes names that differ in case alone for the same.
		folded := strings.ToLower(column.Name)
		if other, taken := seen[folded]; taken {
			return nil, fmt.Errorf("sqlite: column %q is the same name as %s: SQLite does not tell them apart by case; rename one in [value]", column.Name, other)
		}
		seen[folded] = fmt.Sprintf("column %q", column.Name)
		name := quote(column.Name)
		declared = append(declared, name+" "+columnTypes[column.Kind]+" NOT NULL")
		names = append(names, name)
		places = append(places, fmt.Sprintf("?%d", i+2))
		sets = append(sets, fmt.Sprintf("%s=?%d", name, i+2))
	}
	table, key := quote(drivers.Table), quote(corpus.KeyColumn)
	into := fmt.Sprintf("INTO %s (%s, %s) VALUES (?1, %s)", table, key, strings.Join(names, ", "), strings.Join(places, ", "))
	return &schema{
		template: c.Template(),
		drop:     fmt.Sprintf("DROP TABLE IF EXISTS %s", table),
		create:   fmt.Sprintf("CREATE TABLE %s (%s) STRICT", table, strings.Join(declared, ", ")),
		insert:   "INSERT " + into,
		load:     "INSERT OR REPLACE " + into,
		read:     fmt.Sprintf("SELECT %s FROM %s WHERE %s=?1", strings.Join(names, ", "), table, key),
		update:   fmt.Sprintf("UPDATE %s SET %s WHERE %s=?1", table, strings.Join(sets, ", "), key),
		remove:   fmt.Sprintf("DELETE FROM %s WHERE %s=?1", table, key),
		count:    fmt.Sprintf("SELECT count(*) FROM %s", table),
		whole:    fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s=?1", key, strings.Join(names, ", "), table, key),
		ranged:   fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s>=?1 ORDER BY %s LIMIT ?2", key, strings.Join(names, ", "), table, key, key),
	}, nil
}

// keyType declares the key's column. An integer key is the row's own number in SQLite's tree, so there is one tree. Other keys have an index
// beside the table. WITHOUT ROWID would spare that index, but it keeps whole rows in the inner pages of the tree, which is for rows of
// less than a twentieth of a page: with rows of 1 KB it took 24 to 58 % more CPU time for a create, and up to 2.5 times as much
// for a read or update.
func keyType(kind corpus.KeyKind) string {
	switch kind {
	case corpus.KeyInteger:
		return "INTEGER PRIMARY KEY"
	case corpus.KeyUUID:
		return "BLOB PRIMARY KEY NOT NULL"
	}
	return "TEXT PRIMARY KEY NOT NULL"
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
