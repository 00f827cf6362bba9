package host

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/durabench/durabench/bench/result"
)

// Apply makes the machine ready for a run and returns what was done, and how agent and server are to be started. Old values are kept in a
// journal in dir until Restore puts them back; what an earlier run has left changed there is put back first, so Apply may be called again
// for the same run. The caller holds the host's Lock. progress, which may be nil, gets a line now and then on what is going on.
//
// Under strict isolation a refused step is a *RefusedError, and everything is put back. When ctx ends everything is put back too.
func (i Isolation) Apply(ctx context.Context, dir, runID string, progress func(string)) (Isolated, error) {
	return i.apply(ctx, thisMachine(), dir, runID, progress)
}

func (i Isolation) apply(ctx context.Context, r rig, dir, runID string, progress func(string)) (Isolated, error) {
	if err := i.Validate(); err != nil {
		return Isolated{}, err
	}
	i = i.withDefaults()
	if progress == nil {
		progress = func(string) {}
	}
	out := Isolated{Record: result.Isolation{Level: string(i.Level), Steps: []result.IsolationStep{}}}
	out.Record.SharedCPUs = i.Server != "endpoint" // until they are told apart
	// What an earlier run left is no isolation of ours, and its values are not the machine's own.
	if err := restore(ctx, r, dir); err != nil {
		if i.Level == Strict || ctx.Err() != nil {
			return out, err
		}
		slog.WarnContext(ctx, "earlier changes of the machine are not put back", "directory", dir, "error", err)
	}
	journal, err := openJournal(dir, header{Run: runID, Boot: r.boot, Since: time.Now().UTC()})
	if err != nil {
		return out, err
	}
	defer journal.close()
	refused, err := i.take(ctx, &turn{rig: r, journal: journal, out: &out, progress: progress})
	if err == nil && i.Level == Strict && len(refused) > 0 {
		err = &RefusedError{Steps: refused}
	}
	if err != nil {
		journal.close()
		return out, errors.Join(err, restore(context.WithoutCancel(ctx), r, dir))
	}
	return out, nil
}

// take takes the steps that are asked for, one after the other, and returns the refused ones.
func (i Isolation) take(ctx context.Context, t *turn) (refused []result.IsolationStep, err error) {
	for _, s := range t.rig.steps(i) {
		record := result.IsolationStep{Name: s.name, State: result.StepNotAsked}
		switch {
		case !i.asks(s.name):
		case i.Level == Strict && len(refused) > 0 && s.name == StepQuiet:
			continue // nothing will be measured, so there is nothing to wait for
		default:
			t.progress("isolation: " + s.name)
			if record, err = t.run(ctx, s); err != nil {
				return nil, err
			}
		}
		if record.State == result.StepRefused {
			refused = append(refused, record)
		}
		t.out.Record.Steps = append(t.out.Record.Steps, record)
	}
	return refused, nil
}

// Left tells which run's changes of the machine are written down in dir and not put back: the run's id and since when; ok is false when
// there are none.
func Left(dir string) (runID string, since time.Time, ok bool) {
	head, _, _, err := readJournal(dir)
	if err != nil {
		return "", time.Time{}, !errors.Is(err, fs.ErrNotExist)
	}
	return head.Run, head.Since, true
}
