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
	if err := client.Decode(answer, &rows.got); err != nil {
		return undecodable(index, err), false
	}
	return c.compareRow(rows, &rows.got, index, version)
}

// within returns what is wrong with the answer to a read of a row that may have any of some versions, or nil.
func (c *checks) within(client drivers.Client, answer *drivers.Record, index uint64, v versions) *load.Mismatch {
	rows := c.pool.Get().(*comparison)
	defer c.pool.Put(rows)
	if err := client.Decode(answer, &rows.got); err != nil {
		return undecodable(index, err)
	}
	return c.withinRow(rows, &rows.got, index, v)
}

// row is within of a row that has been decoded.
func (c *checks) row(got *corpus.Row, index uint64, v versions) *load.Mismatch {
	rows := c.pool.Get().(*comparison)
	defer c.pool.Put(rows)
	return c.withinRow(rows, got, index, v)
}

func (c *checks) withinRow(rows *comparison, got *corpus.Row, index uint64, v versions) *load.Mismatch {
	version := v.to
	sealed, sealedVersion, ok := c.sealOf(got)
	if ok && sealed == index && v.from <= sealedVersion && sealedVersion <= v.to {
		version = sealedVersion
	}
	wrong, _ := c.compareRow(rows, got, index, version)
	if wrong != nil && ok && sealed == index && version != sealedVersion && v.from < v.to {
		wrong.Want = fmt.Sprintf("row %d, version %d to %d", index, v.from, v.to)
	}
	return wrong
}

func undecodable(index uint64, err error) *load.Mismatch {
	return &load.Mismatch{Index: index, Want: fmt.Sprintf("row %d", index), Got: "an answer that cannot be decoded: " + err.Error()}
}

// compareRow compares a row with what it must be, in memory that it may use.
func (c *checks) compareRow(rows *comparison, got *corpus.Row, index uint64, version uint32) (wrong *load.Mismatch, stale bool) {
	c.corpus.Row(&rows.want, index, version)
	if got.Checksum() == rows.want.Checksum() {
		return nil, false
	}
	column, want, has, same := corpus.Diff(c.corpus.Template(), &rows.want, got)
	if same {
		return nil, false
	}
	if wrong, stale, ok := c.otherRow(rows, got, index, version); ok {
		return wrong, stale
	}
	return &load.Mismatch{Index: index, Column: column, Want: want, Got: has}, false
}

// sealOf reads which row, in which version, a row says that it is.
func (c *checks) sealOf(row *corpus.Row) (index uint64, version uint32, ok bool) {
	if len(row.Columns) != len(c.corpus.Template().Columns()) {
		return 0, 0, false
	}
	seal := &row.Columns[len(row.Columns)-1]
	if seal.Kind() != corpus.Int || seal.Int() < 0 {
		return 0, 0, false
	}
	index, version = c.corpus.Unseal(seal.Int())
	return index, version, true
}

// otherRow tells whether the answer is a whole row of the corpus, only not the one asked for: the seal that every row carries says which
// one it is. That says more than the first of many columns that differ.
func (c *checks) otherRow(rows *comparison, got *corpus.Row, index uint64, version uint32) (wrong *load.Mismatch, stale, ok bool) {
	gotIndex, gotVersion, sealed := c.sealOf(got)
	if !sealed || gotIndex == index && gotVersion == version {
		return nil, false, false
	}
	// A damaged seal names a row too. Only a row that is right in every column is another row.
	c.corpus.Row(&rows.want, gotIndex, gotVersion)
	if got.Checksum() != rows.want.Checksum() {
		return nil, false, false
	}
	return &load.Mismatch{
		Index: index,
		Want:  fmt.Sprintf("row %d, version %d", index, version),
		Got:   fmt.Sprintf("row %d, version %d", gotIndex, gotVersion),
	}, gotIndex == index && gotVersion+1 == version, true
}
