package plan

import (
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/spec"
)

// Abilities is what a plan needs to know of an engine.
type Abilities struct {
	Engine   string `json:"engine"`
	Embedded bool   `json:"embedded"`
	Durable  bool   `json:"durable"` // data outlives the agent: needed for load and query modes
	Count    bool   `json:"count"`
	Analyze  bool   `json:"analyze,omitempty"` // its statistics can be brought up to date
	// Exact is the index in which the engine compares every vector, by the SearchRunKey of runs whose exact searches it cannot do without one.
	Exact map[string]query.VectorIndex `json:"exact,omitempty"`
	// Unsupported says why the engine cannot do a thing, by ScanKey, IndexKey or BatchKey. What is not in it can be done.
	Unsupported map[string]string `json:"unsupported,omitempty"`
}

// BatchKey is where Abilities.Unsupported says that an engine has no batches.
const BatchKey = "batch"

// ScanKey is where Abilities.Unsupported says that an engine cannot run a run of a scan: the beginning of the ids of its legs.
func ScanKey(scan spec.Scan, run spec.Run) string { return "scan/" + scan.ID + "/" + run.Word }

// HeapKey is where Abilities.Unsupported says that an engine cannot run a run of a scan without its index.
func HeapKey(scan spec.Scan, run spec.Run) string { return ScanKey(scan, run) + "/heap" }

// IndexKey is where Abilities.Unsupported says that an engine cannot build the index of a scan.
func IndexKey(scan spec.Scan) string { return "index/" + scan.ID }
