package vector

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/vector/tile"
)

// sweep looks at every row once, for all queries and filters.
type sweep struct {
	p       Problem
	digest  string
	o       Options
	column  query.Column
	filters []*query.Predicate
	whole   bool        // a filter is nil, so every row counts
	looked  corpus.Mask // what the filters look at
	vector  corpus.Mask // the vectors

	nominate nomination
	panels   *tile.Panels
	squares  []float64 // of each query
	lengths  []float64
	batch    int // rows that a worker compares at a time

	done    uint64       // rows looked at, all below it
	nearest [][]*nearest // by filter and query
	matches []atomic.Int64
}

// batchBytes is how much memory the rows that a worker compares at a time take: they stay in the processor's second cache.
const batchBytes = 384 << 10

func newSweep(p Problem, column query.Column, digest string, o Options) (*sweep, error) {
	s := &sweep{p: p, digest: digest, o: o, column: column, filters: p.filters(), nominate: newNomination(p.Metric, column.Field.Dim)}
	var places [][]int
	for _, f := range s.filters {
		if f == nil {
			s.whole = true
		} else {
			places = appendColumns(places, f)
		}
	}
	t := p.Corpus.Template()
	s.vector = t.Mask(column.At)
	if s.whole {
		places = append(places, column.At)
	}
	s.looked = t.Mask(places...)
	s.panels = o.Kernel.Pack(s.nominate.op(), p.Queries)
	for _, q := range p.Queries {
		square := squares(q)
		s.squares, s.lengths = append(s.squares, square), append(s.lengths, math.Sqrt(square))
	}
	group := s.panels.Group()
	s.batch = max(batchBytes/4/(column.Field.Dim+16)/group, 1) * group
	s.batch = min(s.batch, 1024/group*group)
	s.matches = make([]atomic.Int64, len(s.filters))
	s.nearest = make([][]*nearest, len(s.filters))
	for f := range s.nearest {
		s.nearest[f] = make([]*nearest, len(p.Queries))
		for q := range s.nearest[f] {
			s.nearest[f][q] = newNearest(p.K)
		}
	}
	return s, s.fit()
}

// appendColumns appends the places of the columns that the predicate looks at.
func appendColumns(places [][]int, p *query.Predicate) [][]int {
	if c := p.Column(); c != nil {
		return append(places, c.At)
	}
	for _, arg := range p.Args {
		places = appendColumns(places, arg)
	}
	return places
}

// fit leaves out workers until the memory is enough.
func (s *sweep) fit() error {
	if s.o.Memory <= 0 {
		return nil
	}
	queries, dim := int64(len(s.p.Queries)), int64(s.column.Field.Dim)
	lists := queries * int64(len(s.filters)) * (int64(2*s.p.K)*16*2 + 160) // the lists once more as the answer
	fixed := lists + queries*dim*4
	each := int64(s.batch)*(dim+48)*4 + queries*int64(len(s.filters))*24 + 64<<10
	if fixed+each > s.o.Memory {
		return fmt.Errorf("%d queries × %d filters with the %d nearest rows each need %d bytes, allowed are %d: ask for fewer, or allow more",
			queries, len(s.filters), s.p.K, fixed+each, s.o.Memory)
	}
	s.o.Workers = int(min(int64(s.o.Workers), (s.o.Memory-fixed)/each))
	return nil
}

// run looks at the rows that have not been looked at, and calls keep now and then, between two blocks of rows.
func (s *sweep) run(ctx context.Context, keep func(*sweep) error) (*Truth, error) {
	workers := make([]*worker, s.o.Workers)
	for i := range workers {
		workers[i] = newWorker(s)
	}
	var told sync.Mutex
	var seen atomic.Uint64
	seen.Store(s.done)
	kept, pause := time.Now(), s.o.every
	for s.done < s.p.Rows {
		end := s.done + min(s.o.block, s.p.Rows-s.done)
		var next atomic.Uint64
		next.Store(s.done)
		step := uint64(s.batch)
		var running sync.WaitGroup
		for _, w := range workers {
			running.Go(func() {
				for ctx.Err() == nil {
					to := next.Add(step)
					if to-step >= end {
						w.compare() // what has gathered
						return
					}
					n := min(to, end) - (to - step)
					w.take(to-step, n)
					if s.o.Say != nil {
						told.Lock()
						s.o.Say(seen.Add(n), s.p.Rows)
						told.Unlock()
					}
				}
			})
		}
		running.Wait()
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		s.done = end
		if keep != nil && end < s.p.Rows && time.Since(kept) >= pause {
			began := time.Now()
			if err := keep(s); err != nil {
				return nil, err
			}
			kept = time.Now()
			pause = max(s.o.every, 20*kept.Sub(began)) // a large checkpoint must not cost more than it saves
		}
	}
	return s.truth(), nil
}

// truth returns what has been found.
func (s *sweep) truth() *Truth {
	t := &Truth{Digest: s.digest, K: s.p.K, Rows: s.p.Rows}
	for f, filter := range s.filters {
		a := Answer{Filter: filter.String(), Matches: s.matches[f].Load()}
		for _, n := range s.nearest[f] {
			a.Nearest, a.Band = append(a.Nearest, n.list()), append(a.Band, n.tied())
		}
		t.Answers = append(t.Answers, a)
	}
	return t
}

