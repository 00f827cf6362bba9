package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/durabench/durabench/infra/pidspace"
)

// proc is a process.
type proc struct {
	pid, parent int
	// started tells the process from others that have, had or will have its number: the boot, the pid namespace, and clock ticks since the boot.
	started string
	zombie  bool // ended, and not yet taken note of by its parent
}

// lookUp returns the process with the number.
func lookUp(pid int) (proc, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return proc{}, err
	}
	// The name stands in parentheses and may hold anything; from the state on, field 3, all is plain.
	end := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[end+1:]))
	if end < 0 || len(fields) < 20 {
		return proc{}, fmt.Errorf("/proc/%d/stat is not as expected: %q", pid, text)
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return proc{}, fmt.Errorf("/proc/%d/stat: parent %q: %w", pid, fields[1], err)
	}
	return proc{pid: pid, parent: parent, started: pidspace.Start(fields[19]), zombie: fields[0] == "Z" || fields[0] == "X"}, nil
}

// processes returns all processes.
func processes() (all []proc, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if p, err := lookUp(pid); err == nil { // else it ended meanwhile
			all = append(all, p)
		}
	}
	return all, nil
}

// belongsTo tells whether a process was started for the server's directory: it works below it, and either carries our label or is of the
// server's own program. Servers may have written over their environment, where they show a title.
func (p proc) belongsTo(s *server) bool {
	self := fmt.Sprintf("/proc/%d/", p.pid)
	cwd, err := os.Readlink(self + "cwd")
	if err != nil || cwd != s.server && !strings.HasPrefix(cwd, s.server+"/") {
		return false
	}
	if !pidspace.Shares(p.pid) {
		return false // in a container, where the path is another directory's
	}
	if environ, err := os.ReadFile(self + "environ"); err == nil {
		for variable := range bytes.SplitSeq(environ, []byte{0}) {
			if string(variable) == labelDir+"="+s.Dir {
				return true
			}
		}
	}
	binary := s.binary
	if binary == "" {
		binary = s.state.Binary
	}
	exe, err := os.Readlink(self + "exe")
	if real, evalErr := filepath.EvalSymlinks(binary); err == nil && evalErr == nil {
		return strings.TrimSuffix(exe, " (deleted)") == real
	}
	return false
}

// alive tells whether the process still runs.
func (p proc) alive() bool {
	now, err := lookUp(p.pid)
	return err == nil && pidspace.SameStart(p.started, now.started) && !now.zombie
}
