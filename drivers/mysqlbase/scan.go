package mysqlbase

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

// scan is a scan that the sessions of a client have prepared. What is bound never changes.
type scan struct {
	*sqlrender.Statement
	values []driver.Value
}

func (s *scan) sql() string { return s.SQL }

// CanScan refuses raw scans without words for the family. All else that can be said can be run.
func (c *client) CanScan(s *query.Scan) error {
	if s.Raw != nil {
		return sqlrender.CanRaw(dialect{}, s.Raw)
	}
	return nil
}

// NeedsIndex says that words are only found by an index. A raw condition with such an index looks for words, too.
func (c *client) NeedsIndex(s *query.Scan, index query.Index) string {
	if matches(s.Where) || s.Raw != nil && s.Raw.HasWhere && index.Kind == query.FullText {
		return "InnoDB finds words only by a full-text index"
	}
	return ""
}

// matches tells whether the condition looks for words.
func matches(p *query.Predicate) bool {
	return p != nil && (p.Op == query.MatchAll || p.Op == query.MatchAny || slices.ContainsFunc(p.Args, matches))
}

// scanTable is the table as scans name it.
func (d *database) scanTable() sqlrender.Table {
	return sqlrender.Table{Name: tableName, Corpus: d.corpus}
}

// dialect is the dialect of the product on a table without generated columns.
func (d *database) dialect() dialect { return dialect{product: d.product} }

// render renders a scan with the generated columns that there are now, which it asks on a connection.
func (d *database) render(conn driver.Conn, s *query.Scan) (*scan, error) {
	made, err := d.generatedNow(conn)
	if err != nil {
		return nil, err
	}
	statement, err := sqlrender.Render(dialect{d.product, made}, d.scanTable(), s)
	if err != nil {
		return nil, err
	}
	one := &scan{Statement: statement}
	for _, l := range statement.Args {
		value, err := bound(l)
		if err != nil {
			return nil, fmt.Errorf("scan %s: %w", s.ID, err)
		}
		one.values = append(one.values, value)
	}
	return one, nil
}

// bound is a literal in the form that the driver sends.
func bound(l query.Literal) (driver.Value, error) {
	switch l.Kind {
	case corpus.Bool:
		return l.Bool, nil
	case corpus.Int:
		return l.Int, nil
	case corpus.Float:
		return l.Float, nil
	case corpus.Decimal:
		return string(corpus.AppendDecimal(nil, l.Int)), nil
	case corpus.String, corpus.Array: // or JSON
		return l.Text, nil
	case corpus.Bytes, corpus.UUID:
		return append([]byte{}, l.Bytes...), nil // never nil, which would be NULL
	case corpus.DateTime:
		return time.Unix(l.Int, 0).UTC().Format(time.DateTime), nil
	}
	return nil, fmt.Errorf("no form for literals of kind %s", l.Kind)
}

// PrepareScan renders the scan and prepares it on each connection of the client.
func (c *client) PrepareScan(ctx context.Context, s *query.Scan) (drivers.Statement, error) {
	var one *scan
	c.endSearch()
	err := c.everySession(ctx, func(session *session) (err error) {
		if one == nil {
			if one, err = c.database.render(session.conn, s); err != nil {
				return err
			}
			if s.Raw != nil {
				// What a raw condition needs of indexes shows when it is planned: to prepare it is not enough for MariaDB.
				if _, err := (&controller{session.conn}).ask(ctx, "EXPLAIN "+one.SQL, one.values); err != nil {
					return err
				}
			}
		}
		_, err = session.prepared(ctx, one, one.sql)
		return err
	})
	if numberOf(err) == errorNoWords { // in a raw condition
		err = drivers.Unsupported{Why: "InnoDB finds words only by a full-text index, and there is none on just that column: " + err.Error()}
	}
	if err != nil {
		return nil, fmt.Errorf("prepare scan %s: %w", s.ID, err)
	}
	return one, nil
}

// everySession runs f with each session of the client. It waits for those that are in use.
func (c *client) everySession(ctx context.Context, f func(*session) error) error {
	c.gathering.Lock() // two that gather sessions at the same time would wait for each other
	defer c.gathering.Unlock()
	var taken []*session
	defer func() {
		for _, s := range taken {
			c.give(s)
		}
	}()
	for range c.all {
		s, err := c.take(ctx)
		if err != nil {
			return err
		}
		taken = append(taken, s)
	}
	for _, s := range taken {
		if err := s.end(ctx, f(s)); err != nil {
			return err
		}
	}
	return nil
}

// Scan runs the statement and receives all rows.
func (c *client) Scan(ctx context.Context, statement drivers.Statement, answer *drivers.Answer) error {
	one := statement.(*scan)
	answer.Reset()
	keep, each := answer.Keep, answer.Each
	if one.Single() {
		answer.Keep, answer.Each = true, nil // the line is no row of the table
	}
	err := c.run(ctx, "scan "+one.Scan.ID, func(s *session) error {
		// A connection that was opened anew has nothing prepared.
		prepared, err := s.prepared(ctx, one, one.sql)
		if err != nil {
			return err
		}
		s.arguments.values = append(s.arguments.values[:0], one.values...)
		return s.receive(prepared, answer)
	})
	answer.Keep, answer.Each = keep, each
	if err == nil && one.Single() {
		err = c.database.schema.cells().Finish(one.Statement, answer)
	}
	return err
}

