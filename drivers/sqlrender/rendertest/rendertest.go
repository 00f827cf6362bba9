// Package rendertest renders the same scans in every dialect and compares them with golden files, so that a reader sees at a glance what each
// engine is asked, and a change of the renderer shows in all of them.
package rendertest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Golden compares what the dialect makes of all scans with the file. With -update it writes the file.
func Golden(t *testing.T, d sqlrender.Dialect, table, file string) {
	t.Helper()
	File(t, file, "--", func(c *corpus.Corpus, s *query.Scan) (string, error) {
		statement, err := sqlrender.Render(d, sqlrender.Table{Name: table, Corpus: c}, s)
		if err != nil {
			return "", err
		}
		return text(statement), nil
	})
}

// File compares the texts that render gives to all scans, which are bound, with the file: a scan that is drivers.Unsupported stands there with the reason.
// Comment begins what is not part of a text. With -update it writes the file.
func File(t *testing.T, file, comment string, render func(*corpus.Corpus, *query.Scan) (string, error)) {
	t.Helper()
	got := renderAll(t, comment, render)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i, line := range gotLines {
		if i >= len(wantLines) || wantLines[i] != line {
			t.Fatalf("%s: line %d is\n%s\nand should be\n%s\n(-update writes the file anew)", file, i+1, line, strings.Join(wantLines[min(i, len(wantLines)):min(i+1, len(wantLines))], ""))
		}
	}
	t.Fatalf("%s has more lines than were rendered", file)
}

// Corpus is what the scans are over: every kind of scalar, as a column and nested.
func Corpus(t testing.TB) *corpus.Corpus {
	t.Helper()
	scalars := func() map[string]any {
		return map[string]any{
			"blob": "bytes:8", "cash": "decimal", "flag": "bool", "moment": "datetime", "number": "int", "real": "float:0..1", "text": "string:8", "unique": "uuid",
		}
	}
	value := scalars()
	deep := scalars()
	deep["it's"] = map[string]any{"tags": []any{"string:4", "string:4"}, "a.b": "int"}
	value["deep"] = deep
	value["tags"] = []any{"string:4", "string:4"}
	value["sums"] = []any{"decimal", "decimal"}
	value["words"] = "words:40;hello,world,foo,bar"
	template, err := corpus.ParseTemplate(value)
	if err != nil {
		t.Fatal(err)
	}
	c, err := corpus.New(1, template, corpus.KeyInteger, false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func renderAll(t *testing.T, comment string, render func(*corpus.Corpus, *query.Scan) (string, error)) string {
	c := Corpus(t)
	var b strings.Builder
	for _, s := range Scans() {
		bound, err := query.Bind(s, c.Template())
		if err != nil {
			t.Fatalf("scan %s: %v", s.ID, err)
		}
		text, err := render(c, bound)
		fmt.Fprintf(&b, "%s %s\n", comment, s.ID)
		var unsupported drivers.Unsupported
		switch {
		case errors.As(err, &unsupported):
			fmt.Fprintf(&b, "%s %s\n\n", comment, unsupported)
		case err != nil:
			t.Fatal(err)
		default:
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}

// text is a statement with what is bound to it.
func text(statement *sqlrender.Statement) string {
	var b strings.Builder
	b.WriteString(statement.SQL + ";\n")
	for i, l := range statement.Args {
		value := l.String()
		if l.Kind == corpus.Array {
			value = l.Text
		}
		fmt.Fprintf(&b, "-- %d: %s %s\n", i+1, l.Kind, value)
	}
	return b.String()
}
