package host

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/durabench/durabench/bench/result"
)

// topology returns the CPUs that this process may run on, which is also all that a cpuset of control groups allows.
func (s system) topology() Topology {
	online := numbers(s.word("sys/devices/system/cpu/online"))
	var t Topology
	for _, id := range s.cpus {
		if online != nil && !slices.Contains(online, id) {
			continue
		}
		t.CPUs = append(t.CPUs, CPU{ID: id, Core: s.coreOf(id), Node: s.nodeOf(id)})
	}
	if proc, err := procfs.NewFS(s.path("proc")); err == nil {
		if quota := s.cgroup(proc).cpus; quota != nil {
			t.Quota = *quota
		}
	}
	return t
}

func (s system) cpuFile(id int, name string) string {
	return s.word(filepath.Join("sys/devices/system/cpu", "cpu"+strconv.Itoa(id), name))
}

// coreOf names the physical core of a CPU by the CPUs that it has.
func (s system) coreOf(id int) string {
	for _, file := range []string{"topology/core_cpus_list", "topology/thread_siblings_list"} { // the newer name and the older
		if siblings := s.cpuFile(id, file); siblings != "" {
			return siblings
		}
	}
	return strconv.Itoa(id)
}

// nodeOf returns the NUMA node of a CPU; without NUMA there is one.
func (s system) nodeOf(id int) int {
	nodes, err := filepath.Glob(s.path(filepath.Join("sys/devices/system/cpu", "cpu"+strconv.Itoa(id), "node[0-9]*")))
	if err != nil || len(nodes) == 0 {
		return 0
	}
	node, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(nodes[0]), "node"))
	if err != nil {
		return 0
	}
	return node
}

// describeCPUs fills in what is built into the machine, whatever this process may use of it.
func (s system) describeCPUs(h *result.Host) {
	packages, cores, nodes := map[string]bool{}, map[string]bool{}, map[int]bool{}
	online := numbers(s.word("sys/devices/system/cpu/online"))
	for _, id := range online {
		socket := s.cpuFile(id, "topology/physical_package_id")
		if socket == "" {
			continue
		}
		packages[socket] = true
		cores[s.coreOf(id)] = true
		nodes[s.nodeOf(id)] = true
	}
	h.Threads = len(online)
	h.Sockets, h.Cores, h.Nodes = len(packages), len(cores), len(nodes)
	h.SMT = s.word("sys/devices/system/cpu/smt/control")
	h.Boost = s.boost()
	h.IdleStates = s.idleStates()
	h.Mitigations = s.mitigations()
}

// boost tells whether CPUs may clock above their nominal rate.
func (s system) boost() string {
	for file, on := range map[string]string{
		"sys/devices/system/cpu/cpufreq/boost":         "1",
		"sys/devices/system/cpu/intel_pstate/no_turbo": "0",
	} {
		switch s.word(file) {
		case "":
		case on:
			return "on"
		default:
			return "off"
		}
	}
	return ""
}

// idleStates names the states that an idle CPU may enter, the deeper the later, and what chooses among them: "intel_idle: POLL, C1, C6".
func (s system) idleStates() string {
	files, err := filepath.Glob(s.path("sys/devices/system/cpu/cpu0/cpuidle/state[0-9]*/name"))
	if err != nil || len(files) == 0 {
		return ""
	}
	var states []string
	for _, file := range files {
		name, err := os.ReadFile(file)
		off, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "disable"))
		if err == nil && strings.TrimSpace(string(off)) != "1" {
			states = append(states, strings.TrimSpace(string(name)))
		}
	}
	return s.word("sys/devices/system/cpu/cpuidle/current_driver") + ": " + strings.Join(states, ", ")
}

// mitigations returns what the kernel does about each weakness that the processor has.
func (s system) mitigations() []string {
	files, err := filepath.Glob(s.path("sys/devices/system/cpu/vulnerabilities/*"))
	if err != nil {
		return nil
	}
	var found []string
	for _, file := range files { // sorted by name
		text, err := os.ReadFile(file)
		if what := strings.TrimSpace(string(text)); err == nil && what != "" && what != "Not affected" {
			found = append(found, filepath.Base(file)+": "+what)
		}
	}
	return found
}
