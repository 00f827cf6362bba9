package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// zombieState is SZOMB of sys/proc.h.
const zombieState = 5

// proc is a process.
type proc struct {
	pid, parent int
	// started tells the process from others that had or will have its number.
	started string
	zombie  bool // ended, and not yet taken note of by its parent
}

func fromKernel(k *unix.KinfoProc) proc {
	return proc{
		pid: int(k.Proc.P_pid), parent: int(k.Eproc.Ppid), zombie: k.Proc.P_stat == zombieState,
		started: fmt.Sprintf("%d.%06d", k.Proc.P_starttime.Sec, k.Proc.P_starttime.Usec),
	}
}

// lookUp returns the process with the number.
func lookUp(pid int) (proc, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return proc{}, fmt.Errorf("look up process %d: %w", pid, err)
	}
	if int(k.Proc.P_pid) != pid {
		return proc{}, fmt.Errorf("look up process %d: there is none", pid)
	}
	return fromKernel(k), nil
}

// processes returns all processes.
func processes() ([]proc, error) {
	kernel, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	all := make([]proc, len(kernel))
	for i := range kernel {
		all[i] = fromKernel(&kernel[i])
	}
	return all, nil
}

// belongsTo is not known on macOS, which tells neither another process's directory nor its environment without C.
func (p proc) belongsTo(*server) bool { return false }

// alive tells whether the process still runs.
func (p proc) alive() bool {
	now, err := lookUp(p.pid)
	return err == nil && now.started == p.started && !now.zombie
}
