package vector

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// algorithm is the version of what a Truth means. It is part of Problem.Digest and must grow with any change after which a problem has another answer: of
// Distance, of the order of neighbours, of what is kept beyond the K-th.
const algorithm = 1

// Problem asks for the K rows whose vectors are nearest to each query vector.
type Problem struct {
	Corpus  *corpus.Corpus
	Rows    uint64 // rows 0 to Rows-1 are there,
	Version uint32 // all at this version
	Field   query.Path
	Metric  query.Metric
	K       int
	Queries [][]float32
	// Filters restrict the search: each gets an answer of its own, among the rows that it finds. They are bound; nil finds all rows. No filters at all are
	// the same as one nil.
	Filters []*query.Predicate
}

// filters returns the filters, at least one.
func (p Problem) filters() []*query.Predicate {
	if len(p.Filters) == 0 {
		return []*query.Predicate{nil}
	}
	return p.Filters
}

// Digest names the problem: the hexadecimal SHA-256 of all that decides its answer. Filters count by what they find and in their order, not by a name.
func (p Problem) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "durabench nearest %d\n%s\nversion %d\nrows %d\nfield %s\nmetric %s\nk %d\n", algorithm, p.Corpus.Digest(), p.Version, p.Rows, p.Field,
		p.Metric, p.K)
	for _, f := range p.filters() {
		text := f.String()
		fmt.Fprintf(h, "filter %d %s\n", len(text), text)
	}
	fmt.Fprintf(h, "queries %d\n", len(p.Queries))
	var buf []byte
	for _, q := range p.Queries {
		buf = binary.LittleEndian.AppendUint64(buf[:0], uint64(len(q)))
		for _, x := range q {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(x))
		}
		h.Write(buf)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// check finds what makes the problem one without an answer.
func (p Problem) check() (query.Column, error) {
	if p.Corpus == nil {
		return query.Column{}, errors.New("there is no corpus")
	}
	column, err := vectorColumn(p.Corpus.Template(), p.Field)
	if err != nil {
		return query.Column{}, err
	}
	var problems []error
	if !slices.Contains(query.Metrics, p.Metric) {
		problems = append(problems, fmt.Errorf("there is no metric %q", p.Metric))
	}
	if p.K < 1 {
		problems = append(problems, fmt.Errorf("k must be positive, is %d", p.K))
	}
	if p.Rows == 0 {
		problems = append(problems, errors.New("there are no rows"))
	}
	if len(p.Queries) == 0 {
		problems = append(problems, errors.New("there are no query vectors"))
	}
	for i, q := range p.Queries {
		if len(q) != column.Field.Dim {
			problems = append(problems, fmt.Errorf("query %d has %d components, the vectors of %s have %d", i, len(q), p.Field, column.Field.Dim))
			break
		}
		if s := squares(q); math.IsNaN(s) || math.IsInf(s, 0) {
			problems = append(problems, fmt.Errorf("query %d has a component that is no number", i))
			break
		}
	}
	return column, errors.Join(problems...)
}
