package mysqlbase

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
)

// mostKept is how many statements a session keeps prepared beside those of single rows. A server bounds those of all connections together.
const mostKept = 24

// kept are statements that a session has prepared, by what they are for.
type kept struct {
	order      []any // the one used last is last
	statements map[any]driver.Stmt
}

// sized is a statement for so many rows at once.
type sized struct {
	kind operation
	rows int
}

// prepared returns the statement that was prepared for what, or prepares sql for it. The one that was not used for longest makes room.
func (s *session) prepared(ctx context.Context, what any, sql func() string) (driver.Stmt, error) {
	k := &s.kept
	if statement := k.statements[what]; statement != nil {
		if last := len(k.order) - 1; k.order[last] != what {
			at := slices.Index(k.order, what)
			k.order = append(slices.Delete(k.order, at, at+1), what)
		}
		return statement, nil
	}
	if len(k.order) == mostKept {
		oldest := k.order[0]
		statement := k.statements[oldest]
		delete(k.statements, oldest)
		k.order = slices.Delete(k.order, 0, 1)
		if err := statement.Close(); err != nil {
			return nil, err
		}
	}
	text := sql()
	s.requests++
	statement, err := s.conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", shorten(text), err)
	}
	if k.statements == nil {
		k.statements = make(map[any]driver.Stmt)
	}
	k.statements[what] = statement
	k.order = append(k.order, what)
	return statement, nil
}
