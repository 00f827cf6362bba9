package agent

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// zombie is the state of a process that has ended and was not collected (SZOMB in sys/proc.h).
const zombie = 5

// processStart returns when a process was started, in microseconds since 1970. Together with its number it names one process for ever.
// A process that has ended, even if nobody has collected it, is os.ErrNotExist.
func processStart(pid int) (uint64, error) {
	process, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, fmt.Errorf("process %d: %w: %w", pid, os.ErrNotExist, err)
	}
	if process.Proc.P_stat == zombie {
		return 0, fmt.Errorf("process %d: %w", pid, os.ErrNotExist)
	}
	start := process.Proc.P_starttime
	return uint64(start.Sec)*1_000_000 + uint64(start.Usec), nil
}
