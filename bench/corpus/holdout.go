package corpus

import (
	"fmt"
	"math"
)

// Holdout makes vectors that look like a column's and are in no row: from the column's own generator, around the same centres, with random numbers
// that no row has. Each is a pure function of the seed and its number. Those of a data set are its query vectors, whatever the seed. A Holdout belongs to
// one goroutine.
type Holdout struct {
	corpus *Corpus
	field  *Field
	seed   uint64
	data   Vectors // of a data set
	row    Row
}

// Holdout returns the held-out vectors of a vector field of the corpus's template under a seed of their own, which may be the corpus's.
func (c *Corpus) Holdout(f *Field, seed uint64) (*Holdout, error) {
	if f.Kind != Vector {
		return nil, fmt.Errorf("column %s has no vectors but %ss", f.Name, f.Kind)
	}
	h := &Holdout{corpus: c, field: f, seed: seed}
	if g, isData := f.gen.(*dataGen); isData {
		if h.data = c.data[g.slot].Queries; h.data == nil {
			return nil, fmt.Errorf("column %s: the data set %s has no query vectors", f.Name, g.name)
		}
	}
	return h, nil
}

// Len returns how many vectors there are; those of generators have no end, which is math.MaxUint64.
func (h *Holdout) Len() uint64 {
	if h.data != nil {
		return h.data.Len()
	}
	return math.MaxUint64
}

// Vector writes the components of vector number i, which must be below Len, to dst, which has room for Field.Dim of them.
func (h *Holdout) Vector(dst []float32, i uint64) {
	if h.data != nil {
		h.data.Vector(dst, i)
		return
	}
	var v Value
	h.row.floats.reset()
	h.field.gen.fill(h.corpus, &h.row, &v, mix(subkey(h.seed, domainHoldout, i)+h.field.path))
	copy(dst, v.floats)
}
