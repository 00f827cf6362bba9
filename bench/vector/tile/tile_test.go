package tile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func vectors(r *rand.Rand, n, dim int) [][]float32 {
	all := make([][]float32, n)
	for i := range all {
		all[i] = make([]float32, dim)
		for j := range all[i] {
			all[i][j] = float32(r.NormFloat64())
		}
	}
	return all
}

// Every kernel computes every score of a block to within the bound that it promises, whatever the shape, and writes nowhere else.
func TestScoresAreWithinTheirBound(t *testing.T) {
	for _, kernel := range Kernels() {
		for op, name := range []string{"product", "difference"} {
			t.Run(fmt.Sprintf("%s/%s", kernel.Name, name), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				for range 40 {
					dim, n, queries := 1+r.IntN(400), 1+r.IntN(30), 1+r.IntN(70)
					q, x := vectors(r, queries, dim), vectors(r, n, dim)
					p := kernel.Pack(Op(op), q)
					rows := p.NewRows(n)
					for i, v := range x {
						copy(rows.Row(i, dim), v)
					}
					scores := make([]float32, roundUp(n, p.Group())*p.Cols+1)
					for panel := range p.Count {
						for i := range scores {
							scores[i] = float32(math.NaN()) // what was there before must not matter
						}
						p.Scores(scores[:len(scores)-1:len(scores)-1], panel, rows, n)
						require.True(t, math.IsNaN(float64(scores[len(scores)-1])), "written beyond the end")
						for i := range n {
							for j := range p.Cols {
								got := float64(scores[i*p.Cols+j])
								number := panel*p.Cols + j
								if number >= queries {
									continue
								}
								want, bound := exact(Op(op), x[i], q[number])
								if !(math.Abs(got-want) <= bound*ErrorBound(dim)) {
									t.Fatalf("%d components: row %d, query %d: %v, want %v ± %v", dim, i, number, got, want, bound*ErrorBound(dim))
								}
							}
						}
					}
				}
			})
		}
	}
}

// exact returns the score in float64, and what its error is relative to.
func exact(op Op, a, b []float32) (score, scale float64) {
	var product, aa, bb, differences float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		product, aa, bb, differences = product+x*y, aa+x*x, bb+y*y, differences+math.Abs(x-y)
	}
	if op == Product {
		return product, math.Sqrt(aa * bb)
	}
	return -differences, differences
}

// Every kernel chooses the same scores as the definition, and those that cannot be compared.
func TestChooseIsItsDefinition(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	values := []float32{0, 1, -1, 0.5, 2, inf, -inf, nan}
	for _, kernel := range Kernels() {
		r := rand.New(rand.NewPCG(3, 4))
		pick := func(n int) []float32 {
			v := make([]float32, n)
			for i := range v {
				v[i] = values[r.IntN(len(values))]
			}
			return v
		}
		p := kernel.Pack(Product, vectors(r, 1, 1))
		for range 200 {
			n := 1 + r.IntN(30)
			scores, slack, bias, scale, limit := pick(n*p.Cols), pick(n), pick(n), pick(p.Cols), pick(p.Cols)
			masks := make([]uint32, n+1)
			masks[n] = 77
			p.Choose(masks[:n], scores, slack, bias, scale, limit)
			require.Equal(t, uint32(77), masks[n])
			for i := range n {
				for j := range p.Cols {
					want := !(scores[i*p.Cols+j]+slack[i]*scale[j]-bias[i] < limit[j])
					require.Equal(t, want, masks[i]>>j&1 == 1, "%s: %v + %v·%v − %v against %v", kernel.Name, scores[i*p.Cols+j], slack[i], scale[j], bias[i], limit[j])
				}
			}
		}
	}
}

func BenchmarkScores(b *testing.B) {
	for _, kernel := range Kernels() {
		for op, name := range []string{"product", "difference"} {
			b.Run(fmt.Sprintf("%s/%s", kernel.Name, name), func(b *testing.B) {
				const dim, queries = 768, 1000
				r := rand.New(rand.NewPCG(1, 2))
				p := kernel.Pack(Op(op), vectors(r, queries, dim))
				n := 120 / p.Group() * p.Group()
				rows := p.NewRows(n)
				for i, v := range vectors(r, n, dim) {
					copy(rows.Row(i, dim), v)
				}
				scores := make([]float32, n*p.Cols)
				for b.Loop() {
					for panel := range p.Count {
						p.Scores(scores, panel, rows, n)
					}
				}
				b.ReportMetric(2*dim*queries*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
