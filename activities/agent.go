package activities

import (
	"context"
	"fmt"

	"github.com/durabench/durabench/workers/agent"
)

// Agent ends the measuring process of a run.
type Agent struct{}

// StopAgent ends the run's agent, if one lives, and removes its credentials.
func (*Agent) StopAgent(ctx context.Context, run Run) error {
	beat := startBeat(ctx, Heartbeat{Waiting: "stopping the agent"})
	defer beat.stop()
	if run.Dir == "" {
		return nil
	}
	if err := agent.Reap(ctx, run.Dir); err != nil {
		return passing(TypeAgent, fmt.Errorf("stop the agent of run %s: %w", run.ID, err))
	}
	return nil
}
