package surrealdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// graphs are the metrics of the vector indexes as DEFINE INDEX spells them.
var graphs = map[query.Strategy]map[query.Metric]string{
	query.HNSW:    {query.Cosine: "COSINE", query.Euclidean: "EUCLIDEAN", query.Manhattan: "MANHATTAN"},
	query.DiskANN: {query.Cosine: "COSINE", query.Euclidean: "EUCLIDEAN", query.InnerProduct: "INNER_PRODUCT"},
}

// canSearchIndex says which vector indexes SurrealDB has.
func canSearchIndex(index query.Index) error {
	v := index.Vector
	if index.Kind != query.Nearest || v == nil {
		return fmt.Errorf("index %s of kind %q is none for nearest neighbours", index.Name, index.Kind)
	}
	metrics, has := graphs[v.Strategy]
	switch {
	case v.Strategy == query.BruteForce:
		return drivers.Unsupported{Why: "SurrealDB searches exactly without an index"}
	case !has:
		return drivers.Unsupported{Why: fmt.Sprintf("SurrealDB has no vector index of strategy %q: it has hnsw and diskann", v.Strategy)}
	case metrics[v.Metric] == "":
		return drivers.Unsupported{Why: fmt.Sprintf("SurrealDB's %s has no metric %q", v.Strategy, v.Metric)}
	case v.Quantisation != "":
		return drivers.Unsupported{Why: fmt.Sprintf("SurrealDB's %s has no vectors of form %q here", v.Strategy, v.Quantisation)}
	}
	return nil
}

// vectorDefinition is what DEFINE INDEX says of a vector index after its field.
func vectorDefinition(v *query.VectorIndex) string {
	text := fmt.Sprintf(" %s DIMENSION %d DIST %s TYPE F32", strings.ToUpper(string(v.Strategy)), v.Dimensions, graphs[v.Strategy][v.Metric])
	number := func(name string, n int) {
		if n != 0 {
			text += fmt.Sprintf(" %s %d", name, n)
		}
	}
	number("EFC", v.EfConstruction)
	number("M", v.M)
	number("DEGREE", v.Degree)
	number("L_BUILD", v.LBuild)
	if v.Alpha != 0 {
		text += " ALPHA " + strconv.FormatFloat(v.Alpha, 'f', -1, 64)
	}
	return text
}

// probeTable is a table of ours, always empty, which is there only while it is asked of.
const probeTable = "durabench_probe"

// probePatience bounds the wait for an index on an empty table.
const probePatience = 10 * time.Second

// probe defines the vector index on an empty table. It fails with drivers.Unsupported when the server does not know such an index, or when it does not say
// whether it goes on working on one that is ready: SurrealDB only writes vectors down while it builds an index. They are put into the graph in the
// background, and until then each search compares them one by one, which is exact, and slow, and no search of the index that was asked for.
func (c *control) probe(ctx context.Context, index query.Index) error {
	text := "DEFINE INDEX " + name(index.Name) + " ON " + probeTable + " FIELDS " + idiom(index.Paths[0]) + vectorDefinition(index.Vector) + " CONCURRENTLY"
	_, err := c.define(ctx, fmt.Sprintf("REMOVE TABLE IF EXISTS %[1]s; DEFINE TABLE %[1]s TYPE NORMAL SCHEMALESS COMMENT '%[2]s'", probeTable, comment))
	if err != nil {
		return err
	}
	err = c.probed(ctx, index, text)
	_, removed := c.define(ctx, "REMOVE TABLE IF EXISTS "+probeTable)
	return errors.Join(err, removed)
}

func (c *control) probed(ctx context.Context, index query.Index, text string) error {
	if _, err := c.define(ctx, text); err != nil {
		if strings.Contains(err.Error(), "Parse error") {
			return drivers.Unsupported{Why: fmt.Sprintf("asked for %q, the server answered: %s", text, strings.Join(strings.Fields(err.Error()), " "))}
		}
		return err
	}
	for deadline := time.Now().Add(probePatience); ; {
		building, err := c.building(ctx, index, probeTable)
		if err != nil {
			return err
		}
		if _, says := member(building, "compacting").(bool); says {
			return nil
		}
		if member(building, "status") == "ready" {
			return drivers.Unsupported{Why: fmt.Sprintf("the server does not say when a vector index is done: asked for INFO FOR INDEX of one on an empty table, it answered %s, "+
				"without building.compacting, which servers from 3.3 on have; until the work in the background is done, searches compare vectors one by one", words(building))}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("an index on an empty table is not ready after %s: %s", probePatience, words(building))
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// building is what INFO FOR INDEX says of the build, nil when it says nothing.
func (c *control) building(ctx context.Context, index query.Index, table string) (any, error) {
	results, err := c.query(ctx, "INFO FOR INDEX "+name(index.Name)+" ON "+table)
	if err != nil {
		return nil, err
	}
	return member(results[0], "building"), nil
}

// words are a value of the server's as JSON, for texts.
func words(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// types are the types of fields of a kind, for filters: SurrealDB's search on an index goes by an index on a filter's field only where the field has one.
var types = map[corpus.Kind]string{
	corpus.Bool: "bool", corpus.Int: "int", corpus.Float: "float", corpus.Decimal: "decimal", corpus.String: "string", corpus.UUID: "uuid",
	corpus.DateTime: "datetime", corpus.Bytes: "bytes",
}

// filterField tells that an index is on one column, by which searches may filter, and which type that has. Only where the rows are searched at all: elsewhere
// fields stay as they are.
func (d *database) filterField(index query.Index) (path query.Path, kind string) {
	if !d.load.Searches || index.Kind != query.Ordered || len(index.Paths) != 1 {
		return nil, ""
	}
	column, err := query.Resolve(d.load.Corpus.Template(), index.Paths[0])
	if err != nil {
		return nil, ""
	}
	return index.Paths[0], types[column.Field.Kind]
}
