package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/durabench/durabench/drivers"
)

var _ drivers.Marker = (*database)(nil)

// markEnd stands between what every table of ours has in its comment and the text of Mark.
const markEnd = "; "

// Mark keeps the text in the table's comment, so that it is dropped with the table.
func (d *database) Mark(ctx context.Context, text string) error {
	return d.control(ctx, "mark the table "+tableName, func(conn *pgconn.PgConn) error {
		comment, err := conn.EscapeString(mark + markEnd + text)
		if err != nil {
			return err
		}
		_, err = ask(ctx, conn, fmt.Sprintf("COMMENT ON TABLE %s IS '%s'", tableName, comment))
		return err
	})
}

// Marked reads the text back.
func (d *database) Marked(ctx context.Context) (text string, err error) {
	err = d.control(ctx, "read the mark of the table "+tableName, func(conn *pgconn.PgConn) error {
		rows, err := ask(ctx, conn, fmt.Sprintf("SELECT obj_description(to_regclass('%s'), 'pg_class')", tableName))
		if err != nil {
			return err
		}
		_, text, _ = strings.Cut(rows[0][0], mark+markEnd)
		return nil
	})
	return text, err
}
