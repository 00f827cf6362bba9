package measure

import (
	"context"
	"fmt"
	"time"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// ready makes the database fit for a leg: open, connected, and holding what the leg needs. When this agent itself has brought it there,
// nothing is asked of the database, as even counting its rows would warm or flush what is about to be measured. After the loss of an
// agent or a server the data is looked at, and rebuilt if it is not what the leg needs.
func (s *session) ready(ctx context.Context, task agent.Task) error {
	if s.database == nil {
		task.Say("opening " + s.where() + " again")
		db, err := s.open(ctx)
		if err != nil {
			return err
		}
		s.database, s.trusted, s.worn = db, false, worn{}
	}
	if !s.trusted {
		if err := s.restore(ctx, task); err != nil {
			return err
		}
	}
	if err := s.database.connect(ctx, s.setup.Spec.Clients, task.Say); err != nil {
		return fmt.Errorf("connect to %s: %w", s.where(), err)
	}
	s.trusted = true
	return nil
}

// restore brings the data to the state that the step needs, with nothing but what the step declares. Rows that a step only reads, or has not
// come to write, are kept if they are all there. What an interrupted execution has used up or changed is made anew, and so is what was lost.
func (s *session) restore(ctx context.Context, task agent.Task) error {
	step := task.Step
	if s.engine.Family == drivers.FamilyCalibration {
		return nil // it keeps nothing
	}
	switch step.Needs {
	case plan.Any, plan.Absent:
		return nil
	case plan.Empty, plan.Deleted:
		task.Say("emptying the table again")
		return s.empty(ctx)
	}
	switch {
	case task.Attempt == 1 || step.Effect == plan.ReadOnly:
	case step.Effect == plan.Consuming:
		return s.rebuild(ctx, task, agent.CauseDatasetRebuilt, "the attempt that was cut short had used rows up")
	default:
		// It could run as it is and leave the same. But to write what is there already costs some engines next to nothing, and the leg would
		// look faster than it is.
		return s.rebuild(ctx, task, agent.CauseDatasetRebuilt, "the attempt that was cut short had written some rows already")
	}
	lost, err := s.inspect(ctx, task)
	if err != nil {
		return err
	}
	if lost != "" {
		return s.rebuild(ctx, task, agent.CauseDatasetLost, lost)
	}
	if m := s.mark; m != nil && m.Made != nil && m.Made.Step == step.ID {
		s.notes = append(s.notes, m.Made.Told) // by an execution that was lost
	}
	return nil
}

// empty makes an empty table and marks it as this run's.
func (s *session) empty(ctx context.Context) error {
	if err := s.database.Prepare(ctx); err != nil {
		return fmt.Errorf("prepare the table in %s: %w", s.where(), err)
	}
	return s.keep(ctx, mark{Run: s.setup.RunID, Generation: s.generation() + 1})
}

// generation is how often the rows were made until now, as far as this agent knows.
func (s *session) generation() int {
	if s.mark == nil {
		return 0
	}
	return s.mark.Generation
}

// inspect tells what keeps the data from being what the step needs; "" when nothing does.
func (s *session) inspect(ctx context.Context, task agent.Task) (lost string, err error) {
	task.Say("looking whether the rows are still there")
	found, marks, err := s.foundMark(ctx)
	if err != nil {
		return "", err
	}
	if marks && s.mark != nil {
		switch {
		case found == nil || found.Run != s.mark.Run || found.Generation < s.mark.Generation:
			return s.where() + " does not hold the data of this run any more", nil
		case found.Loading != nil:
			return fmt.Sprintf("loading it again was cut short after %d of %d rows", found.Loading.Rows, found.Loading.Of), nil
		}
		s.mark = found
		if s.worn = (worn{}); found.Worn != nil {
			s.worn = *found.Worn
		}
	}
	rows, err := s.database.count(ctx)
	want := total(s.rowsNeeded(task.Step))
	switch {
	case err != nil:
		return "", err
	case rows == nil && !marks:
		return s.where() + " can neither count its rows nor tell whose they are, so what it holds is not known", nil
	case rows != nil && *rows != want:
		return fmt.Sprintf("%s holds %d rows where the step needs %d", s.where(), *rows, want), nil
	}
	return s.sampleContent(ctx, task)
}

// sampleContent compares rows with what the step needs: some over all of them, and the last ones, which are what a server loses that did
// not keep all that it had acknowledged.
func (s *session) sampleContent(ctx context.Context, task agent.Task) (wrong string, err error) {
	if err := s.database.connect(ctx, s.setup.Spec.Clients, task.Say); err != nil {
		return "", fmt.Errorf("connect to %s: %w", s.where(), err)
	}
	task.Say("comparing rows with what must be there")
	for _, r := range s.rowsNeeded(task.Step) {
		found, err := s.readBack(ctx, readback{from: r.From, samples: r.To - r.From, version: r.Version, tail: tailRows}, load.VerifySample)
		switch {
		case err != nil:
			return "", err
		case found.wrong > 0 && len(found.examples) > 0:
			e := found.examples[0]
			return fmt.Sprintf("%d of %d rows compared are not what they must be, such as row %d: want %s, got %s", found.wrong, found.checked, e.Index, e.Want, e.Got), nil
		case found.wrong > 0:
			return fmt.Sprintf("%d of %d rows compared are not what they must be", found.wrong, found.checked), nil
		}
	}
	return "", nil
}

// rowsNeeded are the rows that a step finds, as its state says; none for one that does not look at them.
func (s *session) rowsNeeded(step plan.Step) spec.RowSet {
	rows, _ := step.Needs.RowSet(s.setup.Spec.Samples)
	return rows
}

// total counts rows.
func total(rows spec.RowSet) (n int64) {
	for _, r := range rows {
		n += r.To - r.From
	}
	return n
}

// describeRows tells people which rows.
func describeRows(rows spec.RowSet) string {
	if len(rows) == 1 && rows[0].From == 0 {
		return fmt.Sprintf("%d rows at version %d", rows[0].To, rows[0].Version)
	}
	return fmt.Sprintf("%d rows (%s)", total(rows), plan.Rows(rows))
}

// rowsOf is how many rows a step works on.
func (s *session) rowsOf(step plan.Step) int64 {
	if step.Rows > 0 {
		return step.Rows
	}
	return s.setup.Spec.Samples
}

// since writes a duration for a note.
func since(begun time.Time) time.Duration { return time.Since(begun).Round(time.Millisecond) }
