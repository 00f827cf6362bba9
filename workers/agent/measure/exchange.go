package measure

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
)

// An exchange swaps the whole contents of two rows by two updates. What any scan finds is the same before and after, in number and in rows, and
// yet whatever an index holds of the two has really changed.

// pairs are the pairs of rows that exchange their contents. They do not overlap, cover all rows (but one, when their number is odd), and are
// scattered over the whole key space: a pair is two places that follow each other in a shuffle.
type pairs struct {
	order  corpus.Shuffle
	random corpus.Random
	state  []atomic.Uint32 // per pair, of the bits below
	next   atomic.Uint64
	begun  atomic.Int64
	ended  atomic.Int64
	broken atomic.Int64 // exchanges that failed in the middle: what their rows hold is not known
}

// The state of a pair.
const (
	pairBusy    = 1 << iota // in use by a worker
	pairSwapped             // each row has the other's content
	pairTouched             // it was exchanged at least once
	pairBroken              // what the rows hold is not known
)

func newPairs(rows int64, seed uint64) *pairs {
	return &pairs{
		order: corpus.NewShuffle(seed, "exchange", uint64(max(rows, 1))), random: corpus.NewRandom(seed, "exchange"),
		state: make([]atomic.Uint32, rows/2),
	}
}

// rows returns the two rows of a pair.
func (p *pairs) rows(pair uint64) (a, b uint64) { return p.order.At(2 * pair), p.order.At(2*pair + 1) }

// partner returns the row that a row exchanges with: itself when it has none.
func (p *pairs) partner(index uint64) uint64 {
	if index >= p.order.Len() {
		return index
	}
	place := p.order.Place(index)
	if place^1 >= p.order.Len() {
		return index
	}
	return p.order.At(place ^ 1)
}

// follows tells whether operation n is followed by an exchange.
func (p *pairs) follows(n uint64, ratio float64) bool { return p.random.Unit(n) < ratio }

// take returns the next pair that no worker uses; false when all are in use.
func (p *pairs) take() (pair uint64, state uint32, ok bool) {
	for range len(p.state) {
		pair = (p.next.Add(1) - 1) % uint64(len(p.state))
		state = p.state[pair].Load()
		if state&(pairBusy|pairBroken) == 0 && p.state[pair].CompareAndSwap(state, state|pairBusy) {
			p.begun.Add(1)
			return pair, state, true
		}
	}
	return 0, 0, false
}

// give ends an exchange. When one of its updates failed, nobody knows what is in the rows.
func (p *pairs) give(pair uint64, state uint32, well bool) {
	state |= pairTouched
	if well {
		state ^= pairSwapped
	} else {
		state |= pairBroken
		p.broken.Add(1)
	}
	p.state[pair].Store(state)
	p.ended.Add(1)
}

// touched counts the pairs that were exchanged at least once.
func (p *pairs) touched() (n int64) {
	for i := range p.state {
		if p.state[i].Load()&(pairTouched|pairBusy) != 0 {
			n++
		}
	}
	return n
}

// exchanger is a scanWorker some of whose scans are followed by an exchange.
type exchanger struct {
	*scanWorker
	client drivers.Client
	number uint64
	pair   uint64
	state  uint32
	writes [2]rowSlot
}

// Ready notes the number of the operation.
func (w *exchanger) Ready(slot int, number uint64) error {
	w.number = number
	return w.scanWorker.Ready(slot, number)
}

// Following makes the rows of an exchange ready, if one follows the scan.
func (w *exchanger) Following(int) (n int, err error) {
	j := w.job
	if !j.pairs.follows(w.number, j.task.Step.Scan.WriteRatio) {
		return 0, nil
	}
	pair, state, ok := j.pairs.take()
	if !ok {
		return 0, errors.New("no two rows are free to be exchanged: there are fewer pairs of rows than operations in flight")
	}
	w.pair, w.state = pair, state
	a, b := j.pairs.rows(pair)
	contents := [2]uint64{b, a}
	if state&pairSwapped != 0 {
		contents = [2]uint64{a, b}
	}
	c, version := j.session.corpus, j.task.Step.Version
	for i, key := range [2]uint64{a, b} {
		write := &w.writes[i]
		write.key = c.Key(&write.buffer, key)
		c.Row(&write.row, contents[i], version)
	}
	return 2, nil
}

// Follow writes one of the two rows.
func (w *exchanger) Follow(ctx context.Context, _, i int) error {
	return w.client.Update(ctx, w.writes[i].key, &w.writes[i].row)
}

// Followed ends the exchange.
func (w *exchanger) Followed(_, done int) { w.job.pairs.give(w.pair, w.state, done == 2) }

// reportExchanges tells what became of the exchanges.
func (j *scanJob) reportExchanges(measured *load.Result, leg *result.Leg) {
	x := &result.Exchanges{Failed: j.pairs.broken.Load()}
	if f := measured.Followed; f != nil {
		x.OK = f.Whole
		x.Update, _ = result.LatencyFrom(f.Service)
		for _, class := range f.Errors {
			x.Errors = append(x.Errors, result.ErrorCount(class))
		}
	}
	touched := 2 * j.pairs.touched()
	leg.Measured.Touched, leg.Measured.Exchanges = &touched, x
}

// verifyExchanges reads a sample of the exchanged rows back, or all of them, and compares them with what the exchanges have left.
func (j *scanJob) verifyExchanges(ctx context.Context, leg *result.Leg) error {
	s := j.session
	var exchanged []uint64 // rows
	for pair := range uint64(len(j.pairs.state)) {
		if state := j.pairs.state[pair].Load(); state&pairTouched != 0 && state&pairBroken == 0 {
			a, b := j.pairs.rows(pair)
			exchanged = append(exchanged, a, b)
		}
	}
	j.task.Say("reading exchanged rows back")
	checks := newChecks(s.corpus)
	found, err := s.readSpots(ctx, exchanged, s.verification(), func(r *reader, index uint64) *load.Mismatch {
		content := index
		if pair := j.pairs.order.Place(index) / 2; j.pairs.state[pair].Load()&pairSwapped != 0 {
			content = j.pairs.partner(index)
		}
		wrong, _ := checks.compare(r.client, &r.record, content, j.task.Step.Version)
		if wrong != nil {
			wrong.Index = index
		}
		return wrong
	})
	x := leg.Measured.Exchanges
	x.Checked, x.Wrong = found.checked, found.wrong
	for _, example := range found.examples {
		leg.Measured.Examples = append(leg.Measured.Examples, result.Mismatch(example))
	}
	if err != nil {
		return fmt.Errorf("read exchanged rows back: %w", err)
	}
	return nil
}
