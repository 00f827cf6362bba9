package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

// scan is a scan that every reader of a client has compiled.
type scan struct {
	*sqlrender.Statement
	params []byte
}

// CanScan renders the scan, as if every index were there.
func (c *client) CanScan(s *query.Scan) error {
	if s.Raw != nil {
		return canRaw(s.Raw)
	}
	for _, o := range s.Order {
		if err := writable(o.Path); err != nil {
			return err
		}
	}
	for _, a := range s.Aggregates {
		if err := writable(a.Path); err != nil {
			return err
		}
	}
	if err := writable(s.GroupBy); err != nil {
		return err
	}
	return can(s.Where)
}

// can finds what SQLite cannot do in a condition.
func can(p *query.Predicate) error {
	if p == nil {
		return nil
	}
	if err := writable(p.Path); err != nil {
		return err
	}
	if p.Op == query.MatchAll || p.Op == query.MatchAny {
		return canMatch()
	}
	if c := p.Column(); c != nil && c.Field.Kind == corpus.Bytes && len(p.Path) > 1 {
		return noBase64(p.Path)
	}
	for _, arg := range p.Args {
		if err := can(arg); err != nil {
			return err
		}
	}
	return nil
}

// NeedsIndex says that words are only found by an index.
func (c *client) NeedsIndex(s *query.Scan, _ query.Index) string {
	if matches(s.Where) {
		return "SQLite finds words only by a full-text index"
	}
	return ""
}

// matches tells whether the condition looks for words.
func matches(p *query.Predicate) bool {
	return p != nil && (p.Op == query.MatchAll || p.Op == query.MatchAny || slices.ContainsFunc(p.Args, matches))
}

// scanTable is the table as scans name it.
func (d *database) scanTable() sqlrender.Table {
	return sqlrender.Table{Name: quote(drivers.Table), Corpus: d.config.Corpus}
}

