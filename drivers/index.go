package drivers

import (
	"context"
	"fmt"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// Indexer is a Database that can build indexes. CanIndex is also called on the nil pointer Engine.DatabaseAbility.
type Indexer interface {
	// CanIndex returns nil when the engine has an index of this kind on such columns, Unsupported with the reason when not. It is pure.
	CanIndex(index query.Index) error
	// CreateIndex starts the build and returns when the server's call does. An index of ours with the name that is there already is ErrExists. Where
	// rows are equal that a unique index is to tell apart, the error says so and no index is left.
	CreateIndex(ctx context.Context, index query.Index) error
	// IndexState tells how far the build is, in the server's own words. It must be cheap: it is polled.
	IndexState(ctx context.Context, index query.Index) (IndexState, error)
	// DropIndex removes the index and returns when it is gone. One that is not there is ErrNotFound.
	DropIndex(ctx context.Context, index query.Index) error
}

// IndexState is where an index build is.
type IndexState struct {
	Exists bool   `json:"exists"`
	Ready  bool   `json:"ready"` // it serves, and nothing is left to do for it in the background
	How    string `json:"how"`   // how the engine knows, e.g. "pg_index.indisvalid"; fixed text
	Detail string `json:"detail,omitempty"`
	// Bytes is the index's size on disk or in memory, 0 when the server does not tell.
	Bytes int64 `json:"bytes,omitempty"`
}

// CheckIndex returns an error when the columns of an index are not there or cannot carry one of its kind. It is for drivers of engines that would
// build an index on anything.
func CheckIndex(template *corpus.Template, index query.Index) error {
	if index.Kind == query.CountAll {
		return nil
	}
	if index.Kind == query.Nearest {
		return checkVectorIndex(template, index)
	}
	if len(index.Paths) == 0 {
		return fmt.Errorf("index %s: no columns", index.Name)
	}
	for i, path := range index.Paths {
		column, err := query.Resolve(template, path)
		if err != nil {
			return fmt.Errorf("index %s: %w", index.Name, err)
		}
		kind := column.Field.Kind
		fits := kind >= corpus.Bool && kind <= corpus.Bytes
		switch {
		case index.Kind == query.Elements && i == 0:
			fits = kind == corpus.Array
		case index.Kind == query.FullText:
			fits = kind == corpus.String
		}
		if !fits {
			return fmt.Errorf("index %s: an index of kind %s cannot be on column %s of kind %s", index.Name, index.Kind, path, kind)
		}
	}
	return nil
}

// checkVectorIndex is CheckIndex for an index of kind Nearest.
func checkVectorIndex(template *corpus.Template, index query.Index) error {
	if len(index.Paths) != 1 || index.Vector == nil {
		return fmt.Errorf("index %s: an index of kind %s is on one column and says of what strategy it is", index.Name, index.Kind)
	}
	column, err := query.Resolve(template, index.Paths[0])
	if err != nil {
		return fmt.Errorf("index %s: %w", index.Name, err)
	}
	if column.Field.Kind != corpus.Vector {
		return fmt.Errorf("index %s: an index of kind %s cannot be on column %s of kind %s", index.Name, index.Kind, index.Paths[0], column.Field.Kind)
	}
	if index.Vector.Dimensions != column.Field.Dim {
		return fmt.Errorf("index %s: it is for vectors of %d dimensions, and those of column %s have %d", index.Name, index.Vector.Dimensions, index.Paths[0], column.Field.Dim)
	}
	for _, path := range index.Vector.Filters {
		column, err := query.Resolve(template, path)
		if err != nil {
			return fmt.Errorf("index %s: filter: %w", index.Name, err)
		}
		if column.Field.Kind < corpus.Bool || column.Field.Kind > corpus.Bytes {
			return fmt.Errorf("index %s: column %s of kind %s is none to filter by", index.Name, path, column.Field.Kind)
		}
	}
	return nil
}
