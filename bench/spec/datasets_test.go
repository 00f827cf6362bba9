package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/dataset/datasettest"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/vector"
)

// withData writes files of 200 vectors of 4 components, 20 queries and their neighbours to a folder below dir, and others with something wrong.
func withData(t *testing.T, dir string) {
	t.Helper()
	folder := filepath.Join(dir, "data")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	base, queries := datasettest.Vectors(1, 200, 4), datasettest.Vectors(2, 20, 4)
	truth := datasettest.Truth(base, queries, 5)
	for name, data := range map[string][]byte{
		"base.fvecs": datasettest.Vecs(base), "queries.npy": datasettest.NPY(1, "<f4", queries), "truth.ivecs": datasettest.Vecs(truth),
		"wide.fvecs": datasettest.Vecs(datasettest.Vectors(3, 20, 5)), "one.fvecs": datasettest.Vecs(base[:1]), "few.ivecs": datasettest.Vecs(truth[:19]),
		"beyond.ivecs": datasettest.Vecs([][]int32{{0, 200}}), "one.npy": datasettest.NPY(1, "<f4", queries[:1]), "minus.ivecs": datasettest.Vecs([][]int32{{0, -1}}),
		"cut.fvecs": datasettest.Vecs(base)[:399], "nan.fvecs": datasettest.Vecs([][]float32{{1, 2, 3, float32(math.NaN())}}), "empty.npy": nil,
	} {
		datasettest.File(t, folder, name, data)
	}
}

// dataFile is a file with a data set of these lines, and one search with these in its vector_query.
func dataFile(dataset, search string) string {
	return `seed = 1
[value]
embedding = "vector:4:data:sift"
number = "int:1..50"

[datasets.sift]
` + dataset + `
[[scans]]
id = "knn"
name = "knn"
[scans.vector_query]
field = "embedding"
top_k = 3
distance = "euclidean"
` + hnsw + search
}

// buildData builds from a file of that text in dir.
func buildData(t *testing.T, dir, text string, args ...string) (*Spec, error) {
	t.Helper()
	path := datasettest.File(t, dir, "bench.toml", []byte(text))
	request, err := Build(newFlags(t, append([]string{"-d", "postgres", "--config", path}, args...)...), nil, facts)
	if err != nil {
		return nil, err
	}
	return request.Spec, nil
}

const wholeDataset = `base = "data/base.fvecs"
queries = "data/queries.npy"
truth = "data/truth.ivecs"
distance = "euclidean"`

func TestDatasetsAreResolved(t *testing.T) {
	dir := t.TempDir()
	withData(t, dir)
	s, err := buildData(t, dir, dataFile(wholeDataset, ""), "-s", "200")
	if err != nil {
		t.Fatal(err)
	}
	d := s.Datasets["sift"]
	if len(d.Base.SHA256) != 64 || d.Base.Path != filepath.Join(dir, "data", "base.fvecs") || d.Base.Vectors != 200 || d.Base.Dimensions != 4 ||
		d.Queries.Vectors != 20 || d.Truth.Vectors != 20 || d.Truth.Dimensions != 5 || d.Distance != query.Euclidean {
		t.Errorf("%+v", d)
	}
	search := s.Scans[0].Runs[0].Search
	if search.Holdout != (Holdout{Count: 20}) || search.Dimensions != 4 {
		t.Errorf("the search has %+v, %d components", search.Holdout, search.Dimensions)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Spec
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.Datasets, back.Datasets); diff != "" {
		t.Error(diff)
	}
	small := back.WithoutWorkload()
	rows, err := small.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	var row corpus.Row
	rows.Row(&row, 199, 0)
	if got, want := row.Columns[0].Floats(), datasettest.Vectors(1, 200, 4)[199]; !cmp.Equal(got, want) {
		t.Errorf("the last row has %v, want %v", got, want)
	}
	queries, err := vector.Queries(rows, query.Path{"embedding"}, 0, 20)
	if err != nil || !cmp.Equal(queries, datasettest.Vectors(2, 20, 4)) {
		t.Errorf("%d queries, %v", len(queries), err)
	}
	if found, ok := s.DatasetOf(rows.Template(), query.Path{"embedding"}); !ok || found.Base != d.Base {
		t.Errorf("the data set of the column is %+v", found)
	}
	if _, ok := s.DatasetOf(rows.Template(), query.Path{"number"}); ok {
		t.Error("a number is of a data set")
	}
}

