// Package activities is the work of a benchmark as Temporal activities, by phase: Host, Server, Agent, Leg, Dataset, Results. All of them run
// on the machine that is measured, one at a time, and do as little there as they can: the agent measures, they start it and wait.
//
// The methods' names are the names of the activity types, so they are unique over all structs; workflows refer to them through nil
// pointers. Each may run twice: a retry finds what the first attempt did and goes on from there.
package activities

import (
	"log/slog"

	"github.com/durabench/durabench/bench/spec"
)

// discard is the logger of drivers that are opened only to be asked something.
var discard = slog.New(slog.DiscardHandler)

// Run identifies a run to its activities.
type Run struct {
	ID   string    `json:"id"`
	Spec spec.Spec `json:"spec"`
	// Dir is the run's working directory on its host, as PrepareHost made it.
	Dir string `json:"dir,omitempty"`
	// Placed says where agent and server belong, as PrepareHost found.
	Placed Placed `json:"placed,omitzero"`
	// Store is where results are kept, as store.Open takes it.
	Store string `json:"store"`
}
