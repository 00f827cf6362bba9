package spec

import (
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
	// Vector tells that the run is a search for nearest neighbours, which is planned and not available yet.
	Vector bool `json:"vector,omitempty"`
	Volume
}

// Volume is how many operations a leg does and how many of them at once.
type Volume struct {
	Samples int64 `json:"samples,omitempty"` // operations of a counted leg; 0 in a windowed one
	Clients int   `json:"clients"`
	Threads int   `json:"threads"`
	// Timing is set in windowed legs, which have no Samples.
	Timing *Timing `json:"timing,omitempty"`
}

// Timing bounds a windowed leg; the zero Timing is that of a counted one.
type Timing struct {
	Warmup     Duration `json:"warmup,omitempty"`
	Window     Duration `json:"window,omitempty"`
	MinSamples int64    `json:"minSamples,omitempty"`
	MaxSamples int64    `json:"maxSamples,omitempty"`
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
