package mysqlbase

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/durabench/durabench/drivers"
)

// markSeparator divides the comment that a table was made with from the mark, and mostComment is how many characters a comment may have.
const (
	markSeparator = "; "
	mostComment   = 2048
)

// Mark keeps the text in the table's comment, which goes with the table.
func (d *database) Mark(ctx context.Context, text string) error {
	return d.control(ctx, "mark the table "+d.table(), func(c *controller) error {
		found, err := c.query(d.describeSQL())
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return errors.New("it is not there")
		}
		made, _, _ := strings.Cut(found[0][1], markSeparator)
		if len(made)+len(markSeparator)+len(text) > mostComment {
			return fmt.Errorf("the mark has %d bytes, more than a comment of the table takes", len(text))
		}
		_, err = c.query("ALTER TABLE " + d.table() + " COMMENT = " + literal(made+markSeparator+text))
		return err
	})
}

// Marked returns the text.
func (d *database) Marked(ctx context.Context) (text string, err error) {
	err = d.control(ctx, "read the mark of the table "+d.table(), func(c *controller) error {
		found, err := c.query(d.describeSQL())
		if err == nil && len(found) > 0 {
			_, text, _ = strings.Cut(found[0][1], markSeparator)
		}
		return err
	})
	return text, err
}

// literal is text in SQL, where statements take no parameters. Connections of ours have no NO_BACKSLASH_ESCAPES.
func literal(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(text) + "'"
}

var _ drivers.Marker = (*database)(nil)
