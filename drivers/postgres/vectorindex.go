package postgres

import (
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// metric is what pgvector calls a metric.
type metric struct {
	operator string // its values order as query.Metric's do
	class    string // of operators, in an index: the name's middle
}

var metrics = map[query.Metric]metric{
	query.Cosine: {"<=>", "cosine"}, query.Euclidean: {"<->", "l2"}, query.InnerProduct: {"<#>", "ip"}, query.Manhattan: {"<+>", "l1"},
}

// Bounds of pgvector's indexes: the dimensions of what is in them, by quantisation, and their parameters.
var indexDimensions = map[query.Quantisation]int{"": 2000, query.Half: 4000, query.Bits: 64_000}

const (
	leastM, mostM                           = 2, 100
	leastEfConstruction, mostEfConstruction = 4, 1000
	mostLists                               = 32_768
)

// canNearest says which vector indexes pgvector has.
func canNearest(index query.Index) error {
	v := index.Vector
	no := func(format string, args ...any) error { return drivers.Unsupported{Why: fmt.Sprintf(format, args...)} }
	switch {
	case v == nil || len(index.Paths) != 1:
		return fmt.Errorf("index %s: a vector index has one column and says how it is built", index.Name)
	case index.Unique:
		return no("pgvector has no unique index")
	case len(index.Paths[0]) > 1:
		return no("pgvector has no index on vectors within documents: %s", index.Paths[0])
	case v.Strategy != query.HNSW && v.Strategy != query.IVFFlat:
		return no("pgvector has no index of strategy %s: it has %s and %s", v.Strategy, query.HNSW, query.IVFFlat)
	}
	if _, known := metrics[v.Metric]; !known {
		return no("pgvector has no metric %q", v.Metric)
	}
	most, known := indexDimensions[v.Quantisation]
	if !known {
		return no("pgvector has no index of vectors quantised as %s: it has %s and %s", v.Quantisation, query.Half, query.Bits)
	}
	if v.Dimensions > most {
		what := "vectors"
		if v.Quantisation != "" {
			what += " quantised as " + string(v.Quantisation)
		}
		return no("pgvector indexes %s of up to %d dimensions, not %d", what, most, v.Dimensions)
	}
	if v.Strategy == query.IVFFlat {
		switch {
		case v.Quantisation == query.Bits:
			return no("ivfflat has no budget of candidates that could be ranked again: bits are for %s", query.HNSW)
		case v.Metric == query.Manhattan:
			return no("pgvector has no ivfflat by %s", v.Metric)
		case v.Lists < 0 || v.Lists > mostLists:
			return no("ivfflat has 1 to %d lists, not %d", mostLists, v.Lists)
		}
		return nil
	}
	// Zeros leave the value to pgvector.
	switch {
	case v.M != 0 && (v.M < leastM || v.M > mostM):
		return no("hnsw takes an m of %d to %d, not %d", leastM, mostM, v.M)
	case v.EfConstruction != 0 && (v.EfConstruction < leastEfConstruction || v.EfConstruction > mostEfConstruction):
		return no("hnsw takes an ef_construction of %d to %d, not %d", leastEfConstruction, mostEfConstruction, v.EfConstruction)
	case v.EfConstruction != 0 && v.EfConstruction < 2*v.M:
		return no("hnsw takes an ef_construction of at least twice m, not %d with an m of %d", v.EfConstruction, v.M)
	}
	return nil
}

// nearestSQL is what follows CREATE INDEX … ON the table: the access method, what is in the index, and its parameters.
func (d *database) nearestSQL(index query.Index) (string, error) {
	v := index.Vector
	field, err := d.vectorField(index.Paths[0])
	if err != nil {
		return "", fmt.Errorf("index %s: %w", index.Name, err)
	}
	if field.Dim != v.Dimensions {
		return "", fmt.Errorf("index %s: it is of %d dimensions, and column %s of %d", index.Name, v.Dimensions, field.Name, field.Dim)
	}
	class := "vector_" + metrics[v.Metric].class
	switch v.Quantisation {
	case query.Half:
		class = "halfvec_" + metrics[v.Metric].class
	case query.Bits:
		class = "bit_hamming" // of whatever metric: candidates are ranked again by it
	}
	parameters, separator := "", " WITH ("
	set := func(name string, value int) {
		if value != 0 {
			parameters += fmt.Sprintf("%s%s = %d", separator, name, value)
			separator = ", "
		}
	}
	if v.Strategy == query.IVFFlat {
		set("lists", v.Lists)
	} else {
		set("m", v.M)
		set("ef_construction", v.EfConstruction)
	}
	if parameters != "" {
		parameters += ")"
	}
	return fmt.Sprintf("%s (%s %s_ops)%s", strings.ToLower(string(v.Strategy)), quantised(quote(field.Name), v), class, parameters), nil
}

// quantised is the expression of a column or a parameter as an index has it.
func quantised(vector string, v *query.VectorIndex) string {
	switch v.Quantisation {
	case query.Half:
		return fmt.Sprintf("(%s::halfvec(%d))", vector, v.Dimensions)
	case query.Bits:
		return fmt.Sprintf("(binary_quantize(%s)::bit(%d))", vector, v.Dimensions)
	}
	return vector
}

// vectorField returns the column of the path, which has to be of vectors in pgvector's type.
func (d *database) vectorField(path query.Path) (*corpus.Field, error) {
	c, err := d.scanTable().Column(path)
	switch {
	case err != nil:
		return nil, err
	case c.Nested() || c.Field.Kind != corpus.Vector:
		return nil, fmt.Errorf("column %s is of kind %s: only columns of vectors have nearest neighbours", path, c.Field.Kind)
	case !d.schema.searched:
		return nil, fmt.Errorf("column %s is of type real[]: the database was opened for rows that are not searched", path)
	}
	return c.Field, nil
}
