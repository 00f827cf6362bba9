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

// FuzzLiterals does what FuzzTexts does with a dialect of SQL.
func FuzzLiterals(f *testing.F, d sqlrender.Dialect, table string) {
	FuzzTexts(f, func(c *corpus.Corpus, s *query.Scan) (string, []query.Literal, error) {
		statement, err := sqlrender.Render(d, sqlrender.Table{Name: table, Corpus: c}, s)
		if err != nil {
			return "", nil, err
		}
		return statement.SQL, statement.Args, nil
	})
}

// FuzzTexts renders conditions with any text as their literal: what it holds changes nothing in the statement, because it goes to the
// server as a bound value, and of an equality it is that value itself. render returns the statement and its values.
func FuzzTexts(f *testing.F, render func(*corpus.Corpus, *query.Scan) (string, []query.Literal, error)) {
	for _, text := range []string{
		"", "plain", `'`, `''; DROP TABLE record; --`, `"`, "`", `\`, `\'`, "a\x00b", "👍", "%", "_", "50%_", "?", "$1", "$$", "{fn x}", "/*", "\u2028", "\U0010ffff", "a\U0010ffff",
	} {
		f.Add(text)
	}
	c := Corpus(f)
	places := []query.Path{{"text"}, {"deep", "text"}, {"tags"}, {"deep", "it's", "tags"}}
	ops := []query.Op{query.Eq, query.Ne, query.Lt, query.Gte, query.In, query.Prefix, query.Suffix, query.Contains, query.HasAny, query.HasAll, query.MatchAll}
	of := func(t *testing.T, op query.Op, place query.Path, text string) (string, []query.Literal) {
		bound, err := query.Bind(&query.Scan{ID: "fuzz", Project: query.ID, Where: comparison(op, word(text), place...)}, c.Template())
		if err != nil {
			return "", nil // the operator does not fit the column, or the text it
		}
		statement, args, err := render(c, bound)
		if _, unsupported := errors.AsType[drivers.Unsupported](err); unsupported {
			return "", nil
		}
		if err != nil {
			t.Fatalf("%s %s %q: %v", place, op, text, err)
		}
		return statement, args
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, place := range places {
			for _, op := range ops {
				statement, args := of(t, op, place, text)
				if statement == "" {
					continue
				}
				// A prefix of nothing but the last character has no upper end, and is asked for without one.
				plain, _ := of(t, op, place, "a")
				last, _ := of(t, op, place, "\U0010ffff")
				if statement != plain && statement != last {
					t.Fatalf("%s %s %q is\n%s\nand %q\n%s", place, op, text, statement, "a", plain)
				}
				bound := slices.ContainsFunc(args, func(l query.Literal) bool { return l.Kind == corpus.String && l.Text == text })
				if op == query.Eq && len(place) == 1 && !bound {
					t.Fatalf("%s %s %q has the values %v", place, op, text, args)
				}
			}
		}
	})
}
