package surrealdb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// CanIndex says which kinds of index SurrealDB has.
func (d *database) CanIndex(index query.Index) error {
	switch index.Kind {
	case query.Ordered, query.Elements, query.FullText, query.CountAll:
	case query.Nearest:
		return canSearchIndex(index)
	default:
		return drivers.Unsupported{Why: fmt.Sprintf("SurrealDB has no index of kind %q", index.Kind)}
	}
	if index.Raw != "" && !strings.EqualFold(index.Raw, string(index.Kind)) {
		return drivers.Unsupported{Why: fmt.Sprintf("SurrealDB has no index type %q: those that are here are fulltext, count and the ordinary one", index.Raw)}
	}
	return nil
}

// CreateIndex defines the index and lets the server build it in the background, but for a unique one: that is built by the statement itself,
// which fails where rows are equal.
func (d *database) CreateIndex(ctx context.Context, index query.Index) error {
	if err := d.CanIndex(index); err != nil {
		return err
	}
	if err := drivers.CheckIndex(d.load.Corpus.Template(), index); err != nil {
		return err
	}
	return d.control(ctx, "create index "+index.Name, func(c *control) error {
		text := definition(index)
		if index.Kind == query.Nearest {
			if err := c.probe(ctx, index); err != nil {
				return err
			}
		}
		if path, kind := d.filterField(index); kind != "" {
			text = "DEFINE FIELD IF NOT EXISTS " + idiom(path) + " ON " + drivers.Table + " TYPE " + kind + " COMMENT '" + comment + "'; " + text
		}
		_, err := c.define(ctx, text)
		if err != nil && strings.Contains(err.Error(), "already exists") {
			return drivers.ErrExists
		}
		return err
	})
}

// definition is the statement for an index.
func definition(index query.Index) string {
	var paths []string
	for _, path := range index.Paths {
		paths = append(paths, idiom(path))
	}
	text := "DEFINE INDEX " + name(index.Name) + " ON " + drivers.Table
	switch index.Kind {
	case query.Elements:
		// One entry for each element. Not with further columns: conditions on elements use no index of several.
		text += " FIELDS " + paths[0] + ".*"
	case query.FullText:
		text += " FIELDS " + paths[0] + " FULLTEXT ANALYZER " + analyzer + " BM25 COMMENT " + quoted(index.Paths[0].String())
	case query.CountAll:
		text += " COUNT"
	case query.Nearest:
		text += " FIELDS " + paths[0] + vectorDefinition(index.Vector)
	default:
		text += " FIELDS " + strings.Join(paths, ", ")
	}
	if index.Unique {
		return text + " UNIQUE"
	}
	return text + " CONCURRENTLY"
}

// quoted is a text as a literal of SurrealQL, for statements that take no parameters.
func quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

// searchable lists the paths that have a full-text index, whether it is built or still being built, as their indexes' comments spell them.
func (c *control) searchable(ctx context.Context) (paths []string, err error) {
	results, err := c.query(ctx, "INFO FOR TABLE "+drivers.Table+" STRUCTURE")
	if err != nil {
		return nil, err
	}
	indexes, _ := member(results[0], "indexes").([]any)
	for _, index := range indexes {
		kind, _ := member(index, "index").(string)
		path, is := member(index, "comment").(string)
		if is && strings.HasPrefix(kind, "FULLTEXT") {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// IndexState asks the server how far the build is.
func (d *database) IndexState(ctx context.Context, index query.Index) (state drivers.IndexState, err error) {
	state.How = "INFO FOR INDEX: building.status is ready, nothing pending, not compacting"
	if index.Kind == query.Nearest {
		state.How = "INFO FOR INDEX: building.status is ready, nothing pending, building.compacting is false"
	}
	err = d.control(ctx, "look at index "+index.Name, func(c *control) error {
		results, err := c.query(ctx, "INFO FOR INDEX "+name(index.Name)+" ON "+drivers.Table)
		if err != nil && absent(err) {
			return nil
		}
		if err != nil {
			return err
		}
		state.Exists = true
		building := member(results[0], "building")
		status, _ := member(building, "status").(string)
		if status == "error" {
			return fmt.Errorf("the build failed: %v", member(building, "error"))
		}
		pending, _ := member(building, "pending").(int64)
		compacting, says := member(building, "compacting").(bool)
		state.Detail = words(results[0])
		if index.Kind == query.Nearest && !says && (status == "ready" || building == nil) {
			return fmt.Errorf("the server does not say whether it still works on the index: it answers %s to INFO FOR INDEX; build the index anew", state.Detail)
		}
		// A server that was started anew remembers no build: what is there is whole.
		state.Ready = (status == "ready" || building == nil) && pending == 0 && !compacting
		return nil
	})
	return state, err
}

// DropIndex removes the index.
func (d *database) DropIndex(ctx context.Context, index query.Index) error {
	return d.control(ctx, "drop index "+index.Name, func(c *control) error {
		text := "REMOVE INDEX " + name(index.Name) + " ON " + drivers.Table
		if path, kind := d.filterField(index); kind != "" {
			text += "; REMOVE FIELD IF EXISTS " + idiom(path) + " ON " + drivers.Table
		}
		_, err := c.define(ctx, text)
		if err != nil && absent(err) {
			return drivers.ErrNotFound
		}
		return err
	})
}

// absent tells that what was named is not there.
func absent(err error) bool { return strings.Contains(err.Error(), "does not exist") }

// define runs a statement that changes definitions, again as long as it collides with what the server does in the background.
func (c *control) define(ctx context.Context, text string) ([]any, error) {
	pause := time.Millisecond
	for {
		results, err := c.query(ctx, text)
		if drivers.ErrorClassOf(err) != drivers.ClassConflict {
			return results, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
}

var _ drivers.Indexer = (*database)(nil)
