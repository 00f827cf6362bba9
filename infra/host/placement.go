package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Placement says on what CPUs and with what rank and limits a process runs. The zero value leaves everything as it is. Start starts a
// command so placed, and Place moves a process that runs already, with all that descends from it; a container gets CPUList as its CPU
// set instead.
type Placement struct {
	CPUs        []int  `json:"cpus,omitempty"`
	Nice        *int   `json:"nice,omitempty"`
	IO          string `json:"io,omitempty"`          // as Isolation.IO
	OpenFiles   int64  `json:"openFiles,omitempty"`   // at least so many
	LockedBytes int64  `json:"lockedBytes,omitempty"` // at least so much; Unlimited for no limit
}

// CPUList returns the CPUs as the kernel and Docker take them, "1-3,9"; empty for any.
func (p Placement) CPUList() string { return list(p.CPUs) }

func (p Placement) zero() bool {
	return len(p.CPUs) == 0 && p.Nice == nil && p.IO == "" && p.OpenFiles == 0 && p.LockedBytes == 0
}

// ioClasses are the kernel's I/O scheduling classes in the order of their numbers, from 1.
var ioClasses = []string{"realtime", "best-effort", "idle"}

// parseIO reads an I/O priority and returns it as the kernel takes it; 0 leaves it as it is.
func parseIO(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	class, level, ranked := strings.Cut(text, "/")
	number := slices.Index(ioClasses, class) + 1
	rank := 0
	if ranked {
		var err error
		if rank, err = strconv.Atoi(level); err != nil || rank < 0 || rank > 7 {
			number = 0
		}
	}
	idle := class == "idle"
	if number == 0 || idle == ranked {
		return 0, fmt.Errorf(`io priority %q is none of "realtime/N", "best-effort/N" with N from 0 to 7, "idle"`, text)
	}
	const classShift = 13
	return number<<classShift | rank, nil
}
