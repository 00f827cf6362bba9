package measure

import (
	"context"
	"fmt"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/workers/agent"
)

// ready makes the database fit for a leg: open, connected, and holding what the leg needs. When this agent itself has brought it there,
// nothing is asked of the database, as even counting its rows would warm or flush what is about to be measured. After the loss of an
// agent the rows are counted.
func (s *session) ready(ctx context.Context, task agent.Task) error {
	if s.database == nil {
		task.Say("opening " + s.where() + " again")
		db, err := s.open(ctx)
		if err != nil {
			return err
		}
		s.database, s.trusted = db, false
	}
	if err := s.database.connect(ctx, s.setup.Spec.Clients, task.Say); err != nil {
		return fmt.Errorf("connect to %s: %w", s.where(), err)
	}
	if s.trusted {
		return nil
	}
	if err := s.restore(ctx, task); err != nil {
		return err
	}
	s.trusted = true
	return nil
}

// restore brings the data to the state that the step needs, or says why it cannot. It is where an untimed bulk load will rebuild the rows
// of a leg that uses them up; today the empty table is all that can be made again. An update that was cut short needs nothing: rows
// that have the new version already are written once more.
func (s *session) restore(ctx context.Context, task agent.Task) error {
	needs := task.Step.Needs
	if needs == plan.Empty {
		task.Say("emptying the table again")
		if err := s.database.Prepare(ctx); err != nil {
			return fmt.Errorf("prepare the table again: %w", err)
		}
		return nil
	}
	if needs == plan.Any {
		return nil
	}
	task.Say("counting the rows again")
	rows, err := s.database.count(ctx)
	if err != nil {
		return err
	}
	want := wantedRows(needs, s.setup.Spec.Samples)
	switch {
	case rows == nil:
		return &problem{agent.ErrorDataset, fmt.Errorf("the agent was lost and %s cannot count its rows: what it holds is not known", s.where())}
	case *rows != want:
		return &problem{agent.ErrorDataset, fmt.Errorf("the agent was lost, and afterwards %s holds %d rows where the step needs %d", s.where(), *rows, want)}
	}
	return nil
}

// wantedRows is how many rows there are in a state.
func wantedRows(state plan.State, samples int64) int64 {
	if state == plan.Loaded || state == plan.Updated {
		return samples
	}
	return 0
}
