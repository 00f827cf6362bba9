// Package access draws which row each operation goes to: uniformly, by Zipf's law, around a hot spot, or with the latest rows first. A draw
// is a pure function of the seed and the operation's number, so that workers need share nothing and a run can be repeated. Only rows that
// exist are drawn.
package access

import (
	"errors"
	"fmt"
	"math"

	"github.com/durabench/durabench/bench/corpus"
)

// The names of the distributions.
const (
	Uniform = "uniform" // every row alike
	Zipf    = "zipf"    // the row of rank k, from 1, in proportion to 1 ÷ k^Theta; ranks are scattered over the rows
	Hotspot = "hotspot" // a share of the operations to a share of the rows, scattered; the others to the other rows
	Latest  = "latest"  // by Zipf's law over the age of the rows: the row added last has rank 1
)

// Distribution says how rows are drawn.
type Distribution struct {
	Name string
	// Theta is the exponent of Zipf and Latest, 0 to MaxTheta; 0 is uniform, 0.99 YCSB's.
	Theta float64
	// HotRows and HotOperations are shares, 0 to 1: of the rows, and of the operations that go to them.
	HotRows, HotOperations float64
}

// MaxTheta is the largest exponent. Beyond it, nearly all operations go to one row.
const MaxTheta = 10

// Check returns every reason why nothing can be drawn.
func (d Distribution) Check() error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	switch d.Name {
	case Uniform:
	case Zipf, Latest:
		if !(d.Theta >= 0 && d.Theta <= MaxTheta) {
			refuse("theta %v of distribution %s: want 0 to %d, e.g. 0.99", d.Theta, d.Name, MaxTheta)
		}
	case Hotspot:
		if !(d.HotRows > 0 && d.HotRows <= 1) {
			refuse("hot rows %v: want a share above 0 and at most 1, e.g. 0.2", d.HotRows)
		}
		if !(d.HotOperations >= 0 && d.HotOperations <= 1) {
			refuse("hot operations %v: want a share from 0 to 1, e.g. 0.8", d.HotOperations)
		}
	default:
		refuse("distribution %q: want %s, %s, %s or %s", d.Name, Uniform, Zipf, Hotspot, Latest)
	}
	return errors.Join(problems...)
}

// Source is what the drawers of a leg's workers share. It is immutable.
type Source struct {
	d       Distribution
	rows    uint64 // that there were in the beginning
	random  corpus.Random
	scatter corpus.Shuffle
	hot     uint64 // rows of the hot spot
}

// New returns the source of draws from rows, at least one, and from those that are added to them.
func New(d Distribution, rows, seed uint64) (*Source, error) {
	if rows < 1 || rows > corpus.MaxRows {
		return nil, fmt.Errorf("draw from %d rows: want 1 to %d", rows, uint64(corpus.MaxRows))
	}
	if err := d.Check(); err != nil {
		return nil, err
	}
	return &Source{
		d: d, rows: rows, random: corpus.NewRandom(seed, "access"), scatter: corpus.NewShuffle(seed, "access", rows),
		hot: min(max(uint64(math.Round(d.HotRows*float64(rows))), 1), rows),
	}, nil
}

// Drawer draws for one worker.
type Drawer struct {
	*Source
	zipf zipf // of the number of rows last drawn from
}

// Drawer returns a new drawer.
func (s *Source) Drawer() *Drawer { return &Drawer{Source: s} }

// Draw returns the index of the row that operation n goes to, when there are rows of them, indexes 0 to rows-1: at least one, and more than
// in the beginning when some were added. Added rows are drawn as the others; in Zipf's law they have the last ranks, and none is hot.
func (w *Drawer) Draw(n, rows uint64) uint64 {
	switch w.d.Name {
	case Zipf:
		return w.spread(w.rank(n, rows), rows)
	case Latest:
		return rows - 1 - w.rank(n, rows)
	case Hotspot:
		r := w.random.At(n)
		hot := min(w.hot, rows)
		if r.Unit(0) < w.d.HotOperations || hot == rows {
			return w.spread(r.Below(1, hot), rows)
		}
		return w.spread(hot+r.Below(1, rows-hot), rows)
	default:
		return w.random.Below(n, rows)
	}
}

// spread scatters ranks over the rows, so that those often drawn are no neighbours.
func (w *Drawer) spread(rank, rows uint64) uint64 {
	if rank >= w.rows || rows < w.rows {
		return rank
	}
	return w.scatter.At(rank)
}

// rank draws a rank, counted from 0.
func (w *Drawer) rank(n, rows uint64) uint64 {
	if w.zipf.n != rows {
		w.zipf = newZipf(rows, w.d.Theta)
	}
	return w.zipf.draw(w.random.At(n)) - 1
}
