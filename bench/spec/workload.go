package spec

import (
	"slices"

	"github.com/durabench/durabench/bench/query"
)

// Scan is a scan to measure, resolved: everything that its entry leaves open is filled in.
type Scan struct {
	ID   string `json:"id"` // a word of the ids of its legs
	Runs []Run  `json:"runs"`
	// Index is built after the legs on the heap, used by another such set of legs, and dropped; nil when there are legs on the heap alone.
	Index *query.Index `json:"index,omitempty"`
	// Writes are the shares of operations, 0 to 1, that are each followed by an exchange of two rows: one more leg for each.
	Writes []float64 `json:"writes,omitempty"`
}

// Run is one form of a scan.
type Run struct {
	Name  string     `json:"name"` // as the file has it
	Word  string     `json:"word"` // of the ids of its legs
	Query query.Scan `json:"query"`
	// Expect is how many rows the file says that it finds; nil when it does not say.
	Expect *int64 `json:"expect,omitempty"`
	// Search is set in a run that looks for nearest neighbours; Query is then empty but for its ID.
	Search *Search `json:"search,omitempty"`
	Volume
}

// Volume is how many operations a leg does and how many of them at once.
type Volume struct {
	Samples int64 `json:"samples,omitempty"` // operations of a counted leg; 0 in a windowed one
	Clients int   `json:"clients"`
	Threads int   `json:"threads"`
	// Timing is set in windowed legs, which have no Samples.
	Timing *Timing `json:"timing,omitempty"`
	// Rate is set in open-loop legs.
	Rate *Rate `json:"rate,omitempty"`
}

// Rate is an open loop: operations are started at their times, whether or not earlier ones have come back.
type Rate struct {
	PerSecond float64 `json:"perSecond"` // over all clients
	Poisson   bool    `json:"poisson,omitempty"`
}

// Timing bounds a windowed leg; the zero Timing is that of a counted one.
type Timing struct {
	Warmup     Duration `json:"warmup,omitempty"`
	Window     Duration `json:"window,omitempty"`
	MinSamples int64    `json:"minSamples,omitempty"`
	MaxSamples int64    `json:"maxSamples,omitempty"`
}

// The operations of a mix, as files name them.
const (
	MixRead   = "read"
	MixUpdate = "update"
	MixInsert = "insert"
	MixScan   = "scan"   // some rows in the order of their keys from one on
	MixModify = "modify" // read and update one row in a transaction
)

// Mix is operations of several kinds drawn by their weights, resolved.
type Mix struct {
	Name         string       `json:"name"`
	Weights      []Weight     `json:"weights"`
	Distribution Distribution `json:"distribution"`
	Volume
}

// Writes tells whether any of the operations changes rows.
func (m Mix) Writes() bool {
	return slices.ContainsFunc(m.Weights, func(w Weight) bool { return w.Operation != MixRead && w.Operation != MixScan })
}

// Weight is how often one kind of operation is drawn, relative to the others.
type Weight struct {
	Operation string  `json:"operation"` // one of the Mix constants
	Weight    float64 `json:"weight"`
	Length    int64   `json:"length,omitempty"` // the most rows of a MixScan; each draws uniformly from 1 to it
}

// The distributions by which rows are drawn.
const (
	Uniform = "uniform"
	Zipf    = "zipf"    // the i-th most popular row is drawn in proportion to 1 / i^theta; popular rows lie all over the key space
	Latest  = "latest"  // zipf, where the rows inserted last are the most popular
	Hotspot = "hotspot" // a share of the operations goes to a share of the rows
)

// Distribution is how the rows of a mix's operations are drawn from those that there are.
type Distribution struct {
	Name string `json:"name"` // one of the constants
	// Theta is the exponent of Zipf and Latest, more than 0; YCSB's is 0.99.
	Theta float64 `json:"theta,omitempty"`
	// HotRows and HotOperations are shares, 0 to 1: of the rows, and of the operations that go to them.
	HotRows       float64 `json:"hotRows,omitempty"`
	HotOperations float64 `json:"hotOperations,omitempty"`
}

// The operations of a batch.
const (
	BatchCreate = "CREATE"
	BatchRead   = "READ"
	BatchUpdate = "UPDATE"
	BatchDelete = "DELETE"
)

// Batch is operations on many rows at once, resolved: operation i is on the rows i × Size to (i+1) × Size - 1.
type Batch struct {
	Name      string `json:"name"`
	Operation string `json:"operation"` // one of the Batch constants
	Size      int    `json:"size"`
	Samples   int64  `json:"samples"`
}

// Rows is how many rows the batch works on.
func (b Batch) Rows() int64 { return b.Samples * int64(b.Size) }
