package mongodb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// fillTimeout bounds how long a client's pool may take to open its connections.
const fillTimeout = 15 * time.Second

// client carries operations over one connection for each thread.
type client struct {
	database *database
	conn     *mongo.Client
	rows     *mongo.Collection
	requests sync.Pool // *[]byte: memory for documents on their way out
}

// Client opens a client's connections and makes sure that the collection was made for this corpus.
func (d *database) Client(ctx context.Context, i int) (drivers.Client, error) {
	if d.closed.Load() {
		return nil, drivers.ErrClosed
	}
	if i == 0 {
		if err := d.checkCollection(ctx); err != nil {
			return nil, fmt.Errorf("client %d: %w", i, err)
		}
	}
	c := &client{database: d}
	if err := c.connect(ctx); err != nil {
		return nil, fmt.Errorf("client %d: %w", i, err)
	}
	return c, nil
}

// connect opens as many connections as there are threads, and no more.
func (c *client) connect(ctx context.Context) error {
	d := c.database
	threads := uint64(d.load.Threads)
	ready := make(chan struct{}, threads)
	config := *d.config
	config.SetMinPoolSize(threads).SetMaxPoolSize(threads).SetMaxConnecting(min(threads, 16)).SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
		switch e.Type {
		case event.ConnectionReady:
			d.sockets.Add(1)
			select {
			case ready <- struct{}{}:
			default:
			}
		case event.ConnectionClosed:
			// One that never became ready was not counted.
			if e.Reason != event.ReasonError || e.Error == nil {
				d.sockets.Add(-1)
			}
		}
	}})
	conn, err := mongo.Connect(&config)
	if err != nil {
		return d.explain(err)
	}
	if err := conn.Ping(ctx, nil); err != nil {
		return errors.Join(d.explain(err), conn.Disconnect(context.WithoutCancel(ctx)))
	}
	deadline := time.NewTimer(fillTimeout)
	defer deadline.Stop()
	for n := range threads {
		select {
		case <-ready:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), conn.Disconnect(context.WithoutCancel(ctx)))
		case <-deadline.C:
			return errors.Join(fmt.Errorf("connect to MongoDB at %s: %d of %d connections after %v", d.address, n, threads, fillTimeout),
				conn.Disconnect(context.WithoutCancel(ctx)))
		}
	}
	c.conn, c.rows = conn, conn.Database(d.name).Collection(drivers.Table)
	return nil
}

// request runs do with memory for a document.
func (c *client) request(do func(dst []byte) ([]byte, error)) error {
	memory, _ := c.requests.Get().(*[]byte)
	if memory == nil {
		memory = new([]byte)
	}
	used, err := do((*memory)[:0])
	if cap(used) <= keepMemory {
		*memory = used
		c.requests.Put(memory)
	}
	return err
}

// keepMemory is the most memory, in bytes, that is kept for the next document.
const keepMemory = 256 << 10

// Create inserts the row's document.
func (c *client) Create(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	err := c.request(func(dst []byte) ([]byte, error) {
		document, err := c.database.schema.appendDocument(dst, &key, row)
		if err == nil {
			_, err = c.rows.InsertOne(ctx, bson.Raw(document))
		}
		return document, err
	})
	if mongo.IsDuplicateKeyError(err) {
		return drivers.ErrExists
	}
	return failed("create", ctx, err)
}

// Read fetches the document and leaves it in rec as the BSON that came.
func (c *client) Read(ctx context.Context, key corpus.Key, rec *drivers.Record) error {
	rec.Reset()
	err := c.request(func(dst []byte) ([]byte, error) {
		filter, err := c.database.schema.appendFilter(dst, key)
		if err != nil {
			return filter, err
		}
		document, err := c.rows.FindOne(ctx, bson.Raw(filter)).Raw()
		rec.Bytes = append(rec.Bytes, document...)
		return filter, err
	})
	return found("read", ctx, rec, err)
}

// found is what comes of an operation that leaves a document in rec.
func found(what string, ctx context.Context, rec *drivers.Record, err error) error {
	if err != nil {
		rec.Reset()
	}
	if errors.Is(err, mongo.ErrNoDocuments) {
		return drivers.ErrNotFound
	}
	return failed(what, ctx, err)
}

// Update replaces the document.
func (c *client) Update(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	var result *mongo.UpdateResult
	err := c.request(func(dst []byte) ([]byte, error) {
		dst, err := c.database.schema.appendFilter(dst, key)
		if err != nil {
			return dst, err
		}
		n := len(dst)
		if dst, err = c.database.schema.appendDocument(dst, nil, row); err != nil {
			return dst, err
		}
		result, err = c.rows.ReplaceOne(ctx, bson.Raw(dst[:n]), bson.Raw(dst[n:]))
		return dst, err
	})
	if err != nil {
		return failed("update", ctx, err)
	}
	if result.MatchedCount == 0 {
		return drivers.ErrNotFound
	}
	return nil
}

// Delete deletes the document.
func (c *client) Delete(ctx context.Context, key corpus.Key) error {
	var result *mongo.DeleteResult
	err := c.request(func(dst []byte) ([]byte, error) {
		filter, err := c.database.schema.appendFilter(dst, key)
		if err == nil {
			result, err = c.rows.DeleteOne(ctx, bson.Raw(filter))
		}
		return filter, err
	})
	if err != nil {
		return failed("delete", ctx, err)
	}
	if result.DeletedCount == 0 {
		return drivers.ErrNotFound
	}
	return nil
}

// failed names the operation of an error. The end of the context explains what else came of it.
func failed(what string, ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if over := ctx.Err(); over != nil && !errors.Is(err, over) && drivers.ErrorClassOf(classify(err)) == drivers.ClassConnection {
		err = fmt.Errorf("%w: %w", over, err)
	}
	return fmt.Errorf("%s: %w", what, classify(err))
}

// Decode converts the document into values.
func (c *client) Decode(rec *drivers.Record, row *corpus.Row) error {
	key, err := c.database.schema.decode(rec.Bytes, row)
	if err == nil && key.Kind() == "" {
		return errors.New("document has no key")
	}
	return err
}

// Close closes the client's connections.
func (c *client) Close() error {
	err := c.conn.Disconnect(context.Background())
	if errors.Is(err, mongo.ErrClientDisconnected) {
		return nil
	}
	return err
}
