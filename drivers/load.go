package drivers

import (
	"context"
	"errors"
	"fmt"

	"github.com/durabench/durabench/bench/corpus"
)

// LoadRows writes the rows with indexes from (inclusive) to (exclusive) at the given version, off the clock: in bulk when the client is a
// Loader, else one by one. Like Loader.Load it may be repeated.
func LoadRows(ctx context.Context, client Client, c *corpus.Corpus, from, to uint64, version uint32) error {
	if loader, ok := client.(Loader); ok {
		return loader.Load(ctx, from, to, version)
	}
	var buffer corpus.KeyBuffer
	var row corpus.Row
	for index := from; index < to; index++ {
		key := c.Key(&buffer, index)
		c.Row(&row, index, version)
		err := client.Create(ctx, key, &row)
		if errors.Is(err, ErrExists) {
			err = client.Update(ctx, key, &row)
		}
		if err != nil {
			return fmt.Errorf("load row %d: %w", index, err)
		}
	}
	return nil
}
