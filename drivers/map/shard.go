package mapdb

import (
	"math/bits"
	"sync"
)

// table is the sharded map for one type of key. The zero value is not ready for use.
type table[K comparable] struct {
	shards []shard[K]
	shift  int // keeps as many of a hash's highest bits as number the shards
}

// shard is a map behind a lock.
type shard[K comparable] struct {
	sync.RWMutex
	rows map[K]*stored
	// Shards of one array would otherwise share cache lines, and locking one would slow the next. 128 covers the pairs of lines that
	// some processors fetch together.
	_ [128]byte
}

// perProcessor is how many shards there are for each goroutine that can run at once; with four, an operation seldom finds its shard
// locked by another.
const perProcessor = 4

// newTable returns a table of at least perProcessor × processors shards, their number a power of two.
func newTable[K comparable](processors int) *table[K] {
	width := bits.Len(uint(perProcessor*processors - 1))
	t := &table[K]{shards: make([]shard[K], 1<<width), shift: 64 - width}
	t.clear()
	return t
}

// of returns the shard for a hash, by its highest bits.
func (t *table[K]) of(hash uint64) *shard[K] { return &t.shards[hash>>t.shift] }

func (t *table[K]) clear() {
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		s.rows = make(map[K]*stored)
		s.Unlock()
	}
}

func (t *table[K]) count() (n int64) {
	for i := range t.shards {
		s := &t.shards[i]
		s.RLock()
		n += int64(len(s.rows))
		s.RUnlock()
	}
	return n
}

// get returns nil when the key is not there.
func (s *shard[K]) get(key K) *stored {
	s.RLock()
	row := s.rows[key]
	s.RUnlock()
	return row
}

// put sets the row whatever is there. The map keeps the key.
func (s *shard[K]) put(key K, row *stored) {
	s.Lock()
	s.rows[key] = row
	s.Unlock()
}

// add sets the row of a key that is not there yet. The map keeps the key.
func (s *shard[K]) add(key K, row *stored) (added bool) {
	s.Lock()
	if _, taken := s.rows[key]; !taken {
		s.rows[key] = row
		added = true
	}
	s.Unlock()
	return added
}

// replace sets the row of a key that is there. The map keeps the key.
func (s *shard[K]) replace(key K, row *stored) (replaced bool) {
	s.Lock()
	if _, replaced = s.rows[key]; replaced {
		s.rows[key] = row
	}
	s.Unlock()
	return replaced
}

// swap sets the row of a key that is there and returns the row that was. The map keeps the key.
func (s *shard[K]) swap(key K, row *stored) (old *stored) {
	s.Lock()
	if old = s.rows[key]; old != nil {
		s.rows[key] = row
	}
	s.Unlock()
	return old
}

func (s *shard[K]) remove(key K) (removed bool) {
	s.Lock()
	if _, removed = s.rows[key]; removed {
		delete(s.rows, key)
	}
	s.Unlock()
	return removed
}
