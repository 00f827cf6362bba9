package vector

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

func TestMoreQueriesBeginWithTheFirst(t *testing.T) {
	for _, expr := range []string{"vector:16", "vector:16:clustered:3"} {
		c := mustCorpus(t, 1, expr)
		few, err := Queries(c, query.Path{"v"}, 42, 10)
		require.NoError(t, err)
		many, err := Queries(c, query.Path{"v"}, 42, 1000)
		require.NoError(t, err)
		require.Equal(t, few, many[:10])
		other, err := Queries(c, query.Path{"v"}, 43, 10)
		require.NoError(t, err)
		require.NotEqual(t, few[0], other[0])
	}
}

// Queries lie where the rows lie but are none of them, even under the corpus's own seed.
func TestQueriesAreNoRowsButAmongThem(t *testing.T) {
	const sigma = 0.35
	c := mustCorpus(t, 42, "vector:64:clustered:10")
	p := problem(t, c, query.Cosine, 1000, 1, 20)
	var row corpus.Row
	nearest := slices.Repeat([]float64{math.Inf(1)}, len(p.Queries))
	for index := range p.Rows {
		for version := range uint32(2) {
			c.Row(&row, index, version)
			for q, v := range p.Queries {
				require.NotEqual(t, v, row.Columns[2].Floats())
				nearest[q] = min(nearest[q], Distance(query.Cosine, v, row.Columns[2].Floats()))
			}
		}
	}
	for q, d := range nearest {
		require.Less(t, d, 1-1/(1+sigma*sigma), "query %d is in no cluster", q)
	}
}

// A vector deep in objects is found too.
func TestQueriesOfANestedColumn(t *testing.T) {
	template, err := corpus.ParseTemplate(map[string]any{"a": map[string]any{"b": map[string]any{"v": "vector:5"}}})
	require.NoError(t, err)
	c, err := corpus.New(1, template, corpus.KeyInteger, false)
	require.NoError(t, err)
	vectors, err := Queries(c, query.Path{"a", "b", "v"}, 1, 3)
	require.NoError(t, err)
	truth, err := Compute(t.Context(), Problem{Corpus: c, Rows: 100, Field: query.Path{"a", "b", "v"}, Metric: query.Cosine, K: 3, Queries: vectors}, Options{})
	require.NoError(t, err)
	require.Len(t, truth.Answers[0].Nearest[0], 6)
}

// Pinned: the same seed gives the same queries on every machine and in every later version.
func TestQueriesArePinned(t *testing.T) {
	for expr, want := range map[string][]float32{"vector:3": {0.96299016, -0.59361637, 0.31699312}, "vector:3:clustered:4": {0.62740827, -0.06504869, 0.7759688}} {
		vectors, err := Queries(mustCorpus(t, 1, expr), query.Path{"v"}, 42, 2)
		require.NoError(t, err)
		require.Equal(t, want, vectors[1], expr)
	}
}
