package vector

import (
	"math"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/vector/tile"
)

// A row is nominated for a query unless its float32 score proves that its exact distance is beyond the bound d of the neighbours found so far. With C the
// computed score, x the row, q the query and e = tile.ErrorBound, distance ≤ d implies
//
//	inner product   C + e·|x|·|q|          ≥ −d
//	euclidean       C + e·|x|·|q| − |x|²/2 ≥ (|q|² − d²)/2
//	cosine          C + |x|·|q|·(e − 1 + d) ≥ 0
//	manhattan       C                      ≥ −d·(1 + e)
//
// all of which have the form C + slack·scale − bias ≥ limit of tile.Choose, where slack and bias are the row's, scale and limit the query's. The roundings of
// this comparison and of the exact distance itself are what e has to spare. A zero vector, which the cosine's formula does not hold for, scores 0 and is always
// nominated.

// Between these lengths nothing overflows, and e·|x|·|q| is so large that what is rounded to nothing does not count. Rows of other lengths but 0, and all rows
// for queries of other lengths, are nominated unseen.
const shortest, longest = 1e-15, 1e15

// tame tells whether float32 arithmetic can deal with a vector of the length.
func tame(length float64) bool { return length == 0 || length >= shortest && length <= longest }

// nomination knows how to compare.
type nomination struct {
	metric query.Metric
	bound  float64 // relative error of scores
	sure   bool    // of the bound
}

func newNomination(m query.Metric, dim int) nomination {
	return nomination{metric: m, bound: tile.ErrorBound(dim), sure: tile.Reliable(dim)}
}

// op is what scores are made of.
func (n nomination) op() tile.Op {
	if n.metric == query.Manhattan {
		return tile.Difference
	}
	return tile.Product
}

// row returns the row's part.
func (n nomination) row(length float64) (slack, bias float32) {
	switch n.metric {
	case query.InnerProduct:
		return above(n.bound * length), 0
	case query.Euclidean:
		return above(n.bound * length), below(length * length / 2 * (1 - 0x1p-20))
	case query.Cosine:
		return above(length), 0
	}
	return 0, 0
}

// query returns the query's part, given the distance beyond which nobody cares.
func (n nomination) query(length, distance float64) (scale, limit float32) {
	inf := float32(math.Inf(1))
	if !n.sure || !tame(length) || math.IsInf(distance, 1) {
		return 0, -inf
	}
	switch n.metric {
	case query.InnerProduct:
		scale, limit = above(length), below(-distance)
	case query.Euclidean:
		far := distance * distance
		scale, limit = above(length), below((length*length*(1-0x1p-30)-far*(1+0x1p-40))/2)
	case query.Cosine:
		scale = above(length * (n.bound - 1 + distance))
	case query.Manhattan:
		limit = below(-distance * (1 + n.bound))
	}
	return scale, limit
}

// above returns a float32 that is not less.
func above(x float64) float32 {
	y := float32(x)
	if float64(y) < x {
		return math.Nextafter32(y, float32(math.Inf(1)))
	}
	return y
}

// below returns a float32 that is not more.
func below(x float64) float32 { return -above(-x) }
