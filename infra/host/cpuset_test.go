package host

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// machineOf returns a topology of nodes × cores × threads whose threads are numbered as Linux does: all first ones, then all second ones.
func machineOf(nodes, cores, threads int) Topology {
	var t Topology
	for thread := range threads {
		for node := range nodes {
			for core := range cores {
				n := node*cores + core
				t.CPUs = append(t.CPUs, CPU{ID: thread*nodes*cores + n, Core: fmt.Sprint(n), Node: node})
			}
		}
	}
	return t
}

// only leaves the CPUs that affinity or a cpuset allows.
func (t Topology) only(allowed string) Topology {
	ids := numbers(allowed)
	t.CPUs = slices.DeleteFunc(slices.Clone(t.CPUs), func(cpu CPU) bool { return !slices.Contains(ids, cpu.ID) })
	return t
}

func (t Topology) quota(cpus float64) Topology {
	t.Quota = cpus
	return t
}

func TestCPUsAreSplit(t *testing.T) {
	for _, tc := range []struct {
		name                string
		topology            Topology
		noServer            bool
		agent, server, rest string
		shared              bool
		why                 string
	}{
		{"one CPU", machineOf(1, 1, 1), false, "", "", "", true, "1 core: too few for agent and server to have their own, which takes 3; they share"},
		{"a small virtual machine", machineOf(1, 2, 1), false, "", "", "", true, "2 cores: too few for agent and server to have their own, which takes 3; they share"},
		// Four CPUs, but two cores: threads of one core are no CPUs of one's own.
		{"two cores with SMT", machineOf(1, 2, 2), false, "", "", "", true, "2 cores: too few for agent and server to have their own, which takes 3; they share"},
		{"three cores", machineOf(1, 3, 1), false, "1", "2", "0", false, "3 cores: 1 for the agent, 1 for the server, 1 for the rest"},
		{"four cores", machineOf(1, 4, 1), false, "1", "2-3", "0", false, "4 cores: 1 for the agent, 2 for the server, 1 for the rest"},
		{"eight cores with SMT", machineOf(1, 8, 2), false, "1-3,9-11", "4-7,12-15", "0,8", false, "8 cores: 3 for the agent, 4 for the server, 1 for the rest"},
		{"two sockets: the border is the nodes'", machineOf(2, 8, 2), false, "1-7,17-23", "8-15,24-31", "0,16", false,
			"16 cores: 7 for the agent, 8 for the server, 1 for the rest; agent on NUMA node 0, server on 1"},
		// Wanted is a border at 6: 4 and 8 are as near, and the first leaves the server more.
		{"four nodes", machineOf(4, 4, 1), false, "1-3", "4-15", "0", false,
			"16 cores: 3 for the agent, 12 for the server, 1 for the rest; agent on NUMA node 0, server on 1-3"},
		{"a cpuset without the first cores", machineOf(1, 8, 2).only("4-7,12-15"), false, "5,13", "6-7,14-15", "4,12", false, "4 cores: 1 for the agent, 2 for the server, 1 for the rest"},
		{"a cpuset with half a core", machineOf(1, 4, 2).only("0-3,5"), false, "1,5", "2-3", "0", false, "4 cores: 1 for the agent, 2 for the server, 1 for the rest"},
		{"a cpuset of one node", machineOf(2, 8, 1).only("8-15"), false, "9-11", "12-15", "8", false, "8 cores: 3 for the agent, 4 for the server, 1 for the rest"},
		{"a quota below the cores", machineOf(1, 64, 1).quota(4.5), false, "1", "2-3", "0", false,
			"64 cores, of which control groups allow the time of 4.5: 1 for the agent, 2 for the server, 1 for the rest"},
		{"a quota of less than three", machineOf(1, 64, 1).quota(2.9), false, "", "", "", true,
			"64 cores, of which control groups allow the time of 2.9: too few for agent and server to have their own, which takes 3; they share"},
		{"half a CPU", machineOf(1, 4, 1).quota(0.5), false, "", "", "", true, "4 cores, of which control groups allow the time of 0.5: too few for agent and server to have their own, which takes 3; they share"},
		{"a quota above the cores", machineOf(1, 4, 1).quota(8), false, "1", "2-3", "0", false, "4 cores: 1 for the agent, 2 for the server, 1 for the rest"},
		{"an embedded engine", machineOf(1, 8, 1), true, "1-7", "", "0", false, "8 cores: 7 for the agent, 1 for the rest; no server here needs its own"},
		{"an embedded engine on two cores", machineOf(1, 2, 1), true, "", "", "", false, "2 cores: too few to keep one for the rest of the system"},
		{"nothing known", Topology{}, false, "", "", "", true, "0 cores: too few for agent and server to have their own, which takes 3; they share"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := SplitCPUs(tc.topology, !tc.noServer)
			if list(got.Agent) != tc.agent || list(got.Server) != tc.server || list(got.Rest) != tc.rest || got.Shared != tc.shared || got.Why != tc.why {
				t.Errorf("agent %s, server %s, rest %s, shared %t: %s", list(got.Agent), list(got.Server), list(got.Rest), got.Shared, got.Why)
			}
		})
	}
}

func TestSplitNeverDividesACoreNorGivesItTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topology := machineOf(rapid.IntRange(1, 4).Draw(t, "nodes"), rapid.IntRange(1, 9).Draw(t, "cores"), rapid.IntRange(1, 4).Draw(t, "threads"))
		topology.CPUs = slices.DeleteFunc(topology.CPUs, func(CPU) bool { return rapid.IntRange(0, 4).Draw(t, "not allowed") == 0 })
		if rapid.Bool().Draw(t, "limited") {
			topology.Quota = rapid.Float64Range(0.1, 40).Draw(t, "quota")
		}
		sets := SplitCPUs(topology, rapid.Bool().Draw(t, "server"))
		owner := map[string]string{}
		for name, ids := range map[string][]int{"agent": sets.Agent, "server": sets.Server, "rest": sets.Rest} {
			for _, id := range ids {
				at := slices.IndexFunc(topology.CPUs, func(cpu CPU) bool { return cpu.ID == id })
				if at < 0 {
					t.Fatalf("%s has CPU %d, which is not allowed", name, id)
				}
				core := topology.CPUs[at].Core
				if other := owner[core]; other != "" && other != name {
					t.Fatalf("core %s belongs to %s and %s", core, name, other)
				}
				owner[core] = name
			}
		}
		if sets.Shared && len(owner) > 0 || len(sets.Server) > 0 && (len(sets.Agent) == 0 || len(sets.Rest) == 0) || sets.Why == "" {
			t.Fatalf("%+v", sets)
		}
		if topology.Quota > 0 && float64(len(owner)) > topology.Quota {
			t.Fatalf("%d cores are given away under a quota of %g", len(owner), topology.Quota)
		}
	})
}

func TestListsOfCPUs(t *testing.T) {
	for text, ids := range map[string][]int{"": nil, "0": {0}, "0-1": {0, 1}, "0-3,8,10-11": {0, 1, 2, 3, 8, 10, 11}} {
		if got := list(ids); got != text {
			t.Errorf("%v is written %q, want %q", ids, got, text)
		}
		if got := numbers(text + "\n"); !slices.Equal(got, ids) {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	for _, text := range []string{"x", "1-", "3-1", "0-99999999", "1,,2"} {
		if got := numbers(text); got != nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
