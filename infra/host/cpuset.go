package host

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// CPU is one logical CPU.
type CPU struct {
	ID   int
	Core string // the same for the CPUs of one physical core, which SMT makes several
	Node int    // NUMA node
}

// Topology is what of the machine's CPUs a process may run on.
type Topology struct {
	CPUs  []CPU
	Quota float64 // CPUs' worth of time that control groups allow; 0 for no limit
}

// CPUSets says which CPUs agent and server run on.
type CPUSets struct {
	Agent  []int // empty: any
	Server []int // empty: any, or elsewhere
	Rest   []int // for everything else: the system, the worker, a Temporal server
	Shared bool  // agent and server run on the same CPUs
	Why    string
}

// agentShare is the agent's part of what agent and server get: one in three. It is the same for every engine, so that engines compare.
const agentShare = 3

// SplitCPUs divides the CPUs between agent, server and everything else. Physical cores are never divided: two threads of one core take
// from each other. One core stays for everything else, the first, which most interrupts go to. Of the others the agent gets a third,
// rounded up; on several NUMA nodes the border is moved to that of a node, the nearest one, so that neither the agent's nor the server's
// memory is far without need. With less than three cores, or a quota of less than three CPUs, they share. Under a quota no more cores are
// given away than it covers, so that one cannot use up what the other needs.
//
// Without a server on CPUs of its own (an embedded one runs in the agent, an endpoint elsewhere) the agent gets all but the rest.
func SplitCPUs(t Topology, server bool) CPUSets {
	cores := t.cores()
	found := plural(len(cores), "core")
	if t.Quota > 0 && t.Quota < float64(len(cores)) {
		cores = cores[:int(t.Quota)]
		found += fmt.Sprintf(", of which control groups allow the time of %.4g", t.Quota)
	}
	n := len(cores)
	switch {
	case n < 3 && server:
		return CPUSets{Shared: true, Why: found + ": too few for agent and server to have their own, which takes 3; they share"}
	case n < 3:
		return CPUSets{Why: found + ": too few to keep one for the rest of the system"}
	case !server:
		return CPUSets{Agent: ids(cores[1:]), Rest: ids(cores[:1]), Why: fmt.Sprintf("%s: %d for the agent, 1 for the rest; no server here needs its own", found, n-1)}
	}
	border := 1 + (n-1+agentShare-1)/agentShare
	if at, ok := nodeBorder(cores, border); ok {
		border = at
	}
	sets := CPUSets{Agent: ids(cores[1:border]), Server: ids(cores[border:]), Rest: ids(cores[:1])}
	sets.Why = fmt.Sprintf("%s: %d for the agent, %d for the server, 1 for the rest", found, border-1, n-border)
	if nodes := nodesOf(cores); len(nodes) > 1 {
		sets.Why += fmt.Sprintf("; agent on NUMA node %s, server on %s", list(nodesOf(cores[1:border])), list(nodesOf(cores[border:])))
	}
	return sets
}

// core is a physical core with those of its CPUs that may be used.
type core struct {
	cpus []int
	node int
}

// cores returns the physical cores by node, and on each node by their first CPU.
func (t Topology) cores() []core {
	byName := map[string]*core{}
	var found []*core
	cpus := slices.SortedFunc(slices.Values(t.CPUs), func(a, b CPU) int { return cmp.Compare(a.ID, b.ID) })
	for _, cpu := range cpus {
		one := byName[cpu.Core]
		if one == nil || cpu.Core == "" {
			one = &core{node: cpu.Node}
			byName[cpu.Core] = one
			found = append(found, one)
		}
		one.cpus = append(one.cpus, cpu.ID)
	}
	cores := make([]core, len(found))
	for i, one := range found {
		cores[i] = *one
	}
	slices.SortStableFunc(cores, func(a, b core) int { return cmp.Compare(a.node, b.node) })
	return cores
}

// nodeBorder returns the border between NUMA nodes that is nearest to a wanted one and leaves something on both sides; of two equally
// near ones the first, which leaves the server more.
func nodeBorder(cores []core, wanted int) (int, bool) {
	best, found := 0, false
	for at := 2; at < len(cores); at++ {
		if cores[at].node == cores[at-1].node {
			continue
		}
		if !found || abs(at-wanted) < abs(best-wanted) {
			best, found = at, true
		}
	}
	return best, found
}

func abs(n int) int { return max(n, -n) }

func ids(cores []core) []int {
	var all []int
	for _, one := range cores {
		all = append(all, one.cpus...)
	}
	slices.Sort(all)
	return all
}

func nodesOf(cores []core) []int {
	var nodes []int
	for _, one := range cores {
		nodes = append(nodes, one.node)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// Overlap tells whether two sets of CPUs, "0-3,8", have any in common.
func Overlap(a, b string) bool {
	other := numbers(b)
	return slices.ContainsFunc(numbers(a), func(cpu int) bool { return slices.Contains(other, cpu) })
}

// list writes numbers as the kernel and Docker take them: "0-3,8".
func list(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		part := strconv.Itoa(numbers[i])
		if last > i {
			part += "-" + strconv.Itoa(numbers[last])
		}
		parts = append(parts, part)
		i = last + 1
	}
	return strings.Join(parts, ",")
}

// numbers reads what list writes. What is no list gives nothing.
func numbers(text string) []int {
	var all []int
	for _, part := range strings.Split(strings.TrimSpace(text), ",") {
		from, to, ranged := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			return nil
		}
		last := first
		if ranged {
			if last, err = strconv.Atoi(to); err != nil || last < first || last-first > 1<<16 {
				return nil
			}
		}
		for n := first; n <= last; n++ {
			all = append(all, n)
		}
	}
	return all
}
