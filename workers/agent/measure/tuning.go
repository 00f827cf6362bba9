package measure

import (
	"fmt"
	"math"
	"runtime/debug"

	"github.com/durabench/durabench/infra/host"
)

const (
	// gcPercent lets the heap grow to five times what is live before it is collected: our own operations allocate nothing, so that what
	// is collected is the driver's, and collecting it rarely keeps it out of the tail.
	gcPercent = 400
	// memoryShare is the part of the memory we may use that the heap keeps to, whatever gcPercent says.
	memoryShare = 0.7
)

// tuning is how the runtime of this process was set for measuring.
type tuning struct {
	gcPercent   int
	memoryLimit int64 // 0 when the machine's memory is not known
}

// tune sets the runtime of this process for measuring.
func tune() tuning {
	t := tuning{gcPercent: gcPercent}
	debug.SetGCPercent(t.gcPercent)
	if memory := host.Resources().MemoryBytes; memory > 0 {
		t.memoryLimit = int64(math.Round(float64(memory) * memoryShare))
		debug.SetMemoryLimit(t.memoryLimit)
	}
	return t
}

// String describes the settings for the result.
func (t tuning) String() string {
	if t.memoryLimit == 0 {
		return fmt.Sprintf("GOGC %d, no memory limit", t.gcPercent)
	}
	return fmt.Sprintf("GOGC %d, GOMEMLIMIT %d MiB", t.gcPercent, t.memoryLimit>>20)
}
