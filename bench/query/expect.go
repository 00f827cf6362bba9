package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/durabench/durabench/bench/corpus"
)

// Dataset is what a database holds when nothing has gone wrong: rows 0 to Rows-1 of a corpus, all at one version.
type Dataset struct {
	Corpus  *corpus.Corpus
	Version uint32
	Rows    uint64
}

// Options are what Expect can be told. The zero Options are good.
type Options struct {
	// Cache keeps answers; nil for none.
	Cache Cache
	// Workers is how many goroutines look at rows, 0 for one per CPU.
	Workers int
	// Progress, when not nil, is told now and then how many rows have been looked at, one call at a time. It is not called when the cache has all.
	Progress func(rows uint64)
}

// chunk is how many rows a worker takes at a time.
const chunk = 1 << 12

// Expect works out the right answers of bound scans, one for each, from the corpus alone: in one pass over the rows for all scans, of which only the
// columns that are looked at are made. Memory is bounded by the pages and groups of the scans, not by the rows. Scans that differ only in ID and
// projection cost no more than one. The error is that of the context, of the cache, or tells which scan has too many groups; raw scans have no
// expected answer and are an error.
func (d Dataset) Expect(ctx context.Context, scans []*Scan, o Options) ([]*Expected, error) {
	byShape, answers := map[string]*Expected{}, make([]*Expected, len(scans))
	var missing []*Scan
	for _, s := range scans {
		if s.Raw != nil {
			return nil, fmt.Errorf("expected answer of scan %s: it is in the engines' own words", s.ID)
		}
		shape := s.shape()
		if _, known := byShape[shape]; known {
			continue
		}
		e, err := d.cached(o.Cache, s)
		if err != nil {
			return nil, err
		}
		if byShape[shape] = e; e == nil {
			missing = append(missing, s)
		}
	}
	if len(missing) > 0 {
		found, err := d.sweep(ctx, missing, o)
		if err != nil {
			return nil, err
		}
		for i, s := range missing {
			if err := d.keep(o.Cache, s, found[i]); err != nil {
				return nil, err
			}
			byShape[s.shape()] = found[i]
		}
	}
	for i, s := range scans {
		answers[i] = byShape[s.shape()]
	}
	return answers, nil
}

// sweep looks at every row for every scan.
func (d Dataset) sweep(ctx context.Context, scans []*Scan, o Options) ([]*Expected, error) {
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, int(d.Rows/chunk)+1)
	all := make([]*sweeper, workers)
	for i := range all {
		var err error
		if all[i], err = newSweeper(d, scans); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Uint64
	var told sync.Mutex
	var done uint64
	var running sync.WaitGroup
	for _, w := range all {
		running.Go(func() {
			for ctx.Err() == nil {
				from := (next.Add(1) - 1) * chunk
				if from >= d.Rows {
					return
				}
				to := min(from+chunk, d.Rows)
				if err := w.look(from, to); err != nil {
					stop(err)
					return
				}
				if o.Progress != nil {
					told.Lock()
					done += to - from
					o.Progress(done)
					told.Unlock()
				}
			}
		})
	}
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("work out the expected answers: %w", err)
	}
	answers := make([]*Expected, len(scans))
	for i, s := range scans {
		var tallies []*tally
		for _, w := range all {
			tallies = append(tallies, w.tallies[i])
		}
		var err error
		if answers[i], err = combine(s, tallies); err != nil {
			return nil, fmt.Errorf("work out the expected answers: %w", err)
		}
	}
	return answers, nil
}

// sweeper looks at some of the rows for all scans.
type sweeper struct {
	Dataset
	mask    corpus.Mask
	tallies []*tally
	row     corpus.Row
}

func newSweeper(d Dataset, scans []*Scan) (*sweeper, error) {
	w := &sweeper{Dataset: d}
	var places [][]int
	for _, s := range scans {
		t, err := newTally(d.Corpus, s)
		if err != nil {
			return nil, fmt.Errorf("expected answer of scan %s: %w", s.ID, err)
		}
		w.tallies = append(w.tallies, t)
		places = t.places(places)
	}
	w.mask = d.Corpus.Template().Mask(places...)
	return w, nil
}

