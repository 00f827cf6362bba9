package host

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// limits is what control groups allow a process; nil where they set no limit or it cannot be read.
type limits struct {
	cpus  *float64
	bytes *int64
}

// cgroup returns the narrowest limits of the process's groups and of all groups around them, of both versions of control groups.
func (s system) cgroup(fs procfs.FS) limits {
	var l limits
	process, err := fs.Proc(s.pid)
	if err != nil {
		return l
	}
	groups, err := process.Cgroups()
	if err != nil {
		return l
	}
	mounts, err := fs.GetMounts()
	if err != nil {
		return l
	}
	for _, group := range groups {
		unified := group.HierarchyID == 0
		for _, dir := range s.groupDirs(group, mounts, unified) {
			if unified {
				l.narrow(cpusV2(dir), bytesIn(filepath.Join(dir, "memory.max")))
				continue
			}
			if slices.Contains(group.Controllers, "cpu") {
				l.narrow(cpusV1(dir), nil)
			}
			if slices.Contains(group.Controllers, "memory") {
				l.narrow(nil, bytesIn(filepath.Join(dir, "memory.limit_in_bytes")))
			}
		}
	}
	return l
}

func (l *limits) narrow(cpus *float64, bytes *int64) {
	if cpus != nil && (l.cpus == nil || *cpus < *l.cpus) {
		l.cpus = cpus
	}
	if bytes != nil && (l.bytes == nil || *bytes < *l.bytes) {
		l.bytes = bytes
	}
}

// groupDirs returns the directory of a group and those of all groups around it, as far as they can be seen from here: in a container the
// mount may begin at the container's own group.
func (s system) groupDirs(group procfs.Cgroup, mounts []*procfs.MountInfo, unified bool) []string {
	for _, mount := range mounts {
		switch {
		case unified && mount.FSType != "cgroup2", !unified && mount.FSType != "cgroup":
			continue
		case !unified && !hasOption(mount.SuperOptions, group.Controllers):
			continue
		}
		below, err := filepath.Rel(mount.Root, group.Path)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			below = "." // the group is named as seen from elsewhere; what is mounted here is the one in force
		}
		top := s.path(unescape(mount.MountPoint))
		var dirs []string
		for dir := filepath.Join(top, below); ; dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
			if dir == top || len(dir) <= len(top) {
				return dirs
			}
		}
	}
	return nil
}

func hasOption(options map[string]string, wanted []string) bool {
	return slices.ContainsFunc(wanted, func(name string) bool { _, ok := options[name]; return ok })
}

// cpusV2 reads cpu.max, "quota period" in microseconds, where the quota may be "max".
func cpusV2(dir string) *float64 {
	text, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
	if err != nil {
		return nil
	}
	quota, period, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	return share(quota, period)
}

func cpusV1(dir string) *float64 {
	quota, err := os.ReadFile(filepath.Join(dir, "cpu.cfs_quota_us"))
	if err != nil {
		return nil
	}
	period, err := os.ReadFile(filepath.Join(dir, "cpu.cfs_period_us"))
	if err != nil {
		return nil
	}
	return share(strings.TrimSpace(string(quota)), strings.TrimSpace(string(period)))
}

// share returns quota ÷ period; no limit is written as "max" or as -1.
func share(quota, period string) *float64 {
	q, err := strconv.ParseFloat(quota, 64)
	if err != nil || q <= 0 {
		return nil
	}
	p, err := strconv.ParseFloat(period, 64)
	if err != nil || p <= 0 {
		return nil
	}
	return new(q / p)
}

// bytesIn reads a limit in bytes; no limit is written as "max" or as a number near the largest.
func bytesIn(file string) *int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 || n >= 1<<62 {
		return nil
	}
	return &n
}
