// Package agent is the measuring process and its client. The agent is started detached for one run, listens on a unix socket in the
// run's directory, and outlives the worker: steps are taken by id, and the same id twice is the same step.
package agent

import (
	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
)

// Protocol is the version of the agent's protocol; a worker refuses to talk to an agent of another one.
const Protocol = 1

// Setup is what an agent is started with: run.json in the run's directory. It holds no secret; credentials lie beside it in a file of
// their own with mode 0600.
type Setup struct {
	RunID string    `json:"runId"`
	Spec  spec.Spec `json:"spec"`
	// Server is how the database comes to be: embedded, process, docker or endpoint.
	Server string `json:"server"`
	// Endpoint is the server's address without credentials; empty for embedded engines.
	Endpoint string `json:"endpoint,omitempty"`
	// Dir is the directory for an embedded engine's files.
	Dir string `json:"dir,omitempty"`
	// ServerPID is the server's main process, whose tree is sampled; 0 when it is not known or is the agent itself.
	ServerPID int `json:"serverPid,omitempty"`
	// IdleSeconds is how long the agent lives when nobody asks it anything.
	IdleSeconds int `json:"idleSeconds"`
}

// StepState is where a step is.
type StepState string

// The step states.
const (
	Running  StepState = "running"
	Finished StepState = "finished" // its outcome is on disk
)

// Status is the answer to a question about a step.
type Status struct {
	ID       string         `json:"id"`
	State    StepState      `json:"state"`
	Progress *load.Progress `json:"progress,omitempty"`
	Outcome  *Outcome       `json:"outcome,omitempty"` // when finished
}

// Outcome is what a step came to. A step that failed has an outcome too: Leg with its verdict, or Error for an untimed step.
type Outcome struct {
	Step        plan.Step           `json:"step"`
	Leg         *result.Leg         `json:"leg,omitempty"`    // timed steps
	Engine      *result.Engine      `json:"engine,omitempty"` // prepare and attach: the database as read back
	Calibration *result.Calibration `json:"calibration,omitempty"`
	Error       string              `json:"error,omitempty"`
	// Fatal tells that the run cannot go on after Error, and ErrorClass why: "spec", "infrastructure", "durability".
	ErrorClass string `json:"errorClass,omitempty"`
}
