package temporal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

var errEnded = errors.New("process has ended")

// birthOf returns the boot and the clock tick in which a process started.
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
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(boot)) + "/" + fields[19], nil
}
