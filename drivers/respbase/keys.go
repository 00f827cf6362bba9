package respbase

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/redis/rueidis"
)

// scanCount is how many keys the server looks at in one step of a scan; it answers nobody else meanwhile.
const scanCount = 1000

// Prepare deletes all of our keys, and no others.
func (d *database) Prepare(ctx context.Context) error {
	return d.control(ctx, "prepare: delete the keys "+prefix+"*", func(c rueidis.Client) error {
		err := scan(ctx, c, prefix, func(keys []string) error {
			return c.Do(ctx, c.B().Unlink().Key(keys...).Build()).Error()
		})
		if err != nil {
			return err
		}
		size, err := sizeWithout(ctx, c, markKey)
		d.alone.Store(err == nil && size == 0)
		return err
	})
}

// Count counts our keys. Where the database held nothing else when it was prepared, the server knows the number. Elsewhere all keys are gone
// through, each counted once: a scan may show a key twice.
func (d *database) Count(ctx context.Context) (rows int64, err error) {
	err = d.control(ctx, "count the keys "+prefix+"*", func(c rueidis.Client) error {
		rows, err = d.rows(ctx, c, markKey)
		return err
	})
	return rows, err
}

// rows counts our keys; beside are all other keys that may be there where the database held nothing else, none when they cannot be named.
func (d *database) rows(ctx context.Context, c rueidis.Client, beside ...string) (int64, error) {
	if d.alone.Load() && len(beside) > 0 {
		return sizeWithout(ctx, c, beside...)
	}
	var seen []uint64
	seed := maphash.MakeSeed()
	err := scan(ctx, c, prefix, func(keys []string) error {
		for _, key := range keys {
			seen = append(seen, maphash.String(seed, key))
		}
		return nil
	})
	slices.Sort(seen)
	return int64(len(slices.Compact(seen))), err
}

// scan goes through all keys that begin with prefix, which has no character that a pattern gives a meaning.
func scan(ctx context.Context, c rueidis.Client, prefix string, each func(keys []string) error) error {
	for cursor := uint64(0); ; {
		entry, err := c.Do(ctx, c.B().Scan().Cursor(cursor).Match(prefix+"*").Count(scanCount).Build()).AsScanEntry()
		if err != nil {
			return fmt.Errorf("scan: %w", err)
		}
		if len(entry.Elements) > 0 {
			if err := each(entry.Elements); err != nil {
				return err
			}
		}
		if cursor = entry.Cursor; cursor == 0 {
			return nil
		}
	}
}
