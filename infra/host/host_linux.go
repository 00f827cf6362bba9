package host

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/durabench/durabench/bench/result"
)

func describe(ctx context.Context, h *result.Host, dataDir string) {
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		h.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	s := system{root: "/", pid: os.Getpid(), cpus: allowedCPUs()}
	if len(s.cpus) > 0 {
		h.CPUs = len(s.cpus)
	}
	s.describe(h)
	s.describeCPUs(h)
	h.Limits = processLimits()
	if ctx.Err() == nil && dataDir != "" {
		h.Filesystem = s.filesystem(dataDir)
		h.Disk = s.disk(dataDir)
	}
}

// system reads what a machine tells of itself in files below root.
type system struct {
	root string
	pid  int
	cpus []int // that this process may run on
}

func (s system) path(name string) string { return filepath.Join(s.root, name) }

// word returns a file's content without white space around it, or nothing when it cannot be read.
func (s system) word(name string) string {
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func (s system) describe(h *result.Host) {
	proc, err := procfs.NewFS(s.path("proc"))
	if err != nil {
		return
	}
	cpus, _ := proc.CPUInfo()
	h.CPUModel = cpuModel(cpus)
	if memory, err := proc.Meminfo(); err == nil {
		if memory.MemTotalBytes != nil {
			h.MemoryBytes = int64(*memory.MemTotalBytes)
		}
		if memory.SwapTotalBytes != nil {
			h.SwapBytes = new(int64(*memory.SwapTotalBytes))
		}
	}
	h.Governor = s.governor()
	h.THP = chosen(s.word("sys/kernel/mm/transparent_hugepage/enabled"))
	h.ClockSource = s.word("sys/devices/system/clocksource/clocksource0/current_clocksource")
	h.Virtual = s.virtual(cpus, h.Kernel)
	limits := s.cgroup(proc)
	h.CgroupCPUs, h.CgroupBytes = limits.cpus, limits.bytes
}

// cpuModel names the processors, all different ones. ARM has numbers in place of names.
func cpuModel(cpus []procfs.CPUInfo) string {
	var models []string
	for _, cpu := range cpus {
		model := cpu.ModelName
		if model == "" && cpu.VendorID != "" && cpu.Model != "" {
			model = "implementer " + cpu.VendorID + " part " + cpu.Model
		}
		if model != "" && !slices.Contains(models, model) {
			models = append(models, model)
		}
	}
	return strings.Join(models, ", ")
}

// governor returns the frequency governors in use. Most virtual machines have none.
func (s system) governor() string {
	files, err := filepath.Glob(s.path("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
	if err != nil {
		return ""
	}
	var governors []string
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			governors = append(governors, strings.TrimSpace(string(text)))
		}
	}
	slices.Sort(governors)
	return strings.Join(slices.Compact(governors), ", ")
}

// chosen returns the word in square brackets, which is how the kernel marks the one of several modes that is on.
func chosen(modes string) string {
	_, rest, found := strings.Cut(modes, "[")
	mode, _, closed := strings.Cut(rest, "]")
	if !found || !closed {
		return ""
	}
	return mode
}

// virtual returns hints that the machine is not all ours: a hypervisor, by the processor's own flag or the maker's name, or a container.
func (s system) virtual(cpus []procfs.CPUInfo, kernel string) string {
	vendor := s.word("sys/class/dmi/id/sys_vendor")
	product := strings.TrimSpace(vendor + " " + s.word("sys/class/dmi/id/product_name"))
	guest := slices.ContainsFunc(cpus, func(cpu procfs.CPUInfo) bool { return slices.Contains(cpu.Flags, "hypervisor") })
	for _, maker := range []string{"QEMU", "KVM", "VMware", "VirtualBox", "innotek", "Xen", "Virtual Machine", "Amazon EC2", "Google Compute Engine", "OpenStack"} {
		// "Amazon EC2" is also the maker of machines without a hypervisor, which are named after their metal.
		guest = guest || strings.Contains(product, maker) && !strings.Contains(product, "metal")
	}
	var hints []string
	switch {
	case guest && product != "":
		hints = append(hints, "hypervisor ("+product+")")
	case guest:
		hints = append(hints, "hypervisor")
	}
	if strings.Contains(strings.ToLower(kernel), "microsoft") {
		hints = append(hints, "WSL")
	}
	for file, name := range map[string]string{".dockerenv": "Docker container", "run/.containerenv": "Podman container"} {
		if _, err := os.Stat(s.path(file)); err == nil {
			hints = append(hints, name)
		}
	}
	slices.Sort(hints)
	return strings.Join(hints, ", ")
}
