package workflows

import (
	"fmt"

	"github.com/durabench/durabench/activities"
)

// MaxMatrixRuns is how many runs a matrix may come to: its cells, on each of its hosts.
const MaxMatrixRuns = 4000

// Check tells that a matrix is too large to travel through Temporal, with all that its cells may come to.
func (in MatrixInput) Check() error {
	if in.runs() > MaxMatrixRuns {
		return fmt.Errorf("matrix %s has %d cells, which are %d runs on %d hosts, and the most is %d: make several of it",
			in.Matrix.Name, len(in.Matrix.Cells), in.runs(), len(in.Hosts), MaxMatrixRuns)
	}
	return activities.CheckSize("matrix "+in.Matrix.Name, in)
}

// runs is how many runs the matrix comes to.
func (in MatrixInput) runs() int { return len(in.Matrix.Cells) * len(in.Hosts) }

// whyLength is how many letters of the reason for its verdict each cell carries through histories: all of them together have to travel.
func (in MatrixInput) whyLength() int {
	if in.runs() > MaxMatrixRuns/4 {
		return 100
	}
	return 300
}
