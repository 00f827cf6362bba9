package drivers

import "context"

// Marker is a Database that can keep a short text beside its rows, by which they are known again: whoever opens a database after a crash
// tells by it whether these are the rows that it left. The text is as durable as a row that was written just before it, is lost when the
// rows are, and is counted by no Counter.
type Marker interface {
	// Mark keeps the text, UTF-8 without NUL and up to 1 KB, in place of the one before. There must be a table: Prepare was called. Prepare
	// may take the text away.
	Mark(ctx context.Context, text string) error
	// Marked returns the text that is kept, "" when there is none, also because there is no table.
	Marked(ctx context.Context) (string, error)
}
