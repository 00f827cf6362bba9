package query

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"
)

// page keeps the first rows of an order: at most keep of them, in a heap whose top is the last of those kept.
type page struct {
	keep int
	rows []ranked
}

// ranked is a row and its place in an order.
type ranked struct {
	rank  []byte
	index uint64
}

// compare orders rows by rank, and those of equal rank by index, so that what is kept does not depend on who looked at which row first.
func (r ranked) compare(other ranked) int {
	return cmp.Or(bytes.Compare(r.rank, other.rank), cmp.Compare(r.index, other.index))
}

// offer takes the row in if it is among the first. The rank is copied.
func (p *page) offer(rank []byte, index uint64) {
	row := ranked{rank, index}
	if len(p.rows) < p.keep {
		row.rank = bytes.Clone(rank)
		heap.Push(p, row)
		return
	}
	if top := &p.rows[0]; row.compare(*top) < 0 {
		top.rank, top.index = append(top.rank[:0], rank...), index
		heap.Fix(p, 0)
	}
}

// merge returns the first rows of all pages, in order.
func merge(keep int, pages []*page) []ranked {
	var all []ranked
	for _, p := range pages {
		all = append(all, p.rows...)
	}
	slices.SortFunc(all, ranked.compare)
	return all[:min(len(all), keep)]
}

// Len, Less, Swap, Push and Pop make page a heap.Interface.
func (p *page) Len() int           { return len(p.rows) }
func (p *page) Less(i, j int) bool { return p.rows[i].compare(p.rows[j]) > 0 }
func (p *page) Swap(i, j int)      { p.rows[i], p.rows[j] = p.rows[j], p.rows[i] }
func (p *page) Push(row any)       { p.rows = append(p.rows, row.(ranked)) }
func (p *page) Pop() any {
	last := len(p.rows) - 1
	row := p.rows[last]
	p.rows = p.rows[:last]
	return row
}
