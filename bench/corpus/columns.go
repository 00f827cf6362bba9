package corpus

// Mask names the cells of a row that Columns is to make. It belongs to the template that it is of; the zero Mask names none.
type Mask struct {
	all   bool
	below []Mask // of an object's members, or of the columns
}

// Mask returns the mask of the cells at the places, each given by the positions that lead there from Row.Columns through Value.Elems. A place
// that holds an object or an array stands for all in it; positions that the template does not have panic.
func (t *Template) Mask(places ...[]int) Mask {
	var m Mask
	for _, at := range places {
		m.add(t.columns, at)
	}
	return m
}

func (m *Mask) add(fields []Field, at []int) {
	if len(at) == 0 {
		m.all = true
		return
	}
	if m.below == nil {
		m.below = make([]Mask, len(fields))
	}
	m.below[at[0]].add(fields[at[0]].Elems, at[1:])
}

// Columns makes the cells of the mask as Row does, and leaves the others absent. For one who looks at a few columns of very many rows.
func (c *Corpus) Columns(dst *Row, index uint64, version uint32, mask Mask) {
	if mask.all {
		c.Row(dst, index, version)
		return
	}
	t := c.template
	dst.shape(t)
	dst.Index, dst.Version = index, version
	key, last := rowKey(c.row1, c.row2, index, version), len(t.columns)-1
	for i, m := range mask.below {
		switch {
		case i < last:
			t.columns[i].generateMasked(c, dst, &dst.Columns[i], key, m)
		case m.all:
			dst.SetInt(&dst.Columns[last], c.seal(index, version))
		}
	}
}

// generateMasked makes the parts of the field's value that are in the mask.
func (f *Field) generateMasked(c *Corpus, r *Row, v *Value, row uint64, mask Mask) {
	if mask.all {
		f.generate(c, r, v, row)
		return
	}
	if mask.below == nil {
		return
	}
	v.kind, v.elems = f.Kind, r.elems(len(f.Elems))
	for i, m := range mask.below {
		f.Elems[i].generateMasked(c, r, &v.elems[i], row, m)
	}
}
