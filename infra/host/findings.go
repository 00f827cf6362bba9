package host

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// processors judges what the CPUs are and how they can be shared out.
func (s symptoms) processors(DoctorOptions) []Finding {
	h := s.host
	system := ok("system", strings.TrimSpace(h.OS+"/"+h.Arch+" "+h.Kernel))
	if h.OS != "linux" {
		system = warn("system", system.Value, "good for writing specs and trying things; measure on Linux, where machines can be isolated and servers observed")
	}
	cpu := ok("cpu", h.CPUModel)
	if h.Cores > 0 {
		cpu.Value = fmt.Sprintf("%s: %s, %s, %s, %s", h.CPUModel, plural(h.Sockets, "socket"), plural(h.Cores, "core"), plural(h.Threads, "thread"),
			plural(h.Nodes, "NUMA node"))
		if h.CPUs < h.Threads {
			cpu.Value += fmt.Sprintf("; this process may use %d", h.CPUs)
		}
	}
	sets := ok("cpu sets", s.split.Why)
	if s.split.Shared {
		sets = warn("cpu sets", s.split.Why, "use a machine with at least 3 cores, or run the database on another one; shared CPUs make the load cost the database")
	}
	mitigations := ok("mitigations", "")
	if n := len(h.Mitigations); n > 0 {
		mitigations.Value = fmt.Sprintf("%d in force", n)
	}
	if at := slices.IndexFunc(h.Mitigations, func(one string) bool { return strings.Contains(one, ": Vulnerable") }); at >= 0 {
		mitigations = warn("mitigations", h.Mitigations[at], "compare only with machines of the same setting: mitigations cost system calls some of their speed")
	}
	return known(system, cpu, sets, ok("smt", h.SMT), mitigations)
}

// clocks judges what the CPUs' speed depends on, and the clock that measures.
func (s symptoms) clocks(DoctorOptions) []Finding {
	h := s.host
	governor := ok("governor", h.Governor)
	switch {
	case h.Governor == "" && h.OS == "linux":
		governor.Value = "not to be set from here"
	case h.Governor != "" && h.Governor != "performance":
		governor = warn("governor", h.Governor, "cpupower frequency-set -g performance; "+byItself)
	}
	boost := ok("boost", h.Boost)
	if h.Boost == "on" && h.Virtual == "" {
		boost = warn("boost", "on", "the clock depends on temperature and on how many cores are busy; for figures that repeat turn it off in the firmware, "+
			"or by intel_pstate/no_turbo or cpufreq/boost below /sys/devices/system/cpu")
	}
	idle := ok("idle states", h.IdleStates)
	if deepIdle(h.IdleStates) && h.Virtual == "" {
		idle = warn("idle states", h.IdleStates, "at low rates CPUs fall asleep between operations and latency rises by what waking up takes: compare runs "+
			"of the same rate, or keep CPUs awake with cpupower idle-set -D 10")
	}
	clock := ok("clock source", h.ClockSource)
	switch h.ClockSource {
	case "hpet", "acpi_pm", "jiffies", "pit":
		clock = bad("clock source", h.ClockSource, "one reading takes a microsecond or more, as long as a fast operation: find out by dmesg why the kernel "+
			"distrusts tsc, or start it with clocksource=tsc")
	case "xen":
		clock = warn("clock source", h.ClockSource, "readings are system calls: choose tsc in /sys/devices/system/clocksource/clocksource0/current_clocksource")
	}
	return known(governor, boost, idle, clock)
}

// deepIdle tells whether a CPU may enter a state that takes long to leave.
func deepIdle(states string) bool {
	_, list, _ := strings.Cut(states, ": ")
	for state := range strings.SplitSeq(list, ", ") {
		switch state {
		case "", "POLL", "C1", "C1E", "C1_ACPI", "WFI":
		default:
			return true
		}
	}
	return false
}

// memory judges memory and what the kernel does with it behind programs' backs.
func (s symptoms) memory(DoctorOptions) []Finding {
	h := s.host
	var found []Finding
	if h.MemoryBytes > 0 {
		found = append(found, ok("memory", humanize.IBytes(uint64(h.MemoryBytes))))
	}
	switch {
	case h.SwapBytes == nil:
	case *h.SwapBytes == 0:
		found = append(found, ok("swap", "off"))
	default:
		found = append(found, warn("swap", humanize.IBytes(uint64(*h.SwapBytes)), "swapoff -a, for a swapped page costs milliseconds; "+byItself))
	}
	pages := ok("transparent huge pages", h.THP)
	if h.THP == "always" {
		pages = warn("transparent huge pages", h.THP, "echo never > /sys/kernel/mm/transparent_hugepage/enabled: putting pages together stops programs now and then; "+byItself)
	}
	found = append(found, known(pages)...)
	if h.CgroupBytes != nil {
		found = append(found, warn("memory limit", humanize.IBytes(uint64(*h.CgroupBytes))+" by control groups",
			"the page cache of the database's files counts too: allow more, or compare only with runs under the same limit"))
	}
	if h.CgroupCPUs != nil {
		found = append(found, warn("cpu limit", fmt.Sprintf("%.4g CPUs by control groups", *h.CgroupCPUs),
			"a quota stops all threads for the rest of a period when it is used up, which shows as latency: give whole CPUs (cpuset) in place of a quota"))
	}
	return found
}

