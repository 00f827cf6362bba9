package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// restoreRows makes every row what it was before a leg that stirred them. What this agent knows to be changed it writes back; when it does not know,
// because the agent that ran the leg was lost, or the leg came to no good end, it writes every row. It may be repeated.
func (s *session) restoreRows(ctx context.Context, task agent.Task) agent.Outcome {
	if err := s.restoreStirred(ctx, task); err != nil {
		return failed(task, err)
	}
	s.trusted, s.pairs, s.stirred = true, nil, nil
	return agent.Outcome{}
}

func (s *session) restoreStirred(ctx context.Context, task agent.Task) error {
	if s.database == nil {
		s.pairs, s.stirred = nil, nil
		task.Say("opening " + s.where() + " again")
		db, err := s.open(ctx)
		if err != nil {
			return err
		}
		s.database = db
	}
	if err := s.database.connect(ctx, s.setup.Spec.Clients, task.Say); err != nil {
		return fmt.Errorf("connect to %s: %w", s.where(), err)
	}
	if s.engine.Family == drivers.FamilyCalibration {
		return nil // it keeps nothing
	}
	if task.Step.Churn != nil {
		return s.restoreChurned(ctx, task)
	}
	switch {
	case s.pairs != nil:
		if err := s.exchangeBack(ctx, task); err != nil {
			return err
		}
	case s.stirred != nil:
		if err := s.settleBack(ctx, task); err != nil {
			return err
		}
	default:
		if err := s.writeAll(ctx, task); err != nil {
			return err
		}
	}
	return s.verifyRestored(ctx, task)
}

// writeAll writes every row again. Rows that were added, of which nobody knows any more, go with the table.
func (s *session) writeAll(ctx context.Context, task agent.Task) error {
	rows := s.rowsOf(task.Step)
	found, err := s.database.count(ctx)
	if err != nil {
		return err
	}
	if found == nil || *found > rows {
		return s.rebuild(ctx, task, agent.CauseDatasetRebuilt, "what a leg has added is not known")
	}
	task.Say("writing every row again")
	if err := s.load(ctx, task, 0, spec.RowSet{{From: 0, To: rows, Version: task.Step.Version}}); err != nil {
		return fmt.Errorf("write the rows of %s again: %w", s.where(), err)
	}
	if err := s.refreshStatistics(ctx, task); err != nil {
		return err
	}
	return s.keep(ctx, mark{Run: s.setup.RunID, Generation: s.generation()}) // which says no more how far it is
}

// settleBack gives the rows that a mixed leg has updated their own contents again and removes those that it has added.
func (s *session) settleBack(ctx context.Context, task agent.Task) error {
	updated := s.stirred.updated()
	updated = slices.DeleteFunc(updated, func(row uint64) bool { return row >= s.stirred.rows })
	if err := s.writeBack(ctx, task, updated); err != nil {
		return err
	}
	added := int(s.stirred.next.Load() - s.stirred.rows)
	if added == 0 {
		return nil
	}
	task.Say(fmt.Sprintf("removing %d added rows", added))
	return s.eachClient(ctx, added, func(ctx context.Context, client drivers.Client, from, to int) error {
		var buffer corpus.KeyBuffer
		for i := from; i < to; i++ {
			row := s.stirred.rows + uint64(i)
			if err := client.Delete(ctx, s.corpus.Key(&buffer, row)); err != nil && !errors.Is(err, drivers.ErrNotFound) {
				return fmt.Errorf("remove row %d, which was added: %w", row, err)
			}
		}
		return nil
	})
}

// exchangeBack gives the rows of pairs that are swapped their own contents again.
func (s *session) exchangeBack(ctx context.Context, task agent.Task) error {
	var changed []uint64
	for pair := range uint64(len(s.pairs.state)) {
		if s.pairs.state[pair].Load()&(pairSwapped|pairBroken|pairBusy) != 0 {
			a, b := s.pairs.rows(pair)
			changed = append(changed, a, b)
		}
	}
	return s.writeBack(ctx, task, changed)
}

// writeBack gives rows their own contents.
func (s *session) writeBack(ctx context.Context, task agent.Task, changed []uint64) error {
	version := task.Step.Version
	task.Say(fmt.Sprintf("writing %d rows back", len(changed)))
	return s.eachClient(ctx, len(changed), func(ctx context.Context, client drivers.Client, from, to int) error {
		var buffer corpus.KeyBuffer
		var row corpus.Row
		for _, index := range changed[from:to] {
			s.corpus.Row(&row, index, version)
			if err := client.Update(ctx, s.corpus.Key(&buffer, index), &row); err != nil {
				return fmt.Errorf("write row %d back: %w", index, err)
			}
		}
		return nil
	})
}

// eachClient divides n things among the clients.
func (s *session) eachClient(ctx context.Context, n int, do func(ctx context.Context, client drivers.Client, from, to int) error) error {
	clients := s.database.clients[:min(len(s.database.clients), loadClients)]
	group, ctx := errgroup.WithContext(ctx)
	for i, client := range clients {
		from, to := i*n/len(clients), (i+1)*n/len(clients)
		group.Go(func() error { return do(ctx, client, from, to) })
	}
	return group.Wait()
}

// verifyRestored makes sure that the rows are again what the next leg relies on: their number, and a sample of their content.
func (s *session) verifyRestored(ctx context.Context, task agent.Task) error {
	rows, err := s.database.count(ctx)
	if err != nil {
		return err
	}
	if want := s.rowsOf(task.Step); rows != nil && *rows != want {
		return &problem{agent.ErrorDataset, fmt.Errorf("after its rows were restored %s holds %d where there must be %d", s.where(), *rows, want)}
	}
	began := time.Now()
	found, err := s.readBack(ctx, readback{samples: s.rowsOf(task.Step), version: task.Step.Version, tail: tailRows}, load.VerifySample)
	if err != nil {
		return err
	}
	if found.wrong > 0 && len(found.examples) > 0 {
		return &problem{agent.ErrorDataset, fmt.Errorf("after its rows were restored, of %d rows of %s %d are wrong: %w",
			found.checked, s.where(), found.wrong, &found.examples[0])}
	}
	s.logger.Info("rows were restored", "step", task.Step.ID, "compared", found.checked, "took", since(began))
	return nil
}
