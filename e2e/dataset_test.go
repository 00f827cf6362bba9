//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/dataset/datasettest"
	"github.com/durabench/durabench/bench/result"
)

// realVectors is a workload of searches in vectors of a file, for queries of another, whose nearest are in a third.
const realVectors = `
seed = 7
vector_warmup_seconds = 1

[value]
embedding = "vector:16:data:real"
number = "int:1..1000"

[datasets.real]
base = "vectors/base.fvecs"
queries = "vectors/queries.npy"
truth = "vectors/truth.ivecs"
distance = "euclidean"

[[scans]]
id = "knn"
iterations = 80

[[scans.runs]]
name = "exact"

[scans.runs.vector_query]
field = "embedding"
top_k = 10
distance = "euclidean"
index_strategy = { kind = "bruteforce" }

[[scans.runs]]
name = "hnsw"

[scans.runs.vector_query]
field = "embedding"
top_k = 10
distance = "euclidean"
index_strategy = { kind = "hnsw", m = 16, ef_construction = 100, ef_search = [64] }
filters = [{ name = "tenth", where = { number = { lte = 100 } } }]
`

// writeVectors writes the files of the workload into the world, from vectors of a seed.
func (w *world) writeVectors(seed int) {
	w.t.Helper()
	folder := filepath.Join(w.dir, "vectors")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		w.t.Fatal(err)
	}
	base, queries := datasettest.Vectors(seed, 1500, 16), datasettest.Vectors(2, 40, 16)
	datasettest.File(w.t, folder, "base.fvecs", datasettest.Vecs(base))
	datasettest.File(w.t, folder, "queries.npy", datasettest.NPY(1, "<f4", queries))
	datasettest.File(w.t, folder, "truth.ivecs", datasettest.Vecs(datasettest.Truth(base, queries, 20)))
}

// A real server finds in a data set what its files say, and another content is another corpus.
func TestSearchesInADataSet(t *testing.T) {
	w := newWorld(t)
	w.extra = append(w.extra, searchWorld(t, "postgres")...)
	w.writeVectors(1)
	config := w.written("real.toml", realVectors)
	d := w.measured("postgres", config, "-s", "1500")
	searches := 0
	for _, leg := range d.Legs {
		if leg.Verdict != result.Valid {
			t.Errorf("leg %s is %s: %s", leg.ID, leg.Verdict, leg.Why)
		}
		if leg.Kind != "search" {
			continue
		}
		searches++
		if leg.Search.Filter == "" || leg.Search.Exact() {
			checkSearch(t, "postgres", leg)
		}
		if leg.Search.Queries != 40 || leg.Search.Published != "the nearest 10 in truth.ivecs are ours in all 40 queries" {
			t.Errorf("leg %s: %d queries, %q", leg.ID, leg.Search.Queries, leg.Search.Published)
		}
	}
	if searches < 3 {
		t.Errorf("%d legs of searches", searches)
	}
	w.writeVectors(3)
	if other := w.measured("postgres", config, "-s", "1500"); other.Corpus.Digest == d.Corpus.Digest {
		t.Error("another content is the same corpus")
	}
	if o := w.run("run", "-d", "postgres", "--config", config, "-s", "1501", "--isolation", "none"); o.code == 0 || !strings.Contains(o.stderr, "1501 rows are more than the 1500 vectors of data set real") {
		t.Errorf("more rows than vectors: exit %d\n%s", o.code, o.stderr)
	}
	w.nothingLeft()
}
