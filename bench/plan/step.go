package plan

import (
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/spec"
)

// Kind is what a step is.
type Kind string

// The step kinds of today; later ones join them.
const (
	Prepare   Kind = "prepare"   // make the empty table
	Attach    Kind = "attach"    // open what a load left and check its row count
	Calibrate Kind = "calibrate" // the read leg on the dry engine: the harness's own cost
	Create    Kind = "create"
	Read      Kind = "read"
	Update    Kind = "update"
	Delete    Kind = "delete"

	ScanLeg    Kind = "scan"
	BatchLeg   Kind = "batch"
	MixLeg     Kind = "mix"         // operations of several kinds
	IndexBuild Kind = "index-build" // timed: three clocks
	IndexDrop  Kind = "index-drop"  // timed
	Restore    Kind = "restore"     // writes back what a mixed leg has changed, so that every row is as it was before
	Analyze    Kind = "analyze"     // brings the server's statistics up to date
	Truth      Kind = "truth"       // works out, in the agent, what the scans are to answer

	SearchLeg       Kind = "search"     // looks for nearest neighbours
	ExactNeighbours Kind = "neighbours" // works out, in the agent, the exact neighbours by which searches are scored

	Insert    Kind = "insert"     // in a Mix: a row that was not there
	ScanRange Kind = "scan-range" // in a Mix: some rows in the order of their keys from one on
	Modify    Kind = "modify"     // in a Mix: read and update one row in a transaction
)

// Step is one unit of work: a timed leg, or an untimed step between legs.
type Step struct {
	ID      string `json:"id"`    // a path of words, e.g. "read"
	Title   string `json:"title"` // for people, e.g. "Read"
	Kind    Kind   `json:"kind"`
	Timed   bool   `json:"timed"`
	Needs   State  `json:"needs"`  // dataset state before
	Leaves  State  `json:"leaves"` // dataset state after; Any when unchanged
	Effect  Effect `json:"effect"`
	Samples int64  `json:"samples,omitempty"`
	Clients int    `json:"clients,omitempty"`
	Threads int    `json:"threads,omitempty"`
	Version uint32 `json:"version"` // the row version it writes or expects
	// Rows is how many rows there are, when a step works on them without counting them as its samples.
	Rows int64 `json:"rows,omitempty"`
	// At most one of these says what the step works on.
	Scan  *Scan        `json:"scan,omitempty"`
	Batch *Batch       `json:"batch,omitempty"`
	Mix   *Mix         `json:"mix,omitempty"`
	Index *query.Index `json:"index,omitempty"`
	// Search is what a search leg asks for; of an index build, the search whose first whole answer is one of its clocks.
	Search *Search `json:"search,omitempty"`
	// Churn is set in legs that delete or insert rows to wear an index, and in the step that puts right what they could not.
	Churn *Churn `json:"churn,omitempty"`
	// Neighbours are what an ExactNeighbours step is to work out, and by what a step with a Search is scored.
	Neighbours *Neighbours `json:"neighbours,omitempty"`
	// Scans are what a Truth step is to work out the answers of: every scan of the plan's whose answer can be known, each once.
	Scans []query.Scan `json:"scans,omitempty"`
	// Timing is set in windowed legs, which have no Samples.
	Timing *Timing `json:"timing,omitempty"`
	// Rate is set in open-loop legs.
	Rate *Rate `json:"rate,omitempty"`
	// Skip is why the step will not run on this engine; empty when it will.
	Skip string `json:"skip,omitempty"`
}

// Operations returns how many operations the step runs: none when it is skipped, nor for a step that is not made of operations.
func (s Step) Operations() int64 {
	if s.Skip != "" {
		return 0
	}
	return s.Samples
}

// prepare makes the empty table. It needs nothing of the dataset, because it drops what an earlier run of ours left.
func prepare() Step {
	return Step{ID: "prepare", Title: "Prepare", Kind: Prepare, Needs: Any, Leaves: Empty, Effect: Repeatable}
}

// attach opens what a load left.
func attach() Step {
	return Step{ID: "attach", Title: "Attach", Kind: Attach, Needs: Updated, Leaves: Any, Effect: ReadOnly, Version: updated}
}

// calibrate measures the harness with as many operations in flight as the legs have. It is no leg of the result: its cost stands beside
// them.
func calibrate(s *spec.Spec) Step {
	return Step{
		ID: "calibrate", Title: "Calibrate", Kind: Calibrate, Needs: Any, Leaves: Any, Effect: ReadOnly,
		Samples: min(max(s.Samples, minCalibration), maxCalibration), Clients: s.Clients, Threads: s.Threads,
	}
}

// leg returns the timed step of one of the four operations on every row.
func leg(s *spec.Spec, kind Kind) Step {
	step := Step{ID: string(kind), Kind: kind, Timed: true, Samples: s.Samples, Clients: s.Clients, Threads: s.Threads, Rate: s.Rate}
	switch kind {
	case Create:
		step.Title, step.Needs, step.Leaves, step.Effect, step.Version = "Create", Empty, Loaded, Consuming, created
	case Read:
		step.Title, step.Needs, step.Leaves, step.Effect, step.Version = "Read", Loaded, Any, ReadOnly, created
	case Update:
		step.Title, step.Needs, step.Leaves, step.Effect, step.Version = "Update", Loaded, Updated, Repeatable, updated
	case Delete:
		step.Title, step.Needs, step.Leaves, step.Effect, step.Version = "Delete", Updated, Deleted, Consuming, updated
	}
	return step
}
