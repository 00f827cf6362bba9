package rendertest

import (
	"errors"
	"slices"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

// FuzzLiterals renders conditions with any text as their literal: what it holds changes nothing in the statement, because it goes to the
// server as a bound value, and of an equality it is that value itself.
func FuzzLiterals(f *testing.F, d sqlrender.Dialect, table string) {
	for _, text := range []string{
		"", "plain", `'`, `''; DROP TABLE record; --`, `"`, "`", `\`, `\'`, "a\x00b", "👍", "%", "_", "50%_", "?", "$1", "$$", "{fn x}", "/*", "\u2028", "\U0010ffff", "a\U0010ffff",
	} {
		f.Add(text)
	}
	c := Corpus(f)
	places := []query.Path{{"text"}, {"deep", "text"}, {"tags"}, {"deep", "it's", "tags"}}
	ops := []query.Op{query.Eq, query.Ne, query.Lt, query.Gte, query.In, query.Prefix, query.Suffix, query.Contains, query.HasAny, query.HasAll, query.MatchAll}
	render := func(t *testing.T, op query.Op, place query.Path, text string) *sqlrender.Statement {
		bound, err := query.Bind(&query.Scan{ID: "fuzz", Project: query.ID, Where: comparison(op, word(text), place...)}, c.Template())
		if err != nil {
			return nil // the operator does not fit the column, or the text it
		}
		statement, err := sqlrender.Render(d, sqlrender.Table{Name: table, Corpus: c}, bound)
		if _, unsupported := errors.AsType[drivers.Unsupported](err); unsupported {
			return nil
		}
		if err != nil {
			t.Fatalf("%s %s %q: %v", place, op, text, err)
		}
		return statement
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, place := range places {
			for _, op := range ops {
				statement := render(t, op, place, text)
				if statement == nil {
					continue
				}
				// A prefix of nothing but the last character has no upper end, and is asked for without one.
				plain, last := render(t, op, place, "a"), render(t, op, place, "\U0010ffff")
				if statement.SQL != plain.SQL && (last == nil || statement.SQL != last.SQL) {
					t.Fatalf("%s %s %q is\n%s\nand %q\n%s", place, op, text, statement.SQL, "a", plain.SQL)
				}
				bound := slices.ContainsFunc(statement.Args, func(l query.Literal) bool { return l.Kind == corpus.String && l.Text == text })
				if op == query.Eq && len(place) == 1 && !bound {
					t.Fatalf("%s %s %q has the values %v", place, op, text, statement.Args)
				}
			}
		}
	})
}
