package temporal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/durabench/durabench/infra/pidspace"
)

var errEnded = errors.New("process has ended")

// birthOf returns the boot and the clock tick in which a process started, and the namespace in which it has the number.
func birthOf(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field is the program's name in parentheses, which may itself
	// hold spaces and parentheses; the third is the state, the 22nd the start.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("read start of process %d: %d fields after the name", pid, len(fields))
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return "", errEnded
	}
	return pidspace.Start(fields[19]), nil
}
