package drivers

import (
	"context"

	"github.com/durabench/durabench/bench/corpus"
)

// Batcher is a Client that can carry one operation on many rows at once. A batch larger than what the engine takes in one request is split; the
// methods return how many requests it took. A request is a round trip: all that is sent before its answer is waited for, however many statements or
// commands it has. So the beginning and the end of a transaction are requests where each is waited for, what prepares a statement is one, and so is the
// fetch of more of an answer; commands that go out together are one. What connects, and what a Retrier sends again and counts itself, is none. An engine
// without a server has no round trips: a batch is one request. A batch that succeeds has done every row: a key too many or too few is ErrExists or ErrNotFound, and
// what became of the other rows of the batch is then not known. Keys are distinct.
type Batcher interface {
	// CreateBatch adds the rows, keys[i] with rows[i].
	CreateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error)
	// ReadBatch fetches the rows of the keys, in any order, with every column received, into the answer. DecodeBatch reads it.
	ReadBatch(ctx context.Context, keys []corpus.Key, answer *Answer) (requests int, err error)
	// UpdateBatch replaces the rows.
	UpdateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error)
	// DeleteBatch removes the rows.
	DeleteBatch(ctx context.Context, keys []corpus.Key) (requests int, err error)
	// DecodeBatch hands each row that the answer kept to each, off the clock, with its key.
	DecodeBatch(answer *Answer, each func(key corpus.Key, row *corpus.Row) error) error
	// MaxBatch returns the most rows that a batch may have at all, 0 for no bound. It is also called on the nil pointer Engine.Ability, before
	// there is a server.
	MaxBatch() int
}

// Modifier is a Client that can read a row and replace it in one transaction: nobody else's write comes between.
type Modifier interface {
	// Modify reads the row into rec, as Read does, and replaces it by next. A transaction that the server asks to retry is ClassConflict and is
	// not retried here, unless the database is a Retrier. A missing key is ErrNotFound.
	Modify(ctx context.Context, key corpus.Key, rec *Record, next *corpus.Row) error
}