// PrepareScan renders the scan with the full-text tables that are there now, and compiles it on each reader.
func (c *client) PrepareScan(ctx context.Context, s *query.Scan) (drivers.Statement, error) {
	prepared := &scan{}
	err := c.everyReader(ctx, func(r *reader) error {
		if prepared.Statement == nil {
			var err error
			if prepared.Statement, err = c.render(r.on, s); err != nil {
				return err
			}
			prepared.params = appendLiterals(nil, prepared.Args)
		}
		statement, err := r.on.prepare(prepared.SQL)
		if err != nil {
			return fmt.Errorf("%s: %w", prepared.SQL, err)
		}
		if err := statement.bind(prepared.params); err != nil {
			statement.finalize()
			return fmt.Errorf("%s: %w", prepared.SQL, err)
		}
		r.scans[prepared] = statement
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("prepare scan %s: %w", s.ID, err)
	}
	return prepared, nil
}

func (c *client) render(on *connection, s *query.Scan) (*sqlrender.Statement, error) {
	d, err := dialectOf(on)
	if err != nil {
		return nil, err
	}
	return sqlrender.Render(d, c.database.scanTable(), s)
}

// everyReader runs f with each reader of the client. It waits for those that are in use.
func (c *client) everyReader(ctx context.Context, f func(*reader) error) error {
	c.preparing.Lock() // two that gather readers at the same time would wait for each other
	defer c.preparing.Unlock()
	var taken []*reader
	defer func() {
		for _, r := range taken {
			c.readers <- r
		}
	}()
	for range c.open {
		r, err := c.take(ctx)
		if err != nil {
			return err
		}
		taken = append(taken, r)
	}
	for _, r := range taken {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// appendLiterals appends what is bound.
func appendLiterals(params []byte, literals []query.Literal) []byte {
	for _, l := range literals {
		switch l.Kind {
		case corpus.Int:
			params = appendInteger(params, l.Int)
		case corpus.Float:
			params = appendReal(params, l.Float)
		case corpus.Bytes, corpus.UUID: // a key may be a uuid
			params = appendBlob(params, l.Bytes)
		default:
			params = appendText(params, []byte(l.Text))
		}
	}
	return params
}

// chunkRows is how many rows cross from SQLite in one call: so many that the call is not felt, so few that a cancelled scan ends at once.
const chunkRows = 128

// Scan steps through the rows and copies their cells, several rows in each call to the library.
func (c *client) Scan(ctx context.Context, statement drivers.Statement, answer *drivers.Answer) error {
	answer.Reset()
	r, err := c.take(ctx)
	if err != nil {
		return err
	}
	s := statement.(*scan)
	err = r.receive(ctx, r.scans[s], answer, s.Single())
	if err == nil && s.Single() {
		err = c.cells().Finish(s.Statement, answer)
	}
	c.readers <- r
	if err != nil {
		return fmt.Errorf("scan %s: %w", s.Scan.ID, err)
	}
	return nil
}

// receive runs a statement to its end. Of one that returns a single line, which is not a row of the table, the cells stay in the answer for finish.
func (r *reader) receive(ctx context.Context, on *statement, answer *drivers.Answer, single bool) error {
	if err := r.watch.begin(ctx); err != nil {
		return err
	}
	err := r.steps(ctx, on, answer, single)
	on.reset()
	return r.watch.rest(ctx, err)
}

func (r *reader) steps(ctx context.Context, on *statement, answer *drivers.Answer, single bool) error {
	most := chunkRows
	if answer.Each != nil {
		most = 1
	}
	counted := len(answer.Bytes) // of the kept rows
	for first := true; ; first = false {
		n, err := on.receive(answer, most)
		if first && n == 0 && err != nil && busy(err) {
			err = retry(ctx, func() error {
				n, err = on.receive(answer, most)
				return err
			})
		}
		switch {
		case err != nil:
			return err
		case n == 0 || single:
			return nil
		case answer.Each != nil:
			err = answer.Row(int64(len(answer.Bytes)))
		default:
			answer.Chunk(int64(n), int64(len(answer.Bytes)-counted))
			counted = len(answer.Bytes)
			err = ctx.Err()
		}
		if err != nil || n < most {
			return err
		}
	}
}

// DecodeScan takes the cells apart.
func (c *client) DecodeScan(statement drivers.Statement, answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	s := statement.(*scan)
	if s.Counted() || s.Grouped() {
		return fmt.Errorf("scan %s returns no rows of the table", s.Scan.ID)
	}
	return c.decodeRows(answer, s.Scan.Project == query.Full, each)
}

// decodeRows reads rows of a key and, when they are full, of all columns.
func (c *client) decodeRows(answer *drivers.Answer, full bool, each func(corpus.Key, *corpus.Row) error) error {
	return c.cells().Rows(answer, full, each)
}

// DecodeGroups reads a line for each group.
func (c *client) DecodeGroups(statement drivers.Statement, answer *drivers.Answer) (groups []query.Group, err error) {
	return c.cells().Groups(statement.(*scan).Statement, answer)
}

// cells reads the cells of answers, for one goroutine.
func (c *client) cells() sqlrender.Cells {
	var ordered []byte
	return sqlrender.Cells{
		Template: c.database.schema.template,
		Key: func(cell []byte) (corpus.Key, error) {
			return decodeKey(c.database.config.Corpus.KeyKind(), cell, &ordered)
		},
		Value: decodeCell,
		Group: sqlrender.GroupOf(decodeCell, corpus.DateTime, corpus.UUID),
		Number: func(f query.Func, c sqlrender.Column, cell []byte) (float64, error) {
			if len(cell) != 8 {
				return 0, fmt.Errorf("a number has %d bytes", len(cell))
			}
			return aggregate(f, c, binary.LittleEndian.Uint64(cell)), nil
		},
	}
}

// decodeKey reads a key's cell; ordered is memory for its byte form.
func decodeKey(kind corpus.KeyKind, cell []byte, ordered *[]byte) (corpus.Key, error) {
	if kind != corpus.KeyInteger {
		return corpus.ParseKey(kind, cell)
	}
	if len(cell) != 8 {
		return corpus.Key{}, fmt.Errorf("integer key has %d bytes", len(cell))
	}
	*ordered = binary.BigEndian.AppendUint64((*ordered)[:0], binary.LittleEndian.Uint64(cell))
	return corpus.ParseKey(kind, *ordered)
}

// aggregate turns the eight bytes of a number into the nearest float64: an integer is exact, also one that stands for decimals.
func aggregate(f query.Func, c sqlrender.Column, word uint64) float64 {
	switch {
	case f == query.Number:
		return float64(int64(word))
	case c.Field.Kind == corpus.Float:
		return math.Float64frombits(word)
	case f == query.Avg && c.Field.Kind == corpus.Decimal:
		return math.Float64frombits(word) / 1e4
	case f == query.Avg:
		return math.Float64frombits(word)
	case c.Field.Kind == corpus.Decimal:
		nearest, _ := strconv.ParseFloat(string(corpus.AppendDecimal(nil, int64(word))), 64)
		return nearest
	}
	return float64(int64(word))
}

// Explain asks SQLite for its query plan.
func (c *client) Explain(ctx context.Context, s *query.Scan, index query.Index) (drivers.Explanation, error) {
	r, err := c.take(ctx)
	if err != nil {
		return drivers.Explanation{}, err
	}
	defer func() { c.readers <- r }()
	rendered, err := c.render(r.on, s)
	if err != nil {
		return drivers.Explanation{}, fmt.Errorf("explain: %w", err)
	}
	statement, err := r.on.prepare("EXPLAIN QUERY PLAN " + rendered.SQL)
	if err != nil {
		return drivers.Explanation{}, fmt.Errorf("explain scan %s: %w", s.ID, err)
	}
	defer statement.finalize()
	// A library that keeps samples of an index's values (ENABLE_STAT4) plans for the literals, when a statement is run.
	if err := statement.bind(appendLiterals(nil, rendered.Args)); err != nil {
		return drivers.Explanation{}, fmt.Errorf("explain scan %s: %w", s.ID, err)
	}
	var plan drivers.Answer
	plan.Keep = true
	if err := r.receive(ctx, statement, &plan, false); err != nil {
		return drivers.Explanation{}, fmt.Errorf("explain scan %s: %w", s.ID, err)
	}
	return explanation(&plan, statement.columns, indexed(index)), nil
}

var (
	_ drivers.Scanner     = (*client)(nil)
	_ drivers.Explainer   = (*client)(nil)
	_ drivers.IndexNeeder = (*client)(nil)
)
