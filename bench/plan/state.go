package plan

import (
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/spec"
)

// State is what the dataset is like between steps. Beside the named states there are those that Rows makes, of rows made by batches.
type State string

// The dataset states, in the order in which a benchmark passes them.
const (
	Absent  State = "absent"  // no table
	Empty   State = "empty"   // an empty table
	Loaded  State = "loaded"  // every row at version 0
	Updated State = "updated" // every row at version 1
	Stirred State = "stirred" // rows may have any content, and there may be more: a Restore makes it Updated again
	Deleted State = "deleted" // an empty table again
	Any     State = "any"     // the step does not look at the dataset
)

// rowsPrefix begins the states that Rows makes.
const rowsPrefix = "rows "

// Rows returns the state of a table that holds exactly these rows: "rows 0-24999 v1". Without any it is Deleted.
func Rows(rows spec.RowSet) State {
	if len(rows) == 0 {
		return Deleted
	}
	parts := make([]string, len(rows))
	for i, r := range rows {
		parts[i] = fmt.Sprintf("%d-%d v%d", r.From, r.To-1, r.Version)
	}
	return State(rowsPrefix + strings.Join(parts, ", "))
}

// RowSet returns the rows of a dataset in this state, where samples is how many rows the benchmark has. The rows of Stirred are those of
// Updated, in whatever versions; there may be more of them. Of Absent and Any nothing can be said, and ok is false.
func (s State) RowSet(samples int64) (rows spec.RowSet, ok bool) {
	switch s {
	case Empty, Deleted:
		return nil, true
	case Loaded:
		return spec.RowSet{{From: 0, To: samples, Version: created}}, true
	case Updated, Stirred:
		return spec.RowSet{{From: 0, To: samples, Version: updated}}, true
	}
	text, found := strings.CutPrefix(string(s), rowsPrefix)
	if !found {
		return nil, false
	}
	for _, part := range strings.Split(text, ", ") {
		var r spec.RowRange
		if _, err := fmt.Sscanf(part, "%d-%d v%d", &r.From, &r.To, &r.Version); err != nil {
			return nil, false
		}
		r.To++
		rows = append(rows, r)
	}
	return rows, true
}

// Effect is what a step does to the dataset; recovery follows from it alone.
type Effect string

// The effects.
const (
	ReadOnly   Effect = "read-only"  // may run again as it is
	Repeatable Effect = "repeatable" // writes the same versions again: what it leaves is the same however often it runs
	Consuming  Effect = "consuming"  // uses up the state it needs: that state is rebuilt before it runs again
)
