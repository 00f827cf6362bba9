//go:build !linux

package host

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
)

// errElsewhere is why nothing of a machine is changed on systems other than Linux.
var errElsewhere = errors.New("machines are only isolated on Linux, not on " + runtime.GOOS)

func thisMachine() rig {
	return rig{steps: func(Isolation) []step {
		var steps []step
		for _, name := range StepNames() {
			steps = append(steps, step{name: name, take: func(context.Context, *turn) (took, error) { return took{}, errElsewhere }})
		}
		return steps
	}}
}

// Start starts a command; only Linux places one.
func (p Placement) Start(cmd *exec.Cmd) error {
	if !p.zero() {
		return errElsewhere
	}
	return cmd.Start()
}

// Place moves no process: only Linux does.
func (p Placement) Place(int) error {
	if !p.zero() {
		return errElsewhere
	}
	return nil
}
