package mapdb

import (
	"context"

	"github.com/durabench/durabench/drivers"
)

var _ drivers.Marker = (*database)(nil)

// Mark keeps the text as long as the rows: until the database is closed.
func (d *database) Mark(_ context.Context, text string) error {
	if d.closed.Load() {
		return drivers.ErrClosed
	}
	d.mark.Store(&text)
	return nil
}

// Marked returns the text that is kept.
func (d *database) Marked(context.Context) (string, error) {
	if d.closed.Load() {
		return "", drivers.ErrClosed
	}
	if text := d.mark.Load(); text != nil {
		return *text, nil
	}
	return "", nil
}
