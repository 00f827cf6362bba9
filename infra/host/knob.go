package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/durabench/durabench/bench/result"
)

// knob is a kind of setting of the machine that can be read and turned. An object is one setting of the kind, such as one swap device.
type knob interface {
	// read returns the value that is set. For an object that is not there the error is fs.ErrNotExist.
	read(ctx context.Context, object string) (string, error)
	// write sets a value that read has once returned, or that a step wants.
	write(ctx context.Context, object, value string) error
}

// step is one thing that is done to the machine before a run. What it changes it changes through knobs, by turn.change, so how it is
// taken back is known from the journal alone.
type step struct {
	name  string
	asked string // what for, in words
	take  func(ctx context.Context, t *turn) (took, error)
}

// took is what a step found and left. The error beside it is why it was refused.
type took struct{ before, after, why string }

// rig is a machine that can be changed.
type rig struct {
	boot  string // the kernel's id of this boot
	knobs map[string]knob
	steps func(Isolation) []step
}

// turn is one step being taken.
type turn struct {
	rig      rig
	journal  *journal
	step     string
	made     []entry
	out      *Isolated
	progress func(string)
}

// undo takes back what a step that did not succeed has changed.
func (t *turn) undo(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // also when the run was cancelled in the middle
	var problems []error
	for n := len(t.made) - 1; n >= 0; n-- {
		e := t.made[n]
		k := t.rig.knobs[e.Knob]
		if now, err := k.read(ctx, e.Object); err == nil && now == e.Before {
			continue
		}
		if err := k.write(ctx, e.Object, e.Before); err != nil {
			problems = append(problems, fmt.Errorf("put %s %s back to %s: %w", e.Knob, e.Object, e.Before, err))
		}
	}
	t.made = nil
	return errors.Join(problems...)
}

// run takes the step and returns what became of it. The error is that of a context that ended, when nothing more is to be done.
func (t *turn) run(ctx context.Context, s step) (result.IsolationStep, error) {
	t.step, t.made = s.name, nil
	got, err := s.take(ctx, t)
	record := result.IsolationStep{Name: s.name, Asked: s.asked, State: result.StepDone, Why: got.why, Before: got.before, After: got.after}
	if err == nil {
		return record, nil
	}
	left := t.undo(ctx)
	if ctx.Err() != nil {
		return record, errors.Join(context.Cause(ctx), left)
	}
	record.State, record.Why, record.After = result.StepRefused, err.Error(), ""
	if left != nil {
		record.Why += "; moreover " + left.Error()
	}
	slog.InfoContext(ctx, "isolation step refused", "step", s.name, "why", record.Why)
	return record, nil
}
