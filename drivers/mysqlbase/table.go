package mysqlbase

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/durabench/durabench/drivers"
)

// table names the table with its database, for connections that are in none.
func (d *database) table() string { return quote(d.endpoint.database) + "." + tableName }

// Prepare drops the table of an earlier run and makes an empty one. The database is made when it is not there.
func (d *database) Prepare(ctx context.Context) error {
	return d.control(ctx, "prepare the table "+d.table(), func(c *controller) error {
		if _, err := c.query(fmt.Sprintf("CREATE DATABASE IF NOT EXISTS %s CHARACTER SET utf8mb4", quote(d.endpoint.database))); err != nil {
			// A user who may not create databases may still have this one.
			if found, lookup := c.query("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '" + d.endpoint.database + "'"); lookup != nil || found[0][0] == "0" {
				return fmt.Errorf("%w; make the database %s and let the user have it", err, d.endpoint.database)
			}
		}
		found, err := c.query(d.describeSQL())
		if err != nil {
			return err
		}
		if len(found) > 0 {
			if kind, comment := found[0][0], found[0][1]; kind != "BASE TABLE" || !strings.HasPrefix(comment, mark) {
				return fmt.Errorf("it is not a table of durabench's (%s, comment %q): rename or drop it yourself, or name another database in the endpoint",
					strings.ToLower(kind), comment)
			}
			if _, err := c.query("DROP TABLE " + d.table()); err != nil {
				return err
			}
		}
		if _, err := c.query("USE " + quote(d.endpoint.database)); err != nil {
			return err
		}
		_, err = c.query(d.schema.createSQL())
		return err
	})
}

// Count counts the rows.
func (d *database) Count(ctx context.Context) (rows int64, err error) {
	err = d.control(ctx, "count the rows of "+d.table(), func(c *controller) error {
		found, err := c.query("SELECT COUNT(*) FROM " + d.table())
		if err != nil {
			return err
		}
		_, err = fmt.Sscan(found[0][0], &rows)
		return err
	})
	return rows, err
}

// describeSQL asks what the table is: its type and its comment.
func (d *database) describeSQL() string {
	return fmt.Sprintf("SELECT table_type, table_comment FROM information_schema.tables WHERE table_schema = '%s' AND table_name = '%s'", d.endpoint.database, drivers.Table)
}

// checkTable makes sure that the table was made for this corpus.
func (d *database) checkTable(ctx context.Context) error {
	return d.control(ctx, "look at the table "+d.table(), func(c *controller) error {
		found, err := c.query(d.describeSQL())
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return errors.New("it is not there: nothing has been loaded")
		}
		if comment, _, _ := strings.Cut(found[0][1], markSeparator); !strings.HasSuffix(d.schema.createSQL(), " COMMENT='"+comment+"'") {
			return errors.New("it was made for other columns or keys: it belongs to a run with another value template or key type")
		}
		return nil
	})
}
