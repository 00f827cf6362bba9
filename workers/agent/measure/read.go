package measure

import (
	"context"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/workers/agent"
)

// read fetches every row whole. Its answers are checked as they come, between two operations and off the clock.
func (s *session) read(ctx context.Context, task agent.Task) agent.Outcome {
	step := task.Step
	slots := keySlots(step.Clients * step.Threads)
	checks := newChecks(s.corpus)
	return s.leg(ctx, task, work{
		worker: func(client int) load.Worker {
			return &reader{corpus: s.corpus, client: s.database.clients[client], checks: checks, version: step.Version, slots: make([]keySlot, slots)}
		},
	})
}
