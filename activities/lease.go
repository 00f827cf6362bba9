package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// Lease is what the workflows that share hosts ask of the Temporal server itself. These are local activities of whichever worker
// serves the workflows, each a call or two; nothing happens on the hosts.
type Lease struct {
	Client client.Client
}

// Execution is one execution of a workflow: a run, as the lease of its host knows it.
type Execution struct {
	Workflow string `json:"workflow"` // workflow id
	Run      string `json:"run"`      // Temporal's own id of the execution
}

// Claim is a workflow's wish to have a host for itself.
type Claim struct {
	Execution
	Priority string    `json:"priority"`
	Since    time.Time `json:"since"` // when it was made; as a holder, when the host was granted
}

// LeaseState is who has a host and who waits for it.
type LeaseState struct {
	Host    string  `json:"host"`
	Holder  *Claim  `json:"holder,omitempty"`
	Waiting []Claim `json:"waiting,omitempty"` // the next first
}

// ClaimHostInput says what to tell which lease.
type ClaimHostInput struct {
	Lease  string `json:"lease"`  // id of the lease's workflow
	Type   string `json:"type"`   // its workflow type
	Queue  string `json:"queue"`  // its task queue
	Signal string `json:"signal"` // the name of the signal that takes a Claim
	Host   string `json:"host"`
	Claim  Claim  `json:"claim"`
}

// ClaimHost queues a claim with the lease of a host, which is started if it is not there. The same claim twice is one claim.
func (l *Lease) ClaimHost(ctx context.Context, in ClaimHostInput) error {
	options := client.StartWorkflowOptions{
		ID: in.Lease, TaskQueue: in.Queue, StaticSummary: "who has host " + in.Host + " for itself, and who is next",
	}
	_, err := l.Client.SignalWithStartWorkflow(ctx, in.Lease, in.Signal, in.Claim, options, in.Type, LeaseState{Host: in.Host})
	if err != nil {
		return passing(TypeInfrastructure, fmt.Errorf("claim host %s: %w", in.Host, err))
	}
	return nil
}

// FindEnded returns those of the executions that run no longer, however they ended. One that the server does not know any more has ended.
func (l *Lease) FindEnded(ctx context.Context, all []Execution) ([]Execution, error) {
	ended := []Execution{}
	for _, e := range all {
		described, err := l.Client.DescribeWorkflow(ctx, e.Workflow, e.Run)
		var unknown *serviceerror.NotFound
		switch {
		case errors.As(err, &unknown):
			ended = append(ended, e)
		case err != nil:
			return nil, passing(TypeInfrastructure, fmt.Errorf("look up %s: %w", e.Workflow, err))
		case described.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
			ended = append(ended, e)
		}
	}
	return ended, nil
}
