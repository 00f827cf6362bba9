package mongodb

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

const (
	// loadChunk is how many documents go out in one request.
	loadChunk = 500
	// duplicateKey is the server's code for a key that is there already.
	duplicateKey = 11000
)

// Load writes the documents in chunks. Those whose keys are there already, from a load that was cut short, are replaced.
func (c *client) Load(ctx context.Context, from, to uint64, version uint32) error {
	for from < to {
		next := min(to, from+loadChunk)
		if err := c.loadChunk(ctx, from, next, version); err != nil {
			return failed(fmt.Sprintf("load rows %d to %d", from, next), ctx, err)
		}
		from = next
	}
	return nil
}

func (c *client) loadChunk(ctx context.Context, from, to uint64, version uint32) error {
	var buffer corpus.KeyBuffer
	var row corpus.Row
	d := c.database
	documents := make([]bson.Raw, 0, to-from)
	for index := from; index < to; index++ {
		d.corpus.Row(&row, index, version)
		key := d.corpus.Key(&buffer, index)
		document, err := d.schema.appendDocument(nil, &key, &row)
		if err != nil {
			return fmt.Errorf("row %d: %w", index, err)
		}
		documents = append(documents, document)
	}
	_, err := c.rows.InsertMany(ctx, documents, options.InsertMany().SetOrdered(false))
	if err == nil {
		return nil
	}
	var bulk mongo.BulkWriteException
	if !errors.As(err, &bulk) || bulk.WriteConcernError != nil {
		return err
	}
	for _, refused := range bulk.WriteErrors {
		if refused.Code != duplicateKey || refused.Index < 0 || refused.Index >= len(documents) {
			return err
		}
		document := documents[refused.Index]
		filter := bson.D{{Key: "_id", Value: document.Lookup("_id")}}
		if _, err := c.rows.ReplaceOne(ctx, filter, document, options.Replace().SetUpsert(true)); err != nil {
			return fmt.Errorf("row %d: %w", from+uint64(refused.Index), err)
		}
	}
	return nil
}

var _ drivers.Loader = (*client)(nil)