// receive runs a statement with the session's arguments and receives all rows into the answer.
func (s *session) receive(statement driver.Stmt, answer *drivers.Answer) error {
	return s.query(statement, func(cells []driver.Value) error {
		before := len(answer.Bytes)
		for _, cell := range cells {
			next, end, err := appendCell(answer.Bytes, cell)
			if err != nil {
				return err
			}
			answer.Bytes, answer.Ends = next, append(answer.Ends, end)
		}
		return answer.Row(int64(len(answer.Bytes) - before))
	})
}

// cells reads the cells of answers.
func (s *schema) cells() sqlrender.Cells {
	return sqlrender.Cells{
		Template: s.template,
		Key:      func(cell []byte) (corpus.Key, error) { return decodeKey(s.key, cell) },
		Value:    decodeCell,
		Group:    sqlrender.GroupOf(decodeCell, corpus.DateTime, corpus.UUID),
		Number:   decodeNumber,
	}
}

// decodeNumber reads an aggregate: sums and averages of whole numbers and decimals, and extremes of decimals, are decimals and come as texts.
func decodeNumber(f query.Func, c sqlrender.Column, cell []byte) (float64, error) {
	switch {
	case f != query.Number && (c.Field.Kind == corpus.Decimal || c.Field.Kind == corpus.Int && (f == query.Sum || f == query.Avg)):
		return strconv.ParseFloat(string(cell), 64)
	case len(cell) != 8:
		return 0, fmt.Errorf("a number has %d bytes", len(cell))
	case f != query.Number && c.Field.Kind == corpus.Float:
		return math.Float64frombits(binary.BigEndian.Uint64(cell)), nil
	}
	return float64(int64(binary.BigEndian.Uint64(cell))), nil
}

// DecodeScan takes the cells apart.
func (c *client) DecodeScan(statement drivers.Statement, answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	s := statement.(*scan)
	if s.Counted() || s.Grouped() {
		return fmt.Errorf("scan %s returns no rows of the table", s.Scan.ID)
	}
	return c.database.schema.cells().Rows(answer, s.Scan.Project == query.Full, each)
}

// DecodeGroups reads a line for each group.
func (c *client) DecodeGroups(statement drivers.Statement, answer *drivers.Answer) ([]query.Group, error) {
	return c.database.schema.cells().Groups(statement.(*scan).Statement, answer)
}

// Range selects rows in the order of their keys.
func (c *client) Range(ctx context.Context, from corpus.Key, most int64, answer *drivers.Answer) error {
	answer.Reset()
	return c.run(ctx, "range", func(s *session) error {
		statement, err := s.prepared(ctx, ranged, c.database.schema.rangeSQL)
		if err != nil {
			return err
		}
		if err := s.arguments.key(c.database.schema, from); err != nil {
			return err
		}
		s.arguments.values = append(s.arguments.values, most)
		return s.receive(statement, answer)
	})
}

// DecodeRange takes the cells apart.
func (c *client) DecodeRange(answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	return c.database.schema.cells().Rows(answer, true, each)
}

// Explain asks the server for its plan, with the literals that the scan has: for the reader in JSON, and, because MariaDB's JSON is none where there are
// quotes in conditions, as a table for the name of the index.
func (c *client) Explain(ctx context.Context, s *query.Scan, index query.Index) (e drivers.Explanation, err error) {
	d := c.database
	err = d.controlIn(ctx, "explain scan "+s.ID, true, func(c *controller) error {
		one, err := d.render(c.conn, s)
		if err != nil {
			return err
		}
		plan, err := c.ask(ctx, "EXPLAIN FORMAT=JSON "+one.SQL, one.values)
		if err != nil {
			return err
		}
		for _, row := range plan {
			e.Text += row["EXPLAIN"]
		}
		e.Text = drivers.CutPlan(e.Text)
		table, err := c.ask(ctx, "EXPLAIN FORMAT=TRADITIONAL "+one.SQL, one.values)
		if err != nil {
			return err
		}
		for _, row := range table {
			// Several indexes that are merged have commas between.
			e.Uses = e.Uses || slices.Contains(strings.Split(row["key"], ","), sqlrender.IndexName(index))
			// MySQL counts words before it plans, in the only index that it can: without one there is no plan.
			e.Uses = e.Uses || index.Kind == query.FullText && s.Project == query.Count && s.Where != nil && strings.Contains(row["Extra"], "Select tables optimized away")
		}
		return nil
	})
	return e, err
}

// ask runs a statement with parameters and returns its rows by the names of the columns.
func (c *controller) ask(ctx context.Context, sql string, values []driver.Value) (found []map[string]string, err error) {
	statement, err := c.conn.(driver.ConnPrepareContext).PrepareContext(ctx, sql)
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 the form with a context would need the values named
	rows, err := statement.Query(values)
	if err != nil {
		return nil, errors.Join(err, statement.Close())
	}
	err = eachRow(rows, make([]driver.Value, len(rows.Columns())), func(cells []driver.Value) error {
		row := make(map[string]string)
		for i, name := range rows.Columns() {
			row[name] = text(cells[i])
		}
		found = append(found, row)
		return nil
	})
	return found, errors.Join(err, statement.Close())
}

var (
	_ drivers.Scanner     = (*client)(nil)
	_ drivers.IndexNeeder = (*client)(nil)
	_ drivers.Ranger      = (*client)(nil)
	_ drivers.Explainer   = (*client)(nil)
)
