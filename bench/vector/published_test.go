package vector

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/dataset"
	"github.com/durabench/durabench/bench/dataset/datasettest"
	"github.com/durabench/durabench/bench/query"
)

// ofFiles is a problem on rows with the vectors of a file, at a version, and these vectors and queries.
func ofFiles(t *testing.T, metric query.Metric, rows uint64, version uint32) (p Problem, base, queries [][]float32) {
	t.Helper()
	base, queries = datasettest.Vectors(1, 400, 12), datasettest.Vectors(2, 30, 12)
	folder := t.TempDir()
	open := func(name string, vectors [][]float32) *dataset.File {
		f, err := dataset.Open(datasettest.File(t, folder, name, datasettest.Vecs(vectors)))
		require.NoError(t, err)
		return f
	}
	template, err := corpus.ParseTemplate(map[string]any{"v": "vector:12:data:x", "number": "int:0..100"})
	require.NoError(t, err)
	c, err := corpus.NewOfData(3, template, corpus.KeyInteger, false, map[string]corpus.Data{
		"x": {Digest: "x", Vectors: open("base.fvecs", base), Queries: open("queries.fvecs", queries), Rows: rows},
	})
	require.NoError(t, err)
	p = problem(t, c, metric, rows, 7, len(queries))
	p.Version = version
	require.Equal(t, queries, p.Queries)
	return p, base, queries
}

// What is found in a data set is what the plainest search through the file finds, at every version.
func TestTruthOfADataSetIsThatOfItsFile(t *testing.T) {
	for _, rows := range []uint64{400, 250} {
		for _, version := range []uint32{0, 1, 77} {
			p, base, queries := ofFiles(t, query.Euclidean, rows, version)
			truth, err := Compute(t.Context(), p, Options{})
			require.NoError(t, err)
			want := datasettest.Truth(base[:rows], queries, 7)
			var row corpus.Row
			for q, list := range truth.Answers[0].Nearest {
				for i, number := range want[q] {
					p.Corpus.Row(&row, list[i].Row, version)
					require.Equal(t, base[number], row.Columns[1].Floats(), "query %d, place %d", q, i)
					require.InEpsilon(t, math.Sqrt(datasettest.Distance(base[number], queries[q])), list[i].Distance, 1e-12)
				}
			}
			for _, metric := range query.Metrics {
				p.Metric = metric
				truth, err := Compute(t.Context(), p, Options{})
				require.NoError(t, err)
				vectors := map[uint64][]float32{}
				for i := range rows {
					p.Corpus.Row(&row, i, version)
					vectors[i] = append([]float32(nil), row.Columns[1].Floats()...)
				}
				require.Equal(t, exhaustive(metric, 7, queries, vectors), truth.Answers[0])
			}
		}
	}
}

func TestPublishedNeighboursAreHeldAgainstOurs(t *testing.T) {
	p, base, queries := ofFiles(t, query.Euclidean, 400, 1)
	p.Filters = []*query.Predicate{nil, bound(t, p.Corpus, number(query.Lt, 50))}
	truth, err := Compute(t.Context(), p, Options{})
	require.NoError(t, err)
	field := &p.Corpus.Template().Columns()[1]
	lists := datasettest.Truth(base, queries, 9)
	published := func(q int) []int64 {
		var rows []int64
		for _, number := range lists[q] {
			row, ok := p.Corpus.DataRow(field, uint64(number), 1)
			require.True(t, ok)
			rows = append(rows, int64(row))
		}
		return rows
	}
	require.Equal(t, Agreement{Queries: 30, K: 7}, Agree(p, &truth.Answers[0], 7, published))
	require.Equal(t, Agreement{Queries: 30, K: 3}, Agree(p, &truth.Answers[0], 3, published))

	kept := lists[4][6]
	lists[4][6] = lists[4][8] // a farther one
	require.Equal(t, Agreement{Queries: 30, K: 7, Differing: 1, First: 4, Recall: 6.0 / 7}, Agree(p, &truth.Answers[0], 7, published))
	require.Zero(t, Agree(p, &truth.Answers[0], 6, published).Differing)
	lists[4][6] = kept
	lists[9][0], lists[9][5] = lists[9][5], lists[9][0] // in another order
	require.Equal(t, Agreement{Queries: 30, K: 7, Differing: 1, First: 9, Recall: 1}, Agree(p, &truth.Answers[0], 7, published))
	lists[9][0], lists[9][5] = lists[9][5], lists[9][0]
	lists[2][1] = lists[2][0] // one twice
	lists[3] = lists[3][:2]   // too few
	found := Agree(p, &truth.Answers[0], 7, published)
	require.Equal(t, 2, found.Differing)
	require.Equal(t, 2, found.First)
}

