package host

import (
	"context"
	"fmt"
)

// change sets an object's value, after the old one is on the device. It returns the old value. When the machine refuses, the object is as
// it was.
func (t *turn) change(ctx context.Context, kind, object, after string) (before string, err error) {
	k := t.rig.knobs[kind]
	if before, err = k.read(ctx, object); err != nil || before == after {
		return before, err
	}
	e := entry{Step: t.step, Knob: kind, Object: object, Before: before, After: after}
	if err := t.journal.add(e); err != nil {
		return before, err
	}
	t.made = append(t.made, e)
	if err = k.write(ctx, object, after); err == nil {
		var now string
		if now, err = k.read(ctx, object); err == nil && now != after {
			err = fmt.Errorf("it was set to %s and is %s", after, now)
		}
	}
	return before, err
}
