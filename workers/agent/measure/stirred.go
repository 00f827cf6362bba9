package measure

import (
	"sync"
	"sync/atomic"

	"github.com/durabench/durabench/bench/corpus"
)

// stirred is what a mixed leg has written: which rows, in which versions, and which rows it has added. Every update of a row gets a version of
// its own, so that a read shows whose write it saw. Of updates in flight at the same time nobody can say which came last; so of each row is known a
// range of versions that it may have. All of it is kept off the clock.
type stirred struct {
	rows    uint64 // that there were in the beginning, indexes 0 to rows-1
	version uint32 // that they had

	next      atomic.Uint64 // the index of the next row to add
	published atomic.Uint64 // of all rows below it is known what became of them

	segments sparse[segment]

	lock  sync.Mutex      // of what follows
	ahead map[uint64]bool // rows past published of which is known what became of them
	holes map[uint64]bool // rows that could not be added, or may have been
	holed atomic.Bool     // there are some
}

// segmentRows is how many rows have their state in one piece of memory: pieces exist where rows are written.
const segmentRows = 1024

type segment struct {
	lock sync.Mutex
	rows [segmentRows]rowState
}

// rowState is what is known of the versions of a row, each counted from the one it had in the beginning.
type rowState struct {
	issued uint32 // the last version given to an update
	first  uint32 // the first of the updates among which the last one is
	before uint32 // what first was before the updates that are in flight
	flying uint32 // updates in flight
	loose  bool   // an update failed: when it takes effect, if it does, is not known
}

// versions are those that a row may have, both included.
type versions struct{ from, to uint32 }

func newStirred(rows uint64, version uint32) *stirred {
	s := &stirred{rows: rows, version: version, segments: newSparse[segment](rows/segmentRows + 1), ahead: map[uint64]bool{}, holes: map[uint64]bool{}}
	s.next.Store(rows)
	s.published.Store(rows)
	return s
}

// begin returns the version for an update of a row that is about to begin.
func (s *stirred) begin(row uint64) (version uint32) {
	seg := s.segments.make(row / segmentRows)
	seg.lock.Lock()
	defer seg.lock.Unlock()
	r := &seg.rows[row%segmentRows]
	// A row that was given the last version there is gets it again and again.
	if s.version+r.issued+1 < corpus.MaxVersions {
		r.issued++
	}
	if r.flying == 0 && !r.loose {
		r.before, r.first = r.first, r.issued
	}
	r.flying++
	return s.version + r.issued
}

// end takes in what became of an update.
func (s *stirred) end(row uint64, well bool) {
	seg := s.segments.make(row / segmentRows)
	seg.lock.Lock()
	defer seg.lock.Unlock()
	r := &seg.rows[row%segmentRows]
	r.flying--
	if !well && !r.loose {
		r.loose, r.first = true, r.before
	}
}

// now returns the versions that a read of the row may find that begins now. Their upper end rises until the read has ended.
func (s *stirred) now(row uint64) versions {
	seg := s.segments.find(row / segmentRows)
	if seg == nil {
		return versions{s.version, s.version}
	}
	seg.lock.Lock()
	defer seg.lock.Unlock()
	r := seg.rows[row%segmentRows]
	from := r.first
	if r.flying > 0 {
		from = min(from, r.before)
	}
	return versions{s.version + from, s.version + r.issued}
}

// add returns the index of a row that is about to be added.
func (s *stirred) add() uint64 { return s.next.Add(1) - 1 }

// addEnded takes in what became of a row to be added.
func (s *stirred) addEnded(row uint64, well bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if !well {
		s.holes[row] = true
		s.holed.Store(true)
	}
	s.ahead[row] = true
	published := s.published.Load()
	for s.ahead[published] {
		delete(s.ahead, published)
		published++
	}
	s.published.Store(published)
}

// there returns the row itself, or when it could not be added the next one before it that is there.
func (s *stirred) there(row uint64) uint64 {
	if !s.holed.Load() || row < s.rows {
		return row
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	for s.holes[row] {
		row-- // ends at the rows that there were in the beginning
	}
	return row
}

// updated returns the rows that were updated, in no order.
func (s *stirred) updated() (rows []uint64) {
	s.segments.all(func(number uint64, seg *segment) {
		seg.lock.Lock()
		defer seg.lock.Unlock()
		for i := range seg.rows {
			if seg.rows[i].issued > 0 {
				rows = append(rows, number*segmentRows+uint64(i))
			}
		}
	})
	return rows
}

// addedRows returns the rows that were added, and how many more there may be because adding them failed.
func (s *stirred) addedRows() (rows []uint64, uncertain int64) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for row := s.rows; row < s.next.Load(); row++ {
		if !s.holes[row] && (row < s.published.Load() || s.ahead[row]) {
			rows = append(rows, row)
		}
	}
	return rows, int64(len(s.holes))
}
