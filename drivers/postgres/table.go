package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// Where the rows are. The schema is ours alone, so that on somebody's server nothing else is touched.
const (
	schemaName = "durabench"
	tableName  = schemaName + "." + drivers.Table
	keyColumn  = corpus.KeyColumn
)

// mark begins the comment on a table of ours, see Mark. A table of the name without it is not ours, and is left alone.
const mark = "durabench: made and dropped by benchmark runs"

// The operations, as Call.Kind.
const (
	create = iota
	read
	update
	remove
	fetch // the rows of several keys, with their keys
	erase // the rows of several keys
	ranged
	lock // the row of a key, for an update in the same transaction
	prepared
	load
	scanning // rows go into Call.Answer
	batch    // Rows adds up over several statements
)

// statements are the prepared statements of a measured connection, by operation.
func (s *schema) statements() [prepared]statement {
	var places, sets []string
	for i := range len(s.columns) + 1 {
		places = append(places, fmt.Sprintf("$%d", i+1))
	}
	for i, c := range s.columns {
		sets = append(sets, fmt.Sprintf("%s = $%d", c.name, i+2))
	}
	columns := strings.TrimPrefix(s.names(), keyColumn+", ")
	return [...]statement{
		create: newStatement("c", fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", tableName, s.names(), strings.Join(places, ", ")), len(places)),
		read:   newStatement("r", fmt.Sprintf("SELECT %s FROM %s WHERE %s = $1", columns, tableName, keyColumn), 1),
		update: newStatement("u", fmt.Sprintf("UPDATE %s SET %s WHERE %s = $1", tableName, strings.Join(sets, ", "), keyColumn), len(places)),
		remove: newStatement("d", fmt.Sprintf("DELETE FROM %s WHERE %s = $1", tableName, keyColumn), 1),
		fetch:  newStatement("f", fmt.Sprintf("SELECT %s FROM %s WHERE %s = ANY ($1)", s.names(), tableName, keyColumn), 1),
		erase:  newStatement("e", fmt.Sprintf("DELETE FROM %s WHERE %s = ANY ($1)", tableName, keyColumn), 1),
		ranged: newStatement("g", fmt.Sprintf("SELECT %s FROM %s WHERE %s >= $1 ORDER BY %s LIMIT $2", s.names(), tableName, keyColumn, keyColumn), 2),
		lock:   newStatement("l", fmt.Sprintf("SELECT %s FROM %s WHERE %s = $1 FOR UPDATE", columns, tableName, keyColumn), 1),
	}
}

// createSQL makes the table.
func (s *schema) createSQL() string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (%s %s PRIMARY KEY", tableName, keyColumn, s.keySQL)
	for _, c := range s.columns {
		fmt.Fprintf(&b, ", %s %s NOT NULL", c.name, c.sql)
	}
	b.WriteString(")")
	return b.String()
}

// Prepare drops the table of an earlier run and makes an empty one, with autovacuum as the server has it.
func (d *database) Prepare(ctx context.Context) error {
	return d.control(ctx, "prepare the table "+tableName, func(conn *pgconn.PgConn) error {
		found, err := ask(ctx, conn, fmt.Sprintf("SELECT c.relkind, obj_description(c.oid, 'pg_class'), pg_get_userbyid(c.relowner) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "+
			"WHERE n.nspname = '%s' AND c.relname = '%s'", schemaName, drivers.Table))
		if err != nil {
			return err
		}
		drop := ""
		if len(found) > 0 {
			if kind, comment := found[0][0], found[0][1]; kind != "r" || !strings.HasPrefix(comment, mark) {
				return fmt.Errorf("it is not a table of durabench's (owner %s, comment %q): rename or drop it yourself, or name another database in the endpoint",
					found[0][2], comment)
			}
			drop = "DROP TABLE " + tableName + "; "
		}
		if err := d.createExtension(ctx, conn); err != nil {
			return err
		}
		// One transaction: a run that dies here leaves the old table or the new one.
		_, err = ask(ctx, conn, fmt.Sprintf("BEGIN; CREATE SCHEMA IF NOT EXISTS %s; %s%s; COMMENT ON TABLE %s IS '%s'; COMMIT", schemaName, drop, d.schema.createSQL(), tableName, mark))
		if codeOf(err) == "42501" {
			return fmt.Errorf("%w; the user needs CREATE on the database, or a schema %s of its own: CREATE SCHEMA %s AUTHORIZATION …", err, schemaName, schemaName)
		}
		return err
	})
}

// Count counts the rows.
func (d *database) Count(ctx context.Context) (rows int64, err error) {
	err = d.control(ctx, "count the rows of "+tableName, func(conn *pgconn.PgConn) error {
		found, err := ask(ctx, conn, "SELECT count(*) FROM "+tableName)
		if err != nil {
			return err
		}
		_, err = fmt.Sscan(found[0][0], &rows)
		return err
	})
	return rows, err
}

// ask runs statements without parameters and returns the rows of the last one as text; NULL is the empty string.
func ask(ctx context.Context, conn *pgconn.PgConn, sql string) (rows [][]string, err error) {
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, errors.New("no result")
	}
	for _, cells := range results[len(results)-1].Rows {
		row := make([]string, len(cells))
		for i := range cells {
			row[i] = string(cells[i])
		}
		rows = append(rows, row)
	}
	return rows, nil
}
