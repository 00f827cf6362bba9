package measure

import (
	"fmt"
	"sync"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/drivers"
)

// checks compares answers with the rows of a corpus. Workers share the memory for it, as few of them check at the same moment and all of
// it is off the clock.
type checks struct {
	corpus *corpus.Corpus
	pool   sync.Pool // of *comparison
}

// comparison is memory for one check.
type comparison struct {
	want, got corpus.Row
}

func newChecks(c *corpus.Corpus) *checks {
	return &checks{corpus: c, pool: sync.Pool{New: func() any { return new(comparison) }}}
}

// compare returns what is wrong with the answer to a read of a row, or nil. stale tells that it is that row in the version before.
func (c *checks) compare(client drivers.Client, answer *drivers.Record, index uint64, version uint32) (wrong *load.Mismatch, stale bool) {
	rows := c.pool.Get().(*comparison)
	defer c.pool.Put(rows)
	c.corpus.Row(&rows.want, index, version)
	if err := client.Decode(answer, &rows.got); err != nil {
		return &load.Mismatch{Index: index, Want: fmt.Sprintf("row %d", index), Got: "an answer that cannot be decoded: " + err.Error()}, false
	}
	if rows.got.Checksum() == rows.want.Checksum() {
		return nil, false
	}
	column, want, got, same := corpus.Diff(c.corpus.Template(), &rows.want, &rows.got)
	if same {
		return nil, false
	}
	if wrong, stale, ok := c.otherRow(rows, index, version); ok {
		return wrong, stale
	}
	return &load.Mismatch{Index: index, Column: column, Want: want, Got: got}, false
}

// otherRow tells whether the answer is a whole row of the corpus, only not the one asked for: the seal that every row carries says which
// one it is. That says more than the first of many columns that differ.
func (c *checks) otherRow(rows *comparison, index uint64, version uint32) (wrong *load.Mismatch, stale, ok bool) {
	if len(rows.got.Columns) == 0 || len(rows.got.Columns) != len(rows.want.Columns) {
		return nil, false, false
	}
	seal := &rows.got.Columns[len(rows.got.Columns)-1]
	if seal.Kind() != corpus.Int || seal.Int() < 0 {
		return nil, false, false
	}
	gotIndex, gotVersion := c.corpus.Unseal(seal.Int())
	if gotIndex == index && gotVersion == version {
		return nil, false, false
	}
	// A damaged seal names a row too. Only a row that is right in every column is another row.
	c.corpus.Row(&rows.want, gotIndex, gotVersion)
	if rows.got.Checksum() != rows.want.Checksum() {
		return nil, false, false
	}
	return &load.Mismatch{
		Index: index,
		Want:  fmt.Sprintf("row %d, version %d", index, version),
		Got:   fmt.Sprintf("row %d, version %d", gotIndex, gotVersion),
	}, gotIndex == index && gotVersion+1 == version, true
}
