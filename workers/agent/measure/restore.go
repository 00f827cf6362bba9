package measure

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/load"
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
	rows, version := uint64(s.rowsOf(task.Step)), task.Step.Version
	if s.stirred != nil {
		if err := s.removeInserted(ctx, task, rows); err != nil {
			return err
		}
	}
	if s.pairs == nil {
		task.Say("writing every row again")
		if err := s.load(ctx, task, 0, rows, version); err != nil {
			return fmt.Errorf("write the rows of %s again: %w", s.where(), err)
		}
	} else if err := s.exchangeBack(ctx, task, version); err != nil {
		return err
	}
	return s.verifyRestored(ctx, task)
}

// exchangeBack gives the rows of pairs that are swapped their own contents again.
func (s *session) exchangeBack(ctx context.Context, task agent.Task, version uint32) error {
	var changed []uint64
	for pair := range uint64(len(s.pairs.state)) {
		if s.pairs.state[pair].Load()&(pairSwapped|pairBroken|pairBusy) != 0 {
			a, b := s.pairs.rows(pair)
			changed = append(changed, a, b)
		}
	}
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
