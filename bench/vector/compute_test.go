package vector

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/vector/tile"
)

// mustCorpus returns a corpus with a column v of the expression, a number below 100 and an enum.
func mustCorpus(t testing.TB, seed uint64, expr string) *corpus.Corpus {
	t.Helper()
	template, err := corpus.ParseTemplate(map[string]any{"v": expr, "number": "int:0..100", "status": "string_enum:draft,published,archived"})
	require.NoError(t, err)
	c, err := corpus.New(seed, template, corpus.KeyInteger, false)
	require.NoError(t, err)
	return c
}

// bound returns a predicate that is bound.
func bound(t testing.TB, c *corpus.Corpus, p *query.Predicate) *query.Predicate {
	t.Helper()
	s, err := query.Bind(&query.Scan{ID: "s", Where: p}, c.Template())
	require.NoError(t, err)
	return s.Where
}

func number(op query.Op, n int64) *query.Predicate {
	return &query.Predicate{Op: op, Path: query.Path{"number"}, Values: []query.Literal{{Kind: corpus.Int, Int: n}}}
}

// problem returns a problem with queries of the seed.
func problem(t testing.TB, c *corpus.Corpus, m query.Metric, rows uint64, k, queries int) Problem {
	t.Helper()
	vectors, err := Queries(c, query.Path{"v"}, 42, queries)
	require.NoError(t, err)
	return Problem{Corpus: c, Rows: rows, Field: query.Path{"v"}, Metric: m, K: k, Queries: vectors}
}

// exhaustive is the answer by definition: all distances, sorted.
func exhaustive(m query.Metric, k int, queries [][]float32, vectors map[uint64][]float32) Answer {
	a := Answer{Filter: "true", Matches: int64(len(vectors))}
	for _, q := range queries {
		var all []Neighbour
		for row, v := range vectors {
			all = append(all, Neighbour{row, Distance(m, q, v)})
		}
		slices.SortFunc(all, compare)
		var band int64
		end := min(2*k, len(all))
		if len(all) > 0 {
			kth := all[min(k, len(all))-1].Distance
			for i, one := range all {
				if one.Distance == kth {
					band++
					if i >= 2*k && i < 2*k+bandLimit {
						end = i + 1
					}
				}
			}
		}
		a.Nearest, a.Band = append(a.Nearest, all[:end]), append(a.Band, band)
	}
	return a
}

// found returns what a sweep with the kernel finds among the vectors, given so many at a time: only what batches before have found narrows the limits.
func found(t *testing.T, kernel *tile.Kernel, m query.Metric, k int, queries [][]float32, vectors map[uint64][]float32, order []uint64, batch int) Answer {
	t.Helper()
	c := mustCorpus(t, 1, fmt.Sprintf("vector:%d", len(queries[0])))
	p := Problem{Corpus: c, Rows: 1 << 20, Field: query.Path{"v"}, Metric: m, K: k, Queries: queries}
	column, err := p.check()
	require.NoError(t, err)
	s, err := newSweep(p, column, "", Options{Kernel: kernel})
	require.NoError(t, err)
	w := newWorker(s)
	for _, row := range order {
		w.matched[0][w.n] = math.MaxUint32
		w.add(row, vectors[row])
		if w.n == min(w.batch, batch) {
			w.compare()
		}
	}
	w.compare()
	a := s.truth().Answers[0]
	a.Matches = int64(len(order))
	return a
}

// shapes make vectors that float32 arithmetic finds hard to rank.
var shapes = map[string]func(r *rand.Rand, dim int) []float32{
	"plain": func(r *rand.Rand, dim int) []float32 {
		return filled(dim, func() float32 { return float32(r.NormFloat64()) })
	},
	"grid with ties and zeros": func(r *rand.Rand, dim int) []float32 {
		return filled(dim, func() float32 { return float32(r.IntN(3) - 1) })
	},
	"one of a few": func(r *rand.Rand, dim int) []float32 {
		few := rand.New(rand.NewPCG(uint64(r.IntN(3)), 7))
		return filled(dim, func() float32 { return float32(few.NormFloat64()) })
	},
	"last bits": func(r *rand.Rand, dim int) []float32 {
		return filled(dim, func() float32 { return 1 + float32(r.IntN(4))*0x1p-23 })
	},
	"far from the origin": func(r *rand.Rand, dim int) []float32 {
		return filled(dim, func() float32 { return 1<<24 + 2*float32(r.IntN(3)) })
	},
	"huge, tiny and usual lengths": func(r *rand.Rand, dim int) []float32 {
		scale := math.Pow(10, float64(r.IntN(80)-42))
		return filled(dim, func() float32 { return float32(max(-3e38, min(3e38, scale*r.NormFloat64()))) })
	},
	"multiples of one": func(r *rand.Rand, dim int) []float32 {
		scale, i := float32(r.IntN(5)-2), float32(0)
		return filled(dim, func() float32 { i++; return scale * i / 3 })
	},
	"mostly zero": func(r *rand.Rand, dim int) []float32 {
		return filled(dim, func() float32 { return float32(max(0, r.IntN(20)-18)) })
	},
	"not finite": func(r *rand.Rand, dim int) []float32 {
		return filled(dim, func() float32 {
			switch r.IntN(40) {
			case 0:
				return float32(math.Inf(1 - 2*r.IntN(2)))
			case 1:
				return float32(math.NaN())
			}
			return float32(r.NormFloat64())
		})
	},
}

