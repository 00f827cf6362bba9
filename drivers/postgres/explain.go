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
	one := &scan{Statement: rendered}
	err = c.database.control(ctx, "explain scan "+s.ID, func(conn *pgconn.PgConn) error {
		used, err := one.plan(ctx, conn)
		if err != nil {
			return err
		}
		e.Text = drivers.CutPlan(used.text)
		e.Uses = strings.Contains(used.text, `"Index Name": `+strconv.Quote(sqlrender.IndexName(index)))
		return nil
	})
	return e, err
}

// plan is a plan in the server's words, with what it is thought to cost in the server's units.
type plan struct {
	text string
	cost float64
}

// plan returns the plan that the scan has when it has run for a while.
func (s *scan) plan(ctx context.Context, conn *pgconn.PgConn) (plan, error) {
	own, err := s.planFor(ctx, conn)
	if err != nil || len(s.Args) == 0 {
		return own, err
	}
	common, err := s.planForAny(ctx, conn)
	if err != nil {
		return plan{}, err
	}
	planning, err := s.planningCost(ctx, conn)
	if err != nil {
		return plan{}, err
	}
	if common.cost < own.cost+planning {
		return common, nil
	}
	return own, nil
}

// planningCost is what PostgreSQL counts for planning a statement once (cached_plan_cost in its plancache.c): 1000 × cpu_operator_cost for each table
// in it, and once more.
func (s *scan) planningCost(ctx context.Context, conn *pgconn.PgConn) (float64, error) {
	rows, err := ask(ctx, conn, "SHOW cpu_operator_cost")
	if err != nil {
		return 0, err
	}
	unit, err := strconv.ParseFloat(rows[0][0], 64)
	tables := 1
	if s.Counted() && (s.Scan.Limit != 0 || s.Scan.Offset != 0) {
		tables = 2 // the page that is counted
	}
	return 1000 * unit * float64(tables+1), err
}

// planFor is the plan for the literals that the scan has.
func (s *scan) planFor(ctx context.Context, conn *pgconn.PgConn) (plan, error) {
	values, formats := make([][]byte, len(s.Args)), make([]int16, len(s.Args))
	for i, l := range s.Args {
		value, err := appendLiteral(nil, l)
		if err != nil {
			return plan{}, err
		}
		values[i], formats[i] = value[4:], 1 // without its length
	}
	return readPlan(conn.ExecParams(ctx, "EXPLAIN (FORMAT JSON) "+s.SQL, values, s.oids(), formats, nil).Read())
}

// planForAny is the plan for any literals: which ones it is asked with makes no difference.
func (s *scan) planForAny(ctx context.Context, conn *pgconn.PgConn) (plan, error) {
	const name = "any"
	if _, err := conn.Exec(ctx, "SET plan_cache_mode = force_generic_plan").ReadAll(); err != nil {
		return plan{}, err
	}
	if _, err := conn.Prepare(ctx, name, s.SQL, s.oids()); err != nil {
		return plan{}, err
	}
	nulls := strings.TrimSuffix(strings.Repeat("NULL, ", len(s.Args)), ", ")
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
	return plan{string(text), plans[0].Plan.Cost}, nil
}

var _ drivers.Explainer = (*client)(nil)
