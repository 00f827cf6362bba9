package measure

import (
	"context"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/workers/agent"
)

// update replaces every row by its next version. Afterwards there must be as many rows as before, with the new content.
func (s *session) update(ctx context.Context, task agent.Task) agent.Outcome {
	step := task.Step
	slots := s.rowSlots(step.Clients * step.Threads)
	failed := newTouched(uint64(step.Samples))
	rows := s.setup.Spec.Samples
	return s.leg(ctx, task, work{
		worker: func(client int) load.Worker {
			return &writer{corpus: s.corpus, write: s.database.clients[client].Update, version: step.Version, slots: make([]rowSlot, slots), failed: failed}
		},
		checksLater: true,
		back:        &readback{samples: step.Samples, version: step.Version},
		rows:        &rows,
		doubtful:    failed,
	})
}
