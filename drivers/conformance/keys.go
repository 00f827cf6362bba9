package conformance

import (
	"fmt"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// testKeys walks rows through their whole life under every form of key.
func testKeys(t *testing.T, h Harness) {
	for _, kind := range corpus.KeyKinds() {
		for _, random := range []bool{false, true} {
			order := "ordered"
			if random {
				order = "random"
			}
			t.Run(fmt.Sprintf("%s/%s", kind, order), func(t *testing.T) {
				s := h.open(t, makeCorpus(t, plainTemplate, kind, random))
				s.life(h)
			})
		}
	}
}

// life creates, updates and deletes a few rows, some with far indexes, and checks all of them after each step.
func (s *session) life(h Harness) {
	s.t.Helper()
	ctx, c := s.t.Context(), s.caller(0)
	indexes := []uint64{0, 1, 2, 3, 5, 8, 13, 99, 1<<31 - 1, 1 << 31, 1 << 32, 1<<32 + 1, corpus.MaxRows - 1}
	all := func(what string, do func(index uint64) error) {
		s.t.Helper()
		for _, index := range indexes {
			if err := do(index); err != nil {
				s.t.Fatalf("%s row %d: %v", what, index, err)
			}
		}
	}
	all("create", func(index uint64) error { return c.create(ctx, index, 0) })
	all("check", func(index uint64) error { return c.check(ctx, index, 0) })
	for _, index := range indexes {
		wantIs(s.t, "create again", c.create(ctx, index, 1), drivers.ErrExists)
	}
	all("check after refused creates", func(index uint64) error { return c.check(ctx, index, 0) })
	all("update", func(index uint64) error { return c.update(ctx, index, 1) })
	all("check update", func(index uint64) error { return c.check(ctx, index, 1) })
	all("update to the same", func(index uint64) error { return c.update(ctx, index, 1) })
	s.count(int64(len(indexes)))

	gone, left := indexes[:len(indexes)/2], indexes[len(indexes)/2:]
	indexes = gone
	all("delete", func(index uint64) error { return c.delete(ctx, index) })
	for _, index := range gone {
		wantIs(s.t, "read after delete", c.read(ctx, index), drivers.ErrNotFound)
		wantIs(s.t, "update after delete", c.update(ctx, index, 2), drivers.ErrNotFound)
		wantIs(s.t, "delete again", c.delete(ctx, index), drivers.ErrNotFound)
	}
	s.count(int64(len(left)))
	indexes = left
	all("check what is left", func(index uint64) error { return c.check(ctx, index, 1) })
	indexes = gone
	all("create anew", func(index uint64) error { return c.create(ctx, index, 3) })
	all("check what is new", func(index uint64) error { return c.check(ctx, index, 3) })
}

// count compares the number of rows, on databases that can count.
func (s *session) count(want int64) {
	s.t.Helper()
	counter, ok := s.database.(drivers.Counter)
	if !ok {
		return
	}
	got, err := counter.Count(s.t.Context())
	must(s.t, err)
	if got != want {
		s.t.Errorf("the table holds %d rows, want %d", got, want)
	}
}

// testIntegerKeyEdges uses keys at the limits of narrower integer types and of exact doubles.
func testIntegerKeyEdges(t *testing.T, h Harness) {
	s := h.open(t, plain(t))
	ctx, c := t.Context(), s.caller(0)
	keys := []int64{1, 1<<15 - 1, 1 << 15, 1<<16 - 1, 1 << 16, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1<<52 - 1, 1 << 52}
	for i, n := range keys {
		c.corpus.Row(&c.row, uint64(i), 0)
		must(t, c.client.Create(ctx, corpus.IntegerKey(n), &c.row))
	}
	s.count(int64(len(keys)))
	for i, n := range keys {
		must(t, c.client.Read(ctx, corpus.IntegerKey(n), &c.record))
		if err := c.verify(&c.record, uint64(i), 0); err != nil {
			t.Errorf("key %d: %v", n, err)
		}
	}
	for i, n := range keys {
		c.corpus.Row(&c.row, uint64(i), 7)
		must(t, c.client.Update(ctx, corpus.IntegerKey(n), &c.row))
		must(t, c.client.Read(ctx, corpus.IntegerKey(n), &c.record))
		if err := c.verify(&c.record, uint64(i), 7); err != nil {
			t.Errorf("key %d after update: %v", n, err)
		}
	}
	for i, n := range keys {
		must(t, c.client.Delete(ctx, corpus.IntegerKey(n)))
		s.count(int64(len(keys) - 1 - i))
	}
}

// testMisses asks for keys that were never there, in an empty and in a filled table.
func testMisses(t *testing.T, h Harness) {
	s := h.open(t, plain(t))
	ctx, c := t.Context(), s.caller(0)
	misses := func(index uint64) {
		t.Helper()
		wantMiss(t, "read", c.read(ctx, index))
		wantMiss(t, "update", c.update(ctx, index, 1))
		wantMiss(t, "delete", c.delete(ctx, index))
		wantMiss(t, "read after the misses", c.read(ctx, index))
	}
	misses(0)
	for i := range uint64(50) {
		must(t, c.create(ctx, 2*i, 0))
	}
	for i := range uint64(50) {
		misses(2*i + 1)
	}
	s.count(50)
	err := c.create(ctx, 0, 1)
	wantIs(t, "create again", err, drivers.ErrExists)
	if class := drivers.ErrorClassOf(err); class != drivers.ClassExists {
		t.Errorf("create again: class %q of %v, want %q", class, err, drivers.ClassExists)
	}
	// A record left by an earlier hit must not look like an answer after a miss.
	must(t, c.read(ctx, 0))
	wantMiss(t, "read", c.read(ctx, 1))
	if len(c.record.Bytes) > 0 || c.record.Held != nil {
		t.Error("a missed read leaves the bytes of an earlier one in the record")
	}
}

func wantMiss(t *testing.T, what string, err error) {
	t.Helper()
	wantIs(t, what, err, drivers.ErrNotFound)
	if class := drivers.ErrorClassOf(err); class != drivers.ClassMiss {
		t.Errorf("%s: class %q of %v, want %q", what, class, err, drivers.ClassMiss)
	}
}
