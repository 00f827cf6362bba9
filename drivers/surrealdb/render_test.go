package surrealdb

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender/rendertest"
)

var update = flag.Bool("update-surrealql", false, "write testdata/scans.surql anew")

// TestRenderings compares what every kind of scan becomes with a file, once with and once without a full-text index.
func TestRenderings(t *testing.T) {
	c := rendertest.Corpus(t)
	var b strings.Builder
	for _, s := range rendertest.Scans() {
		bound, err := query.Bind(s, c.Template())
		if err != nil {
			t.Fatalf("scan %s: %v", s.ID, err)
		}
		for _, indexed := range []bool{false, true} {
			if indexed && !searches(bound.Where) {
				continue
			}
			r, err := render(c, bound, func(query.Path) bool { return indexed })
			fmt.Fprintf(&b, "-- %s\n", s.ID)
			var unsupported drivers.Unsupported
			if errors.As(err, &unsupported) {
				fmt.Fprintf(&b, "-- %s\n\n", unsupported)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(r.text + ";\n")
			for i, l := range r.args {
				fmt.Fprintf(&b, "-- %d: %s %s\n", i, l.Kind, l)
			}
			if r.key.Kind() != "" {
				fmt.Fprintf(&b, "-- after: %s\n", r.key)
			}
			b.WriteString("\n")
		}
	}
	const file = "testdata/scans.surql"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		got, lines := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
		for i := range got {
			if i >= len(lines) || got[i] != lines[i] {
				t.Fatalf("line %d of %s is not rendered any more; now it is\n%s\n(-update-surrealql writes the file anew)", i+1, file, got[i])
			}
		}
		t.Fatalf("%s has more lines than were rendered", file)
	}
}

// FuzzLiterals tells that no literal becomes part of a statement.
func FuzzLiterals(f *testing.F) {
	rendertest.FuzzTexts(f, func(c *corpus.Corpus, s *query.Scan) (string, []query.Literal, error) {
		r, err := render(c, s, func(query.Path) bool { return true })
		if err != nil {
			return "", nil, err
		}
		return r.text, r.args, nil
	})
}
