package measure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

const (
	// loadRows is how many rows a client loads before it takes others: the work that is done twice when a load is cut short.
	loadRows = 2000
	// loadClients is how many clients load at most. More make no engine load faster, and a crowd is not needed off the clock.
	loadClients = 8
	// markInterval is how often a load notes how far it is.
	markInterval = 500 * time.Millisecond
	// mostNote is how long a note may be, in bytes, as it is kept in the mark, and marks are where a database has room for them.
	mostNote = 800
	// tailRows is how many of the last rows are compared after a loss, beside some over all of them.
	tailRows = 200
)

// rebuild makes the rows that a step needs anew, off the clock and in bulk, and makes sure that they are right. A rebuild that was cut short
// goes on where it was. The leg's result will say that it happened, and for what cause and why.
func (s *session) rebuild(ctx context.Context, task agent.Task, cause, why string) error {
	begun := time.Now()
	rows := s.rowsNeeded(task.Step)
	s.logger.Warn("rows are loaded again", "step", task.Step.ID, "rows", describeRows(rows), "because", why)
	from, err := s.resume(ctx, task.Step.Needs, uint64(total(rows)))
	if err != nil {
		return err
	}
	if err := s.database.connect(ctx, s.setup.Spec.Clients, task.Say); err != nil {
		return fmt.Errorf("connect to %s: %w", s.where(), err)
	}
	if err := s.load(ctx, task, from, rows); err != nil {
		return fmt.Errorf("load the rows of %s again: %w", s.where(), err)
	}
	if err := s.loaded(ctx, task, "its rows were loaded again"); err != nil {
		return err
	}
	if err := s.refreshStatistics(ctx, task); err != nil {
		return err
	}
	note := fmt.Sprintf("%s; %s were loaded again before the leg, off its clock, in %v", why, describeRows(rows), since(begun))
	if from > 0 {
		note += fmt.Sprintf("; the first %d of them by a load that was cut short and went on", from)
	}
	if len(note) > mostNote {
		note = strings.ToValidUTF8(note[:mostNote], "") + "…"
	}
	told := result.Interruption{At: begun.UTC(), Cause: cause, Note: note}
	if err := s.keep(ctx, mark{Run: s.setup.RunID, Generation: s.generation(), Made: &made{Step: task.Step.ID, Told: told}}); err != nil {
		return err
	}
	s.notes = append(s.notes, told)
	return nil
}

// resume returns the row of a state from which on to load: where an earlier load of the same rows was cut short, else the first of an empty table.
func (s *session) resume(ctx context.Context, state plan.State, rows uint64) (from uint64, err error) {
	found, _, err := s.foundMark(ctx)
	if err != nil {
		return 0, err
	}
	if found != nil && found.Run == s.setup.RunID && found.Generation >= s.generation() && found.Loading != nil &&
		found.Loading.State == state && found.Loading.Of == rows {
		s.mark = found
		return found.Loading.Rows, nil
	}
	s.worn = worn{}
	if err := s.database.Prepare(ctx); err != nil {
		return 0, fmt.Errorf("prepare the table in %s: %w", s.where(), err)
	}
	return 0, s.keep(ctx, mark{Run: s.setup.RunID, Generation: s.generation() + 1, Loading: &loading{State: state, Of: rows}})
}

// load writes rows in rounds, in which every client takes as many, and notes how far it is. Writing rows that an earlier load has written
// already leaves them as they are.
func (s *session) load(ctx context.Context, task agent.Task, from uint64, rows spec.RowSet) error {
	clients := s.database.clients[:min(len(s.database.clients), loadClients)]
	noted, of := time.Now(), uint64(total(rows))
	for from < of {
		task.Say(fmt.Sprintf("loading rows again: %d of %d", from, of))
		group, loading := errgroup.WithContext(ctx)
		for _, client := range clients {
			first, end, version := stretch(rows, from)
			if first == end {
				break
			}
			group.Go(func() error { return drivers.LoadRows(loading, client, s.corpus, first, end, version) })
			from += end - first
		}
		if err := group.Wait(); err != nil {
			return err
		}
		if from < of && time.Since(noted) >= markInterval {
			if err := s.note(ctx, task.Step.Needs, from, of); err != nil {
				return err
			}
			noted = time.Now()
		}
	}
	return nil
}

// stretch returns the rows, with their version, that one client loads from place at on, counted over all ranges: none at the end.
func stretch(rows spec.RowSet, at uint64) (first, end uint64, version uint32) {
	for _, r := range rows {
		n := uint64(r.To - r.From)
		if at < n {
			first = uint64(r.From) + at
			return first, min(first+loadRows, uint64(r.To)), r.Version
		}
		at -= n
	}
	return 0, 0, 0
}

// note keeps how far a load is.
func (s *session) note(ctx context.Context, state plan.State, from, of uint64) error {
	return s.keep(ctx, mark{Run: s.setup.RunID, Generation: s.generation(), Loading: &loading{State: state, Rows: from, Of: of}})
}

// loaded makes sure that a rebuild, or what else was done to the rows, has left what the step needs.
func (s *session) loaded(ctx context.Context, task agent.Task, done string) error {
	rows, err := s.database.count(ctx)
	if err != nil {
		return err
	}
	if want := total(s.rowsNeeded(task.Step)); rows != nil && *rows != want {
		return &problem{agent.ErrorDataset, fmt.Errorf("after %s %s holds %d rows where the step needs %d", done, s.where(), *rows, want)}
	}
	wrong, err := s.sampleContent(ctx, task)
	if err == nil && wrong != "" {
		err = &problem{agent.ErrorDataset, errors.New("after " + done + ", " + wrong)}
	}
	return err
}
