package postgres

import (
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// Object identifiers of PostgreSQL's own types, the same on every server.
const (
	oidBool        = 16
	oidBytea       = 17
	oidInt8        = 20
	oidText        = 25
	oidFloat4      = 700
	oidFloat8      = 701
	oidFloat4Array = 1021
	oidTimestamptz = 1184
	oidNumeric     = 1700
	oidUUID        = 2950
	oidJSONB       = 3802
)

// arrayOf are the arrays of the types that keys have.
var arrayOf = map[uint32]uint32{oidInt8: 1016, oidText: 1009, oidUUID: 2951}

// column is a column of the table.
type column struct {
	name  string // quoted
	field *corpus.Field
	sql   string // type as CREATE TABLE takes it
	oid   uint32 // 0 for a type of pgvector's, which has another on each server
}

// schema is the shape of the table for a corpus, and all that is derived from it once.
type schema struct {
	template *corpus.Template
	keySQL   string
	keyOID   uint32
	columns  []column
	// searched tells that vectors are of pgvector's type.
	searched bool
}

// maxColumns is PostgreSQL's limit of columns per table, less one for the key.
const maxColumns = 1600 - 1

// newSchema chooses the columns' types: of rows that will be searched, vectors have pgvector's. It refuses what PostgreSQL cannot hold.
func newSchema(c *corpus.Corpus, searched bool) (*schema, error) {
	template := c.Template()
	fields := template.Columns()
	if len(fields) > maxColumns {
		return nil, drivers.Unsupported{Why: fmt.Sprintf("PostgreSQL tables have at most %d columns beside the key, the value template has %d", maxColumns, len(fields))}
	}
	if holdsNUL(template.Canonical()) {
		return nil, drivers.Unsupported{Why: "PostgreSQL text cannot hold the character NUL, which a label of the value template has: leave it out"}
	}
	s := &schema{template: template, searched: searched}
	switch c.KeyKind() {
	case corpus.KeyInteger:
		s.keySQL, s.keyOID = "bigint", oidInt8
	case corpus.KeyUUID:
		s.keySQL, s.keyOID = "uuid", oidUUID
	default:
		// The byte order, so that keys sort here as in the corpus, and comparing them is a memcmp on every host.
		s.keySQL, s.keyOID = `text COLLATE "C"`, oidText
	}
	for i := range fields {
		c := column{name: quote(fields[i].Name), field: &fields[i]}
		switch fields[i].Kind {
		case corpus.Bool:
			c.sql, c.oid = "boolean", oidBool
		case corpus.Int:
			c.sql, c.oid = "bigint", oidInt8
		case corpus.Float:
			c.sql, c.oid = "double precision", oidFloat8
		case corpus.Decimal:
			c.sql, c.oid = "numeric(19,4)", oidNumeric // every int64 of units
		case corpus.String:
			// The byte order, as for keys: equal, less and prefixes mean the same on every host.
			c.sql, c.oid = `text COLLATE "C"`, oidText
		case corpus.UUID:
			c.sql, c.oid = "uuid", oidUUID
		case corpus.DateTime:
			c.sql, c.oid = "timestamptz", oidTimestamptz
		case corpus.Bytes:
			c.sql, c.oid = "bytea", oidBytea
		case corpus.Array, corpus.Object:
			c.sql, c.oid = "jsonb", oidJSONB
		case corpus.Vector:
			if searched {
				if fields[i].Dim > maxDimensions {
					return nil, drivers.Unsupported{Why: fmt.Sprintf("column %s: a vector of pgvector has at most %d dimensions, not %d", fields[i].Name, maxDimensions, fields[i].Dim)}
				}
				c.sql = fmt.Sprintf("vector(%d)", fields[i].Dim)
				break
			}
			// Not bytea, although that is half as long on the wire: the server knows what it holds, and pgvector casts it.
			c.sql, c.oid = "real[]", oidFloat4Array
		default:
			return nil, drivers.Unsupported{Why: fmt.Sprintf("column %s: no PostgreSQL type for values of kind %s", fields[i].Name, fields[i].Kind)}
		}
		s.columns = append(s.columns, c)
	}
	return s, nil
}

// holdsNUL tells whether JSON text holds the escape of the character NUL.
func holdsNUL(json string) bool {
	const nul = `\u0000`
	for {
		i := strings.Index(json, nul)
		if i < 0 {
			return false
		}
		// A backslash before it that is itself escaped makes it plain text.
		slashes := len(json[:i]) - len(strings.TrimRight(json[:i], `\`))
		if slashes%2 == 0 {
			return true
		}
		json = json[i+len(nul):]
	}
}

// quote quotes an identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// names lists the columns, the key first.
func (s *schema) names() string {
	names := []string{keyColumn}
	for _, c := range s.columns {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}
