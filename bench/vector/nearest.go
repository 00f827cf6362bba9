package vector

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// bandLimit is how many rows that are as near as the K-th are listed beyond 2·K of them. All are counted.
const bandLimit = 1000

// nearest collects the neighbours of one query: the depth nearest, and the band of those beyond that are as near as the k-th. What it ends up
// with does not depend on the order in which rows are offered, each once: a row that is left out has depth nearer ones, and can be in the band only if
// at that moment the k-th and the last were already as far as it is, in which case it is not left out.
type nearest struct {
	limit atomic.Uint64 // bits of the distance beyond which nothing can come in

	mu    sync.Mutex
	k     int
	depth int
	best  []Neighbour // sorted
	band  []Neighbour // sorted by row, bandLimit at most; all are as far as best[k-1]
	more  int64       // how many are in the band, listed or not
}

func newNearest(k int) *nearest {
	n := &nearest{k: k, depth: 2 * k}
	n.limit.Store(math.Float64bits(math.Inf(1)))
	return n
}

// bound returns the distance beyond which nothing can come in any more. It only ever falls.
func (n *nearest) bound() float64 { return math.Float64frombits(n.limit.Load()) }

// offer takes in a row if it is among the nearest.
func (n *nearest) offer(row uint64, distance float64) {
	if distance > n.bound() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	one := Neighbour{row, distance}
	if len(n.best) < n.depth {
		n.insert(one)
	} else if last := n.best[n.depth-1]; compare(one, last) < 0 {
		n.best = n.best[:n.depth-1]
		n.insert(one)
		n.beyond(last)
	} else {
		n.beyond(one)
	}
	if len(n.best) == n.depth {
		n.limit.Store(math.Float64bits(n.best[n.depth-1].Distance))
	}
}

func (n *nearest) insert(one Neighbour) {
	i, _ := slices.BinarySearchFunc(n.best, one, compare)
	n.best = slices.Insert(n.best, i, one)
	if n.more > 0 && n.best[n.k-1].Distance != n.band[0].Distance {
		n.band, n.more = n.band[:0], 0
	}
}

// beyond keeps a row that has depth nearer ones if it is in the band.
func (n *nearest) beyond(one Neighbour) {
	if one.Distance != n.best[n.k-1].Distance {
		return
	}
	n.more++
	if len(n.band) == bandLimit {
		if one.Row > n.band[bandLimit-1].Row {
			return
		}
		n.band = n.band[:bandLimit-1]
	}
	i, _ := slices.BinarySearchFunc(n.band, one, compare)
	n.band = slices.Insert(n.band, i, one)
}

// list returns all that is kept, the nearest first.
func (n *nearest) list() []Neighbour {
	return slices.Concat(n.best, n.band)
}

// tied returns how many rows are as near as the k-th, or the last of fewer.
func (n *nearest) tied() int64 {
	if len(n.best) == 0 {
		return 0
	}
	kth := n.best[min(n.k, len(n.best))-1].Distance
	count := n.more
	for _, b := range n.best {
		if b.Distance == kth {
			count++
		}
	}
	return count
}

// restore brings back what list and tied gave.
func (n *nearest) restore(list []Neighbour, tied int64) {
	n.best = slices.Clone(list[:min(len(list), n.depth)])
	n.band = slices.Clone(list[len(n.best):])
	if len(n.best) < n.depth {
		return
	}
	n.more = tied - n.tied()
	n.limit.Store(math.Float64bits(n.best[n.depth-1].Distance))
}