// Rows that are exactly as near stand in for each other, and those that single precision cannot tell apart are no difference but a note.
func TestTiesAreNoDifference(t *testing.T) {
	near := math.Nextafter32(2, 3)
	base := [][]float32{{0, 1}, {0, -1}, {2, 0}, {near, 0}, {0, 5}}
	folder := t.TempDir()
	file, err := dataset.Open(datasettest.File(t, folder, "base.fvecs", datasettest.Vecs(base)))
	require.NoError(t, err)
	template, err := corpus.ParseTemplate(map[string]any{"v": "vector:2:data:x", "a": "int"})
	require.NoError(t, err)
	c, err := corpus.NewOfData(3, template, corpus.KeyInteger, false, map[string]corpus.Data{"x": {Digest: "x", Vectors: file, Rows: 5}})
	require.NoError(t, err)
	p := Problem{Corpus: c, Rows: 5, Field: query.Path{"v"}, Metric: query.Euclidean, K: 3, Queries: [][]float32{{0, 0}}}
	truth, err := Compute(t.Context(), p, Options{})
	require.NoError(t, err)
	agree := func(k int, rows ...int64) Agreement {
		return Agree(p, &truth.Answers[0], k, func(int) []int64 { return rows })
	}
	require.Equal(t, Agreement{Queries: 1, K: 1}, agree(1, 1), "as near as the first")
	require.Equal(t, Agreement{Queries: 1, K: 3, Rounding: 1}, agree(3, 1, 0, 3), "farther by less than single precision tells")
	require.Equal(t, 1, agree(3, 0, 1, 4).Differing)
	require.Equal(t, 1, agree(3, 0, 1, -1).Differing)
}

// noise is vectors that are evenly spread.
type noise struct{}

func (noise) Len() uint64 { return 500 }
func (noise) Dim() int    { return 300 }
func (noise) Vector(dst []float32, i uint64) {
	stream := corpus.NewRandom(1, "noise").At(i)
	for j := range dst {
		dst[j] = float32(stream.Unit(uint64(j))) - 0.5
	}
}

// Who measures a data set is not told to take other vectors.
func TestAuditOfADataSetWithoutNeighbourhoods(t *testing.T) {
	template, err := corpus.ParseTemplate(map[string]any{"v": "vector:300:data:x"})
	require.NoError(t, err)
	c, err := corpus.NewOfData(3, template, corpus.KeyInteger, false, map[string]corpus.Data{"x": {Digest: "x", Vectors: noise{}, Rows: 400}})
	require.NoError(t, err)
	query := make([]float32, 300)
	noise{}.Vector(query, 450)
	a, err := AuditCorpus(t.Context(), Problem{Corpus: c, Rows: 400, Field: []string{"v"}, Metric: "euclidean", K: 1, Queries: [][]float32{query}}, nil, 0)
	require.NoError(t, err)
	require.Len(t, a.Warnings, 1)
	require.Contains(t, a.Warnings[0], "little in this data set")
	require.NotContains(t, a.Warnings[0], "clustered")
}