// worker compares batches of rows with all queries.
type worker struct {
	*sweep
	row corpus.Row

	n       int        // rows in the batch
	rows    *tile.Rows // their vectors
	indexes []uint64
	squares []float64
	slack   []float32
	bias    []float32
	wild    []bool     // float32 cannot deal with it
	matched [][]uint32 // by filter and row: all bits set, or none

	scores []float32
	masks  [][]uint32  // by filter and row
	bounds [][]float64 // by filter and query: what scale and limit were made for
	scale  [][]float32
	limit  [][]float32
}

func newWorker(s *sweep) *worker {
	w := &worker{sweep: s, rows: s.panels.NewRows(s.batch)}
	w.indexes, w.squares, w.wild = make([]uint64, s.batch), make([]float64, s.batch), make([]bool, s.batch)
	w.slack, w.bias = make([]float32, s.batch), make([]float32, s.batch)
	w.scores = make([]float32, s.batch*s.panels.Cols)
	padded := s.panels.Count * s.panels.Cols
	for range s.filters {
		w.matched, w.masks = append(w.matched, make([]uint32, s.batch)), append(w.masks, make([]uint32, s.batch))
		bounds, scale, limit := make([]float64, len(s.p.Queries)), make([]float32, padded), make([]float32, padded)
		for i := range bounds {
			bounds[i] = math.Inf(1)
		}
		for i := range limit {
			limit[i] = float32(math.Inf(1)) // nothing is nominated for what fills up the last panel
			if i < len(bounds) {
				limit[i] = float32(math.Inf(-1))
			}
		}
		w.bounds, w.scale, w.limit = append(w.bounds, bounds), append(w.scale, scale), append(w.limit, limit)
	}
	return w
}

// take looks at n rows and compares those that count when a batch is full.
func (w *worker) take(from, n uint64) {
	counts := make([]int64, len(w.filters))
	for index := from; index < from+n; index++ {
		w.p.Corpus.Columns(&w.row, index, w.p.Version, w.looked)
		some := false
		for f, filter := range w.filters {
			w.matched[f][w.n] = 0
			if query.Matches(filter, &w.row) {
				w.matched[f][w.n] = math.MaxUint32
				counts[f]++
				some = true
			}
		}
		if !some {
			continue
		}
		if !w.whole {
			w.p.Corpus.Columns(&w.row, index, w.p.Version, w.vector)
		}
		w.add(index, at(&w.row, w.column.At).Floats())
		if w.n == w.batch {
			w.compare()
		}
	}
	for f, count := range counts {
		w.matches[f].Add(count)
	}
}

// add puts a vector into the batch.
func (w *worker) add(index uint64, vector []float32) {
	i := w.n
	copy(w.rows.Row(i, len(vector)), vector)
	square := squares(vector)
	length := math.Sqrt(square)
	w.indexes[i], w.squares[i], w.wild[i] = index, square, !tame(length)
	w.slack[i], w.bias[i] = 0, 0
	if !w.wild[i] {
		w.slack[i], w.bias[i] = w.nominate.row(length)
	}
	w.n++
}

// compare compares the batch with all queries and empties it.
func (w *worker) compare() {
	if w.n == 0 {
		return
	}
	w.narrow()
	for panel := range w.panels.Count {
		w.panels.Scores(w.scores, panel, w.rows, w.n)
		first := panel * w.panels.Cols
		for f := range w.filters {
			w.panels.Choose(w.masks[f][:w.n], w.scores, w.slack, w.bias, w.scale[f][first:], w.limit[f][first:])
		}
		w.check(first)
	}
	w.n = 0
}

// narrow brings the limits to what the neighbours found so far leave.
func (w *worker) narrow() {
	for f, queries := range w.nearest {
		for q := range queries {
			w.narrowOne(f, q)
		}
	}
}

func (w *worker) narrowOne(f, q int) {
	d := w.nearest[f][q].bound()
	if d == w.bounds[f][q] {
		return
	}
	w.bounds[f][q] = d
	w.scale[f][q], w.limit[f][q] = w.nominate.query(w.lengths[q], d)
}

// check computes the exact distances of what has been nominated in a panel.
func (w *worker) check(first int) {
	all := uint32(1)<<min(w.panels.Cols, len(w.p.Queries)-first) - 1
	dim := w.column.Field.Dim
	for i := range w.n {
		var any uint32
		for f, masks := range w.masks {
			if w.wild[i] {
				masks[i] = all
			}
			masks[i] &= w.matched[f][i]
			any |= masks[i]
		}
		for ; any != 0; any &= any - 1 {
			j := bits.TrailingZeros32(any)
			q, bit := first+j, uint32(1)<<j
			still := false
			for f, masks := range w.masks {
				if masks[i]&bit == 0 {
					continue
				}
				// The rows before it may have narrowed the limit.
				w.narrowOne(f, q)
				if !w.wild[i] && w.scores[i*w.panels.Cols+j]+w.slack[i]*w.scale[f][q]-w.bias[i] < w.limit[f][q] {
					masks[i] &^= bit
				}
				still = still || masks[i]&bit != 0
			}
			if !still {
				continue
			}
			d := measure(w.p.Metric, w.p.Queries[q], w.rows.Row(i, dim), w.sweep.squares[q], w.squares[i])
			for f, masks := range w.masks {
				if masks[i]&bit != 0 {
					w.nearest[f][q].offer(w.indexes[i], d)
				}
			}
		}
	}
}
