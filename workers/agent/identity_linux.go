package agent

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// processStart returns when a process was started, in clock ticks since boot. Together with its number it names one process for ever.
// A process that has ended, even if nobody has collected it, is os.ErrNotExist.
func processStart(pid int) (uint64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The command's name in parentheses may hold anything, so fields are counted from the last parenthesis: state is the first.
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, fmt.Errorf("/proc/%d/stat: no command", pid)
	}
	fields := bytes.Fields(stat[end+1:])
	const state, start = 0, 19
	if len(fields) <= start {
		return 0, fmt.Errorf("/proc/%d/stat: %d fields", pid, len(fields))
	}
	if s := string(fields[state]); s == "Z" || s == "X" {
		return 0, fmt.Errorf("process %d: %w", pid, os.ErrNotExist)
	}
	return strconv.ParseUint(string(fields[start]), 10, 64)
}
