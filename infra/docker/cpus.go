package docker

import (
	"fmt"
	"strconv"
	"strings"
)

// mostCPUs bounds the numbers in a CPU set.
const mostCPUs = 8192

// countCPUs returns how many CPUs are in a set such as "0-3,8"; 0 for the empty set, which means all.
func countCPUs(set string) (int, error) {
	if set == "" {
		return 0, nil
	}
	members := make(map[int]bool)
	for part := range strings.SplitSeq(set, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil || from < 0 || to < from || to >= mostCPUs {
			return 0, fmt.Errorf("CPU set %q: %q is neither a CPU's number nor a range such as 0-3", set, part)
		}
		for cpu := from; cpu <= to; cpu++ {
			members[cpu] = true
		}
	}
	return len(members), nil
}
