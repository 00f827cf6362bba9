package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func examine(ctx context.Context, o DoctorOptions, s *symptoms) {
	here := system{root: "/", pid: os.Getpid(), cpus: allowedCPUs()}
	s.split = SplitCPUs(here.topology(), o.Isolation.Server != "embedded" && o.Isolation.Server != "endpoint")
	ours := append([]int{here.pid}, o.Isolation.Ours...)
	s.load, s.loadError = here.loadNow(ctx, o.Window, ours)
	if s.loadError == nil && s.load >= o.Isolation.Load {
		s.busiest = busiest(ctx, o.Window, ours)
	}
	if o.DataDir != "" {
		var space unix.Statfs_t
		if unix.Statfs(existing(o.DataDir), &space) == nil {
			s.freeBytes, s.sizeBytes = int64(space.Bavail)*space.Bsize, int64(space.Blocks)*space.Bsize
		}
	}
	s.refusals = here.refusals(o.Isolation)
	s.background = here.background(ctx, linux{})
}

// loadNow returns the load of others over a window.
func (s system) loadNow(ctx context.Context, window time.Duration, ours []int) (float64, error) {
	read := s.loadReader(ours)
	before, err := read()
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	select {
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-time.After(window):
	}
	after, err := read()
	if err != nil {
		return 0, err
	}
	return others(before, after, time.Since(begun)), nil
}

// refusals returns the steps that would be refused, without taking any: "swap: it takes root".
func (s system) refusals(i Isolation) []string {
	var found []string
	note := func(step string, err error) {
		if err != nil && i.asks(step) {
			found = append(found, fmt.Sprintf("%s: %v", step, err))
		}
	}
	writable := func(name string) error {
		return refusal(unix.Faccessat(unix.AT_FDCWD, s.path(name), unix.W_OK, unix.AT_EACCESS))
	}
	if len(i.Services) > 0 && os.Geteuid() != 0 {
		note(StepServices, refusal(unix.EPERM))
	}
	if areas, err := s.swapAreas(); err == nil && len(areas) > 0 && !s.capable(unix.CAP_SYS_ADMIN) {
		note(StepSwap, refusal(unix.EPERM))
	}
	if mode := chosen(s.word(hugePagesFile)); mode != "" && mode != i.HugePages {
		note(StepHugePages, writable(hugePagesFile))
	}
	if governor := s.governor(); governor == "" {
		note(StepGovernor, errNoGovernor)
	} else if governor != i.Governor {
		note(StepGovernor, writable("sys/devices/system/cpu/cpufreq/policy0/scaling_governor"))
	}
	note(StepFiles, mayRaise(unix.RLIMIT_NOFILE, i.OpenFiles, s.capable(unix.CAP_SYS_RESOURCE)))
	note(StepLocked, mayRaise(unix.RLIMIT_MEMLOCK, i.LockedBytes, s.capable(unix.CAP_SYS_RESOURCE)))
	if i.Nice != nil {
		note(StepNice, onThread(func() error { return Placement{Nice: i.Nice}.placeThread(0) }))
	}
	note(StepIO, onThread(func() error { return Placement{IO: i.IO}.placeThread(0) }))
	note(StepCaches, writable("proc/sys/vm/drop_caches"))
	return found
}

// mayRaise tells why a limit of this process could not be raised.
func mayRaise(resource int, wanted int64, capable bool) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	if wanted >= 0 && now.Max >= uint64(wanted) || now.Max == unix.RLIM_INFINITY || capable {
		return nil
	}
	return fmt.Errorf("this process may have at most %s", limitText(resource, now.Max))
}

// capable tells whether this process has a capability.
func (s system) capable(capability uint) bool {
	text, err := os.ReadFile(s.path(fmt.Sprintf("proc/%d/status", s.pid)))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if mask, ok := strings.CutPrefix(line, "CapEff:"); ok {
			var set uint64
			_, err := fmt.Sscanf(strings.TrimSpace(mask), "%x", &set)
			return err == nil && set>>capability&1 == 1
		}
	}
	return false
}

// restless are units that start work of their own at times of their own, and that benchmarks were disturbed by.
var restless = []string{
	"unattended-upgrades.service", "apt-daily.timer", "apt-daily-upgrade.timer", "packagekit.service", "dnf-makecache.timer", "dnf-automatic.timer",
	"man-db.timer", "plocate-updatedb.timer", "mlocate-updatedb.timer", "fstrim.timer", "logrotate.timer", "snapd.service", "fwupd-refresh.timer",
	"e2scrub_all.timer", "btrfs-scrub.timer",
}

// background returns those of them that run or wait for their time.
func (s system) background(ctx context.Context, k control) []string {
	if _, err := os.Stat(s.path(filepath.Join("run", "systemd", "system"))); err != nil {
		return nil
	}
	// One line per unit; it fails when any is inactive, which is no error here.
	text, _ := k.systemctl(ctx, append([]string{"is-active", "--"}, restless...)...)
	var found []string
	for i, state := range strings.Fields(text) {
		if i < len(restless) && state == "active" {
			found = append(found, restless[i])
		}
	}
	return found
}
