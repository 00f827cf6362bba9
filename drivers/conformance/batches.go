package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// The operations of batches, as Harness.Splits names them.
const (
	BatchCreate = "create"
	BatchRead   = "read"
	BatchUpdate = "update"
	BatchDelete = "delete"
)

// batcher is a caller of batches, with rows that it makes as it needs them.
type batcher struct {
	drivers.Batcher
	corpus *corpus.Corpus
	answer drivers.Answer
}

func (s *session) batcher(i int) *batcher {
	return &batcher{Batcher: s.clients[i].(drivers.Batcher), corpus: s.config.Corpus}
}

// keys returns the keys of the rows, each in memory of its own.
func (b *batcher) keys(indexes []uint64) []corpus.Key {
	keys := make([]corpus.Key, len(indexes))
	for i, index := range indexes {
		var buffer corpus.KeyBuffer
		keys[i] = b.corpus.Key(&buffer, index).Clone()
	}
	return keys
}

func (b *batcher) rows(indexes []uint64, version uint32) []*corpus.Row {
	rows := make([]*corpus.Row, len(indexes))
	for i, index := range indexes {
		rows[i] = &corpus.Row{}
		b.corpus.Row(rows[i], index, version)
	}
	return rows
}

// count checks the number of requests of a batch that succeeded.
func (b *batcher) count(what string, rows, requests int, err error) error {
	if err != nil {
		return fmt.Errorf("%s batch of %d: %w", what, rows, err)
	}
	if requests < 1 || requests > rows+3 { // a transaction has a beginning and an end, and a statement may have to be prepared
		return fmt.Errorf("%s batch of %d rows took %d requests, which cannot be", what, rows, requests)
	}
	return nil
}

func (b *batcher) create(ctx context.Context, indexes []uint64, version uint32) error {
	requests, err := b.CreateBatch(ctx, b.keys(indexes), b.rows(indexes, version))
	return b.count(BatchCreate, len(indexes), requests, err)
}

func (b *batcher) update(ctx context.Context, indexes []uint64, version uint32) error {
	requests, err := b.UpdateBatch(ctx, b.keys(indexes), b.rows(indexes, version))
	return b.count(BatchUpdate, len(indexes), requests, err)
}

func (b *batcher) delete(ctx context.Context, indexes []uint64) error {
	requests, err := b.DeleteBatch(ctx, b.keys(indexes))
	return b.count(BatchDelete, len(indexes), requests, err)
}

// check reads the rows twice, kept and not, and compares each with the corpus's row of the version.
func (b *batcher) check(ctx context.Context, indexes []uint64, version uint32) error {
	b.answer.Keep = false
	requests, err := b.ReadBatch(ctx, b.keys(indexes), &b.answer)
	if err := b.count(BatchRead, len(indexes), requests, err); err != nil {
		return err
	}
	rows, size := b.answer.Rows, b.answer.Size
	b.answer.Keep = true
	requests, err = b.ReadBatch(ctx, b.keys(indexes), &b.answer)
	if err := b.count(BatchRead, len(indexes), requests, err); err != nil {
		return err
	}
	if rows != int64(len(indexes)) || rows != b.answer.Rows || size != b.answer.Size || size <= 0 {
		return fmt.Errorf("read batch of %d: %d rows of %d bytes when they are not kept, %d rows of %d bytes when they are", len(indexes), rows, size, b.answer.Rows, b.answer.Size)
	}
	asked := make(map[uint64]bool)
	for _, index := range indexes {
		asked[index] = true
	}
	var want corpus.Row
	err = b.DecodeBatch(&b.answer, func(key corpus.Key, row *corpus.Row) error {
		index, ok := b.corpus.Index(key)
		if !ok || !asked[index] {
			return fmt.Errorf("key %s was not asked for, or is there twice", key)
		}
		delete(asked, index)
		b.corpus.Row(&want, index, version)
		if column, wantText, gotText, same := corpus.Diff(b.corpus.Template(), &want, row); !same {
			return fmt.Errorf("row %d: column %q: got %s, want %s", index, column, gotText, wantText)
		}
		return nil
	})
	if err == nil && len(asked) > 0 {
		err = fmt.Errorf("%d rows are not decoded", len(asked))
	}
	if err != nil {
		return fmt.Errorf("read batch of %d: %w", len(indexes), err)
	}
	return nil
}

// shuffled returns the numbers of a range in a random order that repeats.
func shuffled(from, to uint64) []uint64 {
	numbers := make([]uint64, 0, to-from)
	for n := from; n < to; n++ {
		numbers = append(numbers, n)
	}
	rng := rand.New(rand.NewPCG(from, to))
	rng.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	return numbers
}

