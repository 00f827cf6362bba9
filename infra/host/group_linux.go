package host

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// groupOf returns what reads the control group of a process, of either version; nil when it cannot be seen from here, or when this process is in the same
// one: then its figures would be of more than the server. A container has a group of its own.
func (s system) groupOf(pid int) func() groupFigures {
	fs, err := procfs.NewFS(s.path("proc"))
	if err != nil {
		return nil
	}
	mounts, err := fs.GetMounts()
	if err != nil {
		return nil
	}
	own, theirs := s.groupsOf(fs, mounts, s.pid), s.groupsOf(fs, mounts, pid)
	for controller, dir := range theirs {
		if own[controller] == dir || !holdsProcess(dir, pid) {
			delete(theirs, controller)
		}
	}
	return readGroups(theirs)
}

// throttleOf returns what reads how long the control group of a process was kept off the CPUs, also when others are in the group: then they all were. Nil when
// it cannot be seen from here.
func (s system) throttleOf(pid int) func() groupFigures {
	fs, err := procfs.NewFS(s.path("proc"))
	if err != nil {
		return nil
	}
	mounts, err := fs.GetMounts()
	if err != nil {
		return nil
	}
	groups := s.groupsOf(fs, mounts, pid)
	for controller, dir := range groups {
		if !holdsProcess(dir, pid) {
			delete(groups, controller)
		}
	}
	read := readGroups(groups)
	if read == nil {
		return nil
	}
	return func() groupFigures { return groupFigures{throttled: read().throttled} }
}

// readGroups reads the groups of a process, by controller; nil when there are none.
func readGroups(theirs map[string]string) func() groupFigures {
	if len(theirs) == 0 {
		return nil
	}
	return func() (f groupFigures) {
		if dir, is := theirs["cpuacct"]; is {
			f.cpu = durationIn(filepath.Join(dir, "cpuacct.usage"), "", time.Nanosecond)
		}
		if dir, is := theirs["cpu"]; is {
			f.throttled = durationIn(filepath.Join(dir, "cpu.stat"), "throttled_time", time.Nanosecond)
		}
		if dir, is := theirs["memory"]; is {
			f.memory = bytesIn(filepath.Join(dir, "memory.usage_in_bytes"))
		}
		if dir, is := theirs[""]; is { // version 2; where both are mounted, it may have no controller
			stat := filepath.Join(dir, "cpu.stat")
			if used := durationIn(stat, "usage_usec", time.Microsecond); f.cpu == nil {
				f.cpu = used
			}
			if waited := durationIn(stat, "throttled_usec", time.Microsecond); f.throttled == nil {
				f.throttled = waited
			}
			if held := bytesIn(filepath.Join(dir, "memory.current")); f.memory == nil {
				f.memory = held
			}
		}
		return f
	}
}

// groupsOf returns the directories of a process's groups by controller; version 2 has one group, under "".
func (s system) groupsOf(fs procfs.FS, mounts []*procfs.MountInfo, pid int) map[string]string {
	dirs := map[string]string{}
	process, err := fs.Proc(pid)
	if err != nil {
		return dirs
	}
	groups, err := process.Cgroups()
	if err != nil {
		return dirs
	}
	for _, group := range groups {
		unified := group.HierarchyID == 0
		all := s.groupDirs(group, mounts, unified)
		if len(all) == 0 {
			continue
		}
		if unified {
			dirs[""] = all[0]
			continue
		}
		for _, controller := range group.Controllers {
			dirs[controller] = all[0]
		}
	}
	return dirs
}

// holdsProcess tells whether a group lists a process: the directory is then that of its group, and not of one around it.
func holdsProcess(dir string, pid int) bool {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	return err == nil && slices.Contains(strings.Fields(string(text)), strconv.Itoa(pid))
}

// durationIn reads a time from a file of lines "name value", or of a value alone.
func durationIn(file, name string, unit time.Duration) *time.Duration {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		word, number, named := strings.Cut(strings.TrimSpace(line), " ")
		if !named {
			word, number = "", word
		}
		if word != name {
			continue
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil
		}
		return new(time.Duration(n) * unit)
	}
	return nil
}
