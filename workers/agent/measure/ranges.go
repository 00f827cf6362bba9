package measure

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/drivers"
)

// mostRanges is how many of the ranges checked are kept, to find out after the leg whether rows were left out of them.
const mostRanges = 200

// rangeChecks checks ranges of rows in the order of their keys. That each row belongs to its range and comes in order is seen at once; which rows
// should have come too is known only by looking at every key, which is done once for some of the ranges after the leg.
type rangeChecks struct {
	checks  *checks
	stirred *stirred

	lock sync.Mutex
	kept []keptRange
}

// keptRange is the answer to a range.
type keptRange struct {
	from, to  []byte // ranks of the first and last key; to is nil when the rows ended before the range was full
	published uint64 // rows that were there before
	rows      map[uint64]bool
	row       uint64 // that it begins with
	missing   bool
}

func newRangeChecks(c *checks, s *stirred) *rangeChecks { return &rangeChecks{checks: c, stirred: s} }

// check compares an answer. The range began with a row that was there.
func (r *rangeChecks) check(ranger drivers.Ranger, answer *drivers.Answer, s *mixSlot) error {
	c := r.checks.corpus
	kept := keptRange{from: s.key.AppendOrdered(nil), published: s.published, rows: map[uint64]bool{}, row: s.index}
	var last []byte
	err := ranger.DecodeRange(answer, func(key corpus.Key, row *corpus.Row) error {
		index, ok := c.Index(key)
		rank := key.AppendOrdered(nil)
		switch {
		case !ok || index >= r.stirred.next.Load():
			return &load.Mismatch{Whole: true, Column: "key of a range", Want: "one of the rows that are there", Got: key.String()}
		case last == nil && index != s.index:
			return &load.Mismatch{Index: s.index, Want: "the range to begin with it", Got: fmt.Sprintf("row %d first", index)}
		case last != nil && bytes.Compare(rank, last) <= 0:
			return &load.Mismatch{Index: index, Want: "keys that rise", Got: "it after a key that is not before it"}
		}
		last = rank
		kept.rows[index] = true
		if wrong := r.checks.row(row, index, versions{r.stirred.version, r.stirred.now(index).to}); wrong != nil {
			return wrong
		}
		return nil
	})
	if err != nil {
		return err
	}
	if int64(len(kept.rows)) != answer.Rows {
		return &load.Mismatch{Whole: true, Column: "rows of a range", Want: fmt.Sprintf("%d, as many as came", answer.Rows), Got: fmt.Sprint(len(kept.rows))}
	}
	if int64(len(kept.rows)) == s.length {
		kept.to = last
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	if len(r.kept) < mostRanges {
		r.kept = append(r.kept, kept)
	}
	return nil
}

// sweep looks for rows that belong to the ranges kept and did not come. Each such range counts as one wrong answer; they are among those checked.
func (r *rangeChecks) sweep() (f findings) {
	slices.SortFunc(r.kept, func(a, b keptRange) int { return bytes.Compare(a.from, b.from) })
	// reach[i] is the furthest that any of the ranges up to i goes; nil is the end of all keys.
	reach := make([][]byte, len(r.kept))
	most := uint64(0)
	for i, k := range r.kept {
		if reach[i] = k.to; i > 0 && k.to != nil && (reach[i-1] == nil || bytes.Compare(reach[i-1], k.to) > 0) {
			reach[i] = reach[i-1]
		}
		most = max(most, k.published)
	}
	var buffer corpus.KeyBuffer
	var rank []byte
	for index := range most {
		if r.stirred.there(index) != index {
			continue
		}
		rank = r.checks.corpus.Key(&buffer, index).AppendOrdered(rank[:0])
		after := sort.Search(len(r.kept), func(i int) bool { return bytes.Compare(r.kept[i].from, rank) > 0 })
		for i := after - 1; i >= 0 && (reach[i] == nil || bytes.Compare(reach[i], rank) >= 0); i-- {
			k := &r.kept[i]
			if k.missing || index >= k.published || k.to != nil && bytes.Compare(k.to, rank) < 0 || k.rows[index] {
				continue
			}
			k.missing = true
			f.wrong++
			if len(f.examples) < 5 {
				f.examples = append(f.examples, load.Mismatch{Index: index, Want: fmt.Sprintf("it in the range from row %d on", k.row), Got: "a range without it"})
			}
		}
	}
	return f
}
