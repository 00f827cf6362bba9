package host

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/result"
)

// healthy is a machine that is fit to measure on.
func healthy() symptoms {
	return symptoms{
		host: result.Host{
			OS: "linux", Arch: "amd64", Kernel: "6.18", CPUModel: "AMD EPYC 9654", CPUs: 16, Sockets: 1, Cores: 16, Threads: 16, Nodes: 1, MemoryBytes: 64 << 30,
			SwapBytes: new(int64(0)), Governor: "performance", THP: "madvise", ClockSource: "tsc", Filesystem: "xfs, noatime", SMT: "off", Boost: "off",
			IdleStates: "acpi_idle: POLL, C1", Mitigations: []string{"spectre_v2: Mitigation: Retpolines"},
			Disk:   &result.Disk{Model: "Samsung SSD 990", Rotational: new(false), WriteCache: "write back", Scheduler: "none"},
			Limits: []string{"open files 65536"}, ContainerEngine: "Docker 29.1",
			Probe: &result.HostProbe{Flushes: 100, FlushMedianNs: 400_000, FlushP99Ns: 900_000, StealShare: new(0.0), StealNs: 1e9},
		},
		split: CPUSets{Why: "16 cores: 5 for the agent, 10 for the server, 1 for the rest"}, load: 0.05, freeBytes: 500 << 30, sizeBytes: 1000 << 30,
	}
}

func TestDoctorSaysWhatToFix(t *testing.T) {
	options := DoctorOptions{DataDir: "data", Flush: true, Isolation: Isolation{}.withDefaults()}
	for _, f := range healthy().findings(options) {
		if f.Status != StatusOK || f.Fix != "" || f.Value == "" || f.Name == "" {
			t.Errorf("a healthy machine: %+v", f)
		}
	}
	for _, tc := range []struct {
		name   string
		ill    func(s *symptoms)
		status Status
		value  string
		fix    string
	}{
		{"mitigations", func(s *symptoms) { s.host.Mitigations = []string{"mds: Vulnerable"} }, StatusWarn, "mds: Vulnerable", "same setting"},
		{"governor", func(s *symptoms) { s.host.Governor = "powersave" }, StatusWarn, "powersave", "cpupower frequency-set -g performance; isolation does it"},
		{"boost", func(s *symptoms) { s.host.Boost = "on" }, StatusWarn, "on", "no_turbo"},
		{"idle states", func(s *symptoms) { s.host.IdleStates = "intel_idle: POLL, C1, C6" }, StatusWarn, "C6", "at low rates"},
		{"clock source", func(s *symptoms) { s.host.ClockSource = "hpet" }, StatusBad, "hpet", "clocksource=tsc"},
		{"swap", func(s *symptoms) { s.host.SwapBytes = new(int64(2 << 30)) }, StatusWarn, "2.0 GiB", "swapoff -a"},
		{"transparent huge pages", func(s *symptoms) { s.host.THP = "always" }, StatusWarn, "always", "echo never"},
		{"memory limit", func(s *symptoms) { s.host.CgroupBytes = new(int64(1 << 30)) }, StatusWarn, "1.0 GiB by control groups", "page cache"},
		{"cpu limit", func(s *symptoms) { s.host.CgroupCPUs = new(1.5) }, StatusWarn, "1.5 CPUs", "cpuset"},
		{"cpu sets", func(s *symptoms) { s.split = CPUSets{Shared: true, Why: "2 cores: too few"} }, StatusWarn, "2 cores: too few", "at least 3 cores"},
		{"filesystem", func(s *symptoms) { s.host.Filesystem = "tmpfs" }, StatusBad, "tmpfs", "survive no crash"},
		{"filesystem", func(s *symptoms) { s.host.Filesystem = "overlay, volatile" }, StatusWarn, "overlay, volatile", "mount a volume"},
		{"filesystem", func(s *symptoms) { s.host.Filesystem = "nfs4, relatime" }, StatusWarn, "nfs4, relatime", "local disk"},
		{"disk", func(s *symptoms) { s.host.Disk.Rotational = new(true) }, StatusWarn, "Samsung SSD 990, rotational, write cache: write back, scheduler: none", "use an SSD"},
		{"space", func(s *symptoms) { s.freeBytes = 1 << 30 }, StatusWarn, "1.0 GiB free of 1000 GiB", "make room"},
		{"flush latency", func(s *symptoms) { s.host.Probe.FlushMedianNs = 3_000 }, StatusBad, "3µs median, 900µs p99 (4 KiB)", "does not flush"},
		{"flush latency", func(s *symptoms) { s.host.Probe.FlushMedianNs, s.host.Probe.FlushP99Ns = 12e6, 20e6 }, StatusWarn, "12ms median", "faster disk"},
		{"flush latency", func(s *symptoms) { s.host.Probe.FlushP99Ns = 80e6 }, StatusWarn, "80ms p99", "something else writes"},
		{"flush latency", func(s *symptoms) { s.host.Probe, s.probeError = nil, errors.New("permission denied") }, StatusWarn, "permission denied", "can be written"},
		{"steal", func(s *symptoms) { s.host.Probe.StealShare = new(0.02) }, StatusWarn, "2.0 %", "repeat runs"},
		{"steal", func(s *symptoms) { s.host.Probe.StealShare = new(0.2) }, StatusBad, "20.0 %", "another size"},
		{"virtualisation", func(s *symptoms) { s.host.Virtual = "hypervisor (QEMU)" }, StatusWarn, "hypervisor (QEMU)", "neighbours"},
		{"load", func(s *symptoms) { s.load, s.busiest = 1.5, "postgres (12) 0.93" }, StatusWarn, "1.50 threads run or wait for a device; busiest: postgres (12) 0.93", "below 0.5"},
		{"load", func(s *symptoms) { s.loadError = errors.New("no /proc") }, StatusWarn, "no /proc", ""},
		{"background services", func(s *symptoms) { s.background = []string{"snapd.service"} }, StatusWarn, "snapd.service", "stops them for the length of a run"},
		{"isolation", func(s *symptoms) { s.refusals = []string{"swap: it takes root"} }, StatusWarn, "would be refused: swap: it takes root", "all capabilities"},
		{"container engine", func(s *symptoms) { s.host.ContainerEngine = "" }, StatusWarn, "none", "programs on this machine"},
		{"host lock", func(s *symptoms) { s.holder = &Holder{RunID: "run-1", PID: 12} }, StatusWarn, "held by run run-1 (process 12", "waits"},
		{"host lock", func(s *symptoms) { s.lockError = errors.New("permission denied") }, StatusBad, "permission denied", "remove it"},
		{"earlier changes", func(s *symptoms) { s.left = "run run-1, since noon" }, StatusWarn, "not put back: run run-1, since noon", "before the next run"},
		{"system", func(s *symptoms) { s.host.OS = "darwin" }, StatusWarn, "darwin/amd64 6.18", "measure on Linux"},
	} {
		t.Run(tc.name+" "+tc.value, func(t *testing.T) {
			s := healthy()
			tc.ill(&s)
			seen := false
			for _, f := range s.findings(options) {
				if f.Name != tc.name {
					if f.Status != StatusOK {
						t.Errorf("also %+v", f)
					}
					continue
				}
				seen = true
				if f.Status != tc.status || !strings.Contains(f.Value, tc.value) || !strings.Contains(f.Fix, tc.fix) {
					t.Errorf("%+v", f)
				}
			}
			if !seen {
				t.Error("not found")
			}
		})
	}
	// What is the hypervisor's is no advice on a virtual machine.
	s := healthy()
	s.host.Virtual, s.host.Boost, s.host.IdleStates, s.host.Disk.Rotational = "hypervisor", "on", "intel_idle: C6", new(true)
	for _, f := range s.findings(options) {
		if f.Status != StatusOK && f.Name != "virtualisation" {
			t.Errorf("a virtual machine: %+v", f)
		}
	}
}

