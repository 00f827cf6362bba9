package spec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

const (
	// mostCPUs bounds the numbers in a CPU set.
	mostCPUs = 8192
	// leastMemory is what a container engine lets no container have less of.
	leastMemory = 6 << 20
)

// parseCPUs reads a CPU set such as "0-3,8", as the kernel and container engines write it.
func parseCPUs(text string) (string, error) {
	text = strings.TrimSpace(text)
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil || from < 0 || to < from || to >= mostCPUs {
			return "", fmt.Errorf("%q is no set of CPUs: it is written as numbers and ranges from 0, e.g. 0-3,8", text)
		}
	}
	return text, nil
}

// parseBytes reads an amount of memory such as "8GiB", "512MB" or "1g", which is a GiB as container engines have it.
func parseBytes(text string) (int64, error) {
	text = strings.TrimSpace(text)
	whole := text
	if n := len(text); n > 1 && strings.ContainsRune("kmgtKMGT", rune(text[n-1])) {
		whole += "iB"
	}
	bytes, err := humanize.ParseBytes(whole)
	if err != nil || bytes > 1<<60 {
		return 0, fmt.Errorf("%q is no amount of memory: it is written with a unit, e.g. 8GiB", text)
	}
	if bytes < leastMemory {
		return 0, fmt.Errorf("%s is less than any container can have; is a unit missing, e.g. 8GiB?", text)
	}
	return int64(bytes), nil
}
