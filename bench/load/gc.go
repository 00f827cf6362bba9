package load

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// collected is a reading of the garbage collector's counters.
type collected struct {
	cycles     int64
	pause      time.Duration
	gcCPU, cpu float64 // seconds, brought up to date by the runtime at the end of each collection
	live       int64   // bytes
}

// readGC stops nothing and costs microseconds.
func readGC() collected {
	samples := []metrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"},
		{Name: "/cpu/classes/idle:cpu-seconds"},
		{Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(samples)
	// The pauses of runtime/metrics are a histogram of coarse buckets; their sum is only here.
	var stats debug.GCStats
	debug.ReadGCStats(&stats)
	return collected{
		cycles: int64(samples[0].Value.Uint64()),
		pause:  stats.PauseTotal,
		gcCPU:  samples[1].Value.Float64(),
		cpu:    samples[2].Value.Float64() - samples[3].Value.Float64(),
		live:   int64(samples[4].Value.Uint64()),
	}
}

// since returns what the collector did from the earlier reading to this one.
func (c collected) since(before collected) GC {
	gc := GC{Cycles: c.cycles - before.cycles, Pause: c.pause - before.pause, HeapBytes: c.live}
	if cpu := c.cpu - before.cpu; gc.Cycles > 0 && cpu > 0 {
		gc.CPUShare = min(max((c.gcCPU-before.gcCPU)/cpu, 0), 1)
	}
	return gc
}
