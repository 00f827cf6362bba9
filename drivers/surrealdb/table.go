package surrealdb

import (
	"context"
	"fmt"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// comment marks what is ours in a database that may hold other things too.
const comment = "made by durabench"

// Prepare defines the table anew, without a schema: SurrealDB keeps the type of each value with it. A table of the same name that is not ours
// is left alone.
func (d *database) Prepare(ctx context.Context) error {
	return d.control(ctx, "prepare the table "+drivers.Table, func(c *control) error {
		if err := c.makeSpace(ctx, d.server); err != nil {
			return err
		}
		info, err := c.query(ctx, "INFO FOR DB")
		if err != nil {
			return err
		}
		if definition, there := member(member(info[0], "tables"), drivers.Table).(string); there && !ours(definition) {
			return fmt.Errorf("the table %s of namespace %q and database %q is not ours (%s): name another database in the endpoint, with ?db=…",
				drivers.Table, d.server.namespace, d.server.database, definition)
		}
		_, err = c.define(ctx, fmt.Sprintf("REMOVE TABLE IF EXISTS %[1]s; DEFINE TABLE %[1]s TYPE NORMAL SCHEMALESS COMMENT '%[2]s'; %[3]s", drivers.Table, comment, analyzerDefinition))
		return err
	})
}

// makeSpace makes the namespace and the database if they are not there and the user may make them.
func (c *control) makeSpace(ctx context.Context, e endpoint) error {
	if e.level == "database" {
		return nil
	}
	text := ""
	if e.level == "root" {
		text = fmt.Sprintf("DEFINE NAMESPACE IF NOT EXISTS %s; ", name(e.namespace))
	}
	_, err := c.query(ctx, text+fmt.Sprintf("DEFINE DATABASE IF NOT EXISTS %s", name(e.database)))
	return err
}

// Count counts the records.
func (d *database) Count(ctx context.Context) (rows int64, err error) {
	err = d.control(ctx, "count the records", func(c *control) error {
		results, err := c.query(ctx, "RETURN count(SELECT VALUE id FROM "+drivers.Table+")")
		if err != nil {
			return err
		}
		n, is := results[0].(int64)
		if !is {
			return fmt.Errorf("the server answers %v", results[0])
		}
		rows = n
		return nil
	})
	return rows, err
}

// Preflight makes sure that the database can be written to.
func (d *database) Preflight(ctx context.Context) error {
	if err := wire.CheckFiles(connections(d.load)); err != nil {
		return fmt.Errorf("preflight: %w", err)
	}
	return d.control(ctx, "preflight", func(c *control) error {
		if err := c.makeSpace(ctx, d.server); err != nil {
			return fmt.Errorf("make namespace %q and database %q: %w; use a user that may, or name others in the endpoint", d.server.namespace, d.server.database, err)
		}
		const probe = "DEFINE PARAM OVERWRITE $durabench_probe VALUE 1; REMOVE PARAM $durabench_probe"
		if _, err := c.query(ctx, probe); err != nil {
			return fmt.Errorf("write to namespace %q and database %q: %w; use a user that may", d.server.namespace, d.server.database, err)
		}
		return nil
	})
}
