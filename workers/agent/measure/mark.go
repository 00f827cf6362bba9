package measure

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// mark is what a database keeps beside the rows, so that they are known again after a loss: data that was lost, or that somebody has
// replaced, does not carry it, and a load that was cut short says how far it came.
type mark struct {
	Run        string `json:"run"`
	Generation int    `json:"generation"` // counts how often the rows were made in this run, from 1
	// Loading is there while the rows are being loaded.
	Loading *loading `json:"loading,omitempty"`
	// Made tells of rows that were loaded again, and for which step: an execution of it that is lost later cannot.
	Made *made `json:"made,omitempty"`
	// Worn is what an index has gone through since it was built; nil for nothing.
	Worn *worn `json:"worn,omitempty"`
}

// made is what the result of a step says of rows that were loaded again for it.
type made struct {
	Step string              `json:"step"`
	Told result.Interruption `json:"told"`
}

// loading is how far a bulk load has come.
type loading struct {
	State plan.State `json:"state"` // that is being made
	Rows  uint64     `json:"rows"`  // so many are there, counted over the state's ranges of rows
	Of    uint64     `json:"of"`
}

// restoreMark finds the mark that the data had last, in what earlier agents of this run have finished.
func (s *session) restoreMark(finished []agent.Outcome) error {
	for _, outcome := range finished {
		if outcome.Mark == "" {
			continue
		}
		if err := json.Unmarshal([]byte(outcome.Mark), &s.mark); err != nil {
			return fmt.Errorf("read the mark that step %s has left: %w", outcome.Step.ID, err)
		}
	}
	return nil
}

// text is what is kept of a mark.
func (m *mark) text() string {
	if m == nil {
		return ""
	}
	data, err := json.Marshal(m)
	if err != nil {
		panic(err) // numbers and strings
	}
	return string(data)
}

// keep marks the data. A database that keeps no marks is known by its rows alone.
func (s *session) keep(ctx context.Context, m mark) error {
	marker, ok := s.database.Database.(drivers.Marker)
	if !ok {
		return nil
	}
	if err := marker.Mark(ctx, m.text()); err != nil {
		return err
	}
	s.mark = &m
	return nil
}

// foundMark reads the mark that the data has; nil when it has none, or one that is not ours to read.
func (s *session) foundMark(ctx context.Context) (m *mark, can bool, err error) {
	marker, ok := s.database.Database.(drivers.Marker)
	if !ok {
		return nil, false, nil
	}
	text, err := marker.Marked(ctx)
	if err != nil {
		return nil, true, err
	}
	m = new(mark)
	if json.Unmarshal([]byte(text), m) != nil {
		return nil, true, nil
	}
	return m, true, nil
}
