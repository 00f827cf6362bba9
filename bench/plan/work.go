package plan

import (
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/spec"
)

// Scan is the work of a scan leg, and of the part of a mixed leg that scans.
type Scan struct {
	Query query.Scan `json:"query"`
	// Indexed names the index that the leg is to use; nil for a leg on the heap. The server's plan has to prove it, else the leg is invalid.
	Indexed *query.Index `json:"indexed,omitempty"`
	// Expect is how many rows the file says that the scan finds; nil when it does not say.
	Expect *int64 `json:"expect,omitempty"`
	// WriteRatio is the share of operations, 0 to 1, that are each followed by an exchange of two rows' contents: two updates.
	WriteRatio float64 `json:"writeRatio,omitempty"`
}

// Batch is the work of a batch leg: operation i is on the rows i × Size to (i+1) × Size - 1.
type Batch struct {
	Operation Kind `json:"operation"` // Create, Read, Update or Delete
	Size      int  `json:"size"`
}

// Mix is the work of a mixed leg: operations of several kinds drawn by their weights, on rows drawn by a distribution over those there are.
type Mix struct {
	Weights      []Weight     `json:"weights"`
	Distribution Distribution `json:"distribution"`
}

// Weight is how often one kind of operation is drawn, relative to the others.
type Weight struct {
	Operation Kind    `json:"operation"` // Read, Update, Insert, ScanRange, Modify
	Weight    float64 `json:"weight"`
	// Length is the most rows of a ScanRange; each draws uniformly from 1 to it.
	Length int64 `json:"length,omitempty"`
}

// Distribution is how the rows of a mixed leg's operations are drawn.
type Distribution struct {
	Name string `json:"name"` // uniform, zipf, hotspot, latest
	// Theta is the exponent of zipf and latest, 0 < Theta; YCSB's is 0.99.
	Theta float64 `json:"theta,omitempty"`
	// HotRows and HotOperations are shares, 0 to 1: of the rows, and of the operations that go to them.
	HotRows       float64 `json:"hotRows,omitempty"`
	HotOperations float64 `json:"hotOperations,omitempty"`
}

// Rate is an open loop: operations are started at their times, whether or not earlier ones have come back.
type Rate struct {
	PerSecond float64 `json:"perSecond"` // over all clients
	Poisson   bool    `json:"poisson,omitempty"`
}

// Timing bounds a windowed leg.
type Timing = spec.Timing