// storage judges where the database's files will be.
func (s symptoms) storage(o DoctorOptions) []Finding {
	h := s.host
	kind, _, _ := strings.Cut(h.Filesystem, ",")
	filesystem := ok("filesystem", h.Filesystem)
	switch kind {
	case "tmpfs", "ramfs":
		filesystem = bad("filesystem", h.Filesystem, "files in memory survive no crash, whatever a database promises: choose a data directory on a disk")
	case "overlay", "aufs":
		filesystem = warn("filesystem", h.Filesystem, "layers of a container cost the first write to each file: mount a volume for the data directory")
	case "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse", "fuse.sshfs", "ceph":
		filesystem = warn("filesystem", h.Filesystem, "the network or another system is measured too: choose a data directory on a local disk")
	}
	found := known(filesystem)
	if d := h.Disk; d != nil {
		parts := []string{d.Model}
		turns := d.Rotational != nil && *d.Rotational
		if turns {
			parts = append(parts, "rotational")
		}
		if d.WriteCache != "" {
			parts = append(parts, "write cache: "+d.WriteCache)
		}
		if d.Scheduler != "" {
			parts = append(parts, "scheduler: "+d.Scheduler)
		}
		disk := ok("disk", strings.TrimPrefix(strings.Join(parts, ", "), ", "))
		if turns && h.Virtual == "" {
			disk = warn("disk", disk.Value, "a turning disk takes milliseconds to flush, and databases are then as fast as it turns: use an SSD")
		}
		found = append(found, disk)
	}
	if s.sizeBytes > 0 {
		space := ok("space", fmt.Sprintf("%s free of %s", humanize.IBytes(uint64(s.freeBytes)), humanize.IBytes(uint64(s.sizeBytes))))
		if s.freeBytes < s.sizeBytes/10 || s.freeBytes < 2<<30 {
			space = warn("space", space.Value, "make room: a filesystem that is nearly full is slow, and one that is full ends the run")
		}
		found = append(found, space)
	}
	return append(found, s.flush(o)...)
}

// flush judges how long the device takes to make a write last.
func (s symptoms) flush(o DoctorOptions) []Finding {
	switch {
	case !o.Flush || o.DataDir == "":
		return nil
	case s.host.Probe == nil || s.host.Probe.Flushes == 0:
		why := "not measured"
		if s.probeError != nil {
			why = s.probeError.Error()
		}
		return []Finding{warn("flush latency", why, "choose a data directory that can be written")}
	}
	p := s.host.Probe
	median, late := time.Duration(p.FlushMedianNs), time.Duration(p.FlushP99Ns)
	value := fmt.Sprintf("%v median, %v p99 (4 KiB)", median.Round(time.Microsecond), late.Round(time.Microsecond))
	switch {
	case median < 10*time.Microsecond:
		return []Finding{bad("flush latency", value, "no disk is that fast: it does not flush, so durability is not what is measured; look for tmpfs, "+
			"nobarrier, or a hypervisor that ignores flushes")}
	case median > 10*time.Millisecond:
		return []Finding{warn("flush latency", value, "every durable write waits that long: use a faster disk, or compare at the process tier")}
	case late > 20*median && late > 20*time.Millisecond:
		return []Finding{warn("flush latency", value, "some flushes take far longer than most: something else writes to this device, or its budget is used up")}
	}
	return []Finding{ok("flush latency", value)}
}

// neighbours judges who else uses the machine.
func (s symptoms) neighbours(o DoctorOptions) []Finding {
	h := s.host
	var found []Finding
	if h.Virtual != "" {
		found = append(found, warn("virtualisation", h.Virtual, "figures are as steady as the neighbours: repeat runs, and use a dedicated or metal machine to publish"))
	}
	if p := h.Probe; p != nil && p.StealShare != nil {
		value := fmt.Sprintf("%.1f %% of the CPU time that was wanted", 100**p.StealShare)
		switch {
		case *p.StealShare > 0.05:
			found = append(found, bad("steal", value, "the hypervisor gives this machine's CPUs to others: use another size or kind of machine"))
		case *p.StealShare > 0.01:
			found = append(found, warn("steal", value, "the hypervisor gives some of this machine's time to others: repeat runs and look at their spread"))
		default:
			found = append(found, ok("steal", value))
		}
	}
	switch {
	case s.loadError != nil:
		found = append(found, warn("load", "cannot be read: "+s.loadError.Error(), ""))
	case h.OS != "linux":
	case s.load >= o.Isolation.Load:
		value := fmt.Sprintf("%.2f threads run or wait for a device", s.load)
		if s.busiest != "" {
			value += "; busiest: " + s.busiest
		}
		found = append(found, warn("load", value, fmt.Sprintf("end what is not needed: runs wait until it is below %.4g", o.Isolation.Load)))
	default:
		found = append(found, ok("load", fmt.Sprintf("%.2f", s.load)))
	}
	if len(s.background) > 0 {
		found = append(found, warn("background services", strings.Join(s.background, ", "),
			"they start work by themselves: name them as services of the isolation, which stops them for the length of a run"))
	}
	return found
}

// processes judges the limits that databases and drivers run under.
func (s symptoms) processes(DoctorOptions) []Finding {
	if len(s.host.Limits) == 0 {
		return nil
	}
	return []Finding{ok("limits", strings.Join(s.host.Limits, "; "))}
}
