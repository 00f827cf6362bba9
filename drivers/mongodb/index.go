package mongodb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// The server's codes for an index and a collection that are not there.
const (
	noIndex      = 27
	noCollection = 26
)

// indexName is what an index is called in the database.
func indexName(index query.Index) string { return "durabench_" + index.Name }

// CanIndex says which kinds of index MongoDB has.
func (d *database) CanIndex(index query.Index) error {
	if index.Raw != "" && !strings.EqualFold(index.Raw, "btree") && !strings.EqualFold(index.Raw, string(index.Kind)) {
		return drivers.Unsupported{Why: fmt.Sprintf("MongoDB has no index type %q here: all but text indexes are B-trees", index.Raw)}
	}
	for _, path := range index.Paths {
		if err := canPath(path); err != nil {
			return err
		}
	}
	switch index.Kind {
	case query.Ordered, query.Elements:
		return nil
	case query.FullText:
		if index.Unique {
			return drivers.Unsupported{Why: "MongoDB's text indexes cannot be unique"}
		}
		return nil
	case query.CountAll:
		return drivers.Unsupported{Why: "MongoDB keeps the number of all rows without an index, and it is not exact after a crash"}
	}
	return drivers.Unsupported{Why: fmt.Sprintf("MongoDB has no index of kind %q", index.Kind)}
}

// indexSpec is the index as createIndexes takes it. An index on an array has an entry for each element by itself.
func indexSpec(index query.Index) bson.D {
	keys := bson.D{}
	for _, path := range index.Paths {
		kind := any(int32(1))
		if index.Kind == query.FullText {
			kind = "text"
		}
		keys = append(keys, bson.E{Key: dotted(path), Value: kind})
	}
	spec := bson.D{{Key: "key", Value: keys}, {Key: "name", Value: indexName(index)}}
	if index.Unique {
		spec = append(spec, bson.E{Key: "unique", Value: true})
	}
	if index.Kind == query.FullText {
		spec = append(spec, bson.E{Key: "default_language", Value: "none"}, bson.E{Key: "language_override", Value: "durabench_no_language"})
	}
	return spec
}

// CreateIndex builds the index; the server answers when it is whole. When the call is cut off, the server goes on by itself.
func (d *database) CreateIndex(ctx context.Context, index query.Index) error {
	if err := d.createIndex(ctx, index); err != nil {
		return fmt.Errorf("create index %s: %w", index.Name, err)
	}
	return nil
}

func (d *database) createIndex(ctx context.Context, index query.Index) error {
	if err := d.CanIndex(index); err != nil {
		return err
	}
	if err := drivers.CheckIndex(d.schema.template, index); err != nil {
		return err
	}
	state, err := d.IndexState(ctx, index)
	if err != nil {
		return err
	}
	if state.Exists {
		return drivers.ErrExists
	}
	command := bson.D{{Key: "createIndexes", Value: drivers.Table}, {Key: "indexes", Value: bson.A{indexSpec(index)}}}
	err = d.control.Database(d.name).RunCommand(ctx, command).Err()
	if mongo.IsDuplicateKeyError(err) {
		names := make([]string, len(index.Paths))
		for i, path := range index.Paths {
			names[i] = path.String()
		}
		return fmt.Errorf("rows are equal in %s, which a unique index cannot have", strings.Join(names, ", "))
	}
	return classify(err)
}

// IndexState looks in the list of indexes, which says of one that is being built which build it is.
func (d *database) IndexState(ctx context.Context, index query.Index) (drivers.IndexState, error) {
	state, err := d.indexState(ctx, index)
	if err != nil {
		return state, fmt.Errorf("look at index %s: %w", index.Name, err)
	}
	return state, nil
}

func (d *database) indexState(ctx context.Context, index query.Index) (state drivers.IndexState, err error) {
	state.How = "listIndexes has it without a buildUUID"
	if d.closed.Load() {
		return state, drivers.ErrClosed
	}
	command := bson.D{{Key: "listIndexes", Value: drivers.Table}, {Key: "includeBuildUUIDs", Value: true}, {Key: "cursor", Value: bson.D{{Key: "batchSize", Value: 1000}}}}
	answer, err := d.control.Database(d.name).RunCommand(ctx, command).Raw()
	var refused mongo.CommandError
	if errors.As(err, &refused) && refused.Code == noCollection {
		return state, nil
	}
	if err != nil {
		return state, classify(err)
	}
	batch, ok := answer.Lookup("cursor", "firstBatch").ArrayOK()
	if !ok {
		return state, errors.New("the answer of listIndexes has no list")
	}
	indexes, err := batch.Values()
	if err != nil {
		return state, fmt.Errorf("the answer of listIndexes is damaged: %w", err)
	}
	for _, one := range indexes {
		entry, ok := one.DocumentOK()
		if !ok {
			continue
		}
		_, none := entry.LookupErr("buildUUID")
		building := none == nil
		name, ok := entry.Lookup("name").StringValueOK()
		if !ok {
			name, _ = entry.Lookup("spec", "name").StringValueOK()
		}
		if name != indexName(index) {
			continue
		}
		state.Exists, state.Ready = true, !building
		if building {
			state.Detail = "being built"
			return state, nil
		}
		state.Bytes, err = d.indexBytes(ctx, name)
		return state, err
	}
	return state, nil
}

// indexBytes is the size of an index on disk.
func (d *database) indexBytes(ctx context.Context, name string) (int64, error) {
	answer, err := d.control.Database(d.name).RunCommand(ctx, bson.D{{Key: "collStats", Value: drivers.Table}}).Raw()
	if err != nil {
		return 0, classify(err)
	}
	size, _ := answer.Lookup("indexSizes", name).AsInt64OK()
	return size, nil
}

// DropIndex removes the index.
func (d *database) DropIndex(ctx context.Context, index query.Index) error {
	if d.closed.Load() {
		return fmt.Errorf("drop index %s: %w", index.Name, drivers.ErrClosed)
	}
	command := bson.D{{Key: "dropIndexes", Value: drivers.Table}, {Key: "index", Value: indexName(index)}}
	err := d.control.Database(d.name).RunCommand(ctx, command).Err()
	var refused mongo.CommandError
	if errors.As(err, &refused) && (refused.Code == noIndex || refused.Code == noCollection) {
		return drivers.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("drop index %s: %w", index.Name, classify(err))
	}
	return nil
}

var _ drivers.Indexer = (*database)(nil)
