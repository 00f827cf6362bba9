package corpus

import "fmt"

// Holdout makes vectors that look like a column's and are in no row: from the column's own generator, around the same centres, with random numbers
// that no row has. Each is a pure function of the seed and its number. A Holdout belongs to one goroutine.
type Holdout struct {
	corpus *Corpus
	field  *Field
	seed   uint64
	row    Row
}

// Holdout returns the held-out vectors of a vector field of the corpus's template under a seed of their own, which may be the corpus's.
func (c *Corpus) Holdout(f *Field, seed uint64) (*Holdout, error) {
	if f.Kind != Vector {
		return nil, fmt.Errorf("column %s has no vectors but %ss", f.Name, f.Kind)
	}
	return &Holdout{corpus: c, field: f, seed: seed}, nil
}

// Vector writes the components of vector number i to dst, which has room for Field.Dim of them.
func (h *Holdout) Vector(dst []float32, i uint64) {
	var v Value
	h.row.floats.reset()
	h.field.gen.fill(h.corpus, &h.row, &v, mix(subkey(h.seed, domainHoldout, i)+h.field.path))
	copy(dst, v.floats)
}
