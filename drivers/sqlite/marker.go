package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/durabench/durabench/drivers"
)

var _ drivers.Marker = (*database)(nil)

// markTable holds the text of Mark in its only row. It is in the same file as the rows, and so is lost with them.
const markTable = `"durabench_mark"`

// Mark keeps the text in a table of its own.
func (d *database) Mark(ctx context.Context, text string) error {
	return d.writer.exclusive(ctx, func(c *connection) error {
		sql := fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT; INSERT OR REPLACE INTO %s VALUES (1, '%s')",
			markTable, markTable, strings.ReplaceAll(text, "'", "''"))
		if err := retry(ctx, func() error { return c.execute(sql) }); err != nil {
			return fmt.Errorf("mark the rows: %w", err)
		}
		return nil
	})
}

// Marked reads the text back.
func (d *database) Marked(ctx context.Context) (text string, err error) {
	err = d.writer.exclusive(ctx, func(c *connection) error {
		tables, err := c.text(fmt.Sprintf("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = %s", strings.ReplaceAll(markTable, `"`, "'")))
		if err == nil && tables != "0" {
			text, err = c.text("SELECT coalesce(max(text), '') FROM " + markTable)
		}
		if err != nil {
			return fmt.Errorf("read the mark of the rows: %w", err)
		}
		return nil
	})
	return text, err
}
