package sqlite

import (
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

// canRaw tells whether a raw scan has words for SQLite. Those that a file gives for SQL as such are often PostgreSQL's own, which fail here
// at the first token that SQLite does not have.
func canRaw(raw *query.Raw) error {
	if err := sqlrender.CanRaw(assumed, raw); err != nil {
		return err
	}
	for _, part := range []struct {
		texts map[string]string
		what  string
	}{{raw.Where, "condition"}, {raw.Order, "order"}} {
		if foreign := foreignToken(part.texts["sql"]); foreign != "" && part.texts["sqlite"] == "" {
			return drivers.Unsupported{Why: fmt.Sprintf("the file's %s for sql is PostgreSQL's (%s), and it has none for sqlite", part.what, foreign)}
		}
	}
	return nil
}

// foreignTokens are PostgreSQL's and cannot stand in a statement of SQLite's, but in quotes.
var foreignTokens = []string{"@@", "@>", "<@", "::", "to_tsvector(", "to_tsquery("}

// foreignToken returns the first token in the text that is not SQLite's, "" when there is none.
func foreignToken(text string) string {
	quote := byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0 // a doubled quote opens it again at once
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		default:
			for _, token := range foreignTokens {
				if strings.HasPrefix(text[i:], token) {
					return strings.TrimSuffix(token, "(")
				}
			}
		}
	}
	return ""
}