// testBatches walks batches of sizes that nothing divides through their life, under every form of key.
func testBatches(t *testing.T, h Harness) {
	for _, kind := range corpus.KeyKinds() {
		t.Run(string(kind), func(t *testing.T) {
			s := h.open(t, makeCorpus(t, plainTemplate, kind, true), load(2, 2))
			b, c, ctx := s.batcher(0), s.caller(1), t.Context()
			sizes := []uint64{1, 2, 3}
			switch {
			case h.Slow != "":
				sizes = append(sizes, 7)
			case kind == corpus.KeyInteger:
				sizes = append(sizes, 101, 337, 1201)
			default:
				sizes = append(sizes, 101)
			}
			from, total := uint64(0), int64(0)
			for _, size := range sizes {
				if most := b.MaxBatch(); most > 0 {
					size = min(size, uint64(most))
				}
				indexes := shuffled(from, from+size)
				must(t, b.create(ctx, indexes, 0))
				must(t, b.check(ctx, shuffled(from, from+size), 0))
				must(t, c.check(ctx, indexes[0], 0))
				total += int64(size)
				s.count(total)

				// A part of the rows is updated; the rest is as it was.
				some, rest := indexes[:(size+1)/2], indexes[(size+1)/2:]
				must(t, b.update(ctx, some, 1))
				must(t, b.check(ctx, some, 1))
				if len(rest) > 0 {
					must(t, b.check(ctx, rest, 0))
				}
				must(t, c.check(ctx, some[0], 1))

				must(t, b.delete(ctx, some))
				total -= int64(len(some))
				s.count(total)
				wantMiss(t, "read of a row that a batch deleted", c.read(ctx, some[0]))
				if len(rest) > 0 {
					must(t, b.check(ctx, rest, 0))
				}
				from += size
			}
		})
	}
}

// testBatchMisses has one key too many or too few in each batch. What became of the others is not known, but the client is as good as before.
func testBatchMisses(t *testing.T, h Harness) {
	s := h.open(t, plain(t), load(1, 2))
	b, c, ctx := s.batcher(0), s.caller(0), t.Context()
	rows := uint64(50)
	if h.Slow != "" {
		rows = 12
	}
	must(t, b.create(ctx, shuffled(0, rows), 0))
	odd := func(indexes ...uint64) []uint64 { return append(shuffled(100, 105), indexes...) }

	_, err := b.CreateBatch(ctx, b.keys(odd(7)), b.rows(odd(7), 1))
	wantIs(t, "create batch with a key that is there", err, drivers.ErrExists)
	must(t, c.check(ctx, 7, 0)) // the row that was there is untouched

	missing := append(shuffled(0, rows/2), 9999)
	b.answer.Keep = true
	_, err = b.ReadBatch(ctx, b.keys(missing), &b.answer)
	wantIs(t, "read batch with a key that is not there", err, drivers.ErrNotFound)
	_, err = b.UpdateBatch(ctx, b.keys(missing), b.rows(missing, 2))
	wantIs(t, "update batch with a key that is not there", err, drivers.ErrNotFound)
	wantMiss(t, "read of the row that an update batch missed", c.read(ctx, 9999))
	_, err = b.DeleteBatch(ctx, b.keys(missing))
	wantIs(t, "delete batch with a key that is not there", err, drivers.ErrNotFound)
	_, err = b.DeleteBatch(ctx, b.keys([]uint64{9999}))
	wantIs(t, "delete batch of a key that is not there", err, drivers.ErrNotFound)

	must(t, b.create(ctx, shuffled(200, 200+rows/2), 0))
	must(t, b.check(ctx, shuffled(200, 200+rows/2), 0))
	must(t, b.check(ctx, shuffled(rows/2, rows), 0)) // those that no failed batch named
	s.usable(c, 5000)

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if h.Instant == "" {
		_, err = b.CreateBatch(cancelled, b.keys(shuffled(300, 310)), b.rows(shuffled(300, 310), 0))
		if class := drivers.ErrorClassOf(err); class != drivers.ClassCancelled {
			t.Errorf("create batch with a context that is over: class %q of %v", class, err)
		}
		s.usable(c, 5001)
	}
}

