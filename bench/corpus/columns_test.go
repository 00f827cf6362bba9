package corpus

import (
	"math/rand/v2"
	"testing"
)

// places lists the positions of every column and member of a template.
func places(fields []Field, prefix []int) [][]int {
	var all [][]int
	for i := range fields {
		at := append(append([]int(nil), prefix...), i)
		all = append(all, at)
		if fields[i].Kind == Object {
			all = append(all, places(fields[i].Elems, at)...)
		}
	}
	return all
}

// under tells whether the place is in the mask of the chosen ones: one of them, or below one.
func under(place []int, chosen [][]int) bool {
	for _, c := range chosen {
		if len(c) > len(place) {
			continue
		}
		inside := true
		for i := range c {
			inside = inside && c[i] == place[i]
		}
		if inside {
			return true
		}
	}
	return false
}

func TestColumnsMakeWhatRowMakes(t *testing.T) {
	table := crudTable()
	table["nested"] = map[string]any{"a": "int", "deep": map[string]any{"b": "string:1..30", "v": "vector:3:clustered:4"}, "list": []any{"int", "bool"}}
	c := mustCorpus(t, 5, table, KeyInteger, false)
	all := places(c.template.columns, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	var want, got Row
	for index := range uint64(300) {
		var chosen [][]int
		for _, at := range all {
			if rng.IntN(6) == 0 {
				chosen = append(chosen, at)
			}
		}
		version := uint32(rng.IntN(3))
		c.Row(&want, index, version)
		c.Columns(&got, index, version, c.template.Mask(chosen...))
		if got.Index != index || got.Version != version || len(got.Columns) != len(want.Columns) {
			t.Fatalf("row %d version %d has %d columns", got.Index, got.Version, len(got.Columns))
		}
		for _, at := range all {
			w, g := &want.Columns[at[0]], &got.Columns[at[0]]
			for _, i := range at[1:] {
				w = &w.elems[i]
				if len(g.elems) == 0 {
					g = &Value{}
					break
				}
				g = &g.elems[i]
			}
			switch {
			case under(at, chosen):
				if w.checksum(1) != g.checksum(1) {
					t.Fatalf("row %d, cell %v: %s, want %s", index, at, g.describe(), w.describe())
				}
			case w.kind != Object && g.kind != 0:
				t.Fatalf("row %d, cell %v was made without being asked for", index, at)
			}
		}
	}
}

func TestColumnsOfEverythingAndNothing(t *testing.T) {
	c := mustCorpus(t, 5, crudTable(), KeyInteger, false)
	var want, got Row
	c.Row(&want, 7, 1)
	c.Columns(&got, 7, 1, c.template.Mask(nil))
	if column, w, g, same := Diff(c.template, &want, &got); !same {
		t.Errorf("with everything asked for, %s is %s, want %s", column, g, w)
	}
	c.Columns(&got, 7, 1, Mask{})
	for i := range got.Columns {
		if got.Columns[i].kind != 0 {
			t.Errorf("column %d was made with nothing asked for", i)
		}
	}
}

func TestColumnsDoNotAllocate(t *testing.T) {
	c := mustCorpus(t, 5, crudTable(), KeyInteger, false)
	mask := c.template.Mask([]int{0}, []int{3}, []int{len(c.template.columns) - 1})
	var r Row
	index := uint64(0)
	c.Columns(&r, 0, 0, mask)
	if n := testing.AllocsPerRun(500, func() { index++; c.Columns(&r, index, 0, mask) }); n > 0.1 {
		t.Errorf("%v allocations per row", n)
	}
}
