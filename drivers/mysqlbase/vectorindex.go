package mysqlbase

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

// Bounds of MariaDB's vectors.
const (
	maxDimensions = 16_383
	leastM, mostM = 3, 200
)

// vectorPlace is a vector that is bound: bytes are a text until they are cast, and a text is no vector.
const vectorPlace = "CAST(? AS BINARY)"

// distances are what MariaDB calls the metrics that it has, in an index and, with a prefix, as functions.
var distances = map[query.Metric]string{query.Cosine: "cosine", query.Euclidean: "euclidean"}

// noVectors says why a product searches no vectors, nil when it does.
func (p Product) noVectors() error {
	if !p.MariaDB {
		return drivers.Unsupported{Why: p.Title + " stores vectors and does not search them: DISTANCE() and vector indexes are of its vendor's cloud only"}
	}
	return nil
}

// searchedVectors is drivers.Engine's.
func (p Product) searchedVectors() string {
	if !p.MariaDB {
		return ""
	}
	return "as VECTOR(n) where they are searched, as BLOB where not"
}

// vectorVersion are the numbers that a version begins with.
var vectorVersion = regexp.MustCompile(`^(\d+)\.(\d+)`)

// checkSearches makes sure that the server has vectors, if rows are to be searched.
func (d *database) checkSearches() error {
	if !d.load.Searches {
		return nil
	}
	if err := d.product.noVectors(); err != nil {
		return err
	}
	numbers := vectorVersion.FindStringSubmatch(d.version)
	if numbers == nil {
		return fmt.Errorf("the server's version %q does not tell whether it has vectors", d.version)
	}
	major, err := strconv.Atoi(numbers[1])
	if err != nil {
		return fmt.Errorf("the server's version %q: %w", d.version, err)
	}
	minor, err := strconv.Atoi(numbers[2])
	if err != nil {
		return fmt.Errorf("the server's version %q: %w", d.version, err)
	}
	if major < 11 || major == 11 && minor < 7 {
		return fmt.Errorf("the server at %s is MariaDB %s, and vectors came with 11.7: searches for nearest neighbours need 11.8 LTS or later", d.endpoint.address, d.version)
	}
	return nil
}

// canNearest says which vector indexes the product has.
func (p Product) canNearest(index query.Index) error {
	no := func(format string, args ...any) error { return drivers.Unsupported{Why: fmt.Sprintf(format, args...)} }
	if err := p.noVectors(); err != nil {
		return err
	}
	v := index.Vector
	switch {
	case v == nil || len(index.Paths) != 1:
		return fmt.Errorf("index %s: a vector index has one column and says how it is built", index.Name)
	case index.Unique:
		return no("MariaDB has no unique vector index")
	case len(index.Paths[0]) > 1:
		return no("MariaDB has no index on vectors within documents: %s", index.Paths[0])
	case v.Strategy != query.HNSW:
		return no("MariaDB has no vector index of strategy %s: it has %s", v.Strategy, query.HNSW)
	case distances[v.Metric] == "":
		return no("MariaDB has no distance by %s: it has %s and %s", v.Metric, query.Cosine, query.Euclidean)
	case v.Quantisation != "":
		return no("MariaDB has one form of vectors in an index, and none that is quantised as %s", v.Quantisation)
	case v.Dimensions > maxDimensions:
		return no("MariaDB's vectors have up to %d dimensions, not %d", maxDimensions, v.Dimensions)
	case v.M != 0 && (v.M < leastM || v.M > mostM): // 0 leaves the value to the server
		return no("MariaDB takes an m of %d to %d, not %d", leastM, mostM, v.M)
	}
	return nil
}

// planNearest plans a vector index.
func (d *database) planNearest(b *build, c sqlrender.Column, v *query.VectorIndex) error {
	if err := d.isVector(c); err != nil {
		return err
	}
	if c.Field.Dim != v.Dimensions {
		return fmt.Errorf("it is of %d dimensions, and column %s of %d", v.Dimensions, c.Path, c.Field.Dim)
	}
	b.kind, b.keys = "VECTOR ", []string{quote(c.Root.Name)}
	if v.M != 0 {
		b.with = fmt.Sprintf(" M=%d", v.M)
	}
	b.with += " DISTANCE=" + distances[v.Metric]
	return nil
}

// isVector wants a column in MariaDB's own type for vectors.
func (d *database) isVector(c sqlrender.Column) error {
	switch {
	case c.Nested() || c.Field.Kind != corpus.Vector:
		return fmt.Errorf("column %s is of kind %s: only columns of vectors have nearest neighbours", c.Path, c.Field.Kind)
	case !d.schema.searched:
		return fmt.Errorf("column %s is of a type for bytes: the database was opened for rows that are not searched", c.Path)
	}
	return nil
}

// unused says which of an index's parameters the server has no use for.
func unused(index query.Index) string {
	if index.Vector == nil || index.Vector.EfConstruction == 0 {
		return ""
	}
	return fmt.Sprintf("MariaDB has no ef_construction: the %d that was asked for means nothing here", index.Vector.EfConstruction)
}