func TestHeldOutVectorsAreQueriesAndNoRows(t *testing.T) {
	dir := t.TempDir()
	withData(t, dir)
	s, err := buildData(t, dir, dataFile("base = 'data/base.fvecs'\nhold_out = 30", "holdout = { count = 10 }"), "-s", "170")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	all := datasettest.Vectors(1, 200, 4)
	queries, err := vector.Queries(rows, query.Path{"embedding"}, 0, s.Scans[0].Runs[0].Search.Holdout.Count)
	if err != nil || !cmp.Equal(queries, all[170:180]) {
		t.Errorf("%d queries, %v", len(queries), err)
	}
	if _, err := vector.Queries(rows, query.Path{"embedding"}, 0, 31); err == nil || !strings.Contains(err.Error(), "31 are more than the 30 that there are") {
		t.Errorf("one query too many: %v", err)
	}
	var row corpus.Row
	for i := range uint64(600) { // beyond the 170, too, as mixes add rows
		rows.Row(&row, i, 1)
		for _, q := range all[170:] {
			if cmp.Equal(row.Columns[0].Floats(), q) {
				t.Fatalf("row %d has a query's vector", i)
			}
		}
	}
}

func TestDatasetsThatCannotBeAreRefused(t *testing.T) {
	dir := t.TempDir()
	withData(t, dir)
	at := func(name string) string { return filepath.Join(dir, "data", name) }
	for _, test := range []struct {
		dataset, search, samples string
		want                     []string
	}{
		{"", "", "10", []string{"bench.toml:6: datasets.sift.base: which file?"}},
		{"base = 'none.fvecs'", "", "10", []string{"bench.toml:7: datasets.sift.base: vectors in " + filepath.Join(dir, "none.fvecs") + ": no such file"}},
		{"base = 'data/cut.fvecs'", "", "10", []string{"bench.toml:7: datasets.sift.base: vectors in " + at("cut.fvecs") + ": its 399 bytes are no whole number of records of 4 components"}},
		{"base = 'data/nan.fvecs'", "", "10", []string{"datasets.sift.base: vectors in " + at("nan.fvecs") + ": component 3 of vector 0 is NaN"}},
		{"base = 'data/empty.npy'", "", "10", []string{at("empty.npy") + ": the file is empty"}},
		{"base = 'bench.toml'", "", "10", []string{`unknown extension ".toml"`}},
		{"base = 'data/truth.ivecs'", "", "10", []string{at("truth.ivecs") + " holds whole numbers"}},
		{"base = 'data/one.fvecs'\nqueries = 'data/queries.npy'", "", "10", []string{at("one.fvecs") + " has 1 vectors for rows: wanted are 2"}},
		{"base = 'data/base.fvecs'\nsha256 = '00'\nqueries = 'data/queries.npy'", "", "10", []string{"bench.toml:8: datasets.sift.sha256: " + at("base.fvecs") + " has the SHA-256 "}},
		{"base = 'data/wide.fvecs'\nqueries = 'data/wide.fvecs'", "", "10", []string{"bench.toml:3: value.embedding: its vectors have 4 components, those of data set sift have 5"}},
		{"base = 'data/base.fvecs'\nqueries = 'data/wide.fvecs'", "", "10", []string{"bench.toml:8: datasets.sift.queries: the vectors of " + at("wide.fvecs") + " have 5 components"}},
		{wholeDataset, "", "201", []string{"--samples: 201 rows are more than the 200 vectors of data set sift (" + at("base.fvecs")}},
		{"base = 'data/base.fvecs'\nhold_out = 30", "", "171", []string{"--samples: 171 rows are more than the 170 vectors of data set sift that are left of 200 when 30 are held out"}},
		{"base = 'data/base.fvecs'\nhold_out = 200", "", "10", []string{"bench.toml:8: datasets.sift.hold_out: must be from 1 to less than the 200"}},
		{wholeDataset + "\nhold_out = 2", "", "10", []string{"bench.toml:11: datasets.sift.hold_out: does not go with queries"}},
		{"base = 'data/base.fvecs'", "", "10", []string{"bench.toml:12: scans[0].vector_query.field: data set sift has no query vectors"}},
		{"base = 'data/base.fvecs'\ntruth = 'data/truth.ivecs'\nhold_out = 20", "", "10", []string{"truth: by which distance?", "truth: of which queries?"}},
		{"base = 'data/base.fvecs'\nqueries = 'data/queries.npy'\ndistance = 'dot'", "", "10", []string{"datasets.sift.distance: is that of a truth"}},
		{strings.Replace(wholeDataset, "euclidean", "euclid", 1), "", "10", []string{"bench.toml:10: datasets.sift.distance: \"euclid\""}},
		{strings.Replace(wholeDataset, "truth.ivecs", "few.ivecs", 1), "", "10", []string{"bench.toml:9: datasets.sift.truth: " + at("few.ivecs") + " has the neighbours of 19 queries, and " + at("queries.npy") + " has 20"}},
		{strings.Replace(strings.Replace(wholeDataset, "truth.ivecs", "beyond.ivecs", 1), "queries.npy", "one.npy", 1), "", "10",
			[]string{at("beyond.ivecs") + " has the numbers 0 to 200, and the vectors of " + at("base.fvecs") + " are 0 to 199"}},
		{strings.Replace(strings.Replace(wholeDataset, "truth.ivecs", "minus.ivecs", 1), "queries.npy", "one.npy", 1), "", "10", []string{"has the numbers -1 to 0"}},
		{strings.Replace(wholeDataset, "truth.ivecs", "queries.npy", 1), "", "10", []string{at("queries.npy") + " holds components"}},
		{wholeDataset, "holdout = { count = 21, seed = 3 }", "10", []string{"holdout.count: must be from 1 to the 20 query vectors", "holdout.seed: has no meaning here"}},
		{wholeDataset + "\n[datasets.gist]\nbase = 'data/base.fvecs'", "", "10", []string{"datasets.gist: no column has vectors of it"}},
		{wholeDataset + "\n[datasets.Sift]\nbase = 'data/base.fvecs'", "", "10", []string{"datasets.Sift: a data set is named by lower-case letters"}},
		{wholeDataset + "\nbases = 1", "", "10", []string{"datasets.sift.bases: unknown key"}},
		{wholeDataset + "\n[[batches]]\nname = 'b'\noperation = 'CREATE'\nbatch_size = 67\niterations = 3", "", "10", []string{"batches[0]: its 201 rows are more than the 200 vectors of data set sift"}},
	} {
		_, err := buildData(t, dir, dataFile(test.dataset, test.search), "-s", test.samples)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s, %s rows:\n%v\nwant %s", test.dataset, test.search, test.samples, err, want)
			}
		}
		if err != nil && len(strings.Split(err.Error(), "\n")) > len(test.want) {
			t.Errorf("%s, %s, %s rows: more than one problem:\n%v", test.dataset, test.search, test.samples, err)
		}
	}
	if _, err := buildData(t, dir, "seed = 1\n[value]\nv = \"vector:4:data:sifft\"\n[datasets.sift]\nbase = 'data/base.fvecs'\n", "-s", "10"); err == nil ||
		!strings.Contains(err.Error(), "bench.toml:3: value.v: there is no [datasets.sifft]; did you mean sift?") {
		t.Errorf("a name that is not there: %v", err)
	}
	if _, err := buildWith(t, dataFile(wholeDataset, ""), "-d", "postgres", "-s", "10"); err == nil || !strings.Contains(err.Error(), "give a path from the root on") {
		t.Errorf("a text without a folder: %v", err)
	}
}

