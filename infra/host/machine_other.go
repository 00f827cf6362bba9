//go:build !linux

package host

import (
	"errors"
	"runtime"
)

func newMachine() (machine, error) {
	return nil, errors.New("resources of processes are read from /proc, which " + runtime.GOOS + " does not have")
}

func groupOf(int) func() groupFigures { return nil }

func throttleOf(int) func() groupFigures { return nil }
