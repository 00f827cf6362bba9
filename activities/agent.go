package activities

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/activity"

	"github.com/durabench/durabench/workers/agent"
)

// Agent ends the measuring process of a run.
type Agent struct {
	// Machine is held by the agent, and by us once it has ended; nil holds none.
	Machine *Machine
}

// StopAgent ends the run's agent, if one lives, and removes its credentials.
func (a *Agent) StopAgent(ctx context.Context, run Run) error {
	beat := startBeat(ctx, Heartbeat{Waiting: "stopping the agent"})
	defer beat.stop()
	if run.Dir == "" {
		return nil
	}
	if err := agent.Reap(ctx, run.Dir); err != nil {
		return passing(TypeAgent, fmt.Errorf("stop the agent of run %s: %w", run.ID, err))
	}
	if a.Machine == nil {
		return nil
	}
	// The server still has to stop, and the machine to be put back. Somebody who has come in this moment keeps neither from being done.
	if err := a.Machine.hold(ctx, run.ID); err != nil {
		activity.GetLogger(ctx).Warn("the machine is not held for the run's clean-up", "error", err)
	}
	return nil
}
