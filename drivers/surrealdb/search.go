package surrealdb

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// exactly are the functions that an exact search orders by.
var exactly = map[query.Metric]struct {
	function string
	nearest  string // the order in which the nearest comes first
}{
	query.Cosine:       {"vector::similarity::cosine", "DESC"},
	query.Euclidean:    {"vector::distance::euclidean", "ASC"},
	query.InnerProduct: {"vector::dot", "DESC"},
	query.Manhattan:    {"vector::distance::manhattan", "ASC"},
}

// distanceName is the name by which a search orders, in a subquery.
const distanceName = "durabench_distance"

// search is a search that is ready to be sent: its requests differ in their ID and in the vector.
type search struct {
	query  *query.Search
	text   string
	params []byte // the head of the map of parameters and all of them but the last, which is the vector
}

// CanSearch tells what SurrealDB has no words for.
func (c *client) CanSearch(s *query.Search) error {
	switch {
	case exactly[s.Metric].function == "":
		return drivers.Unsupported{Why: fmt.Sprintf("SurrealDB has no metric %q here", s.Metric)}
	case s.Iterative != "":
		return drivers.Unsupported{Why: "SurrealDB tries a filter on each row as it walks the graph, and has no iterative scans beside that"}
	case s.Truth:
		return drivers.Unsupported{Why: "SurrealDB compares every row where a search uses no index, and has no such search on one"}
	case s.Index == nil:
		return nil
	}
	if err := canSearchIndex(*s.Index); err != nil {
		return err
	}
	if s.Metric != s.Index.Vector.Metric {
		return fmt.Errorf("%s: the index is for %s", s, s.Index.Vector.Metric)
	}
	return nil
}

// PrepareSearch renders the search. All that it needs of the server is in its text.
func (c *client) PrepareSearch(_ context.Context, s *query.Search) (drivers.Statement, error) {
	if err := c.CanSearch(s); err != nil {
		return nil, err
	}
	prepared, err := c.database.schema.renderSearch(c.database.load.Corpus, s)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", s, err)
	}
	return prepared, nil
}

// renderSearch writes a search. The order is asked for where the index would give it too: nothing promises that.
func (s *schema) renderSearch(c *corpus.Corpus, asked *query.Search) (*search, error) {
	if s.dimensions(asked.Field) == 0 {
		return nil, fmt.Errorf("%s is no column of vectors", asked.Field)
	}
	r := &renderer{rendered: rendered{lists: map[int]int{}}, corpus: c}
	column := idiom(asked.Field)
	r.write("SELECT VALUE id FROM (SELECT id, ")
	if asked.Index == nil {
		measure := exactly[asked.Metric]
		r.write(measure.function, "(", column, ", $vector) AS ", distanceName, " FROM ", drivers.Table)
		if asked.Where != nil {
			r.write(" WHERE ")
			if err := r.condition(asked.Where, false); err != nil {
				return nil, err
			}
		}
		r.write(fmt.Sprintf(" ORDER BY %s %s LIMIT %d)", distanceName, measure.nearest, asked.K))
	} else {
		r.write("vector::distance::knn() AS ", distanceName, " FROM ", drivers.Table, fmt.Sprintf(" WHERE %s <|%d,%d|> $vector", column, asked.K, asked.Budget))
		if asked.Where != nil {
			r.write(" AND (")
			if err := r.condition(asked.Where, false); err != nil {
				return nil, err
			}
			r.write(")")
		}
		r.write(" ORDER BY ", distanceName, ")")
	}
	r.text = r.out.String()
	n, members := r.literals()
	return &search{query: asked, text: r.text, params: appendText(append(appendHead(nil, majorMap, uint64(n+1)), members...), "vector")}, nil
}

// dimensions are those of a column of vectors, 0 of anything else.
func (s *schema) dimensions(path query.Path) int {
	column, err := query.Resolve(s.template, path)
	if err != nil || column.Field.Kind != corpus.Vector {
		return 0
	}
	return column.Field.Dim
}

// appendVector appends a vector as floats of 32 bits, of which the server makes 64.
func appendVector(dst []byte, vector []float32) []byte {
	dst = appendHead(dst, majorArray, uint64(len(vector)))
	for _, x := range vector {
		dst = binary.BigEndian.AppendUint32(append(dst, cborFloat32), math.Float32bits(x))
	}
	return dst
}

// appendSearch appends the message of a search.
func (s *search) appendSearch(dst []byte, id uint64, text string, vector []float32) []byte {
	return appendVector(append(appendText(appendRequest(dst, id, "query", 2), text), s.params...), vector)
}

// Search runs the query and keeps the IDs that came.
func (c *client) Search(ctx context.Context, prepared drivers.Statement, vector []float32, answer *drivers.Answer) error {
	answer.Reset()
	s := prepared.(*search)
	items, n, err := c.items(ctx, func(dst []byte, id uint64) []byte { return s.appendSearch(dst, id, s.text, vector) }, answer)
	if err != nil {
		return fmt.Errorf("%s: %w", s.query, err)
	}
	keep := answer.Keep
	answer.Keep = true
	err = deal(&items, n, answer)
	answer.Keep = keep
	if err != nil {
		return fmt.Errorf("%s: %w", s.query, err)
	}
	return nil
}

// DecodeSearch reads the keys.
func (c *client) DecodeSearch(_ drivers.Statement, answer *drivers.Answer, each func(corpus.Key) error) error {
	return c.database.schema.decodeRows(answer, false, func(key corpus.Key, _ *corpus.Row) error { return each(key) })
}

// ExplainSearch asks for the server's plan, in which KnnScan is the search of a graph, with the name of its index.
func (c *client) ExplainSearch(ctx context.Context, prepared drivers.Statement, vector []float32) (drivers.Explanation, error) {
	s := prepared.(*search)
	seat, err := c.link.Take(ctx)
	if err != nil {
		return drivers.Explanation{}, fmt.Errorf("explain %s: %w", s.query, err)
	}
	defer c.link.Give(seat)
	result, err := c.ask(ctx, seat, s.appendSearch(seat.Record.Bytes, seat.ID, "EXPLAIN "+s.text, vector))
	if err != nil {
		return drivers.Explanation{}, fmt.Errorf("explain %s: %w", s.query, err)
	}
	answer := scanner{data: result.in(seat.Record.Bytes)}
	plan, err := answer.value()
	text, is := plan.(string)
	if err != nil || !is {
		return drivers.Explanation{}, fmt.Errorf("explain %s: the server's plan is %v: %w", s.query, plan, err)
	}
	var uses bool
	if s.query.Index == nil {
		uses = !strings.Contains(text, "Knn")
	} else {
		uses = strings.Contains(text, "KnnScan") && strings.Contains(text, fmt.Sprintf("[index: %s,", s.query.Index.Name))
	}
	return drivers.Explanation{Text: drivers.CutPlan(text), Uses: uses}, nil
}

var (
	_ drivers.Searcher        = (*client)(nil)
	_ drivers.SearchExplainer = (*client)(nil)
)
