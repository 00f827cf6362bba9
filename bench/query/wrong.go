package query

import (
	"fmt"
	"unicode/utf8"
)

// Wrong is a wrong answer: what was asked for, and what came.
type Wrong struct {
	// Whole tells that the answer as a whole is wrong, e.g. has too few rows; Index means nothing then.
	Whole     bool
	Index     uint64 // row index in the corpus, as the key of the row says
	Column    string // what differs, e.g. "rows" of a whole answer or a column of a row; empty when the row should not be there at all
	Want, Got string // shortened forms of both
}

// Error tells what differs.
func (w *Wrong) Error() string {
	what := "wrong answer"
	if !w.Whole {
		what = fmt.Sprintf("wrong answer for row %d", w.Index)
	}
	if w.Column != "" {
		what += ", " + w.Column
	}
	return fmt.Sprintf("%s: want %s, got %s", what, w.Want, w.Got)
}

// maxWrongText is the most characters of a text in a Wrong.
const maxWrongText = 160

// shorten cuts a text for people.
func shorten(s string) string {
	if utf8.RuneCountInString(s) <= maxWrongText {
		return s
	}
	return string([]rune(s)[:maxWrongText-1]) + "…"
}
