package respbase

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// search is a search that is ready to be sent: its requests differ in the vector alone.
type search struct {
	query         *query.Search
	filter        string // in the engine's own words
	before, after []byte // what comes before the vector in a request, and after it
	prefix        int    // how long the beginning of a key in the answer is that is not the row's
}

// CanSearch tells what there is nothing for. Rows are values that the server does not look into, so that every search is one of an index.
func (c *vectorClient) CanSearch(s *query.Search) error {
	if s.Index == nil {
		return drivers.Unsupported{Why: fmt.Sprintf("Redis does not look into rows: it searches exactly in an index of strategy %s, or in one of strategy %s that is to compare every vector", query.BruteForce, query.VectorSet)}
	}
	if err := canSearchIndex(*s.Index); err != nil {
		return err
	}
	switch {
	case s.Metric != s.Index.Vector.Metric:
		return fmt.Errorf("%s: the index is for %s", s, s.Index.Vector.Metric)
	case s.Iterative != "":
		return drivers.Unsupported{Why: "Redis goes on by itself where a filter leaves too few rows, and has no iterative scans beside that"}
	case s.Truth && s.Kind() == query.HNSW:
		return drivers.Unsupported{Why: fmt.Sprintf("Redis's query engine compares every vector in an index of strategy %s only", query.BruteForce)}
	case s.Truth && s.Index.Vector.Quantisation != "":
		return drivers.Unsupported{Why: fmt.Sprintf("an exact search would compare vectors as %s, which is all that is left of them in such a vector set", s.Index.Vector.Quantisation)}
	case s.Where == nil:
		return nil
	}
	return canFilter(s.Index, s.Where)
}

