package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
)

// Restore puts back everything that the journal in dir says was changed, last change first, and removes the journal. It may be called
// again at any time, also when an earlier call was killed; without a journal it does nothing. What cannot be put back now stays in the
// journal for the next call and is in the error.
//
// A setting that has neither the value that we set nor the one that we found was set by someone else since, and is left alone. After the
// machine was started again nothing of what we changed is left, and the journal is only removed.
//
// Call it when the run is over, or through Reclaim: a run that goes on still needs what was changed.
func Restore(ctx context.Context, dir string) error { return restore(ctx, thisMachine(), dir) }

func restore(ctx context.Context, r rig, dir string) error {
	head, entries, unreadable, err := readJournal(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("put back what isolation changed: %w", err)
	}
	if head.Boot != "" && r.boot != "" && head.Boot != r.boot {
		slog.InfoContext(ctx, "the machine was started again since it was isolated, nothing is to be put back", "run", head.Run, "since", head.Since)
		return replaceJournal(dir, head, nil)
	}
	var problems []error
	var remaining []entry // last change first
	stuck := map[[2]string]bool{}
	for n := len(entries) - 1; n >= 0; n-- {
		e := entries[n]
		object := [2]string{e.Knob, e.Object}
		if stuck[object] || ctx.Err() != nil {
			remaining = append(remaining, e) // an earlier change is put back after a later one or not at all
			continue
		}
		if err := putBack(ctx, r, e); err != nil {
			stuck[object] = true
			remaining = append(remaining, e)
			problems = append(problems, err)
		}
	}
	if ctx.Err() != nil {
		problems = append(problems, context.Cause(ctx))
	}
	slices.Reverse(remaining)
	if len(unreadable) > 0 {
		// It can never be read, so it must not keep the next run from starting; someone may still want to look.
		aside := filepath.Join(dir, journalFile+".damaged")
		problems = append(problems, fmt.Errorf("lines of the journal cannot be read, it is kept as %s: %w", aside, errors.Join(unreadable...)))
		if err := copyFile(filepath.Join(dir, journalFile), aside); err != nil {
			problems = append(problems, err)
		}
	}
	if err := replaceJournal(dir, head, remaining); err != nil {
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		return fmt.Errorf("put back what isolation changed: %w", errors.Join(problems...))
	}
	if len(entries) > 0 {
		slog.InfoContext(ctx, "the machine is as it was before isolation", "run", head.Run, "changes", len(entries))
	}
	return nil
}

// putBack takes back one change if it was made.
func putBack(ctx context.Context, r rig, e entry) error {
	k, ok := r.knobs[e.Knob]
	if !ok {
		return fmt.Errorf("%s %s: this build does not know how to set it to %s", e.Knob, e.Object, e.Before)
	}
	now, err := k.read(ctx, e.Object)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		slog.WarnContext(ctx, "what isolation changed is not there any more", "knob", e.Knob, "object", e.Object, "was", e.Before)
		return nil
	case err != nil:
		return fmt.Errorf("%s %s: %w", e.Knob, e.Object, err)
	case now == e.Before:
		return nil
	case now != e.After:
		slog.WarnContext(ctx, "someone else has changed a setting since isolation did, it is left alone", "knob", e.Knob, "object", e.Object,
			"was", e.Before, "isolated", e.After, "now", now)
		return nil
	}
	err = k.write(ctx, e.Object, e.Before)
	if errors.Is(err, fs.ErrNotExist) {
		slog.WarnContext(ctx, "what isolation changed is not there any more", "knob", e.Knob, "object", e.Object, "was", e.Before)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s %s back to %s: %w", e.Knob, e.Object, e.Before, err)
	}
	if now, err := k.read(ctx, e.Object); err == nil && now != e.Before {
		return fmt.Errorf("%s %s: it was set back to %s and is %s", e.Knob, e.Object, e.Before, now)
	}
	return nil
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// PutBack puts back what the previous holder of the lock left changed, when it was killed: what it did is in the journal that it named,
// which may be another than ours, of another home. A journal of another user is left alone, which is an error to be logged and no
// reason not to go on.
func (l *HostLock) PutBack(ctx context.Context) error {
	if l.previous == nil || l.previous.Journal == "" {
		return nil
	}
	return Restore(ctx, l.previous.Journal)
}

// Reclaim puts back what a run that is over has left changed: that of dir, and what the last holder of the host's lock in lockDir left.
// While a run holds the host it does nothing and returns who that is. A worker calls it when it starts.
//
// A run whose worker and agent were both killed holds nothing, and may still go on. Before its next agent is started, whoever starts it
// looks with Left whether the run's changes are still in force, and calls Apply again when they are not.
func Reclaim(ctx context.Context, lockDir, dir string) (*Holder, error) {
	lock, err := Lock(lockDir, Holder{RunID: reclaiming, Journal: dir})
	var held *HeldError
	if errors.As(err, &held) {
		return &held.Holder, nil
	}
	if err != nil {
		return nil, err
	}
	return nil, errors.Join(lock.PutBack(ctx), Restore(ctx, dir), lock.Close())
}

// reclaiming stands in the lock file for the moment in which no run but Reclaim holds it.
const reclaiming = "(putting back what an earlier run changed)"
