package vector

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// LowContrast is the relative contrast below which neighbourhoods hardly exist: among evenly spread random vectors of 100 and more dimensions it
// is 1.1 to 1.3, in data sets with neighbourhoods 2 and more.
const LowContrast = 1.5

// auditRows is how many rows an Audit looks at unless it is told.
const auditRows = 20_000

// auditQueries is how many queries an Audit compares with the rows at most.
const auditQueries = 100

// Audit is what a corpus is like to search in.
type Audit struct {
	Digest string `json:"digest"` // of the corpus
	// Looked is how many rows were looked at, evenly spaced; Queries how many queries were compared with them.
	Looked  uint64 `json:"looked"`
	Queries int    `json:"queries"`
	// Contrast is the mean over the queries of (mean distance of the rows ÷ distance of the nearest row): how much it means to be near. Distances are lengths: euclidean
	// for the inner product, and for the cosine those between the vectors brought to length 1, the square root of twice their cosine distance. A query that
	// is a row is left out; 0 when none is left.
	Contrast   float64 `json:"contrast"`
	Duplicates uint64  `json:"duplicates"` // rows looked at with the vector of another one
	Zeros      uint64  `json:"zeros"`      // zero vectors
	NotFinite  uint64  `json:"notFinite"`  // vectors with a component that is no number
	// Warnings say what to think of it, for people; nil when there is nothing to say.
	Warnings []string `json:"warnings,omitempty"`
}

// AuditCorpus looks at so many rows of the problem, evenly spaced, 0 for 20,000. The truth, when it is there, tells the distances of the nearest rows; without
// it they are those of the nearest rows looked at, which are farther. Filters do not matter.
func AuditCorpus(ctx context.Context, p Problem, t *Truth, rows uint64) (*Audit, error) {
	a, err := auditCorpus(ctx, p, t, rows)
	if err != nil {
		return nil, fmt.Errorf("audit of the vectors in %s: %w", p.Field, err)
	}
	return a, nil
}

func auditCorpus(ctx context.Context, p Problem, t *Truth, rows uint64) (*Audit, error) {
	column, err := p.check()
	if err != nil {
		return nil, err
	}
	if rows == 0 {
		rows = auditRows
	}
	rows = min(rows, p.Rows)
	queries := p.Queries[:min(len(p.Queries), auditQueries)]
	a := &Audit{Digest: p.Corpus.Digest(), Looked: rows, Queries: len(queries)}
	mask := p.Corpus.Template().Mask(column.At)
	var row corpus.Row
	sums, nearest := make([]float64, len(queries)), slices.Repeat([]float64{math.Inf(1)}, len(queries))
	counted := uint64(0)
	first := map[uint64][]uint64{} // rows by the hash of their vectors
	for i := range rows {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		index := spaced(i, rows, p.Rows)
		p.Corpus.Columns(&row, index, p.Version, mask)
		vector := at(&row, column.At).Floats()
		square := squares(vector)
		if math.IsNaN(square) || math.IsInf(square, 0) {
			a.NotFinite++
			continue
		}
		if square == 0 {
			a.Zeros++
		}
		sum := hash(vector)
		if same := first[sum]; len(same) == 0 || !slices.ContainsFunc(same, func(other uint64) bool { return sameVector(p, column, other, vector) }) {
			first[sum] = append(same, index)
		} else {
			a.Duplicates++
		}
		counted++
		for q, v := range queries {
			d := length(p.Metric, v, vector)
			sums[q] += d
			nearest[q] = min(nearest[q], d)
		}
	}
	a.Contrast = contrast(p, t, sums, nearest, counted)
	a.warn(p, column.Field.DataSet() != "")
	return a, nil
}

// spaced returns the row that is number i of n that are evenly spaced among so many.
func spaced(i, n, among uint64) uint64 {
	return i*(among/n) + i*(among%n)/n
}

// length is the distance that a contrast is made of.
func length(m query.Metric, a, b []float32) float64 {
	switch m {
	case query.Cosine:
		return math.Sqrt(2 * Distance(m, a, b))
	case query.InnerProduct:
		m = query.Euclidean
	}
	return Distance(m, a, b)
}

// contrast returns the relative contrast, given per query the sum and the least of the distances of so many rows.
func contrast(p Problem, t *Truth, sums, nearest []float64, rows uint64) float64 {
	if exact := unfiltered(p, t); exact != nil && p.Metric != query.InnerProduct {
		for q := range nearest {
			if list := exact.Nearest[q]; len(list) > 0 {
				nearest[q] = list[0].Distance
				if p.Metric == query.Cosine {
					nearest[q] = math.Sqrt(2 * nearest[q])
				}
			}
		}
	}
	sum, n := 0.0, 0
	for q, d := range nearest {
		if d > 0 && rows > 0 {
			sum += sums[q] / float64(rows) / d
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// unfiltered returns the answer among all rows, nil if there is none.
func unfiltered(p Problem, t *Truth) *Answer {
	if t == nil || t.Of(p) != nil {
		return nil
	}
	for i, f := range p.filters() {
		if f == nil {
			return &t.Answers[i]
		}
	}
	return nil
}

// hash returns a hash of the components.
func hash(vector []float32) uint64 {
	h := uint64(len(vector))
	for _, x := range vector {
		h = (h ^ uint64(math.Float32bits(x+0))) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// sameVector tells whether a row has the vector.
func sameVector(p Problem, column query.Column, index uint64, vector []float32) bool {
	var row corpus.Row
	p.Corpus.Columns(&row, index, p.Version, p.Corpus.Template().Mask(column.At))
	return slices.Equal(at(&row, column.At).Floats(), vector)
}

// warn says what stands out. ofData tells that the vectors are those of a data set: then it is no advice to take others.
func (a *Audit) warn(p Problem, ofData bool) {
	say := func(format string, args ...any) { a.Warnings = append(a.Warnings, fmt.Sprintf(format, args...)) }
	if a.Contrast > 0 && a.Contrast < LowContrast {
		advice := "recall says little about real data: take a clustered column, e.g. \"vector:768:clustered:200\""
		if ofData {
			advice = "which rows are the nearest means little in this data set"
		}
		say("the vectors in %s have no neighbourhoods: the mean distance is only %.2f times that of the nearest row (%.1f or more is usual), so %s", p.Field, a.Contrast, 2.0, advice)
	}
	if a.Duplicates > 0 {
		say("%d of %d rows looked at have the vector of another row in %s: compare tie-aware recalls, strict ones punish right answers", a.Duplicates, a.Looked, p.Field)
	}
	if a.Zeros > 0 && p.Metric == query.Cosine {
		say("%d of %d rows looked at have a zero vector in %s, which has no direction: engines do not agree on its cosine distance", a.Zeros, a.Looked, p.Field)
	}
	if a.NotFinite > 0 {
		say("%d of %d rows looked at have a component that is no number in %s: no engine can rank them", a.NotFinite, a.Looked, p.Field)
	}
}
