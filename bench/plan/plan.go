// Package plan turns a spec and an engine's abilities into the ordered steps of a benchmark. It is pure: the same input gives the same
// plan, byte for byte, so a plan can be printed before, stored beside and replayed after a run.
package plan

import (
	"github.com/durabench/durabench/bench/spec"
)

// State is what the dataset is like between steps.
type State string

// The dataset states, in the order in which a benchmark passes them.
const (
	Absent  State = "absent"  // no table
	Empty   State = "empty"   // an empty table
	Loaded  State = "loaded"  // every row at version 0
	Updated State = "updated" // every row at version 1
	Deleted State = "deleted" // an empty table again
	Any     State = "any"     // the step does not look at the dataset
)

// Effect is what a step does to the dataset; recovery follows from it alone.
type Effect string

// The effects.
const (
	ReadOnly   Effect = "read-only"  // may run again as it is
	Repeatable Effect = "repeatable" // writes the same versions again: may run again as it is
	Consuming  Effect = "consuming"  // uses up the state it needs: that state is rebuilt before it runs again
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
	// Skip is why the step will not run on this engine; empty when it will.
	Skip string `json:"skip,omitempty"`
}

// Abilities is what a plan needs to know of an engine.
type Abilities struct {
	Engine   string `json:"engine"`
	Embedded bool   `json:"embedded"`
	Durable  bool   `json:"durable"` // data outlives the agent: needed for load and query modes
	Count    bool   `json:"count"`
}

// Plan is the ordered list of steps of one benchmark.
type Plan struct {
	Engine string    `json:"engine"`
	Mode   spec.Mode `json:"mode"`
	Steps  []Step    `json:"steps"`
}
