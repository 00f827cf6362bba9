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

// Search is the work of a leg that looks for nearest neighbours.
type Search struct {
	Query query.Search `json:"query"`
	// Key is the beginning of the ids of its legs.
	Key string `json:"key"`
	// Filter is the name of its filter, empty for all rows.
	Filter  string  `json:"filter,omitempty"`
	Holdout Holdout `json:"holdout"`
	// Truth is the id of the ExactNeighbours step that has worked out its answers.
	Truth string `json:"truth"`
	// FilterIndexes are on columns that are filtered by, and there beside the index.
	FilterIndexes []query.Index `json:"filterIndexes,omitempty"`
	// Target is the recall that the smallest budget is looked for to reach, 0 when the budget is given.
	Target     float64 `json:"target,omitempty"`
	TieEpsilon float64 `json:"tieEpsilon,omitempty"`
	// Churned is what the index has to have gone through; nil for one that is as it was built.
	Churned *Churn `json:"churned,omitempty"`
}

// Indexes returns the indexes that the search needs to be there.
func (s *Search) Indexes() []query.Index {
	if s.Query.Index == nil {
		return s.FilterIndexes
	}
	return append([]query.Index{*s.Query.Index}, s.FilterIndexes...)
}

// Neighbours are the exact nearest neighbours, by one metric, of query vectors, among all rows and among those that match each filter.
type Neighbours struct {
	Field   query.Path   `json:"field"`
	Metric  query.Metric `json:"metric"`
	K       int          `json:"k"` // the most that a search asks for
	Holdout Holdout      `json:"holdout"`
	// Filters are the conditions, each once; nil stands for all rows and is the first.
	Filters []*query.Predicate `json:"filters"`
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

// Distribution, Holdout, Rate and Timing are as the spec has them.
type (
	Holdout      = spec.Holdout
	Distribution = spec.Distribution
	Rate         = spec.Rate
	Timing       = spec.Timing
)
