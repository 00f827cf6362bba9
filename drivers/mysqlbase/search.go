package mysqlbase

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

// search is a search that the sessions of a client have prepared.
type search struct {
	query      *query.Search
	text       string
	values     []driver.Value // of the filter, before the vector
	dimensions int
}

func (s *search) sql() string { return s.text }

// mostBudget bounds mhnsw_ef_search.
const mostBudget = 10_000

// CanSearch refuses what MariaDB does not have, and everything to MySQL.
func (c *client) CanSearch(s *query.Search) error {
	no := func(format string, args ...any) error { return drivers.Unsupported{Why: fmt.Sprintf(format, args...)} }
	p := c.database.product
	if err := p.noVectors(); err != nil {
		return err
	}
	switch {
	case distances[s.Metric] == "":
		return no("MariaDB has no distance by %s: it has %s and %s", s.Metric, query.Cosine, query.Euclidean)
	case len(s.Field) > 1:
		return no("MariaDB does not search vectors within documents: %s", s.Field)
	case matches(s.Where):
		return no("MariaDB does not search vectors among the rows that a full-text index finds")
	case s.Iterative != "":
		return no("MariaDB has no setting for how a search goes on: on an index it always does, until enough rows match")
	case s.Index == nil:
		return nil
	}
	if err := p.canNearest(*s.Index); err != nil {
		return err
	}
	switch {
	case s.Index.Vector.Metric != s.Metric:
		return no("index %s is by %s and serves no search by %s", s.Index.Name, s.Index.Vector.Metric, s.Metric)
	case s.Budget < 1 || s.Budget > mostBudget:
		return no("mhnsw_ef_search is 1 to %d, not %d", mostBudget, s.Budget)
	}
	return nil
}

// renderSearch writes the search in SQL. The vector is the last parameter.
func (d *database) renderSearch(conn driver.Conn, s *query.Search) (*search, error) {
	c, err := d.scanTable().Column(s.Field)
	if err == nil {
		err = d.isVector(c)
	}
	if err != nil {
		return nil, err
	}
	one := &search{query: s, dimensions: c.Field.Dim}
	where := ""
	if s.Where != nil {
		made, err := d.generatedNow(conn)
		if err != nil {
			return nil, err
		}
		condition, literals, err := sqlrender.Condition(dialect{d.product, made}, d.scanTable(), s.Where, 1)
		if err != nil {
			return nil, err
		}
		where = " WHERE " + condition
		for _, l := range literals {
			value, err := bound(l)
			if err != nil {
				return nil, err
			}
			one.values = append(one.values, value)
		}
	}
	order := fmt.Sprintf("VEC_DISTANCE_%s(%s, %s)", distances[s.Metric], quote(c.Root.Name), vectorPlace)
	if s.Index == nil {
		// No vector index can be of such an order, so that every row that matches is compared, whatever there is when the search runs. Indexes on the
		// filter's columns may find those rows.
		order += " + 0"
	}
	one.text = fmt.Sprintf("SELECT %s FROM %s%s ORDER BY %s LIMIT %d", keyColumn, tableName, where, order, s.K)
	return one, nil
}

// PrepareSearch renders the search and prepares it on each connection of the client, which gets its budget.
func (c *client) PrepareSearch(ctx context.Context, s *query.Search) (drivers.Statement, error) {
	if err := c.CanSearch(s); err != nil {
		return nil, err
	}
	c.searching.Store(nil)
	c.budget.Store(int64(s.Budget)) // 0 of an exact search
	var one *search
	err := c.everySession(ctx, func(session *session) (err error) {
		if one == nil {
			if one, err = c.database.renderSearch(session.conn, s); err != nil {
				return err
			}
		}
		_, err = session.prepared(ctx, one, one.sql)
		return err
	})
	if err != nil {
		c.budget.Store(0)
		return nil, fmt.Errorf("prepare %s: %w", s, err)
	}
	c.searching.Store(one)
	return one, nil
}

// endSearch has the sessions go back to the server's own budget before they do anything else.
func (c *client) endSearch() {
	c.searching.Store(nil)
	c.budget.Store(0)
}

