package respbase

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// engineMetrics are the metrics of the query engine as FT.CREATE spells them.
var engineMetrics = map[query.Metric]string{query.Cosine: "COSINE", query.Euclidean: "L2", query.InnerProduct: "IP"}

// vectorField is the field of a mirror's hash that has the vector.
const vectorField = "v"

// mirrorOf is how the keys of an index's mirror begin.
func mirrorOf(index query.Index) string { return mirrorPrefix + index.Name + ":" }

// appendMirror appends the words of the command that makes a row's hash. It is one command, so that there is never a part of a hash.
func (c *copier) appendMirror(dst, key []byte, row *corpus.Row) []byte {
	dst = appendBulk(appendWords(dst, "HSET"), append([]byte(mirrorOf(c.index)), key...))
	dst = appendWords(dst, vectorField)
	dst = c.appendVector(dst, row)
	for i, at := range c.filters {
		dst = appendBulk(dst, []byte(attribute(i)))
		dst = appendBulk(dst, appendTerm(nil, query.LiteralOf(valueAt(row, at))))
	}
	return dst
}

// appendTerm appends a value of a column as a field of a hash, and as a query names it. What is no number is a tag, in hexadecimal digits: so nothing in
// it parts tags or has to be escaped, and after a letter, because an empty tag is none.
func appendTerm(dst []byte, l query.Literal) []byte {
	switch {
	case numeric(l.Kind):
		return appendOperand(dst, l)
	case l.Kind == corpus.String:
		return hex.AppendEncode(append(dst, 'x'), []byte(l.Text))
	}
	return hex.AppendEncode(append(dst, 'x'), l.Bytes)
}

// createInEngine has the query engine index the mirror, in the background.
func createInEngine(ctx context.Context, c rueidis.Client, template *corpus.Template, index query.Index) error {
	v := index.Vector
	method := []string{"TYPE", "FLOAT32", "DIM", strconv.Itoa(v.Dimensions), "DISTANCE_METRIC", engineMetrics[v.Metric]}
	kind := "FLAT"
	if v.Strategy == query.HNSW {
		kind = "HNSW"
		if v.M != 0 {
			method = append(method, "M", strconv.Itoa(v.M))
		}
		if v.EfConstruction != 0 {
			method = append(method, "EF_CONSTRUCTION", strconv.Itoa(v.EfConstruction))
		}
	}
	words := append([]string{enginePrefix + index.Name, "ON", "HASH", "PREFIX", "1", mirrorOf(index), "SCHEMA", vectorField, "VECTOR", kind, strconv.Itoa(len(method))}, method...)
	for i, path := range v.Filters {
		column, err := query.Resolve(template, path)
		if err != nil {
			return err
		}
		if numeric(column.Field.Kind) {
			words = append(words, attribute(i), "NUMERIC")
		} else {
			words = append(words, attribute(i), "TAG", "CASESENSITIVE")
		}
	}
	err := c.Do(ctx, c.B().Arbitrary("FT.CREATE").Args(words...).Build()).Error()
	if err != nil && strings.Contains(err.Error(), "already exists") {
		return nil // made by the build that was broken off
	}
	return err
}

// dropFromEngine removes the query engine's index and the mirror.
func dropFromEngine(ctx context.Context, c rueidis.Client, index query.Index) error {
	err := c.Do(ctx, c.B().Arbitrary("FT.DROPINDEX").Args(enginePrefix+index.Name).Build()).Error()
	if err != nil && !absent(err) {
		return err
	}
	return scan(ctx, c, mirrorOf(index), func(keys []string) error { return c.Do(ctx, c.B().Unlink().Key(keys...).Build()).Error() })
}

// absent tells that the query engine has no such index, or is not there at all.
func absent(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "unknown index name") || strings.Contains(text, "no such index") || strings.Contains(text, "unknown command")
}

// stateInEngine reads FT.INFO.
func (d *vectorDatabase) stateInEngine(ctx context.Context, c rueidis.Client, e entry, state *drivers.IndexState) error {
	info, err := c.Do(ctx, c.B().Arbitrary("FT.INFO").Args(enginePrefix+e.Index.Name).Build()).AsMap()
	if err != nil {
		if absent(err) && !e.Built {
			return nil // its mirror is being made
		}
		return err
	}
	number := func(name string) (n float64) {
		value := info[name]
		if text, is := value.ToString(); is == nil {
			n, err = strconv.ParseFloat(text, 64)
		} else {
			var whole int64
			whole, err = value.AsInt64()
			n = float64(whole)
		}
		if err != nil {
			err = fmt.Errorf("FT.INFO: %s: %w", name, err)
		}
		return n
	}
	var values [5]float64
	for i, name := range []string{"indexing", "percent_indexed", "hash_indexing_failures", "num_docs", "vector_index_sz_mb"} {
		if values[i] = number(name); err != nil {
			return err
		}
	}
	indexing, share, failures, docs, megabytes := values[0], values[1], values[2], values[3], values[4]
	state.Detail = fmt.Sprintf("indexing %g, percent_indexed %g, hash_indexing_failures %g, num_docs %g, all rows copied: %t", indexing, share, failures, docs, e.Built)
	if failures > 0 {
		return fmt.Errorf("the query engine could not index some rows: %s", state.Detail)
	}
	state.Bytes = int64(megabytes * (1 << 20))
	if !e.Built || indexing != 0 || share < 1 {
		return nil
	}
	rows, err := d.rows(ctx, c)
	state.Detail += fmt.Sprintf(" of %d rows", rows)
	state.Ready = docs == float64(rows)
	return err
}

// appendQuery appends a predicate that canFilter lets through as a query of the engine.
func appendQuery(dst []byte, index *query.Index, p *query.Predicate) []byte {
	switch p.Op {
	case query.And, query.Or:
		for i, arg := range p.Args {
			if i > 0 {
				dst = append(dst, map[query.Op]byte{query.And: ' ', query.Or: '|'}[p.Op])
			}
			dst = append(appendQuery(append(dst, '('), index, arg), ')')
		}
		return dst
	case query.Not:
		return append(appendQuery(append(dst, "-("...), index, p.Args[0]), ')')
	}
	field := "@" + attribute(filterOf(index, p.Path)) + ":"
	if p.Op == query.Ne {
		dst = append(dst, '-')
	}
	if !numeric(p.Values[0].Kind) {
		dst = append(append(dst, field...), '{')
		for i, l := range p.Values {
			if i > 0 {
				dst = append(dst, '|')
			}
			dst = appendTerm(dst, l)
		}
		return append(dst, '}')
	}
	value := func(i int) string { return string(appendTerm(nil, p.Values[i])) }
	between := func(dst []byte, low, high string) []byte { return append(dst, field+"["+low+" "+high+"]"...) }
	switch p.Op {
	case query.Lt:
		return between(dst, "-inf", "("+value(0))
	case query.Lte:
		return between(dst, "-inf", value(0))
	case query.Gt:
		return between(dst, "("+value(0), "+inf")
	case query.Gte:
		return between(dst, value(0), "+inf")
	case query.Between:
		return between(dst, value(0), value(1))
	}
	// Eq and Ne have one value, In some.
	for i := range p.Values {
		if i > 0 {
			dst = append(dst, '|')
		}
		dst = between(dst, value(i), value(i))
	}
	return dst
}
