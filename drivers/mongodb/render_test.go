package mongodb

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender/rendertest"
)

// The corpus of the renderings has a name with a dot, which schema refuses: here it is only there to be refused in a scan.
func renderings(c *corpus.Corpus) *database {
	return &database{corpus: c, schema: &schema{template: c.Template(), key: c.KeyKind(), fields: c.Template().Columns()}}
}

func TestRenderings(t *testing.T) {
	rendertest.File(t, "testdata/scans.jsonl", "//", func(c *corpus.Corpus, s *query.Scan) (string, error) {
		if err := (*client)(nil).CanScan(s); err != nil {
			return "", err
		}
		rendered, err := renderings(c).render(s)
		if err != nil {
			return "", err
		}
		text, err := bson.MarshalExtJSON(rendered.command(), true, false)
		return string(text) + "\n", err
	})
}

// Plans as the documentation shows them, with the index in the winning plan, in a rejected one, and nowhere.
func TestExplanationsSeeOnlyTheWinningPlan(t *testing.T) {
	index := query.Index{Name: "by_number", Kind: query.Ordered, Paths: []query.Path{{"number"}}}
	for _, test := range []struct {
		name, answer string
		uses         bool
	}{
		{"find", `{"queryPlanner": {"winningPlan": {"stage": "FETCH", "inputStage": {"stage": "IXSCAN", "keyPattern": {"number": 1}, "indexName": "durabench_by_number"}}, "rejectedPlans": []}, "ok": 1}`, true},
		{"slot-based", `{"queryPlanner": {"winningPlan": {"queryPlan": {"stage": "FETCH", "inputStage": {"stage": "IXSCAN", "indexName": "durabench_by_number"}}, "slotBasedPlan": {"stages": "x"}}}}`, true},
		{"pipeline", `{"stages": [{"$cursor": {"queryPlanner": {"winningPlan": {"stage": "COUNT_SCAN", "indexName": "durabench_by_number"}}}}, {"$group": {}}]}`, true},
		{"a side of an or", `{"queryPlanner": {"winningPlan": {"stage": "OR", "inputStages": [{"stage": "IXSCAN", "indexName": "_id_"}, {"stage": "IXSCAN", "indexName": "durabench_by_number"}]}}}`, true},
		{"rejected", `{"queryPlanner": {"winningPlan": {"stage": "COLLSCAN"}, "rejectedPlans": [{"stage": "IXSCAN", "indexName": "durabench_by_number"}]}}`, false},
		{"another index", `{"queryPlanner": {"winningPlan": {"stage": "IXSCAN", "indexName": "durabench_by_number_2"}}}`, false},
	} {
		var answer bson.Raw
		if err := bson.UnmarshalExtJSON([]byte(test.answer), false, &answer); err != nil {
			t.Fatal(err)
		}
		got, err := explanation(answer, indexName(index))
		if err != nil || got.Uses != test.uses || !strings.Contains(got.Text, "stage") || strings.Contains(got.Text, "rejectedPlans") {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		}
	}
	var answer bson.Raw
	if err := bson.UnmarshalExtJSON([]byte(`{"queryPlanner": {}}`), false, &answer); err != nil {
		t.Fatal(err)
	}
	if got, err := explanation(answer, "x"); err == nil {
		t.Errorf("an answer without a plan gives %+v", got)
	}
}

func TestIndexes(t *testing.T) {
	for _, test := range []struct {
		index query.Index
		want  string // the document, or the refusal
	}{
		{query.Index{Name: "a", Kind: query.Ordered, Paths: []query.Path{{"x"}, {"deep", "y"}}, Unique: true}, `{"key":{"x":1,"deep.y":1},"name":"durabench_a","unique":true}`},
		{query.Index{Name: "b", Kind: query.Elements, Paths: []query.Path{{"tags"}}, Raw: "elements"}, `{"key":{"tags":1},"name":"durabench_b"}`},
		{query.Index{Name: "c", Kind: query.FullText, Paths: []query.Path{{"words"}}},
			`{"key":{"words":"text"},"name":"durabench_c","default_language":"none","language_override":"durabench_no_language"}`},
		{query.Index{Name: "d", Kind: query.FullText, Paths: []query.Path{{"words"}}, Unique: true}, "cannot be unique"},
		{query.Index{Name: "e", Kind: query.CountAll}, "without an index"},
		{query.Index{Name: "f", Kind: query.Ordered, Paths: []query.Path{{"a.b"}}}, "cannot name the column"},
		{query.Index{Name: "g", Kind: query.Ordered, Paths: []query.Path{{"x"}}, Raw: "gin"}, `no index type "gin"`},
	} {
		got := ""
		if err := (*database)(nil).CanIndex(test.index); err != nil {
			got = err.Error()
		} else if text, err := bson.MarshalExtJSON(indexSpec(test.index), false, false); err != nil {
			t.Fatal(err)
		} else {
			got = string(text)
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("index %+v: %s, want %s", test.index, got, test.want)
		}
	}
}

// A search for words cannot be everywhere: MongoDB refuses a query that has it elsewhere than at the top, with no more than one.
func TestWhereWordsCanBeLookedFor(t *testing.T) {
	word := &query.Predicate{Op: query.MatchAny, Path: query.Path{"words"}, Values: []query.Literal{{Kind: corpus.String, Text: "hello"}}}
	number := &query.Predicate{Op: query.Eq, Path: query.Path{"number"}, Values: []query.Literal{{Kind: corpus.Int, Int: 1}}}
	c := rendertest.Corpus(t)
	for _, test := range []struct {
		where *query.Predicate
		can   bool
	}{
		{word, true},
		{&query.Predicate{Op: query.And, Args: []*query.Predicate{number, {Op: query.And, Args: []*query.Predicate{word}}}}, true},
		{&query.Predicate{Op: query.And, Args: []*query.Predicate{word, word}}, false},
		{&query.Predicate{Op: query.Or, Args: []*query.Predicate{number, word}}, false},
		{&query.Predicate{Op: query.Not, Args: []*query.Predicate{word}}, false},
	} {
		bound, err := query.Bind(&query.Scan{ID: "words", Project: query.ID, Where: test.where}, c.Template())
		if err != nil {
			t.Fatal(err)
		}
		err = (*client)(nil).CanScan(bound)
		if _, refused := err.(drivers.Unsupported); (err == nil) != test.can || !test.can && !refused {
			t.Errorf("%s: %v, want %v", bound.Where, err, test.can)
		}
		if needs := (*client)(nil).NeedsIndex(bound, query.Index{}); needs == "" {
			t.Errorf("%s needs no index", bound.Where)
		}
	}
}

func TestBatchesAreCutIntoRequests(t *testing.T) {
	for _, test := range []struct {
		n, most, size int
		want          []int // items in each
	}{
		{0, 10, 1, nil}, {3, 10, 1, []int{3}}, {7, 10, 4, []int{2, 2, 2, 1}}, {2, 10, 11, []int{1, 1}}, {maxBatchRows + 1, 1 << 40, 1, []int{maxBatchRows, 1}},
	} {
		next := 0
		var got []int
		requests, err := spans(test.n, test.most, func(int) int { return test.size }, func(from, to int) (int, error) {
			if from != next {
				t.Errorf("%+v: item %d comes after %d", test, from, next)
			}
			next = to
			got = append(got, to-from)
			return 1, nil
		})
		if err != nil || next != test.n || requests != len(test.want) || len(got) != len(test.want) {
			t.Errorf("%+v: %d requests of %v, %v", test, requests, got, err)
			continue
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("%+v: requests of %v", test, got)
				break
			}
		}
	}
}
