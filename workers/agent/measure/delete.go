package measure

import (
	"context"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/workers/agent"
)

// delete removes every row, one operation each. Afterwards there must be no row, and asking for one must find none.
func (s *session) delete(ctx context.Context, task agent.Task) agent.Outcome {
	step := task.Step
	if step.Churn != nil {
		return s.churn(ctx, task)
	}
	slots := keySlots(step.Clients * step.Threads)
	failed := newTouched(uint64(step.Samples))
	left := s.setup.Spec.Samples - step.Samples
	return s.leg(ctx, task, work{
		worker: func(client int) load.Worker {
			return &remover{corpus: s.corpus, remove: s.database.clients[client].Delete, slots: make([]keySlot, slots), failed: failed}
		},
		checksLater: true,
		back:        &readback{samples: step.Samples, absent: true},
		rows:        &left,
		removes:     true,
		doubtful:    failed,
	})
}
