package host

import (
	"errors"
	"os"
)

func newMachine() (machine, error) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return nil, errors.New("/proc is not mounted")
	}
	return newProcFS(), nil
}

// groupOf reads the control group of a process, see system.groupOf.
func groupOf(pid int) func() groupFigures { return system{root: "/", pid: os.Getpid()}.groupOf(pid) }

// throttleOf reads how long a process was kept off the CPUs, see system.throttleOf.
func throttleOf(pid int) func() groupFigures {
	return system{root: "/", pid: os.Getpid()}.throttleOf(pid)
}
