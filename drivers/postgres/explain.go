package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/sqlrender"
)

// Explain asks the server for its plan, with the literals that the scan has. A measured scan is a prepared statement, which PostgreSQL plans anew
// for its literals five times; from then on it uses one plan for any literals, if that seems no dearer. So both plans are asked for, and the one
// that the measured executions will have is returned.
func (c *client) Explain(ctx context.Context, s *query.Scan, index query.Index) (e drivers.Explanation, err error) {
	rendered, err := sqlrender.Render(dialect{}, c.database.scanTable(), s)
	if err != nil {
		return e, fmt.Errorf("explain: %w", err)
	}
	one := explained{sql: rendered.SQL, types: typesOf(rendered.Args), tables: 1}
	if rendered.Counted() && (s.Limit != 0 || s.Offset != 0) {
		one.tables = 2 // the page that is counted
	}
	if err := one.bind(rendered.Args); err != nil {
		return e, fmt.Errorf("explain scan %s: %w", s.ID, err)
	}
	err = c.database.control(ctx, "explain scan "+s.ID, func(conn *pgconn.PgConn) error {
		used, err := one.plan(ctx, conn)
		if err != nil {
			return err
		}
		e.Text = drivers.CutPlan(used.text)
		e.Uses = used.uses(sqlrender.IndexName(index))
		return nil
	})
	return e, err
}

// explained is a statement that is to be explained.
type explained struct {
	sql    string
	types  []uint32
	values [][]byte // bound, in binary, each with its length before it
	tables int      // that the planner has before it
}

// bind binds literals to the next parameters.
func (x *explained) bind(literals []query.Literal) error {
	for _, l := range literals {
		value, err := appendLiteral(nil, l)
		if err != nil {
			return err
		}
		x.values = append(x.values, value)
	}
	return nil
}

// plan is a plan in the server's words, with what it is thought to cost in the server's units.
type plan struct {
	text   string
	cost   float64
	common bool // for any values, and not for those that are bound
}

// uses tells whether the plan has the index.
func (p plan) uses(index string) bool {
	return strings.Contains(p.text, `"Index Name": `+strconv.Quote(index))
}

// plan returns the plan that the statement has when it has run for a while.
func (x *explained) plan(ctx context.Context, conn *pgconn.PgConn) (plan, error) {
	own, err := x.planFor(ctx, conn)
	if err != nil || len(x.values) == 0 {
		return own, err
	}
	common, err := x.planForAny(ctx, conn)
	if err != nil {
		return plan{}, err
	}
	planning, err := x.planningCost(ctx, conn)
	if err != nil {
		return plan{}, err
	}
	if common.cost < own.cost+planning {
		common.common = true
		return common, nil
	}
	return own, nil
}

// planningCost is what PostgreSQL counts for planning a statement once (cached_plan_cost in its plancache.c): 1000 × cpu_operator_cost for each table
// in it, and once more.
func (x *explained) planningCost(ctx context.Context, conn *pgconn.PgConn) (float64, error) {
	rows, err := ask(ctx, conn, "SHOW cpu_operator_cost")
	if err != nil {
		return 0, err
	}
	unit, err := strconv.ParseFloat(rows[0][0], 64)
	return 1000 * unit * float64(x.tables+1), err
}

// planFor is the plan for what is bound.
func (x *explained) planFor(ctx context.Context, conn *pgconn.PgConn) (plan, error) {
	values, formats := make([][]byte, len(x.values)), make([]int16, len(x.values))
	for i, value := range x.values {
		values[i], formats[i] = value[4:], 1
	}
	return readPlan(conn.ExecParams(ctx, "EXPLAIN (FORMAT JSON) "+x.sql, values, x.types, formats, nil).Read())
}

// planForAny is the plan for any values: which ones it is asked with makes no difference.
func (x *explained) planForAny(ctx context.Context, conn *pgconn.PgConn) (plan, error) {
	const name = "any"
	if _, err := conn.Exec(ctx, "SET plan_cache_mode = force_generic_plan").ReadAll(); err != nil {
		return plan{}, err
	}
	if _, err := conn.Prepare(ctx, name, x.sql, x.types); err != nil {
		return plan{}, err
	}
	nulls := strings.TrimSuffix(strings.Repeat("NULL, ", len(x.values)), ", ")
	return readPlan(conn.ExecParams(ctx, "EXPLAIN (FORMAT JSON) EXECUTE \""+name+"\" ("+nulls+")", nil, nil, nil, nil).Read())
}

// readPlan reads the answer to EXPLAIN.
func readPlan(result *pgconn.Result) (plan, error) {
	if result.Err != nil {
		return plan{}, result.Err
	}
	if len(result.Rows) != 1 || len(result.Rows[0]) != 1 {
		return plan{}, errors.New("the server's plan is not one text")
	}
	text := result.Rows[0][0]
	var plans []struct {
		Plan struct {
			Cost float64 `json:"Total Cost"`
		}
	}
	if err := json.Unmarshal(text, &plans); err != nil || len(plans) != 1 {
		return plan{}, fmt.Errorf("read the server's plan %.100q: %w", text, err)
	}
	return plan{text: string(text), cost: plans[0].Plan.Cost}, nil
}

var _ drivers.Explainer = (*client)(nil)
