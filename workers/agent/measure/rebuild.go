package measure

import (
	"context"
	"errors"
	"fmt"
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
	// tailRows is how many of the last rows are compared after a loss, beside some over all of them.
	tailRows = 200
)

// rebuild makes the rows that a step needs anew, off the clock and in bulk, and makes sure that they are right. A rebuild that was cut short
// goes on where it was. The leg's result will say that it happened, and for what cause and why.
func (s *session) rebuild(ctx context.Context, task agent.Task, cause, why string) error {
	begun := time.Now()
	needed := s.needed(task.Step)
	s.logger.Warn("rows are loaded again", "step", task.Step.ID, "rows", plan.Rows(needed), "because", why)
	from, err := s.resume(ctx, needed)
	if err != nil {
		return err
	}
	if err := s.database.connect(ctx, s.setup.Spec.Clients, task.Say); err != nil {
		return fmt.Errorf("connect to %s: %w", s.where(), err)
	}
	for _, r := range needed {
		if err := s.load(ctx, task, max(from, uint64(r.From)), uint64(r.To), r.Version); err != nil {
			return fmt.Errorf("load the rows of %s again: %w", s.where(), err)
		}
	}
	if err := s.loaded(ctx, task); err != nil {
		return err
	}
	if err := s.keep(ctx, mark{Run: s.setup.RunID, Generation: s.generation()}); err != nil {
		return err
	}
	rows := fmt.Sprintf("%d rows", total(needed))
	if len(needed) == 1 {
		rows += fmt.Sprintf(" at version %d", needed[0].Version)
	}
	note := fmt.Sprintf("%s; %s were loaded again before the leg, off its clock, in %v", why, rows, since(begun))
	if from > 0 {
		note += fmt.Sprintf("; the first %d of them by a load that was cut short and went on", from)
	}
	s.notes = append(s.notes, result.Interruption{At: begun.UTC(), Cause: cause, Note: note})
	return nil
}

// resume returns the row from which on to load: where an earlier load of the same rows was cut short, else the first of an empty table. Rows of several
// versions, which batches leave, are loaded from the first on.
func (s *session) resume(ctx context.Context, needed spec.RowSet) (from uint64, err error) {
	found, _, err := s.foundMark(ctx)
	if err != nil {
		return 0, err
	}
	var version uint32
	var rows uint64
	if len(needed) == 1 && needed[0].From == 0 {
		version, rows = needed[0].Version, uint64(needed[0].To)
	}
	if rows > 0 && found != nil && found.Run == s.setup.RunID && found.Generation >= s.generation() && found.Loading != nil &&
		found.Loading.Version == version && found.Loading.Of == rows {
		s.mark = found
		return found.Loading.Rows, nil
	}
	if err := s.database.Prepare(ctx); err != nil {
		return 0, fmt.Errorf("prepare the table in %s: %w", s.where(), err)
	}
	return 0, s.keep(ctx, mark{Run: s.setup.RunID, Generation: s.generation() + 1, Loading: &loading{Version: version, Of: rows}})
}

// load writes rows in rounds, in which every client takes as many, and notes how far it is. Writing rows that an earlier load has written
// already leaves them as they are.
func (s *session) load(ctx context.Context, task agent.Task, from, rows uint64, version uint32) error {
	clients := s.database.clients[:min(len(s.database.clients), loadClients)]
	noted := time.Now()
	for from < rows {
		task.Say(fmt.Sprintf("loading rows again: %d of %d", from, rows))
		group, loading := errgroup.WithContext(ctx)
		for _, client := range clients {
			first, end := from, min(from+loadRows, rows)
			if first == end {
				break
			}
			group.Go(func() error { return drivers.LoadRows(loading, client, s.corpus, first, end, version) })
			from = end
		}
		if err := group.Wait(); err != nil {
			return err
		}
		if from < rows && time.Since(noted) >= markInterval {
			if err := s.note(ctx, from, rows, version); err != nil {
				return err
			}
			noted = time.Now()
		}
	}
	return nil
}

// note keeps how far a load is.
func (s *session) note(ctx context.Context, from, rows uint64, version uint32) error {
	return s.keep(ctx, mark{Run: s.setup.RunID, Generation: s.generation(), Loading: &loading{Version: version, Rows: from, Of: rows}})
}

// loaded makes sure that a rebuild has left what the step needs.
func (s *session) loaded(ctx context.Context, task agent.Task) error {
	rows, err := s.database.count(ctx)
	if err != nil {
		return err
	}
	if want := total(s.needed(task.Step)); rows != nil && *rows != want {
		return &problem{agent.ErrorDataset, fmt.Errorf("after its rows were loaded again %s holds %d rows where the step needs %d", s.where(), *rows, want)}
	}
	wrong, err := s.sampleContent(ctx, task)
	if err == nil && wrong != "" {
		err = &problem{agent.ErrorDataset, errors.New("after its rows were loaded again, " + wrong)}
	}
	return err
}