// The same spec on a machine with another file is refused; under another path the same content is the same corpus.
func TestContentOfDatasetsDecides(t *testing.T) {
	digest := func(dir string) (string, *Spec) {
		s, err := buildData(t, dir, dataFile(wholeDataset, ""), "-s", "150")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := s.Corpus()
		if err != nil {
			t.Fatal(err)
		}
		return rows.Digest(), s
	}
	here, there := t.TempDir(), t.TempDir()
	withData(t, here)
	withData(t, there)
	first, s := digest(here)
	if second, _ := digest(there); first != second {
		t.Error("the path decides the digest of the corpus")
	}
	if err := s.CheckDatasets(""); err != nil {
		t.Error(err)
	}
	files, err := s.OpenDatasets()
	if err != nil || len(files) != 3 || files.Unchanged() != nil {
		t.Fatalf("%d files: %v, %v", len(files), err, files.Unchanged())
	}
	files.Warm()
	manifest, err := NewManifest(s)
	if err != nil {
		t.Fatal(err)
	}
	if found := manifest.Differences(s, ""); len(found) > 0 {
		t.Errorf("%q", found)
	}
	datasettest.File(t, filepath.Join(here, "data"), "base.fvecs", datasettest.Vecs(datasettest.Vectors(9, 200, 4)))
	if err := files.Unchanged(); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("a file that was written to: %v", err)
	}
	if err := s.CheckDatasets(""); err == nil || !strings.Contains(err.Error(), "data set sift, base: vectors in "+filepath.Join(here, "data", "base.fvecs")+": this machine has a file with the SHA-256 ") {
		t.Errorf("another content: %v", err)
	}
	other, asked := digest(here)
	if other == first {
		t.Error("another content has the same digest")
	}
	if found := fmt.Sprint(manifest.Differences(asked, "")); !strings.HasPrefix(found, "[datasets.sift: loaded "+s.Datasets["sift"].Base.SHA256+", asked ") {
		t.Errorf("of another content: %s", found)
	}
	datasettest.File(t, filepath.Join(here, "data"), "base.fvecs", datasettest.Vecs(datasettest.Vectors(9, 199, 4)))
	if _, err := s.Corpus(); err == nil || !strings.Contains(err.Error(), "there are 199 of 4 components, the run is of 200 of 4") {
		t.Errorf("another length: %v", err)
	}
	datasettest.File(t, filepath.Join(here, "data"), "truth.ivecs", datasettest.Vecs([][]int32{{1}}))
	if _, err := s.OpenDatasets(); err == nil || !strings.Contains(err.Error(), "data set sift, base") {
		t.Errorf("another length: %v", err)
	}
}

