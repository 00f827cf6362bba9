package conformance

import (
	"fmt"
	"sync"
	"testing"

	"github.com/durabench/durabench/drivers"
)

// testModify reads and replaces rows in one transaction. The answer is the row as it was.
func testModify(t *testing.T, h Harness) {
	s := h.open(t, plain(t), load(2, 4))
	c, ctx := s.caller(0), t.Context()
	modifier := c.client.(drivers.Modifier)
	must(t, c.create(ctx, 0, 0))
	must(t, c.create(ctx, 1, 0))
	for version := range uint32(3) {
		c.corpus.Row(&c.row, 0, version+1)
		must(t, modifier.Modify(ctx, c.corpus.Key(&c.key, 0), &c.record, &c.row))
		if err := c.verify(&c.record, 0, version); err != nil {
			t.Errorf("the answer of modification %d: %v", version, err)
		}
		must(t, c.check(ctx, 0, version+1))
	}
	must(t, c.check(ctx, 1, 0)) // its neighbour
	c.corpus.Row(&c.row, 99, 0)
	wantIs(t, "modification of a row that is not there", modifier.Modify(ctx, c.corpus.Key(&c.key, 99), &c.record, &c.row), drivers.ErrNotFound)
	wantMiss(t, "read of the row that a modification missed", c.read(ctx, 99))
	s.usable(c, 500)
}

// testModifyAtOnce modifies one row from everywhere: each version that was written has been read by one modification and no other, but for the last
// one. An update that is lost shows as a version that nobody has read, or two have.
func testModifyAtOnce(t *testing.T, h Harness) {
	s := h.open(t, plain(t), load(2, 4), h.isolated)
	c, ctx := s.caller(0), t.Context()
	must(t, c.create(ctx, 1, 0))
	each := uint32(12)
	if h.Slow != "" {
		each = 3
	}
	var mu sync.Mutex
	readers := make(map[uint32]int)
	s.everyone(func(number int, c *caller) error {
		for n := range uint32(each) {
			version := 10 + uint32(number)*each + n
			err := h.settle(func() error {
				c.corpus.Row(&c.row, 1, version)
				return c.client.(drivers.Modifier).Modify(ctx, c.corpus.Key(&c.key, 1), &c.record, &c.row)
			})
			if err != nil {
				return fmt.Errorf("modify: %w", err)
			}
			if err := c.whole(1, 1000); err != nil {
				return err
			}
			_, read := c.corpus.Unseal(c.got.Columns[len(c.got.Columns)-1].Int())
			mu.Lock()
			readers[read]++
			mu.Unlock()
		}
		return nil
	})
	must(t, c.read(ctx, 1))
	must(t, c.whole(1, 1000))
	_, last := c.corpus.Unseal(c.got.Columns[len(c.got.Columns)-1].Int())
	readers[last]++
	for version, n := range readers {
		if n != 1 {
			t.Errorf("version %d was read by %d modifications, or is the last and was read: an update is lost", version, n)
		}
	}
	if want := 8*int(each) + 1; len(readers) != want {
		t.Errorf("%d versions were read or are the last, of %d that were written", len(readers), want)
	}
}
