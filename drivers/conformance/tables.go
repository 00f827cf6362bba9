package conformance

import (
	"sync"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

func testCount(t *testing.T, h Harness) {
	s := h.open(t, plain(t))
	c, ctx := s.caller(0), t.Context()
	s.count(0)
	for index := range uint64(137) {
		must(t, c.create(ctx, index, 0))
	}
	s.count(137)
	for index := range uint64(37) {
		must(t, c.update(ctx, index, 1))
	}
	s.count(137)
	for index := range uint64(100) {
		must(t, c.delete(ctx, index))
	}
	s.count(37)
}

// testLoad loads in bulk: twice, over rows of other versions, in lengths that no batch size divides, by several clients at once.
func testLoad(t *testing.T, h Harness) {
	for _, kind := range corpus.KeyKinds() {
		t.Run(string(kind), func(t *testing.T) {
			s := h.open(t, makeCorpus(t, plainTemplate, kind, true), load(3, 2))
			c, ctx := s.caller(0), t.Context()
			loader := c.client.(drivers.Loader)
			many := uint64(337)
			if kind == corpus.KeyInteger {
				many = 2237 // more than the usual batch
			}
			if h.Slow != "" {
				many = min(many, 637)
			}
			all := func(from, to uint64, version uint32) {
				t.Helper()
				for index := from; index < to; index++ {
					if err := c.check(ctx, index, version); err != nil {
						t.Fatal(err)
					}
				}
			}
			must(t, loader.Load(ctx, 5, 5, 0))
			s.count(0)
			must(t, loader.Load(ctx, 0, 1, 0))
			s.count(1)
			must(t, loader.Load(ctx, 0, many, 0))
			s.count(int64(many))
			all(0, many, 0)

			// The same rows again, then some of them at another version, then rows that an operation wrote.
			must(t, loader.Load(ctx, 0, many, 0))
			s.count(int64(many))
			must(t, loader.Load(ctx, 100, 203, 1))
			s.count(int64(many))
			all(0, 100, 0)
			all(100, 203, 1)
			all(203, 300, 0)
			must(t, c.update(ctx, 7, 4))
			must(t, c.delete(ctx, 8))
			must(t, loader.Load(ctx, 0, 20, 0))
			all(0, 20, 0)
			s.count(int64(many))

			var group sync.WaitGroup
			for i := range s.clients {
				group.Go(func() {
					from := 10000 + 101*uint64(i)
					if err := s.clients[i].(drivers.Loader).Load(ctx, from, from+101, 2); err != nil {
						t.Errorf("load by client %d: %v", i, err)
					}
				})
			}
			group.Wait()
			s.count(int64(many) + 3*101)
			all(10000, 10000+3*101, 2)
			// Loaded rows are rows like any other.
			wantIs(t, "create over a loaded row", c.create(ctx, 10000, 0), drivers.ErrExists)
			must(t, c.update(ctx, 10000, 9))
			must(t, c.delete(ctx, 10001))
			must(t, c.check(ctx, 10000, 9))
		})
	}
}

// testPrepare wants an empty table that fits the corpus, whatever was there before.
func testPrepare(t *testing.T, h Harness) {
	s := h.open(t, plain(t))
	c, ctx := s.caller(0), t.Context()
	for index := range uint64(10) {
		must(t, c.create(ctx, index, 0))
	}
	for range 2 {
		must(t, s.database.Prepare(ctx))
		s.count(0)
		wantMiss(t, "read of a row from before", c.read(ctx, 3))
	}
	must(t, c.create(ctx, 3, 1))
	must(t, c.check(ctx, 3, 1))
	config := s.config
	s.close()

	// Another run in the same place, with other columns and keys.
	config.Corpus = makeCorpus(t, map[string]any{"age": "string:9", "list": []any{"int"}}, corpus.KeyUUID, true)
	s = h.attach(t, config)
	must(t, s.database.Prepare(ctx))
	s.connect()
	c = s.caller(0)
	s.count(0)
	must(t, c.create(ctx, 3, 1))
	must(t, c.check(ctx, 3, 1))
	s.count(1)
}

// testReopen closes the database in good order and opens it again: the rows are still there, for engines that keep any.
func testReopen(t *testing.T, h Harness) {
	for _, kind := range []corpus.KeyKind{corpus.KeyInteger, corpus.KeyString250, corpus.KeyUUID} {
		t.Run(string(kind), func(t *testing.T) {
			s := h.open(t, makeCorpus(t, plainTemplate, kind, true), load(2, 2))
			ctx, c := t.Context(), s.caller(1)
			for index := range uint64(60) {
				must(t, c.create(ctx, index, 0))
			}
			for index := range uint64(20) {
				must(t, c.update(ctx, index, 1))
			}
			for index := uint64(50); index < 60; index++ {
				must(t, c.delete(ctx, index))
			}
			s.close()
			s = h.attach(t, s.config)
			s.connect()
			c = s.caller(0)
			s.count(50)
			for index := range uint64(50) {
				version := uint32(0)
				if index < 20 {
					version = 1
				}
				must(t, c.check(ctx, index, version))
			}
			wantMiss(t, "read of a deleted row", c.read(ctx, 55))
		})
	}
}