func filled(dim int, next func() float32) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = next()
	}
	return v
}

// Thousands of small problems, each by every kernel and in two orders, against the definition.
func TestNearestRowsAreThoseOfTheDefinition(t *testing.T) {
	for _, kernel := range tile.Kernels() {
		for name, shape := range shapes {
			for _, m := range query.Metrics {
				t.Run(fmt.Sprintf("%s/%s/%s", kernel.Name, name, m), func(t *testing.T) {
					for i := range uint64(20) {
						r := rand.New(rand.NewPCG(i, 11))
						dim, rows, k := 1+r.IntN(70), 1+r.IntN(150), 1+r.IntN(12)
						var queries [][]float32
						for len(queries) < 1+r.IntN(40) {
							q := shape(r, dim)
							if s := squares(q); !math.IsNaN(s) && !math.IsInf(s, 0) {
								queries = append(queries, q)
							}
						}
						vectors := map[uint64][]float32{}
						for row := range uint64(rows) {
							vectors[row] = shape(r, dim)
						}
						order := make([]uint64, rows)
						for i, row := range r.Perm(rows) {
							order[i] = uint64(row)
						}
						want := exhaustive(m, k, queries, vectors)
						require.Equal(t, want, found(t, kernel, m, k, queries, vectors, order, 1+r.IntN(9)), "problem %d", i)
						slices.Sort(order)
						require.Equal(t, want, found(t, kernel, m, k, queries, vectors, order, 1+r.IntN(60)), "problem %d, in order", i)
					}
				})
			}
		}
	}
}

// A band that is too long to be listed is counted all the same, and its first rows are listed.
func TestLongBandsAreCounted(t *testing.T) {
	vectors, order := map[uint64][]float32{}, []uint64{}
	for row := range uint64(bandLimit * 3) {
		vectors[row] = []float32{1, 2}
		order = append(order, row)
	}
	vectors[77] = []float32{0, 0}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	queries := [][]float32{{0, 0}, {9, 9}}
	got := found(t, tile.Kernels()[0], query.Euclidean, 5, queries, vectors, order, 7)
	require.Equal(t, exhaustive(query.Euclidean, 5, queries, vectors), got)
	require.Equal(t, []int64{bandLimit*3 - 1, bandLimit*3 - 1}, got.Band)
	require.Len(t, got.Nearest[0], 10+bandLimit)
}

// What is found among the rows of a corpus, with filters, is the same by all kernels, with any number of workers and any size of block.
func TestTruthDoesNotDependOnHowItIsFound(t *testing.T) {
	c := mustCorpus(t, 5, "vector:24:clustered:7:0.2")
	for _, filters := range [][]*query.Predicate{
		nil,
		{nil, bound(t, c, number(query.Lt, 3)), bound(t, c, number(query.Gte, 40)), bound(t, c, number(query.Gt, 98)), bound(t, c, number(query.Lt, 0))},
		{bound(t, c, number(query.Eq, 1)), bound(t, c, &query.Predicate{Op: query.Not, Args: []*query.Predicate{number(query.Eq, 1)}})},
		{bound(t, c, number(query.Eq, 1))},
	} {
		for _, m := range query.Metrics {
			p := problem(t, c, m, 1001, 4, 21)
			p.Filters = filters
			want := &Truth{Digest: p.Digest(), K: 4, Rows: 1001}
			for _, f := range p.filters() {
				vectors := map[uint64][]float32{}
				for index := range p.Rows {
					var row corpus.Row
					if c.Row(&row, index, 0); query.Matches(f, &row) {
						column, err := p.check()
						require.NoError(t, err)
						vectors[index] = at(&row, column.At).Floats()
					}
				}
				a := exhaustive(m, 4, p.Queries, vectors)
				a.Filter = f.String()
				want.Answers = append(want.Answers, a)
			}
			for _, kernel := range tile.Kernels() {
				for _, o := range []Options{{Workers: 1}, {Workers: 3, block: 100}, {Workers: 8, block: 7}, {block: 1 << 30}} {
					o.Kernel = kernel
					got, err := Compute(context.Background(), p, o)
					require.NoError(t, err)
					require.Equal(t, want, got, "%s, %d workers, blocks of %d", kernel.Name, o.Workers, o.block)
				}
			}
		}
	}
}
