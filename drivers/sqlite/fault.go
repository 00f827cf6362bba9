package sqlite

import (
	"errors"
	"fmt"

	"github.com/durabench/durabench/drivers"
)

// fault is an error of SQLite: its result code, its message and, where the message alone does not help, what to do.
type fault struct {
	code    int // extended result code
	message string
}

// newFault returns the error for a result code: one of the contract's errors where SQLite says just that.
func newFault(code int, message string) error {
	switch code {
	case codePrimaryKey, codeUnique, codeRowID:
		return drivers.ErrExists
	}
	f := &fault{code, message}
	switch f.primary() {
	case codeBusy, codeLocked:
		return drivers.Classify(drivers.ClassConflict, f)
	}
	return f
}

// primary is the result code without its extension.
func (f *fault) primary() int { return f.code & 0xff }

var advice = map[int]string{
	codeBusy:       "another process holds a lock on the database",
	codeLocked:     "another connection holds a lock on the table",
	codeReadOnly:   "the database's directory and files must be writable",
	codeIO:         "reading or writing the database's files failed; see the system's log for the disk",
	codeCorrupt:    "the database's file is damaged: remove it and load again",
	codeFull:       "the disk is full: free space or choose another --data-dir",
	codeCannotOpen: "the database's directory must exist and be writable, and files may not be used up (ulimit -n)",
	codeTooBig:     "a row or a statement is larger than SQLite takes",
	codeNotADB:     "the file is not one of SQLite's: remove it or choose another --data-dir",
}

// Error gives SQLite's message, its code and what to do.
func (f *fault) Error() string {
	text := fmt.Sprintf("sqlite: %s (code %d)", f.message, f.code)
	if hint := advice[f.primary()]; hint != "" {
		text += ": " + hint
	}
	return text
}

// busy tells that the operation may succeed when it is tried again.
func busy(err error) bool {
	var f *fault
	return errors.As(err, &f) && (f.primary() == codeBusy || f.primary() == codeLocked)
}

// interrupted tells that the statement was stopped from outside.
func interrupted(err error) bool {
	var f *fault
	return errors.As(err, &f) && f.primary() == codeInterrupt
}
