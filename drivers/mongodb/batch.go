package mongodb

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// What one request may carry: MongoDB takes 100,000 writes and 48,000,000 bytes in a message, and a document of 16 MiB, which a list of keys is in. Room is
// left for what is around each document.
const (
	maxBatchRows    = 100_000
	maxMessageBytes = 47_000_000
	maxKeyListBytes = 15 << 20
	aroundEachWrite = 256
	aroundEachKey   = 16
)

// spans cuts n items into runs that one request can carry, and hands each to send; size is the bytes of an item on the wire.
func spans(n, most int, size func(i int) int, send func(from, to int) (requests int, err error)) (requests int, err error) {
	for from := 0; from < n; {
		to, bytes := from, 0
		for to < n && to-from < maxBatchRows {
			if bytes += size(to); bytes > most && to > from {
				break
			}
			to++
		}
		sent, err := send(from, to)
		requests += sent
		if err != nil {
			return requests, err
		}
		from = to
	}
	return requests, nil
}

// CreateBatch inserts the documents.
func (c *client) CreateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	documents := make([]bson.Raw, len(keys))
	for i := range keys {
		if documents[i], err = c.database.schema.appendDocument(nil, &keys[i], rows[i]); err != nil {
			return 0, fmt.Errorf("create batch: row %d: %w", i, err)
		}
	}
	requests, err = spans(len(documents), maxMessageBytes, func(i int) int { return len(documents[i]) + aroundEachWrite }, func(from, to int) (int, error) {
		_, err := c.rows.InsertMany(ctx, documents[from:to])
		return 1, err
	})
	if mongo.IsDuplicateKeyError(err) {
		return requests, drivers.ErrExists
	}
	return requests, failed("create batch", ctx, err)
}

// UpdateBatch replaces the documents.
func (c *client) UpdateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	models := make([]mongo.WriteModel, len(keys))
	sizes := make([]int, len(keys))
	for i := range keys {
		filter, err := c.database.schema.appendFilter(nil, keys[i])
		if err != nil {
			return 0, fmt.Errorf("update batch: row %d: %w", i, err)
		}
		document, err := c.database.schema.appendDocument(nil, nil, rows[i])
		if err != nil {
			return 0, fmt.Errorf("update batch: row %d: %w", i, err)
		}
		models[i] = mongo.NewReplaceOneModel().SetFilter(bson.Raw(filter)).SetReplacement(bson.Raw(document))
		sizes[i] = len(filter) + len(document)
	}
	requests, err = spans(len(models), maxMessageBytes, func(i int) int { return sizes[i] + aroundEachWrite }, func(from, to int) (int, error) {
		result, err := c.rows.BulkWrite(ctx, models[from:to])
		if err == nil && result.MatchedCount != int64(to-from) {
			err = drivers.ErrNotFound
		}
		return 1, err
	})
	if errors.Is(err, drivers.ErrNotFound) {
		return requests, drivers.ErrNotFound
	}
	return requests, failed("update batch", ctx, err)
}

// appendKeys appends the condition that finds the keys.
func (s *schema) appendKeys(dst []byte, keys []corpus.Key) ([]byte, error) {
	at, dst := bsoncore.AppendDocumentStart(dst)
	inside, dst := bsoncore.AppendDocumentElementStart(dst, "_id")
	list, dst := bsoncore.AppendArrayElementStart(dst, "$in")
	var err error
	for i, key := range keys {
		if dst, err = s.appendKeyAs(dst, strconv.Itoa(i), key); err != nil {
			return dst, err
		}
	}
	if dst, err = bsoncore.AppendArrayEnd(dst, list); err != nil {
		return dst, err
	}
	if dst, err = bsoncore.AppendDocumentEnd(dst, inside); err != nil {
		return dst, err
	}
	return bsoncore.AppendDocumentEnd(dst, at)
}

// keySpans hands the condition for each run of keys to send.
func (c *client) keySpans(keys []corpus.Key, send func(filter bson.Raw, n int) (requests int, err error)) (requests int, err error) {
	return spans(len(keys), maxKeyListBytes, func(i int) int { return len(keys[i].Text()) + aroundEachKey }, func(from, to int) (requests int, err error) {
		err = c.request(func(dst []byte) ([]byte, error) {
			filter, err := c.database.schema.appendKeys(dst, keys[from:to])
			if err == nil {
				requests, err = send(filter, to-from)
			}
			return filter, err
		})
		return requests, err
	})
}

// ReadBatch fetches the documents by a list of keys.
func (c *client) ReadBatch(ctx context.Context, keys []corpus.Key, answer *drivers.Answer) (requests int, err error) {
	answer.Reset()
	requests, err = c.keySpans(keys, func(filter bson.Raw, n int) (int, error) {
		cursor, err := c.rows.Find(ctx, filter, options.Find().SetBatchSize(oneAnswer(int64(n))))
		if err != nil {
			return 1, err
		}
		return receive(ctx, cursor, answer)
	})
	if err == nil && answer.Rows != int64(len(keys)) {
		return requests, drivers.ErrNotFound
	}
	return requests, failed("read batch", ctx, err)
}

// DeleteBatch deletes the documents by a list of keys.
func (c *client) DeleteBatch(ctx context.Context, keys []corpus.Key) (requests int, err error) {
	deleted := int64(0)
	requests, err = c.keySpans(keys, func(filter bson.Raw, _ int) (int, error) {
		result, err := c.rows.DeleteMany(ctx, filter)
		if err == nil {
			deleted += result.DeletedCount
		}
		return 1, err
	})
	if err == nil && deleted != int64(len(keys)) {
		return requests, drivers.ErrNotFound
	}
	return requests, failed("delete batch", ctx, err)
}

// DecodeBatch reads the documents.
func (c *client) DecodeBatch(answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	return c.decodeRows(answer, true, each)
}

// MaxBatch returns 0: batches of any size are cut into requests.
func (c *client) MaxBatch() int { return 0 }

// Modify reads and replaces the document in one command, which MongoDB does on a document at a time. It needs no transaction of several
// commands, which a server that is not a replica set does not have.
func (c *client) Modify(ctx context.Context, key corpus.Key, rec *drivers.Record, next *corpus.Row) error {
	rec.Reset()
	err := c.request(func(dst []byte) ([]byte, error) {
		dst, err := c.database.schema.appendFilter(dst, key)
		if err != nil {
			return dst, err
		}
		n := len(dst)
		if dst, err = c.database.schema.appendDocument(dst, nil, next); err != nil {
			return dst, err
		}
		before, err := c.rows.FindOneAndReplace(ctx, bson.Raw(dst[:n]), bson.Raw(dst[n:])).Raw()
		rec.Bytes = append(rec.Bytes, before...)
		return dst, err
	})
	return found("modify", ctx, rec, err)
}

var (
	_ drivers.Batcher  = (*client)(nil)
	_ drivers.Modifier = (*client)(nil)
)