// look takes the rows from one index up to another into account.
func (w *sweeper) look(from, to uint64) error {
	for index := from; index < to; index++ {
		w.Corpus.Columns(&w.row, index, w.Version, w.mask)
		for _, t := range w.tallies {
			if err := t.look(index, &w.row); err != nil {
				return err
			}
		}
	}
	return nil
}

// tally is what one worker has found for one scan.
type tally struct {
	scan     *Scan
	after    []byte // the rank of the key that rows come after; nil for all
	ranker   ranker
	matches  int64
	checksum uint64
	first    *page       // of an ordered page; nil when no rows need be kept
	groups   *aggregator // of a scan with aggregates
	corpus   *corpus.Corpus
	rank     []byte
}

func newTally(c *corpus.Corpus, s *Scan) (*tally, error) {
	t := &tally{scan: s, corpus: c}
	if s.After != nil {
		t.after = appendKeyRank(nil, c, *s.After)
	}
	var err error
	if t.ranker, err = newRanker(c, s.Order); err != nil {
		return nil, err
	}
	if len(s.Order) > 0 && s.Limit > 0 {
		t.first = &page{keep: int(s.Offset+s.Limit) + 1}
	}
	if len(s.Aggregates) > 0 {
		t.groups, err = newAggregator(s, c.Template())
	}
	return t, err
}

// places appends where the columns are that the scan looks at.
func (t *tally) places(to [][]int) [][]int {
	to = t.scan.Where.places(to)
	for _, term := range t.ranker.terms {
		if term.column != nil {
			to = append(to, term.column.At)
		}
	}
	if t.groups == nil {
		return to
	}
	if t.groups.by != nil {
		to = append(to, t.groups.by.At)
	}
	for _, column := range t.groups.columns {
		if column != nil {
			to = append(to, column.At)
		}
	}
	return to
}

// places appends where the columns of a bound tree are.
func (p *Predicate) places(to [][]int) [][]int {
	if p == nil {
		return to
	}
	if p.column != nil {
		to = append(to, p.column.At)
	}
	for _, arg := range p.Args {
		to = arg.places(to)
	}
	return to
}

// look takes one row into account.
func (t *tally) look(index uint64, row *corpus.Row) error {
	if !Matches(t.scan.Where, row) {
		return nil
	}
	if t.after != nil {
		if t.rank = appendKeyRank(t.rank[:0], t.corpus, index); bytes.Compare(t.rank, t.after) <= 0 {
			return nil
		}
	}
	t.matches++
	t.checksum += IndexChecksum(index)
	if t.groups != nil {
		return t.groups.add(row)
	}
	if t.first != nil {
		t.rank = t.ranker.append(t.rank[:0], index, row)
		t.first.offer(t.rank, index)
	}
	return nil
}

// combine puts together what all workers have found for one scan.
func combine(s *Scan, tallies []*tally) (*Expected, error) {
	var matches int64
	var checksum uint64
	var pages []*page
	for _, t := range tallies {
		matches += t.matches
		checksum += t.checksum
		if t.first != nil {
			pages = append(pages, t.first)
		}
	}
	if groups := tallies[0].groups; groups != nil {
		for _, t := range tallies[1:] {
			if err := groups.merge(t.groups); err != nil {
				return nil, err
			}
		}
		e := &Expected{Matches: matches, Groups: groups.lines()}
		e.Rows = int64(len(e.Groups))
		e.Determined = e.Rows
		return e, nil
	}
	var first []ranked
	if len(pages) > 0 {
		first = merge(pages[0].keep, pages)
	}
	return expect(s, matches, checksum, first), nil
}

// cached returns the answer that the cache has, nil when it has none.
func (d Dataset) cached(c Cache, s *Scan) (*Expected, error) {
	if c == nil {
		return nil, nil
	}
	e, err := c.Get(d.key(s))
	if errors.Is(err, ErrNotCached) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the expected answer of scan %s: %w", s.ID, err)
	}
	return e, nil
}

// keep puts the answer into the cache.
func (d Dataset) keep(c Cache, s *Scan, e *Expected) error {
	if c == nil {
		return nil
	}
	if err := c.Put(d.key(s), e); err != nil {
		return fmt.Errorf("keep the expected answer of scan %s: %w", s.ID, err)
	}
	return nil
}
