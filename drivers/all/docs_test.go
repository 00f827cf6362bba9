package all

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/ci"
)

var update = flag.Bool("update", false, "write the table of docs/engines.md anew; which server proves an engine stays as it is")

const enginesPage = "../../docs/engines.md"

const (
	tableHead = "| engine | proven against | scans | indexes | full text | batches | read-modify-write | ranges of keys | nearest neighbours |"
	tableRule = "|---|---|---|---|---|---|---|---|---|"
)

// TestTheTableOfEnginesIsTrue compares the table of docs/engines.md with what the registrations say of themselves.
func TestTheTableOfEnginesIsTrue(t *testing.T) {
	page, err := os.ReadFile(enginesPage)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(page), "\n")
	start := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "| engine | proven against |") })
	if start < 0 || start+1 >= len(lines) {
		t.Fatal("there is no table of engines")
	}
	end := start + 2
	proven := make(map[string]string)
	for ; end < len(lines) && strings.HasPrefix(lines[end], "|"); end++ {
		cells := strings.Split(lines[end], "|")
		proven[strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[2])
	}
	want := []string{tableHead, tableRule}
	for _, e := range drivers.Engines() {
		if proven[e.Name] == "" {
			t.Errorf("the table does not say which server proves %s", e.Name)
		}
		want = append(want, fmt.Sprintf("| `%s` | %s | %s |", e.Name, proven[e.Name], strings.Join(cells(t, e), " | ")))
	}
	if got := lines[start:end]; !slices.Equal(got, want) && !*update {
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Fatalf("docs/engines.md is not what the registrations say (go test ./drivers/all -update writes it anew); line %d should be\n%s", start+i+1, strings.Join(want[min(i, len(want)):min(i+1, len(want))], ""))
			}
		}
	}
	if *update {
		lines = slices.Replace(lines, start, end, want...)
		if err := os.WriteFile(enginesPage, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// cells are what an engine's registration says of it.
func cells(t *testing.T, e drivers.Engine) []string {
	a := e.Abilities()
	return []string{scans(t, e), indexes(e), fullText(t, e), yes(a.Batch), yes(a.Modify), yes(a.Range), neighbours(e)}
}

func yes(has bool) string {
	if has {
		return "yes"
	}
	return "–"
}

// sample is a template with a column of each kind that indexes differ by.
func sample(t *testing.T) *corpus.Template {
	t.Helper()
	template, err := corpus.ParseTemplate(map[string]any{
		"number": "int", "other": "int", "words": "words:20;a,b", "tags": []any{"string:2", "string:2"}, "deep": map[string]any{"number": "int"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func can(t *testing.T, e drivers.Engine, s *query.Scan) bool {
	t.Helper()
	bound, err := query.Bind(s, sample(t))
	if err != nil {
		t.Fatal(err)
	}
	return e.Ability.(drivers.Scanner).CanScan(bound) == nil
}

func scans(t *testing.T, e drivers.Engine) string {
	if !e.Abilities().Scan {
		return "–"
	}
	words := []string{"conditions"}
	if can(t, e, &query.Scan{ID: "s", Project: query.ID, Order: []query.Order{{Path: query.Path{"number"}}}}) {
		words = append(words, "orders")
	}
	if can(t, e, &query.Scan{ID: "s", Aggregates: []query.Aggregate{{Func: query.Sum, Path: query.Path{"number"}}}, GroupBy: query.Path{"other"}}) {
		words = append(words, "aggregates")
	}
	return strings.Join(words, ", ")
}

func indexes(e drivers.Engine) string {
	indexer, can := e.DatabaseAbility.(drivers.Indexer)
	if !can {
		return "–"
	}
	number, other, nested := query.Path{"number"}, query.Path{"other"}, query.Path{"deep", "number"}
	var words []string
	for _, kind := range []struct {
		word  string
		index query.Index
	}{
		{"ordered", query.Index{Kind: query.Ordered, Paths: []query.Path{number}}},
		{"unique", query.Index{Kind: query.Ordered, Paths: []query.Path{number}, Unique: true}},
		{"composite", query.Index{Kind: query.Ordered, Paths: []query.Path{number, other}}},
		{"nested", query.Index{Kind: query.Ordered, Paths: []query.Path{nested}}},
		{"elements of arrays", query.Index{Kind: query.Elements, Paths: []query.Path{{"tags"}}}},
		{"number of rows", query.Index{Kind: query.CountAll}},
	} {
		kind.index.Name = "i"
		if indexer.CanIndex(kind.index) == nil {
			words = append(words, kind.word)
		}
	}
	if len(words) == 0 {
		return "–"
	}
	return strings.Join(words, ", ")
}

// neighbours says how nearest neighbours are searched.
func neighbours(e drivers.Engine) string {
	searcher, can := e.Ability.(drivers.Searcher)
	if !can {
		return "–"
	}
	search := func(index *query.Index) bool {
		s := &query.Search{ID: "s", Field: query.Path{"v"}, Metric: query.Cosine, K: 1, Index: index}
		if index != nil {
			s.Budget = 100
		}
		return searcher.CanSearch(s) == nil
	}
	var words []string
	if search(nil) {
		words = append(words, "exact")
	}
	for _, strategy := range query.Strategies {
		word := string(strategy)
		if strategy == query.BruteForce {
			word = "exact in an index"
		}
		vector := &query.VectorIndex{Strategy: strategy, Metric: query.Cosine, Dimensions: 1}
		if search(&query.Index{Name: "i", Kind: query.Nearest, Paths: []query.Path{{"v"}}, Vector: vector}) {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return "–"
	}
	return strings.Join(words, ", ")
}

// fullText says how words are found. SQLite's own depends on the build: the page tells of one with FTS5.
func fullText(t *testing.T, e drivers.Engine) string {
	if !e.Abilities().Scan {
		return "–"
	}
	words := query.Path{"words"}
	scan, err := query.Bind(&query.Scan{ID: "s", Project: query.ID, Where: &query.Predicate{
		Op: query.MatchAny, Path: words, Values: []query.Literal{{Kind: corpus.String, Text: "a"}},
	}}, sample(t))
	if err != nil {
		t.Fatal(err)
	}
	index := query.Index{Name: "i", Kind: query.FullText, Paths: []query.Path{words}}
	var unsupported drivers.Unsupported
	if err := e.Ability.(drivers.Scanner).CanScan(scan); errors.As(err, &unsupported) && strings.Contains(unsupported.Why, "this build") {
		ci.Need(t, unsupported)
	} else if err != nil {
		return "–"
	}
	indexer, can := e.DatabaseAbility.(drivers.Indexer)
	if !can || indexer.CanIndex(index) != nil {
		return "row by row"
	}
	if needer, can := e.Ability.(drivers.IndexNeeder); can && needer.NeedsIndex(scan, index) != "" {
		return "by an index only"
	}
	return "by an index, row by row without"
}
