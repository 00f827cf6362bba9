package surrealdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// statement is a scan that is ready to be sent: all of its requests differ in their ID alone.
type statement struct {
	*rendered
	schema *schema
	params []byte // the map of parameters
}

// CanScan renders the scan, which is all that can fail.
func (c *client) CanScan(s *query.Scan) error {
	if s.Raw == nil {
		return nil
	}
	for _, part := range []struct {
		has  bool
		text string
		what string
	}{{s.Raw.HasWhere, s.Raw.Where[dialect], "condition"}, {s.Raw.HasOrder, s.Raw.Order[dialect], "order"}} {
		if part.has && part.text == "" {
			return drivers.Unsupported{Why: "the file has no " + part.what + " for " + dialect}
		}
	}
	return nil
}

// NeedsIndex says so of conditions of a file that search for words: without an index SurrealDB's @@ finds nothing, and says nothing of it.
func (c *client) NeedsIndex(s *query.Scan, index query.Index) string {
	if s.Raw != nil && s.Raw.HasWhere && index.Kind == query.FullText {
		return "without a full-text index SurrealDB's @@ finds nothing, and says nothing of it"
	}
	return ""
}

// PrepareScan renders the scan with the full-text indexes that are there now.
func (c *client) PrepareScan(ctx context.Context, s *query.Scan) (drivers.Statement, error) {
	prepared, err := c.prepare(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	return prepared, nil
}

func (c *client) prepare(ctx context.Context, s *query.Scan) (*statement, error) {
	d := c.database
	words := func(query.Path) bool { return false }
	if searches(s.Where) {
		var texts []string
		err := d.control(ctx, "find the full-text indexes", func(c *control) (err error) {
			texts, err = c.searchable(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
		words = func(path query.Path) bool { return slices.Contains(texts, path.String()) }
	}
	r, err := render(d.load.Corpus, s, words)
	if err != nil {
		return nil, err
	}
	prepared := &statement{rendered: r, schema: d.schema}
	if prepared.params, err = prepared.bound(); err != nil {
		return nil, fmt.Errorf("scan %s: %w", s.ID, err)
	}
	return prepared, nil
}

// searches tells whether a predicate searches for words.
func searches(p *query.Predicate) bool {
	return p != nil && (p.Op == query.MatchAll || p.Op == query.MatchAny || slices.ContainsFunc(p.Args, searches))
}

// bound is the map of the scan's parameters.
func (s *statement) bound() (params []byte, err error) {
	n, params := s.literals()
	if s.key.Kind() != "" {
		n++
		if params, err = s.schema.appendKey(appendText(params, "after"), s.key); err != nil {
			return nil, err
		}
	}
	return append(appendHead(nil, majorMap, uint64(n)), params...), nil
}

// literals are the members of the map of parameters that are of literals, and how many there are.
func (r *rendered) literals() (n int, members []byte) {
	for i := 0; i < len(r.args); n++ {
		members = appendText(members, fmt.Sprintf("p%d", i))
		length, list := r.lists[i]
		if list {
			members = appendHead(members, majorArray, uint64(length))
		} else {
			length = 1
		}
		for _, l := range r.args[i : i+length] {
			members = appendLiteral(members, l)
		}
		i += length
	}
	return n, members
}

// appendLiteral appends a literal as a value of its kind is kept.
func appendLiteral(dst []byte, l query.Literal) []byte {
	switch l.Kind {
	case corpus.Bool:
		return appendBool(dst, l.Bool)
	case corpus.Int:
		return appendInt(dst, l.Int)
	case corpus.Float:
		return appendFloat(dst, l.Float)
	case corpus.Decimal:
		return appendDecimal(dst, l.Int)
	case corpus.DateTime:
		return appendDatetime(dst, l.Int)
	case corpus.String:
		return appendText(dst, l.Text)
	case corpus.UUID:
		return appendBytes(appendHead(dst, majorTag, tagUUID), l.Bytes)
	}
	return appendBytes(dst, l.Bytes)
}

// Scan runs the query and passes over all that came back, item by item, to its last byte.
func (c *client) Scan(ctx context.Context, prepared drivers.Statement, answer *drivers.Answer) error {
	answer.Reset()
	s := prepared.(*statement)
	if err := c.fetch(ctx, s.text, s.params, answer, s); err != nil {
		return fmt.Errorf("scan %s: %w", s.scan.ID, err)
	}
	return nil
}

// fetch runs a query of one statement whose result is an array, and puts its items into the answer as rows; or, when it is the count of a scan,
// the number in it. s is nil when the query is no scan's.
func (c *client) fetch(ctx context.Context, text string, params []byte, answer *drivers.Answer, s *statement) error {
	items, n, err := c.items(ctx, func(dst []byte, id uint64) []byte {
		return append(appendText(appendRequest(dst, id, "query", 2), text), params...)
	}, answer)
	if err != nil {
		return err
	}
	switch {
	case s != nil && s.counted():
		from := items.at
		answer.Count, err = countIn(&items, n)
		answer.Size = int64(len(items.data) - from)
		return err
	case s != nil && s.grouped() && s.group == nil && n == 1:
		// SurrealDB answers with one group even where no row is found, which is no group.
		one := items
		if _, rows, err := s.decodeGroup(&one); err != nil || rows == 0 {
			return err
		}
	}
	return deal(&items, n, answer)
}

// items sends the message of a query of one statement and receives its result, an array of n items, into the answer's memory.
func (c *client) items(ctx context.Context, compose func(dst []byte, id uint64) []byte, answer *drivers.Answer) (items scanner, n int, err error) {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return items, 0, err
	}
	defer c.link.Give(seat)
	message := compose(seat.Record.Bytes, seat.ID)
	seat.Request = appendFrame(seat.Request, frameBinary, message)
	// What comes is received into the answer's memory, which is as large as scans need it. It is not the answer's while a late answer may write to it.
	seat.Record.Bytes, answer.Bytes = answer.Bytes[:0], nil
	if err := c.link.Do(ctx, seat); err != nil {
		return items, 0, err
	}
	data := seat.Record.Bytes
	seat.Record.Bytes, answer.Bytes = message[:0], data[:0]
	result, err := only(data, seat.ID)
	if err != nil {
		return items, 0, err
	}
	items = scanner{data: data[:result.to], at: result.from}
	n, err = items.count(majorArray)
	return items, n, err
}

// deal hands items to an answer. They lie in the answer's memory already: those that are kept move to its front, one after another.
func deal(items *scanner, n int, answer *drivers.Answer) error {
	memory, kept, size := answer.Bytes, 0, int64(0)
	for range n {
		from := items.at
		if items.null() {
			return errNone
		}
		if err := items.skip(); err != nil {
			return err
		}
		row := items.data[from:items.at]
		size += int64(len(row))
		switch {
		case answer.Each != nil:
			answer.Bytes, answer.Ends = row, append(answer.Ends, len(row))
			if err := answer.Row(int64(len(row))); err != nil {
				return err
			}
		case answer.Keep:
			kept += copy(items.data[kept:], row)
			answer.Ends = append(answer.Ends, kept)
		}
	}
	if answer.Each == nil {
		answer.Bytes = items.data[:kept]
		answer.Chunk(int64(n), size)
		return nil
	}
	answer.Bytes = memory
	return nil
}

// errNone tells that a record in a list of keys is not there.
var errNone = errors.New("the answer has a NONE in place of a record")

// countIn reads the number that a count returns, in an object in an array, or none for none.
func countIn(items *scanner, n int) (int64, error) {
	if n == 0 {
		return 0, nil
	}
	value, err := items.value()
	if err != nil {
		return 0, err
	}
	count, is := member(value, "count").(int64)
	if n != 1 || !is {
		return 0, fmt.Errorf("the answer to a count is %v, the first of %d", value, n)
	}
	return count, nil
}

// DecodeScan reads the keys, or the records with theirs.
func (c *client) DecodeScan(prepared drivers.Statement, answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	s := prepared.(*statement)
	if s.counted() || s.grouped() {
		return fmt.Errorf("scan %s returns no rows of the table", s.scan.ID)
	}
	return c.database.schema.decodeRows(answer, s.scan.Project == query.Full, each)
}

// decodeRows reads rows that an answer kept: records, or keys alone.
func (s *schema) decodeRows(answer *drivers.Answer, full bool, each func(corpus.Key, *corpus.Row) error) error {
	var row corpus.Row
	from := 0
	for _, end := range answer.Ends {
		item := scanner{data: answer.Bytes[:end], at: from}
		var key corpus.Key
		var err error
		if full {
			key, err = s.decodeRow(&item, &row)
		} else {
			row.Reset(s.template)
			key, err = s.readKey(&item)
		}
		if err == nil && item.at != end {
			err = fmt.Errorf("%d bytes are left over", end-item.at)
		}
		if err != nil {
			return fmt.Errorf("decode a row: %w", err)
		}
		if err := each(key, &row); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// DecodeGroups reads an object for each group.
func (c *client) DecodeGroups(prepared drivers.Statement, answer *drivers.Answer) (groups []query.Group, err error) {
	s := prepared.(*statement)
	if !s.grouped() {
		return nil, fmt.Errorf("scan %s returns no groups", s.scan.ID)
	}
	from := 0
	for _, end := range answer.Ends {
		group, _, err := s.decodeGroup(&scanner{data: answer.Bytes[:end], at: from})
		if err != nil {
			return nil, fmt.Errorf("scan %s: group: %w", s.scan.ID, err)
		}
		groups = append(groups, group)
		from = end
	}
	return groups, nil
}

func (s *statement) decodeGroup(from *scanner) (group query.Group, rows int64, err error) {
	group.Values = make([]float64, len(s.values))
	members, err := from.count(majorMap)
	for ; err == nil && members > 0; members-- {
		var name string
		if name, err = from.text(); err != nil {
			break
		}
		switch name {
		case rowsName:
			rows, err = from.int()
		case groupName:
			group.Key, err = s.readGroup(from)
		default:
			var i int
			if i, err = strconv.Atoi(strings.TrimPrefix(name, "a")); err == nil && i < len(group.Values) {
				group.Values[i], err = readNumber(from)
			}
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}
	return group, rows, err
}

// readGroup reads what the rows of a group have in common.
func (s *statement) readGroup(from *scanner) (query.Literal, error) {
	var row corpus.Row
	var v corpus.Value
	if err := decodeValue(from, s.group, &row, &v); err != nil {
		return query.Literal{}, err
	}
	return query.LiteralOf(&v), nil
}

// readNumber reads a number of any type as the nearest float64. NULL, which aggregates of no rows are, is 0.
func readNumber(from *scanner) (float64, error) {
	if from.null() {
		return 0, nil
	}
	if from.at >= len(from.data) {
		return 0, errCut
	}
	switch from.data[from.at] >> 5 {
	case majorTag:
		if err := from.tag(tagDecimal); err != nil {
			return 0, err
		}
		text, err := from.text()
		if err != nil {
			return 0, err
		}
		return strconv.ParseFloat(text, 64)
	case majorSimple:
		return from.float()
	}
	n, err := from.int()
	return float64(n), err
}

// Explain asks for the server's plan.
func (c *client) Explain(ctx context.Context, s *query.Scan, index query.Index) (drivers.Explanation, error) {
	prepared, err := c.prepare(ctx, s)
	if err != nil {
		return drivers.Explanation{}, fmt.Errorf("explain: %w", err)
	}
	plan, err := c.plan(ctx, "EXPLAIN "+prepared.text, prepared.params)
	if err != nil && strings.Contains(err.Error(), "new execution model") {
		// Some queries are run by the older of the server's two engines, which explains itself in another way.
		plan, err = c.plan(ctx, prepared.text+" EXPLAIN", prepared.params)
	}
	if err != nil {
		return drivers.Explanation{}, fmt.Errorf("explain scan %s: %w", s.ID, err)
	}
	text, is := plan.(string)
	if !is {
		document, err := json.Marshal(plan)
		if err != nil {
			return drivers.Explanation{}, fmt.Errorf("explain scan %s: %w", s.ID, err)
		}
		text = string(document)
	}
	uses := false
	for _, form := range []string{"[index: %s,", "[index: %s]", `"index":"%s"`} {
		uses = uses || strings.Contains(text, fmt.Sprintf(form, index.Name))
	}
	return drivers.Explanation{Text: drivers.CutPlan(text), Uses: uses}, nil
}

// plan runs a query that returns a plan.
func (c *client) plan(ctx context.Context, text string, params []byte) (any, error) {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return nil, err
	}
	defer c.link.Give(seat)
	message := appendText(appendRequest(seat.Record.Bytes, seat.ID, "query", 2), text)
	result, err := c.ask(ctx, seat, append(message, params...))
	if err != nil {
		return nil, err
	}
	plan := scanner{data: result.in(seat.Record.Bytes)}
	return plan.value()
}

var (
	_ drivers.Scanner     = (*client)(nil)
	_ drivers.IndexNeeder = (*client)(nil)
	_ drivers.Explainer   = (*client)(nil)
)
