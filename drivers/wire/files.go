package wire

import (
	"fmt"
	"syscall"
)

// otherFiles is how many files this process needs beside its connections, with room.
const otherFiles = 100

// CheckFiles returns an error with the numbers when this process may not open so many connections. (Go raises its own limit as far as the
// system lets it.)
func CheckFiles(connections int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil // then the connections themselves will show
	}
	return checkFiles(connections, limit.Cur)
}

func checkFiles(connections int, limit uint64) error {
	if needed := uint64(connections) + otherFiles; needed > limit {
		return fmt.Errorf("%d connections and %d other files are more than the %d open files that this process may have: raise the limit, e.g. with ulimit -n %d, "+
			"or use fewer clients or threads", connections, otherFiles, limit, needed)
	}
	return nil
}
