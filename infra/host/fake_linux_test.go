package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// fakeHost is a machine whose /proc, /sys and services are files below a directory, so that it outlives the process that changes it.
// It behaves as the kernel does where that matters: modes in brackets, ranks of swap space, values that it does not take.
type fakeHost struct {
	root string
	// before and after are called around every change, and may end it by a panic, as kill -9 would.
	before, after func(change string)
	// refuse returns the error of a change, or nil.
	refuse func(change string) error
	did    []string
}

func (f *fakeHost) path(name string) string { return filepath.Join(f.root, name) }

func (f *fakeHost) put(name, text string) {
	path := f.path(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		panic(err)
	}
}

func (f *fakeHost) get(name string) string {
	text, err := os.ReadFile(f.path(name))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return strings.TrimSpace(string(text))
}

// fakeSwap is one line of the machine's swaps.
type fakeSwap struct {
	path     string
	priority int
}

// newFakeHost makes a machine in a state from which everything has to be changed.
func newFakeHost(root string) *fakeHost {
	f := &fakeHost{root: root}
	f.put("proc/sys/kernel/random/boot_id", "boot-1\n")
	f.put("proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 8000000 kB\nBuffers: 1000 kB\nCached: 3000 kB\n")
	f.put("proc/sys/vm/drop_caches", "0\n")
	f.put("proc/sys/vm/compact_memory", "0\n")
	f.put("proc/7/cgroup", "0::/system.slice/worker.service\n")
	f.put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
	for i, governor := range []string{"schedutil", "powersave"} {
		f.put(fmt.Sprintf("sys/devices/system/cpu/cpufreq/policy%d/scaling_governor", i), governor+"\n")
		f.put(fmt.Sprintf("sys/devices/system/cpu/cpufreq/policy%d/scaling_available_governors", i), "schedutil powersave performance\n")
	}
	f.put("run/systemd/system/.keep", "")
	for _, unit := range []string{"cron", "atd"} {
		f.put("services/"+unit, "active\n")
	}
	f.put("services/nginx", "inactive\n")
	f.put("etc/fstab", "# swap\nUUID=1234 none swap sw,discard=once 0 0\n/dev/sdb2 none swap pri=5 0 0\n")
	for _, device := range []string{"dev/sda2", "dev/sdb2", "swap file"} {
		f.put(device, "")
	}
	if err := os.MkdirAll(f.path("dev/disk/by-uuid"), 0o755); err != nil {
		panic(err)
	}
	_ = os.Symlink("../../sda2", f.path("dev/disk/by-uuid/1234"))
	f.setSwaps([]fakeSwap{{"/dev/sda2", -2}, {"/swap file", -3}, {"/dev/sdb2", 5}})
	return f
}

func (f *fakeHost) setSwaps(swaps []fakeSwap) {
	var text strings.Builder
	text.WriteString("Filename Type Size Used Priority\n")
	for _, s := range swaps {
		fmt.Fprintf(&text, "%s partition 1048572 1024 %d\n", strings.ReplaceAll(s.path, " ", `\040`), s.priority)
	}
	f.put("proc/swaps", text.String())
}

func (f *fakeHost) swaps() []fakeSwap {
	var swaps []fakeSwap
	for _, line := range strings.Split(f.get("proc/swaps"), "\n")[1:] {
		words := strings.Fields(line)
		priority, err := strconv.Atoi(words[4])
		if err != nil {
			panic(err)
		}
		swaps = append(swaps, fakeSwap{unescape(words[0]), priority})
	}
	return swaps
}

// state is everything of the machine that must come back.
func (f *fakeHost) state() string {
	parts := []string{"thp " + f.get("sys/kernel/mm/transparent_hugepage/enabled")}
	swaps := f.swaps()
	slices.SortFunc(swaps, func(a, b fakeSwap) int { return b.priority - a.priority })
	for _, s := range swaps {
		parts = append(parts, fmt.Sprintf("swap %s %d", s.path, s.priority))
	}
	for _, pattern := range []string{"sys/devices/system/cpu/cpufreq/policy*/scaling_governor", "services/*"} {
		files, err := filepath.Glob(f.path(pattern))
		if err != nil {
			panic(err)
		}
		for _, file := range files {
			name, err := filepath.Rel(f.root, file)
			if err != nil {
				panic(err)
			}
			parts = append(parts, name+" "+f.get(name))
		}
	}
	return strings.Join(parts, "\n")
}

