// Package agent is the measuring process of one run and its client. The agent is started detached, listens on a unix socket in the
// run's directory, and outlives the worker: steps are taken by id, the same id twice is the same step, and what a finished step came to
// is on disk before anyone hears of it. A worker may be killed or upgraded in the middle of a leg, and the leg does not notice.
//
// What a step does is the business of an Executor; package workers/agent/measure has the one that drives databases.
package agent

import (
	"slices"
	"time"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
)

// Protocol is the version of the agent's protocol; a worker refuses to talk to an agent of another one.
const Protocol = 2

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
	// IdleSeconds is how long the agent lives when nobody asks it anything and no step runs.
	IdleSeconds int `json:"idleSeconds"`
}

// Info is what an agent says of itself.
type Info struct {
	Protocol int       `json:"protocol"`
	RunID    string    `json:"runId"`
	Setup    string    `json:"setup"` // digest of the setup it was started with
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	Revision string    `json:"revision,omitempty"` // source revision of its build
	Running  string    `json:"running,omitempty"`  // id of the step that runs now
	Finished []string  `json:"finished"`           // ids of the steps whose outcomes are on disk
}

// Has tells whether a step runs in the agent or has finished.
func (i Info) Has(step string) bool { return i.Running == step || slices.Contains(i.Finished, step) }

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
	Attempt  int            `json:"attempt"`            // how often it was begun, counted over the agents of this run
	Adopted  bool           `json:"adopted,omitempty"`  // the answer to a start that found the step there already
	Waiting  string         `json:"waiting,omitempty"`  // what goes on beside the measuring; empty while operations are measured
	Progress *load.Progress `json:"progress,omitempty"` // absent until the load runs
	Outcome  *Outcome       `json:"outcome,omitempty"`  // when finished
}

// Outcome is what a step came to. A step that failed has an outcome too: Leg with its verdict, or Error for an untimed step.
type Outcome struct {
	Step        plan.Step           `json:"step"`
	Leg         *result.Leg         `json:"leg,omitempty"`    // timed steps
	Engine      *result.Engine      `json:"engine,omitempty"` // prepare and attach: the database as read back
	Calibration *result.Calibration `json:"calibration,omitempty"`
	// Mark is what the data is known by from this step on, when the step made it or made it again. The executor alone reads it.
	Mark string `json:"mark,omitempty"`
	// Cleared tells, after the build or the drop of an index that came to nothing, that nothing of the index is left in the database.
	Cleared bool `json:"cleared,omitempty"`
	// Error is why an untimed step failed; the run cannot go on after it. A failed leg says so in its verdict.
	Error string `json:"error,omitempty"`
	// ErrorClass is the kind of Error.
	ErrorClass ErrorClass `json:"errorClass,omitempty"`
}

// Begin is what an agent is asked to run.
type Begin struct {
	Step plan.Step `json:"step"`
	// Lost has the executions of the step that do not count. When the last one is among them the step is begun again, and what that one came
	// to is put aside.
	Lost []Loss `json:"lost,omitempty"`
}

// Loss is an execution of a step that does not count, because what it ran on was lost under it.
type Loss struct {
	// Attempt is the execution, counted from 1; 0 for a loss that was seen before the step was begun.
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"`
	Cause   string    `json:"cause"` // of the interruption that the result shows, e.g. CauseServerLost
	Note    string    `json:"note"`
}

// The causes of interruptions.
const (
	CauseAgentLost       = "agent-lost"       // the agent ended while the step ran
	CauseServerLost      = "server-lost"      // the database server ended, or broke off its connections
	CauseServerRestarted = "server-restarted" // it ended and was started again, not by us
	CauseDatasetLost     = "dataset-lost"     // the rows were gone, and were loaded again before the leg
	CauseDatasetRebuilt  = "dataset-rebuilt"  // an attempt that was cut short had used the rows up, and they were loaded again before the leg
)

// MaxAttempts is how often a step is begun. What is lost every time is not lost by chance.
const MaxAttempts = 3

// ErrorClass is the kind of a step's error, by what could be done about it.
type ErrorClass string

// The classes of step errors.
const (
	ErrorSpec           ErrorClass = "spec"           // the run asks for what this engine or build does not have
	ErrorDurability     ErrorClass = "durability"     // the durability read back is not the one asked for
	ErrorCredentials    ErrorClass = "credentials"    // the server refused the user or the password
	ErrorPreflight      ErrorClass = "preflight"      // the server cannot carry the load asked for
	ErrorDataset        ErrorClass = "dataset"        // the data is not what the step needs
	ErrorInfrastructure ErrorClass = "infrastructure" // the server or the machine failed
	ErrorCancelled      ErrorClass = "cancelled"      // the step was cancelled
)

// problem is the body of an answer that is not a success.
type problem struct {
	Error string `json:"error"`
	Code  string `json:"code"` // one of the codes below
}

// The codes of problems, by which the client tells them apart.
const (
	codeUnknown   = "unknown-step"
	codeBusy      = "busy"
	codeDifferent = "different-step"
	codeClosing   = "closing"
	codeInternal  = "internal"
)