// A matrix carries where the files of its workloads lie.
func TestDatasetsOfAMatrix(t *testing.T) {
	dir := t.TempDir()
	withData(t, dir)
	datasettest.File(t, dir, "near.toml", []byte(dataFile(wholeDataset, "")))
	path := datasettest.File(t, dir, "night.toml", []byte("engines = ['postgres']\nworkloads = ['near.toml', 'crud']\n[settings]\nsamples = 100\n"))
	m, err := ReadMatrix(path, facts.Shipped, facts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"near": dir}, m.Folders); diff != "" {
		t.Error(diff)
	}
	for _, cell := range m.Cells {
		s, skip, err := m.Build(cell, facts)
		if err != nil || skip != "" {
			t.Fatalf("%s: %s, %v", cell, skip, err)
		}
		if cell.Workload == "near" && s.Datasets["sift"].Base.Path != filepath.Join(dir, "data", "base.fvecs") {
			t.Errorf("%+v", s.Datasets)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "other"), 0o755); err != nil {
		t.Fatal(err)
	}
	datasettest.File(t, filepath.Join(dir, "other"), "near.toml", []byte(dataFile(wholeDataset, "")))
	datasettest.File(t, dir, "night.toml", []byte("engines = ['postgres']\nworkloads = ['near.toml', 'other/near.toml']\n[settings]\nsamples = 100\n"))
	if _, err := ReadMatrix(path, facts.Shipped, facts); err == nil || !strings.Contains(err.Error(), "their data sets lie in different folders") {
		t.Errorf("two of one name: %v", err)
	}
}
