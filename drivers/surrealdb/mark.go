package surrealdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/durabench/durabench/drivers"
)

// markRecord holds the text of Mark, in a table of its own beside that of the rows.
const markRecord = "durabench_mark:mark"

// Mark keeps the text in a record.
func (d *database) Mark(ctx context.Context, text string) error {
	return d.control(ctx, "mark the rows", func(c *control) error {
		_, err := c.define(ctx, "UPSERT "+markRecord+" CONTENT { text: "+quoted(text)+" } RETURN NONE")
		return err
	})
}

// Marked reads the text back.
func (d *database) Marked(ctx context.Context) (text string, err error) {
	err = d.control(ctx, "read the mark of the rows", func(c *control) error {
		results, err := c.query(ctx, "SELECT VALUE text FROM "+markRecord)
		var refused *serverError
		if errors.As(err, &refused) && refused.kind == "NotFound" {
			return nil // nothing was ever marked
		}
		if err != nil {
			return err
		}
		values, _ := results[0].([]any)
		if len(values) == 0 {
			return nil
		}
		value, is := values[0].(string)
		if !is {
			return fmt.Errorf("the server answers %v", results[0])
		}
		text = value
		return nil
	})
	return text, err
}

var _ drivers.Marker = (*database)(nil)
