package respbase

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/durabench/durabench/drivers"
)

var _ drivers.Marker = (*database)(nil)

// markKey holds the text of Mark. It does not begin with the prefix of the rows' keys.
const markKey = "durabench-mark"

// Mark keeps the text under a key of its own.
func (d *database) Mark(ctx context.Context, text string) error {
	return d.control(ctx, "mark the rows", func(c rueidis.Client) error {
		return c.Do(ctx, c.B().Set().Key(markKey).Value(text).Build()).Error()
	})
}

// Marked reads the text back.
func (d *database) Marked(ctx context.Context) (text string, err error) {
	err = d.control(ctx, "read the mark of the rows", func(c rueidis.Client) error {
		text, err = c.Do(ctx, c.B().Get().Key(markKey).Build()).ToString()
		if rueidis.IsRedisNil(err) {
			text, err = "", nil
		}
		return err
	})
	return text, err
}

// sizeWithout is how many keys the database holds beside those.
func sizeWithout(ctx context.Context, c rueidis.Client, keys ...string) (int64, error) {
	size, err := c.Do(ctx, c.B().Dbsize().Build()).AsInt64()
	if err != nil {
		return 0, err
	}
	there, err := c.Do(ctx, c.B().Exists().Key(keys...).Build()).AsInt64()
	return size - there, err
}
