package sqlite

import (
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/query"
)

// A condition in PostgreSQL's words under the name of SQL as such does not run, where it would fail in the middle of a benchmark.
func TestConditionsOfPostgreSQLAreUnsupported(t *testing.T) {
	where := func(texts map[string]string) error { return canRaw(&query.Raw{HasWhere: true, Where: texts}) }
	for text, token := range map[string]string{
		"number = 21 OR number = 22": "", "name = 'a@@b::c' AND \"x::y\" = `@>`": "", "name = 'it''s @@' OR note = ''": "",
		"to_tsvector('english', words) @@ to_tsquery('english', 'hello')": "to_tsvector", `tags @> '["omicron"]'`: "@>", "number = '21'::int": "::",
		"name = 'it''s' AND words @@ 'x'": "@@",
	} {
		err := where(map[string]string{"sql": text})
		if (err == nil) != (token == "") || err != nil && !strings.Contains(err.Error(), "("+token+")") {
			t.Errorf("%s: %v, want %q", text, err, token)
		}
		if err := where(map[string]string{"sql": text, "sqlite": "number = 1"}); err != nil {
			t.Errorf("%s beside SQLite's own words: %v", text, err)
		}
	}
	if err := where(map[string]string{"mysql": "number = 1"}); err == nil {
		t.Error("the words of others are taken")
	}
}