// testBatchSplits tries the sizes at which a driver says that one request is no longer enough, and wants just that. What has to be prepared for them is
// prepared by a first batch, in which each request may be two.
func testBatchSplits(t *testing.T, h Harness) {
	s := h.open(t, makeCorpus(t, map[string]any{"n": "int"}, corpus.KeyInteger, false))
	b, ctx := s.batcher(0), t.Context()
	for operation, most := range h.Splits {
		t.Run(operation, func(t *testing.T) {
			must(t, s.database.Prepare(ctx))
			all := shuffled(0, uint64(3*most)+2)
			if operation != BatchCreate {
				must(t, drivers.LoadRows(ctx, s.clients[0], s.config.Corpus, 0, uint64(len(all)), 0))
			}
			run := map[string]func([]uint64) (int, error){
				BatchCreate: func(some []uint64) (int, error) { return b.CreateBatch(ctx, b.keys(some), b.rows(some, 0)) },
				BatchRead:   func(some []uint64) (int, error) { return b.ReadBatch(ctx, b.keys(some), &b.answer) },
				BatchUpdate: func(some []uint64) (int, error) { return b.UpdateBatch(ctx, b.keys(some), b.rows(some, 1)) },
				BatchDelete: func(some []uint64) (int, error) { return b.DeleteBatch(ctx, b.keys(some)) },
			}[operation]
			if run == nil {
				t.Fatalf("there is no operation %q", operation)
			}
			for i, size := range []int{most + 1, most, most + 1} {
				some := all[:size]
				if operation == BatchCreate || operation == BatchDelete {
					all = all[size:]
				}
				requests, err := run(some)
				must(t, err)
				if want := (size + most - 1) / most; requests != want && (i > 0 || requests < want || requests > 2*want) {
					t.Errorf("a batch of %d took %d requests, want %d of at most %d", size, requests, want, most)
				}
			}
		})
	}
}

// testBatchesAtOnce has all callers at work with batches on rows of their own.
func testBatchesAtOnce(t *testing.T, h Harness) {
	s := h.open(t, plain(t), load(2, 4))
	ctx, rounds, size, stay := t.Context(), uint64(4), uint64(37), 20
	if h.Slow != "" {
		rounds, size, stay = 1, 5, 3
	}
	s.everyone(func(number int, c *caller) error {
		b := &batcher{Batcher: c.client.(drivers.Batcher), corpus: c.corpus}
		for round := range rounds {
			from := uint64(number)*1000 + round*100
			all := shuffled(from, from+size)
			for _, step := range []func() error{
				func() error { return b.create(ctx, all, 0) }, func() error { return b.check(ctx, all, 0) }, func() error { return b.update(ctx, all[:stay], 1) },
				func() error { return b.check(ctx, all[:stay], 1) }, func() error { return b.delete(ctx, all[stay:]) },
			} {
				if err := step(); err != nil {
					return err
				}
			}
			if err := c.read(ctx, all[stay]); !errors.Is(err, drivers.ErrNotFound) {
				return fmt.Errorf("read after delete batch: %w", err)
			}
		}
		return nil
	})
	s.count(int64(8*rounds) * int64(stay))
}

// testRanges reads runs of rows from keys that are there and from keys that are not.
func testRanges(t *testing.T, h Harness) {
	for _, kind := range corpus.KeyKinds() {
		t.Run(string(kind), func(t *testing.T) {
			rows := uint64(150)
			if h.Slow != "" {
				rows = 20
			}
			m := newModel(makeCorpus(t, plainTemplate, kind, true), rows, nil)
			s := h.open(t, m.corpus)
			m.store(t, s.clients[0])
			ranger := s.clients[0].(drivers.Ranger)
			inOrder := m.find(m.bind(t, &query.Scan{ID: "all", Project: query.ID, Order: []query.Order{{}}}))
			var answer drivers.Answer
			for _, from := range []uint64{inOrder[0], inOrder[rows/2], inOrder[rows-3], inOrder[rows-1], rows, rows + 1, rows + 2} { // the last are not there
				for _, most := range []int64{1, 2, 10, int64(rows) + 10} {
					var want []uint64
					for _, index := range inOrder {
						if string(m.key(index)) >= string(m.key(from)) && int64(len(want)) < most {
							want = append(want, index)
						}
					}
					for _, answer.Keep = range []bool{false, true} {
						var buffer corpus.KeyBuffer
						must(t, ranger.Range(t.Context(), m.corpus.Key(&buffer, from), most, &answer))
						if answer.Rows != int64(len(want)) {
							t.Fatalf("range of %d from row %d: %d rows, want %d", most, from, answer.Rows, len(want))
						}
					}
					var got []uint64
					must(t, ranger.DecodeRange(&answer, func(key corpus.Key, row *corpus.Row) error {
						index, err := m.recognise(key, row, query.Full)
						got = append(got, index)
						return err
					}))
					if !slices.Equal(got, want) {
						t.Errorf("range of %d from row %d: rows %v, want %v", most, from, got, want)
					}
				}
			}
		})
	}
}
