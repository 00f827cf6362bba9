package plan

import (
	"fmt"

	"github.com/durabench/durabench/bench/spec"
)

// batchKinds are the operations of batches as steps name them.
var batchKinds = map[string]Kind{
	spec.BatchCreate: Create, spec.BatchRead: Read, spec.BatchUpdate: Update, spec.BatchDelete: Delete,
}

// addBatches appends the batch legs. They begin on an empty table; each needs the rows that those before it have left.
func (p *Plan) addBatches(s *spec.Spec, a Abilities) error {
	var rows spec.RowSet
	for _, batch := range s.Batches {
		kind, known := batchKinds[batch.Operation]
		if !known {
			return fmt.Errorf("plan batch %s: there is no operation %q", batch.Name, batch.Operation)
		}
		after, version, err := rows.After(batch)
		if err != nil {
			return fmt.Errorf("plan batch %s: it %w", batch.Name, err)
		}
		step := Step{
			ID: "batch/" + batch.Name, Title: batch.Name, Kind: BatchLeg, Timed: true,
			Needs: Rows(rows), Leaves: Any, Effect: ReadOnly, Version: version, Rows: batch.Rows(),
			Samples: batch.Samples, Clients: s.Clients, Threads: s.Threads, Batch: &Batch{Operation: kind, Size: batch.Size},
			Skip: a.Unsupported[BatchKey],
		}
		switch kind {
		case Create, Delete:
			step.Leaves, step.Effect = Rows(after), Consuming
		case Update:
			step.Leaves, step.Effect = Rows(after), Repeatable
		}
		rows = after
		p.add(step)
	}
	return nil
}