func TestDoctorLooksAtThisMachine(t *testing.T) {
	dir := t.TempDir()
	seen := map[string]Finding{}
	for _, f := range Doctor(t.Context(), DoctorOptions{DataDir: dir, Flush: true, Window: 100 * time.Millisecond, LockDir: dir, JournalDir: dir}) {
		if f.Name == "" || f.Value == "" || f.Status == "" || f.Status != StatusOK && f.Fix == "" && f.Name != "load" {
			t.Errorf("%+v", f)
		}
		if _, twice := seen[f.Name]; twice {
			t.Errorf("%s is there twice", f.Name)
		}
		seen[f.Name] = f
		t.Logf("%-24s %-5s %s\n%s", f.Name, f.Status, f.Value, f.Fix)
	}
	for _, name := range []string{"system", "host lock", "earlier changes", "isolation", "flush latency"} {
		if seen[name].Name == "" {
			t.Errorf("nothing about %s", name)
		}
	}
	if seen["host lock"].Value != "free" || seen["earlier changes"].Value != "none left" {
		t.Errorf("%+v, %+v", seen["host lock"], seen["earlier changes"])
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestProbeMeasuresAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	p, err := Probe(t.Context(), filepath.Join(dir, "not", "yet"), 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if p.Flushes != flushCount || p.FlushMedianNs <= 0 || p.FlushP99Ns < p.FlushMedianNs {
		t.Errorf("%+v", p)
	}
	if runtime.GOOS == "linux" && p.StealShare != nil && (*p.StealShare < 0 || *p.StealShare > 1 || p.StealNs != 50e6) {
		t.Errorf("steal %g in %d ns", *p.StealShare, p.StealNs)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if p, err := Probe(t.Context(), "", 0); p != nil || err != nil {
		t.Errorf("nothing asked for: %+v, %v", p, err)
	}
	if p, err := Probe(t.Context(), "/proc", 0); p != nil || err == nil {
		t.Errorf("where nothing can be written: %+v, %v", p, err)
	}
}

func TestDigestIsOfWhatStays(t *testing.T) {
	h := Fingerprint(t.Context(), t.TempDir())
	measured := h
	measured.Probe = &result.HostProbe{Flushes: 100, FlushMedianNs: 1, FlushP99Ns: 2, StealShare: new(0.5)}
	measured.Limits, measured.ContainerEngine = []string{"open files 1"}, "Docker"
	if measured.Fingerprint() != h.Digest {
		t.Error("the digest depends on measurements, limits or the container engine")
	}
	for name, change := range map[string]func(*result.Host){
		"cores": func(h *result.Host) { h.Cores++ }, "smt": func(h *result.Host) { h.SMT = "?" }, "boost": func(h *result.Host) { h.Boost = "?" },
		"mitigations": func(h *result.Host) { h.Mitigations = []string{"?"} }, "disk": func(h *result.Host) { h.Disk = &result.Disk{Model: "?"} },
		"governor": func(h *result.Host) { h.Governor = "?" },
	} {
		other := h
		change(&other)
		if other.Fingerprint() == h.Digest {
			t.Errorf("the digest does not depend on %s", name)
		}
	}
}