// change does one change as a kernel would, with everything that a test wants to happen around it.
func (f *fakeHost) change(name string, do func() error) error {
	if f.before != nil {
		f.before(name)
	}
	if f.refuse != nil {
		if err := f.refuse(name); err != nil {
			return err
		}
	}
	err := do()
	f.did = append(f.did, name)
	if f.after != nil {
		f.after(name)
	}
	return err
}

func (f *fakeHost) write(path, text string) error {
	name, err := filepath.Rel(f.root, path)
	if err != nil {
		return err
	}
	return f.change("write "+name+" "+text, func() error {
		if _, err := os.Stat(path); err != nil {
			return err
		}
		switch filepath.Base(name) {
		case "enabled":
			known := []string{"always", "madvise", "never"}
			if !slices.Contains(known, text) {
				return syscall.EINVAL
			}
			var modes []string
			for _, mode := range known {
				if mode == text {
					mode = "[" + mode + "]"
				}
				modes = append(modes, mode)
			}
			f.put(name, strings.Join(modes, " ")+"\n")
		case "scaling_governor":
			if !slices.Contains(strings.Fields(f.get(filepath.Join(filepath.Dir(name), "scaling_available_governors"))), text) {
				return syscall.EINVAL
			}
			f.put(name, text+"\n")
		case "drop_caches":
			f.put("proc/meminfo", strings.ReplaceAll(f.get("proc/meminfo"), "Cached: 3000", "Cached: 0"))
		}
		return nil
	})
}

// swapon ranks an area without a priority of its own behind all others, and swapoff closes the gap, as the kernel does.
func (f *fakeHost) swapon(path string, flags int) error {
	return f.change(fmt.Sprintf("swapon %s %#x", path, flags), func() error {
		if _, err := os.Stat(f.path(path)); err != nil {
			return syscall.ENOENT
		}
		swaps := f.swaps()
		least := -1
		for _, s := range swaps {
			if s.path == path {
				return syscall.EBUSY
			}
			least = min(least, s.priority)
		}
		priority := least - 1
		if flags&swapPrefer != 0 {
			priority = flags & 0x7fff
		}
		f.setSwaps(append(swaps, fakeSwap{path, priority}))
		return nil
	})
}

func (f *fakeHost) swapoff(path string) error {
	return f.change("swapoff "+path, func() error {
		swaps := f.swaps()
		at := slices.IndexFunc(swaps, func(s fakeSwap) bool { return s.path == path })
		if at < 0 {
			return syscall.EINVAL
		}
		gone := swaps[at].priority
		swaps = slices.Delete(swaps, at, at+1)
		for i := range swaps {
			if gone < 0 && swaps[i].priority < gone {
				swaps[i].priority++
			}
		}
		f.setSwaps(swaps)
		return nil
	})
}

func (f *fakeHost) flush() {}

func (f *fakeHost) systemctl(_ context.Context, args ...string) (string, error) {
	unit := args[len(args)-1]
	if args[0] == "show" {
		if _, err := os.Stat(f.path("services/" + unit)); err != nil {
			return "LoadState=not-found\nActiveState=inactive", nil
		}
		return "LoadState=loaded\nActiveState=" + f.get("services/"+unit), nil
	}
	return "", f.change(args[0]+" "+unit, func() error {
		f.put("services/"+unit, map[string]string{"stop": "inactive\n", "start": "active\n"}[args[0]])
		return nil
	})
}

func (f *fakeHost) rig() rig { return (system{root: f.root, pid: 7, cpus: []int{0}}).rig(f) }