// PrepareSearch renders the search. All that it needs of the server is in each request. The index must be there: VSIM finds nothing in a vector set that
// is not, and says nothing of it.
func (c *vectorClient) PrepareSearch(ctx context.Context, s *query.Search) (drivers.Statement, error) {
	if err := c.CanSearch(s); err != nil {
		return nil, err
	}
	err := c.vectors.control(ctx, "prepare "+s.String(), func(control rueidis.Client) error {
		e, there, err := c.vectors.find(ctx, control, *s.Index)
		if err == nil && (!there || !e.Built) {
			err = fmt.Errorf("index %s is not there, or not whole", s.Index.Name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.Kind() == query.VectorSet {
		return prepareSet(s), nil
	}
	return prepareEngine(s), nil
}

// appendWords appends words as bulk strings.
func appendWords(dst []byte, words ...string) []byte {
	for _, word := range words {
		dst = appendBulk(dst, []byte(word))
	}
	return dst
}

// prepareSet writes a search of a vector set.
func prepareSet(s *query.Search) *search {
	prepared := &search{query: s}
	options := []string{"COUNT", strconv.Itoa(s.K)}
	if s.Budget != 0 {
		options = append(options, "EF", strconv.Itoa(s.Budget))
	}
	if s.Where != nil {
		prepared.filter = string(appendExpression(nil, s.Index, s.Where))
		options = append(options, "FILTER", prepared.filter)
	}
	if s.Truth {
		options = append(options, "TRUTH")
	}
	prepared.before = appendWords(appendCommand(nil, "VSIM", 3+len(options)), setPrefix+s.Index.Name, "FP32")
	prepared.after = appendWords(nil, options...)
	return prepared
}

// prepareEngine writes a search of the query engine. Without a TIMEOUT of none it would answer after half a second with what it has found by then.
func prepareEngine(s *query.Search) *search {
	prepared := &search{query: s, prefix: len(mirrorOf(*s.Index)), filter: "*"}
	if s.Where != nil {
		prepared.filter = "(" + string(appendQuery(nil, s.Index, s.Where)) + ")"
	}
	budget := ""
	if s.Kind() == query.HNSW && s.Budget != 0 {
		budget = fmt.Sprintf(" EF_RUNTIME %d", s.Budget)
	}
	k := strconv.Itoa(s.K)
	const distance = "durabench_distance"
	prepared.filter += fmt.Sprintf("=>[KNN %s @%s $q%s AS %s]", k, vectorField, budget, distance)
	words := []string{enginePrefix + s.Index.Name, prepared.filter, "NOCONTENT", "SORTBY", distance, "LIMIT", "0", k, "TIMEOUT", "0", "DIALECT", "2", "PARAMS", "2", "q"}
	prepared.before = appendWords(appendCommand(nil, "FT.SEARCH", len(words)+1), words...)
	return prepared
}

// Search sends the request and keeps the keys that came.
func (c *vectorClient) Search(ctx context.Context, statement drivers.Statement, vector []float32, answer *drivers.Answer) error {
	answer.Reset()
	s := statement.(*search)
	seat, err := c.link.Take(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", s.query, err)
	}
	defer c.link.Give(seat)
	seat.Kind = list
	seat.Request = append(appendVector(append(seat.Request, s.before...), vector), s.after...)
	if err := c.link.Do(ctx, seat); err != nil {
		return fmt.Errorf("%s: %w", s.query, err)
	}
	answer.Bytes, seat.Record.Bytes = seat.Record.Bytes, answer.Bytes
	answer.Ends, seat.Record.Ends = seat.Record.Ends, answer.Ends
	answer.Rows, answer.Size = int64(len(answer.Ends)), int64(len(answer.Bytes))
	return nil
}

// DecodeSearch reads the keys.
func (c *vectorClient) DecodeSearch(statement drivers.Statement, answer *drivers.Answer, each func(corpus.Key) error) error {
	s := statement.(*search)
	kind, from := c.database.load.Corpus.KeyKind(), 0
	for _, end := range answer.Ends {
		if end < from+s.prefix || s.prefix > 0 && !bytes.HasPrefix(answer.Bytes[from:end], []byte(mirrorOf(*s.query.Index))) {
			return fmt.Errorf("%s: the answer has a key that is none of the index", s.query)
		}
		key, err := corpus.ParseKey(kind, answer.Bytes[from+s.prefix:end])
		if err != nil {
			return fmt.Errorf("%s: key: %w", s.query, err)
		}
		if err := each(key); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// ExplainSearch asks the query engine for its plan. A vector set has none: VSIM walks its graph, or with TRUTH goes through all of it, and what it
// is made of is VINFO.
func (c *vectorClient) ExplainSearch(ctx context.Context, statement drivers.Statement, vector []float32) (explained drivers.Explanation, err error) {
	s := statement.(*search)
	err = c.database.control(ctx, "explain "+s.query.String(), func(control rueidis.Client) error {
		if s.query.Kind() != query.VectorSet {
			blob := string(bytes.SplitN(appendVector(nil, vector), []byte("\r\n"), 2)[1])
			plan, err := control.Do(ctx, control.B().Arbitrary("FT.EXPLAIN").
				Args(enginePrefix+s.query.Index.Name, s.filter, "PARAMS", "2", "q", strings.TrimSuffix(blob, "\r\n"), "DIALECT", "2").Build()).ToString()
			explained = drivers.Explanation{Text: drivers.CutPlan(plan), Uses: strings.Contains(plan, "nearest vectors") && strings.Contains(plan, "vector index")}
			return err
		}
		info, err := control.Do(ctx, control.B().Arbitrary("VINFO").Keys(setPrefix+s.query.Index.Name).Build()).ToArray()
		if rueidis.IsRedisNil(err) {
			explained.Text = "VINFO: there is no such vector set"
			return nil
		}
		if err != nil {
			return err
		}
		text := "VSIM on a vector set of"
		for i, value := range info {
			word, err := value.ToAny()
			if err != nil {
				return err
			}
			if i%2 == 0 {
				text += ","
			}
			text += fmt.Sprint(" ", word)
		}
		if s.filter != "" {
			text += "; FILTER " + s.filter
		}
		explained = drivers.Explanation{Text: drivers.CutPlan(text), Uses: true}
		return nil
	})
	return explained, err
}

var (
	_ drivers.Searcher        = (*vectorClient)(nil)
	_ drivers.SearchExplainer = (*vectorClient)(nil)
)
