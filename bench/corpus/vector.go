package corpus

import (
	"math"
	"math/bits"
)

// vectorGen makes vectors whose components are spread evenly over [lo, hi).
type vectorGen struct {
	dim    int
	lo, hi float32
}

func (g *vectorGen) fill(_ *Corpus, r *Row, v *Value, cell uint64) {
	out := r.floats.take(g.dim)
	width, last := g.hi-g.lo, math.Nextafter32(g.hi, float32(math.Inf(-1)))
	for i := range out {
		w := uint32(word(cell, uint64(i>>1)) >> (i & 1 * 32)) // two components per word
		// Products are converted on their own, here and below, so that no compiler fuses them with the sum, on some machines only.
		out[i] = min(float32(float32(w>>8)*0x1p-24*width)+g.lo, last)
	}
	v.kind, v.floats = Vector, out
}

// clusteredGen makes unit vectors around n centres, which are unit vectors themselves. To a centre is added a bell-shaped random vector
// whose length is about sigma, and the sum is brought to length 1 again. Two rows of one cluster are then at a cosine distance of about
// 1 − 1 ÷ (1 + sigma²), 0.11 by default, while two rows of different clusters are at about 1.
type clusteredGen struct {
	dim, n int
	scale  float32 // turns a bell sum into a component of the added vector
	path   uint64
	slot   int // in Corpus.centres
}

func newClusteredGen(dim, n int, sigma float64) *clusteredGen {
	return &clusteredGen{dim: dim, n: n, scale: float32(sigma / (math.Sqrt(float64(dim)) * bellDeviation))}
}

// bellDeviation is the standard deviation of bell: four uniform variables of variance (2³² − 1) ÷ 12 each.
const bellDeviation = 37837.2276

// bell adds up the four quarters of a random word: the distribution of Irwin and Hall for four summands, whose bell shape is close to
// the normal distribution within ±3.4 standard deviations and costs a tenth of it. The mean is taken away.
func bell(w uint64) float32 {
	const low = 0x0000ffff0000ffff
	s := w&low + w>>16&low
	return float32(int32(uint32(s)+uint32(s>>32)) - 4*0xffff/2)
}

// centres makes the centres of the column from the corpus's seed. They stay the same in all rows and versions.
func (g *clusteredGen) centres(seed uint64) []float32 {
	all := make([]float32, g.n*g.dim)
	for k := range g.n {
		cell := subkey(seed^g.path, domainCentre, uint64(k))
		one := all[k*g.dim:][:g.dim]
		for i := range one {
			one[i] = bell(word(cell, uint64(i)))
		}
		normalise(one, squares(one))
	}
	return all
}

// cluster returns the number of the centre that the vector of the cell is around.
func (g *clusteredGen) cluster(cell uint64) uint64 { return below(word(cell, 0), uint64(g.n)) }

func (g *clusteredGen) fill(c *Corpus, r *Row, v *Value, cell uint64) {
	cluster := int(g.cluster(cell))
	centre := c.centres[g.slot][cluster*g.dim:][:g.dim]
	out := r.floats.take(g.dim)
	state := cell + wyStep // stepped to words 1, 2, … of the cell
	for i, x := range centre {
		state += wyStep
		hi, lo := bits.Mul64(state, state^wyTwo)
		out[i] = x + float32(bell(hi^lo)*g.scale)
	}
	if sum := squares(out); sum > 0 {
		normalise(out, sum)
	} else {
		copy(out, centre) // the added vector met the centre's opposite exactly
	}
	v.kind, v.floats = Vector, out
}

// clusterGen tells the cluster of a vector in the same row: what is near in the vector has the same number, so a condition on it goes with the
// neighbourhoods instead of cutting through all of them alike.
type clusterGen struct {
	column string // as the expression names it
	of     *clusteredGen
}

func (g *clusterGen) fill(c *Corpus, r *Row, v *Value, _ uint64) {
	row := rowKey(c.row1, c.row2, r.Index, r.Version)
	v.kind, v.bits = Int, g.of.cluster(mix(row+g.of.path))
}

// squares returns the sum of the squares. Four partial sums let the processor work on them side by side; their order is part of the algorithm.
func squares(v []float32) float64 {
	var s0, s1, s2, s3 float64
	rest := v
	for ; len(rest) >= 4; rest = rest[4:] {
		x0, x1, x2, x3 := float64(rest[0]), float64(rest[1]), float64(rest[2]), float64(rest[3])
		s0 += float64(x0 * x0)
		s1 += float64(x1 * x1)
		s2 += float64(x2 * x2)
		s3 += float64(x3 * x3)
	}
	for _, x := range rest {
		s0 += float64(float64(x) * float64(x))
	}
	return s0 + s1 + (s2 + s3)
}

// normalise brings a vector with the given sum of squares to length 1.
func normalise(v []float32, sum float64) {
	f := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= f
	}
}
