package vector

import (
	"fmt"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// Queries makes count query vectors for the vector column at path: from the column's own generator, around the same centres as the rows', but never the
// vectors of rows; of a data set's column, its query vectors. More of them under the same seed begin with the first ones.
func Queries(c *corpus.Corpus, path query.Path, seed uint64, count int) ([][]float32, error) {
	if count < 1 {
		return nil, fmt.Errorf("query vectors of %s: the count must be positive, is %d", path, count)
	}
	column, err := vectorColumn(c.Template(), path)
	if err != nil {
		return nil, fmt.Errorf("query vectors: %w", err)
	}
	held, err := c.Holdout(column.Field, seed)
	if err != nil {
		return nil, fmt.Errorf("query vectors: %w", err)
	}
	if n := held.Len(); uint64(count) > n {
		return nil, fmt.Errorf("query vectors of %s: %d are more than the %d that there are", path, count, n)
	}
	dim := column.Field.Dim
	all, vectors := make([]float32, count*dim), make([][]float32, count)
	for i := range vectors {
		vectors[i] = all[i*dim:][:dim:dim]
		held.Vector(vectors[i], uint64(i))
	}
	return vectors, nil
}

// vectorColumn finds the column and checks that it holds vectors.
func vectorColumn(t *corpus.Template, path query.Path) (query.Column, error) {
	column, err := query.Resolve(t, path)
	if err != nil {
		return query.Column{}, err
	}
	if column.Field.Kind != corpus.Vector {
		return query.Column{}, fmt.Errorf("column %s holds no vectors: its kind is %s", path, column.Field.Kind)
	}
	return column, nil
}

// at returns the value of the column in a row.
func at(row *corpus.Row, places []int) *corpus.Value {
	v := &row.Columns[places[0]]
	for _, i := range places[1:] {
		v = &v.Elems()[i]
	}
	return v
}
