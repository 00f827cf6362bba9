package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
	"github.com/durabench/durabench/drivers/wire"
)

// search is a search that is prepared on every connection of a client.
type search struct {
	query      *query.Search
	parsed     *parsed
	dimensions int
	literals   []query.Literal // of the filter, after the vector
	settings   []setting       // that a session must have
	link       wire.Link
	head, rest []byte // of the request: what stands before the vector and after it
}

// setting is a setting of a session.
type setting struct{ name, value string }

// Bounds of pgvector's settings.
const (
	mostEfSearch = 1000
	mostProbes   = 32_768
)

// CanSearch refuses what pgvector does not have.
func (c *client) CanSearch(s *query.Search) error {
	no := func(format string, args ...any) error { return drivers.Unsupported{Why: fmt.Sprintf(format, args...)} }
	if _, known := metrics[s.Metric]; !known {
		return no("pgvector has no metric %q", s.Metric)
	}
	if len(s.Field) > 1 {
		return no("pgvector does not search vectors within documents: %s", s.Field)
	}
	if err := can(s.Where); err != nil {
		return err
	}
	if s.Index == nil {
		if s.Iterative != "" {
			return no("an exact search compares every row: it cannot go on")
		}
		return nil
	}
	if err := canNearest(*s.Index); err != nil {
		return err
	}
	v := s.Index.Vector
	switch {
	case v.Metric != s.Metric:
		return no("index %s is by %s and serves no search by %s", s.Index.Name, v.Metric, s.Metric)
	case v.Strategy == query.HNSW && (s.Budget < 1 || s.Budget > mostEfSearch):
		return no("hnsw.ef_search is 1 to %d, not %d", mostEfSearch, s.Budget)
	case v.Strategy == query.IVFFlat && (s.Budget < 1 || s.Budget > mostProbes):
		return no("ivfflat.probes is 1 to %d, not %d", mostProbes, s.Budget)
	case v.Strategy == query.IVFFlat && s.Iterative == query.IterativeStrict:
		return no("ivfflat.iterative_scan has no strict order: lists are gone through one after another")
	case s.Iterative != "" && s.Iterative != query.IterativeStrict && s.Iterative != query.IterativeRelaxed:
		return no("pgvector has no iterative scan %q", s.Iterative)
	}
	return nil
}

// settingsOf are the settings that a search needs. An exact one needs none: no index serves it.
func settingsOf(s *query.Search) []setting {
	if s.Index == nil {
		return nil
	}
	prefix, budget := "hnsw.", "ef_search"
	if s.Index.Vector.Strategy == query.IVFFlat {
		prefix, budget = "ivfflat.", "probes"
	}
	settings := []setting{{"enable_seqscan", "off"}, {prefix + budget, strconv.Itoa(s.Budget)}}
	if s.Iterative != "" {
		settings = append(settings, setting{prefix + "iterative_scan", s.Iterative + "_order"})
	}
	return settings
}

// render writes the search in SQL. The vector is the first parameter.
func (d *database) render(s *query.Search) (*search, error) {
	field, err := d.vectorField(s.Field)
	if err != nil {
		return nil, err
	}
	one := &search{query: s, dimensions: field.Dim, settings: settingsOf(s)}
	where := ""
	if s.Where != nil {
		condition, literals, err := sqlrender.Condition(dialect{}, d.scanTable(), s.Where, 1)
		if err != nil {
			return nil, err
		}
		where, one.literals = " WHERE "+condition, literals
	}
	const vector = "$1::vector"
	column := quote(field.Name)
	from := fmt.Sprintf(" FROM %s%s ORDER BY ", tableName, where)
	apart := fmt.Sprintf("%s %s %s", column, metrics[s.Metric].operator, vector)
	var sql string
	switch {
	case s.Index == nil:
		// No index on vectors can be of such an order, so that every row that matches is compared, whatever the planner thinks of the costs. Indexes on
		// the filter's columns may find those rows.
		sql = fmt.Sprintf("SELECT %s%s(%s) + 0 LIMIT %d", keyColumn, from, apart, s.K)
	case s.Index.Vector.Quantisation == query.Bits:
		v := s.Index.Vector
		sql = fmt.Sprintf("SELECT %s FROM (SELECT %s, %s%s%s <~> %s LIMIT %d) AS candidates ORDER BY %s LIMIT %d",
			keyColumn, keyColumn, column, from, quantised(column, v), quantised(vector, v), max(s.Budget, s.K), apart, s.K)
	default:
		v := s.Index.Vector
		sql = fmt.Sprintf("SELECT %s%s%s %s %s LIMIT %d", keyColumn, from, quantised(column, v), metrics[s.Metric].operator, quantised(vector, v), s.K)
	}
	one.parsed = &parsed{what: "search " + s.ID, sql: sql, types: append([]uint32{0}, typesOf(one.literals)...)}
	return one, nil
}

