package temporal

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

var errEnded = errors.New("process has ended")

// zombie is SZOMB of <sys/proc.h>.
const zombie = 5

// birthOf returns the time at which a process started.
func birthOf(pid int) (string, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", fmt.Errorf("read start of process %d: %w", pid, err)
	}
	if info.Proc.P_stat == zombie {
		return "", errEnded
	}
	t := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", t.Sec, t.Usec), nil
}
