package spec

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durabench/durabench/bench/query"
)

// vectorFile is a file with one search, whose vector_query has the given lines besides.
func vectorFile(lines string) string {
	return `seed = 1
[value]
embedding = "vector:8"
number = "int:1..5000"
city = "string_enum:London,Rome"
pair.near = "vector:4"
[[scans]]
id = "knn"
name = "knn"
[scans.vector_query]
` + lines
}

const hnsw = "index_strategy = { kind = 'hnsw', m = 16, ef_construction = 200, ef_search = [16, 64] }\n"

func TestSearchesOfCrudBenchFileAreResolved(t *testing.T) {
	text, err := os.ReadFile(fixture(t, "vector-filtered.toml"))
	if err != nil {
		t.Fatal(err)
	}
	request, err := buildWith(t, string(text), "-d", "postgres", "-s", "10000")
	if err != nil {
		t.Fatal(err)
	}
	runs := request.Spec.Scans[0].Runs
	var got []string
	for _, run := range runs {
		s := run.Search
		line := run.Word + ": " + s.Field.String() + " " + string(s.Metric)
		if s.Index != nil {
			line += " " + string(s.Index.Vector.Strategy)
		}
		for _, filter := range s.Filters {
			line += " | " + filter.Word + " " + filter.Where.String()
		}
		for _, index := range s.FilterIndexes {
			line += " | " + index.Name
		}
		got = append(got, line)
	}
	if len(got) != 6 || !strings.HasPrefix(got[1], "hnsw-knn-10-m-16-efc-200: embedding cosine hnsw | sel-1 ") || strings.Count(got[4], " | ix_") != 2 {
		t.Errorf("runs are\n%s", strings.Join(got, "\n"))
	}
	h := runs[1].Search
	want := query.VectorIndex{
		Strategy: query.HNSW, Metric: query.Cosine, Dimensions: 768, M: 16, EfConstruction: 200, Filters: []query.Path{{"number"}, {"status"}},
	}
	if diff := cmp.Diff(want, *h.Index.Vector); diff != "" {
		t.Errorf("index differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{16, 64, 128, 256}, h.Budgets); diff != "" {
		t.Error(diff)
	}
	if h.Holdout != (Holdout{Count: 200, Seed: 42}) || h.K != 10 || runs[0].Samples != 50 || runs[1].Samples != 1000 || runs[1].Clients != 1 {
		t.Errorf("%+v, %d and %d samples", h, runs[0].Samples, runs[1].Samples)
	}
	names := map[string]bool{}
	for _, run := range runs {
		if index := run.Search.Index; index != nil {
			if names[index.Name] || len(index.Name) > maxIndexName {
				t.Errorf("index name %q", index.Name)
			}
			names[index.Name] = true
		}
	}
	without, err := buildWith(t, string(text), "-d", "postgres", "-s", "10000", "--skip-indexes")
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range without.Spec.Scans[0].Runs {
		if run.Search.Index != nil || len(run.Search.FilterIndexes) > 0 {
			t.Errorf("run %s has an index with --skip-indexes", run.Name)
		}
	}
}

func TestSearchesInOurOwnForm(t *testing.T) {
	request, err := buildWith(t, vectorFile(`field = "embedding"
top_k = 5
distance = "dot"
recall_targets = [0.95, 0.99]
index_strategy = { kind = "ivfflat", lists = 100, probes = 3, quantisation = "half", iterative_scan = "relaxed" }
filters = [{ name = "both", where = { number = { lte = 100 }, city = "rome" } }]
tie_epsilon = 0.01
`), "-d", "postgres", "-s", "1000")
	if err != nil {
		t.Fatal(err)
	}
	s := request.Spec.Scans[0].Runs[0].Search
	if s.Metric != query.InnerProduct || s.Iterative != query.IterativeRelaxed || s.Index.Vector.Quantisation != query.Half || s.Index.Vector.Lists != 100 ||
		len(s.Targets) != 2 || s.Budgets[0] != 3 || s.Holdout != (Holdout{usualHoldout, usualHoldoutSeed}) || len(s.Filters[0].Where.Paths()) != 2 {
		t.Errorf("%+v, index %+v", s, s.Index.Vector)
	}
	if request.Spec.SearchWarmup == 0 || !request.Spec.Searched {
		t.Errorf("warm-up %v", request.Spec.SearchWarmup)
	}
}

func TestSearchesAreRefusedWithTheirPlace(t *testing.T) {
	const head = "field = 'embedding'\ntop_k = 10\n"
	for _, test := range []struct{ name, lines, want string }{
		{"no strategy", head, "bench.toml:10: scans[0].vector_query.index_strategy: is missing: { kind = \"bruteforce\" }*"},
		{"a column that is none", "field = 'embeding'\ntop_k = 10\n" + hnsw, "bench.toml:11: scans[0].vector_query.field: *did you mean*embedding*"},
		{"a column of another kind", "field = 'number'\ntop_k = 10\n" + hnsw, "*column number is of kind int; nearest neighbours are those of vectors*"},
		{"a vector in an object", "field = 'pair.near'\ntop_k = 10\n" + hnsw, "*pair.near lies in an object*"},
		{"nothing asked for", "field = 'embedding'\n" + hnsw, "*top_k: must be from 1 to 10000, is 0"},
		{"more than there are", "field = 'embedding'\ntop_k = 2000\nindex_strategy = { kind = 'bruteforce' }\n", "*top_k: 2000 is more than the 1000 rows of this run*"},
		{"a metric that is none", head + "distance = 'cosin'\n" + hnsw, "*distance: \"cosin\" is not one of cosine, euclidean, inner_product, manhattan; did you mean cosine?"},
		{"a budget below k", "field = 'embedding'\ntop_k = 20\n" + hnsw, "*ef_search: 16: a search for 20 rows has to look at least at so many"},
		{"a budget twice", head + "index_strategy = { kind = 'hnsw', m = 16, ef_construction = 200, ef_search = [64, 64] }\n", "*64 is given twice*"},
		{"no budget", head + "index_strategy = { kind = 'hnsw', m = 16, ef_construction = 200 }\n", "*ef_search: is missing*"},
		{"a knob that is missing", head + "index_strategy = { kind = 'hnsw', ef_construction = 200, ef_search = 64 }\n", "*index_strategy.m: must be from 1 to 1000 for hnsw, is 0"},
		{"a knob of another strategy", head + "index_strategy = { kind = 'bruteforce', m = 16 }\n", "*index_strategy.m: is no knob of bruteforce"},
		{"a budget of another strategy", head + "index_strategy = { kind = 'bruteforce', l_search = 16 }\n", "*l_search: is no knob of bruteforce"},
		{"a strategy that is none", head + "index_strategy = { kind = 'hnws' }\n", "*kind: \"hnws\" is not one of bruteforce, hnsw, *vectorset"},
		{"a filter that finds nothing", head + hnsw + "filters = [{ name = 'a', field = 'city', op = 'eq', value = 'Paris' }]\n", "*filters[0]: finds nothing: city is one of london, rome*"},
		{"a filter of another type", head + hnsw + "filters = [{ name = 'a', field = 'number', op = 'eq', value = 'x' }]\n", "*filters[0]: \"x\" is a string, and the column is an int"},
		{"a filter with an operator that is none", head + hnsw + "filters = [{ name = 'a', field = 'number', op = 'less', value = 1 }]\n", "*filters[0].op: \"less\" is not one of*"},
		{"a filter without a name", head + hnsw + "filters = [{ name = '~', field = 'number', op = 'eq', value = 1 }]\n", "*filters[0].name: \"~\": a filter needs a name*"},
		{"a filter in both forms", head + hnsw + "filters = [{ name = 'a', field = 'number', where = { number = 1 } }]\n", "*filters[0].where: does not go with field, op and value"},
		{"two filters of one name", head + hnsw + "filters = [{ name = 'a', where = { number = 1 } }, { name = 'A', where = { number = 2 } }]\n", "*filters[1].name: \"A\": another filter has the same name*"},
		{"an index for no filter", head + hnsw + "filter_index = true\n", "*filter_index: there are no filters"},
		{"an index that a filtered column cannot carry", head + hnsw + "filter_index = true\nfilters = [{ name = 'a', where = { embedding = { is_null = true } } }]\n", "*filters[0]*"},
		{"no query vectors", head + hnsw + "holdout = { count = 0, seed = 1 }\n", "*holdout.count: must be from 1 to 100000, is 0"},
		{"a recall that is none", head + hnsw + "recall_targets = [1.5]\n", "*recall_targets: a recall is more than 0 and at most 1, is 1.5"},
		{"a recall of an exact search", head + "recall_targets = [0.9]\nindex_strategy = { kind = 'bruteforce' }\n", "*recall_targets: an exact search has a recall of 1"},
		{"churn of nothing", head + hnsw + "churn = 0.0\n", "*vector_query.churn: is the share of the rows that are deleted and inserted again, more than 0 and less than 1, is 0"},
		{"churn of everything", head + hnsw + "churn = 1.0\n", "*vector_query.churn: *less than 1, is 1"},
		{"no rounds of churn", head + hnsw + "churn = 0.2\nchurn_rounds = 0\n", "*churn_rounds: must be from 1 to 100, is 0"},
		{"rounds without churn", head + hnsw + "churn_rounds = 2\n", "*churn_rounds: there is no churn*"},
		{"churn of no index", head + "churn = 0.2\nindex_strategy = { kind = 'bruteforce' }\n", "*vector_query.churn: wears an index, and an exact search has none"},
		{"churn without a budget", head + "churn = 0.2\nrecall_targets = [0.9]\nindex_strategy = { kind = 'hnsw', m = 16, ef_construction = 200 }\n",
			"*vector_query.churn: the legs after it have the budgets that are given*"},
		{"a filter by the name of the legs after churn", head + hnsw + "churn = 0.2\nfilters = [{ name = 'Churned', where = { number = 1 } }]\n",
			"*vector_query.filters: \"churned\" is the name of the legs after churn*"},
		{"too much tolerance", head + hnsw + "tie_epsilon = 0.5\n", "*tie_epsilon: must be from 0 to 0.1, is 0.5"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := buildWith(t, vectorFile(test.lines), "-d", "postgres", "-s", "1000")
			got := problemLines(t, err)
			if len(got) != 1 || !likeText(test.want, got[0]) || !strings.HasPrefix(got[0], "bench.toml:") {
				t.Errorf("problems are %q, want %q", got, test.want)
			}
		})
	}
}

func TestSearchesNeedASeedAndGoAlone(t *testing.T) {
	text := strings.TrimPrefix(vectorFile("field = 'embedding'\ntop_k = 10\n"+hnsw), "seed = 1\n")
	_, err := buildWith(t, text, "-d", "postgres", "-s", "1000")
	if got := problemLines(t, err); len(got) != 1 || !strings.Contains(got[0], "needs a seed") {
		t.Errorf("problems are %q", got)
	}
	if _, err := buildWith(t, text, "-d", "postgres", "-s", "1000", "--corpus-seed", "7"); err != nil {
		t.Error(err)
	}
	text = strings.Replace(vectorFile("field = 'embedding'\ntop_k = 10\n"+hnsw), "name = \"knn\"\n", "name = \"knn\"\nlimit = 5\nwrites = [0.1]\n", 1)
	_, err = buildWith(t, text, "-d", "postgres", "-s", "1000")
	if got := problemLines(t, err); len(got) != 2 || !strings.Contains(got[0], "limit: does not go with vector_query") || !strings.Contains(got[1], "writes: does not go") {
		t.Errorf("problems are %q", got)
	}
}