// PrepareSearch renders the search and prepares it on each connection for searches, with its settings.
func (c *client) PrepareSearch(ctx context.Context, s *query.Search) (drivers.Statement, error) {
	if err := c.CanSearch(s); err != nil {
		return nil, err
	}
	one, err := c.database.render(s)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", s, err)
	}
	one.parsed.name = c.searches.name()
	if err = one.compose(); err == nil {
		err = c.settlePlan(ctx, one)
	}
	if err == nil {
		one.link, err = c.searches.ready(ctx, c, one)
	}
	if code := codeOf(err); code == undefinedObject || code == "42602" || code == "42883" { // no such type, setting or operator
		err = drivers.Unsupported{Why: "this server's pgvector lacks something that the search needs: " + err.Error()}
	}
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %s: %w", s, one.parsed.sql, err)
	}
	return one, nil
}

// settlePlan adds the setting by which every execution has the plan that PostgreSQL comes to by itself: of a prepared statement the first five executions of
// each connection are planned for their literals, and the others need not be, so that a leg would be of two plans, one of which may be exact.
func (c *client) settlePlan(ctx context.Context, s *search) error {
	return c.database.control(ctx, "plan "+s.parsed.what, func(conn *pgconn.PgConn) error {
		used, err := s.plan(ctx, conn, make([]float32, s.dimensions))
		if err != nil {
			return err
		}
		mode := "force_custom_plan"
		if used.common {
			mode = "force_generic_plan"
		}
		s.settings = append(s.settings, setting{"plan_cache_mode", mode})
		return nil
	})
}

// plan asks for the plan that the search has when it has run for a while.
func (s *search) plan(ctx context.Context, conn *pgconn.PgConn, vector []float32) (plan, error) {
	if err := s.settle(ctx, conn); err != nil {
		return plan{}, err
	}
	one := explained{sql: s.parsed.sql, types: s.parsed.types, values: [][]byte{appendVector(nil, vector)}, tables: 1}
	if err := one.bind(s.literals); err != nil {
		return plan{}, err
	}
	return one.plan(ctx, conn)
}

// compose makes what is the same in each request: Bind before the vector, and the literals after it.
func (s *search) compose() (err error) {
	s.head = newStatement(s.parsed.name, s.parsed.sql, 1+len(s.literals)).head
	for _, l := range s.literals {
		if s.rest, err = appendLiteral(s.rest, l); err != nil {
			return err
		}
	}
	return nil
}

// Search binds the vector and receives the keys.
func (c *client) Search(ctx context.Context, statement drivers.Statement, vector []float32, answer *drivers.Answer) error {
	s := statement.(*search)
	switch {
	case c.searches.current.Load() != s:
		answer.Reset()
		return fmt.Errorf("%s is not prepared any more", s.parsed.what)
	case len(vector) != s.dimensions:
		answer.Reset()
		return fmt.Errorf("%s: a vector of %d components among such of %d", s.parsed.what, len(vector), s.dimensions)
	}
	keep, each := answer.Keep, answer.Each
	answer.Keep, answer.Each = true, nil
	err := c.receive(ctx, s.link, answer, func(request []byte) ([]byte, error) {
		request = append(request, s.head...)
		request = appendVector(request, vector)
		return end(append(request, s.rest...), 0)
	})
	answer.Keep, answer.Each = keep, each
	if err != nil {
		return fmt.Errorf("%s: %w", s.parsed.what, err)
	}
	return nil
}

// DecodeSearch reads the keys.
func (c *client) DecodeSearch(_ drivers.Statement, answer *drivers.Answer, each func(key corpus.Key) error) error {
	return c.decodeRows(answer, false, func(key corpus.Key, _ *corpus.Row) error { return each(key) })
}

// ExplainSearch asks for the plan on a connection with the settings of the search. An exact search is one whose plan has no index on vectors.
func (c *client) ExplainSearch(ctx context.Context, statement drivers.Statement, vector []float32) (e drivers.Explanation, err error) {
	s := statement.(*search)
	err = c.database.control(ctx, "explain "+s.parsed.what, func(conn *pgconn.PgConn) error {
		used, err := s.plan(ctx, conn, vector)
		if err != nil {
			return err
		}
		e.Text = drivers.CutPlan(used.text)
		if s.query.Index != nil {
			e.Uses = used.uses(sqlrender.IndexName(*s.query.Index))
			return nil
		}
		vectors, err := ask(ctx, conn, "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam "+
			"WHERE i.indrelid = to_regclass('"+tableName+"') AND a.amname IN ('hnsw', 'ivfflat')")
		e.Uses = !slices.ContainsFunc(vectors, func(row []string) bool { return used.uses(row[0]) })
		return err
	})
	return e, err
}

var (
	_ drivers.Searcher        = (*client)(nil)
	_ drivers.SearchExplainer = (*client)(nil)
)
