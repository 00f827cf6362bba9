package measure

import (
	"context"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/workers/agent"
)

// create adds every row, one operation each. Afterwards there must be as many rows as operations, with the right content.
func (s *session) create(ctx context.Context, task agent.Task) agent.Outcome {
	step := task.Step
	if step.Churn != nil {
		return s.churn(ctx, task)
	}
	slots := s.rowSlots(step.Clients * step.Threads)
	failed := newTouched(uint64(step.Samples))
	return s.leg(ctx, task, work{
		worker: func(client int) load.Worker {
			return &writer{corpus: s.corpus, write: s.database.clients[client].Create, version: step.Version, slots: make([]rowSlot, slots), failed: failed}
		},
		checksLater: true,
		back:        &readback{samples: step.Samples, version: step.Version},
		rows:        &step.Samples,
		adds:        true,
		doubtful:    failed,
	})
}
