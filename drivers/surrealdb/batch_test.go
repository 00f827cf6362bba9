package surrealdb_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// some makes keys and rows from an index on.
func (o *opened) some(from uint64, n int, version uint32) (keys []corpus.Key, rows []*corpus.Row) {
	for i := range uint64(n) {
		var key corpus.KeyBuffer
		row := new(corpus.Row)
		o.data.Corpus.Row(row, from+i, version)
		keys, rows = append(keys, o.data.Corpus.Key(&key, from+i).Clone()), append(rows, row)
	}
	return keys, rows
}

// wantBatch reads the rows from an index on and compares each.
func (o *opened) wantBatch(t *testing.T, from uint64, n int, version uint32) (requests int) {
	t.Helper()
	batcher := o.client.(drivers.Batcher)
	keys, rows := o.some(from, n, version)
	answer := &drivers.Answer{Keep: true}
	requests, err := batcher.ReadBatch(t.Context(), keys, answer)
	drivertest.Must(t, err)
	seen := map[uint64]bool{}
	drivertest.Must(t, batcher.DecodeBatch(answer, func(key corpus.Key, row *corpus.Row) error {
		index, ok := o.data.Corpus.Index(key)
		if !ok || index < from || index >= from+uint64(n) || seen[index] {
			return fmt.Errorf("key %s of row %d was not asked for, or is there twice", key, index)
		}
		seen[index] = true
		if column, want, got, same := corpus.Diff(o.data.Corpus.Template(), rows[index-from], row); !same {
			return fmt.Errorf("row %d, column %s: %s, want %s", index, column, got, want)
		}
		return nil
	}))
	if len(seen) != n || answer.Rows != int64(n) {
		t.Errorf("%d rows of %d came, %d counted", len(seen), n, answer.Rows)
	}
	return requests
}

var rowValue = map[string]any{"blob": "bytes:10", "name": "string:5..20", "number": "int", "tags": []any{"string:4", "string:4"}}

func TestBatches(t *testing.T) {
	for _, kind := range []corpus.KeyKind{corpus.KeyInteger, corpus.KeyString26, corpus.KeyUUID} {
		t.Run(string(kind), func(t *testing.T) {
			o := load(t, rowValue, kind, 0, 2)
			batcher, ctx := o.client.(drivers.Batcher), t.Context()
			keys, rows := o.some(0, 100, 0)
			requests, err := batcher.CreateBatch(ctx, keys, rows)
			drivertest.Must(t, err)
			if read := o.wantBatch(t, 0, 100, 0); requests != 1 || read != 1 {
				t.Errorf("%d and %d requests", requests, read)
			}
			more, moreRows := o.some(99, 3, 0)
			if _, err := batcher.CreateBatch(ctx, more, moreRows); !errors.Is(err, drivers.ErrExists) {
				t.Errorf("create of one key too many: %v", err)
			}
			_, newRows := o.some(0, 100, 1)
			if requests, err = batcher.UpdateBatch(ctx, keys, newRows); err != nil || requests != 1 {
				t.Errorf("%d requests, %v", requests, err)
			}
			o.wantBatch(t, 0, 100, 1)
			if _, err := batcher.UpdateBatch(ctx, more, moreRows); !errors.Is(err, drivers.ErrNotFound) {
				t.Errorf("update of a key that is not there: %v", err)
			}
			if _, err := batcher.ReadBatch(ctx, more, &drivers.Answer{}); !errors.Is(err, drivers.ErrNotFound) {
				t.Errorf("read of a key that is not there: %v", err)
			}
			o.wantBatch(t, 99, 1, 1) // the update of the batch was taken back as a whole
			if requests, err = batcher.DeleteBatch(ctx, keys[:60]); err != nil || requests != 1 {
				t.Errorf("%d requests, %v", requests, err)
			}
			if _, err := batcher.DeleteBatch(ctx, keys[59:]); !errors.Is(err, drivers.ErrNotFound) {
				t.Errorf("delete of a key that is not there: %v", err)
			}
		})
	}
}

// TestALargeBatchIsSplit has more bytes than a server takes in one frame.
func TestALargeBatchIsSplit(t *testing.T) {
	o := load(t, map[string]any{"blob": "bytes:400000"}, corpus.KeyInteger, 0, 1)
	batcher := o.client.(drivers.Batcher)
	keys, rows := o.some(0, 50, 0)
	requests, err := batcher.CreateBatch(t.Context(), keys, rows)
	drivertest.Must(t, err)
	if requests != 3 {
		t.Errorf("%d requests for 20 MB, want 3", requests)
	}
	o.wantBatch(t, 0, 50, 0)
	n, err := o.Database.(drivers.Counter).Count(t.Context())
	if drivertest.Must(t, err); n != 50 {
		t.Errorf("%d rows", n)
	}
}

func TestRanges(t *testing.T) {
	for _, kind := range corpus.KeyKinds() {
		t.Run(string(kind), func(t *testing.T) {
			const rows = 60
			o := load(t, rowValue, kind, rows, 1)
			ranger := o.client.(drivers.Ranger)
			keys, _ := o.some(0, rows, 0)
			for _, from := range []int{0, 7, 31, 59} {
				answer := &drivers.Answer{Keep: true}
				drivertest.Must(t, ranger.Range(t.Context(), keys[from], 10, answer))
				last, n := keys[from], 0
				drivertest.Must(t, ranger.DecodeRange(answer, func(key corpus.Key, row *corpus.Row) error {
					before, after := string(last.AppendOrdered(nil)), string(key.AppendOrdered(nil))
					if n == 0 && after != before || n > 0 && after <= before {
						return fmt.Errorf("key %d, %s, comes after %s", n, key, last)
					}
					index, _ := o.data.Corpus.Index(key)
					_, want := o.some(index, 1, 0)
					if column, _, _, same := corpus.Diff(o.data.Corpus.Template(), want[0], row); !same {
						return fmt.Errorf("row %d differs in %s", index, column)
					}
					last, n = key.Clone(), n+1
					return nil
				}))
				above := 0
				for _, key := range keys {
					if string(key.AppendOrdered(nil)) >= string(keys[from].AppendOrdered(nil)) {
						above++
					}
				}
				if n != min(10, above) {
					t.Errorf("%d rows from row %d on, want %d", n, from, min(10, above))
				}
			}
		})
	}
}

func TestModify(t *testing.T) {
	o := load(t, rowValue, corpus.KeyString26, 2, 2)
	modifier := o.client.(drivers.Modifier)
	keys, old := o.some(0, 3, 0)
	_, next := o.some(0, 3, 1)
	var record drivers.Record
	var row corpus.Row
	drivertest.Must(t, modifier.Modify(t.Context(), keys[0], &record, next[0]))
	drivertest.Must(t, o.client.Decode(&record, &row))
	if column, _, _, same := corpus.Diff(o.data.Corpus.Template(), old[0], &row); !same {
		t.Errorf("what was read differs from the old row in %s", column)
	}
	o.wantBatch(t, 0, 1, 1)
	o.wantBatch(t, 1, 1, 0)
	if err := modifier.Modify(t.Context(), keys[2], &record, next[2]); !errors.Is(err, drivers.ErrNotFound) {
		t.Errorf("of a key that is not there: %v", err)
	}
	if len(record.Bytes) > 0 {
		t.Error("the record has something after a miss")
	}
}