// setBudget gives the session the client's budget for searches, and reads it back. It matters to searches on a vector index alone.
func (s *session) setBudget() error {
	budget := s.budget.Load()
	value := "DEFAULT"
	if budget > 0 {
		value = strconv.FormatInt(budget, 10)
	}
	if _, err := queryText(s.conn, "SET SESSION mhnsw_ef_search = "+value); err != nil {
		return fmt.Errorf("set mhnsw_ef_search to %s: %w", value, err)
	}
	rows, err := queryText(s.conn, "SELECT @@SESSION.mhnsw_ef_search")
	if err != nil {
		return fmt.Errorf("read back mhnsw_ef_search: %w", err)
	}
	if got := rows[0][0]; budget > 0 && got != value {
		return fmt.Errorf("mhnsw_ef_search reads back %s after it was set to %s", got, value)
	}
	s.budgeted = budget
	return nil
}

// Search binds the vector and receives the keys.
func (c *client) Search(ctx context.Context, statement drivers.Statement, vector []float32, answer *drivers.Answer) error {
	one := statement.(*search)
	answer.Reset()
	switch {
	case c.searching.Load() != one:
		return fmt.Errorf("%s is not prepared any more", one.query)
	case len(vector) != one.dimensions: // the server would find all rows equally far away
		return fmt.Errorf("%s: a vector of %d components among such of %d", one.query, len(vector), one.dimensions)
	}
	keep, each := answer.Keep, answer.Each
	answer.Keep, answer.Each = true, nil
	err := c.run(ctx, "search", func(s *session) error {
		// A connection that was opened anew has nothing prepared.
		prepared, err := s.prepared(ctx, one, one.sql)
		if err != nil {
			return err
		}
		s.arguments.values = append(s.arguments.values[:0], one.values...)
		s.arguments.values = append(s.arguments.values, s.arguments.vector(vector))
		return s.receive(prepared, answer)
	})
	answer.Keep, answer.Each = keep, each
	return err
}

// vector is a vector in the form that the driver sends.
func (a *arguments) vector(components []float32) driver.Value {
	return a.made(func(dst []byte) []byte {
		for _, component := range components {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(component))
		}
		return dst
	})
}

// DecodeSearch reads the keys.
func (c *client) DecodeSearch(_ drivers.Statement, answer *drivers.Answer, each func(key corpus.Key) error) error {
	return c.database.schema.cells().Rows(answer, false, func(key corpus.Key, _ *corpus.Row) error { return each(key) })
}

// ExplainSearch asks for the plan. An exact search is one whose plan has no vector index.
func (c *client) ExplainSearch(ctx context.Context, statement drivers.Statement, vector []float32) (e drivers.Explanation, err error) {
	one := statement.(*search)
	d := c.database
	err = d.controlIn(ctx, "explain search "+one.query.ID, true, func(c *controller) error {
		var a arguments
		values := append(append([]driver.Value{}, one.values...), a.vector(vector))
		plan, err := c.ask(ctx, "EXPLAIN FORMAT=JSON "+one.text, values)
		if err != nil {
			return err
		}
		for _, row := range plan {
			e.Text += row["EXPLAIN"]
		}
		e.Text = drivers.CutPlan(e.Text)
		table, err := c.ask(ctx, "EXPLAIN FORMAT=TRADITIONAL "+one.text, values)
		if err != nil {
			return err
		}
		vectors, err := c.query(fmt.Sprintf("SELECT index_name FROM information_schema.statistics WHERE table_schema = '%s' AND table_name = '%s' AND index_type = 'VECTOR'",
			d.endpoint.database, drivers.Table))
		if err != nil {
			return err
		}
		e.Uses = one.query.Index == nil
		for _, row := range table {
			if one.query.Index != nil {
				e.Uses = e.Uses || row["key"] == sqlrender.IndexName(*one.query.Index)
				continue
			}
			for _, index := range vectors {
				e.Uses = e.Uses && row["key"] != index[0]
			}
		}
		return nil
	})
	return e, err
}

var (
	_ drivers.Searcher        = (*client)(nil)
	_ drivers.SearchExplainer = (*client)(nil)
)
