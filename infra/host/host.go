// Package host tells what a machine is and what processes on it use: its fingerprint, its capacity, and the resources of a process
// tree during a leg. What cannot be read is absent and named, never zero. Most of it is read from /proc and /sys; on systems other than
// Linux little is known and process trees are not measured at all.
//
// It also has the machine to itself, as far as it may. A run goes like this:
//
//	lock, err := Lock(LockDir(), Holder{RunID: id, Journal: dir}) // no other run is here
//	lock.PutBack(ctx)                                             // what a killed run of another home left
//	isolated, err := isolation.Apply(ctx, dir, id, progress)      // swap off, a quiet machine, …
//	fingerprint := Fingerprint(ctx, dataDir)                      // as it is during the run
//	isolated.Server.Start(server)                                 // on its CPUs
//	lock.Pass(agent); isolated.Agent.Start(agent)                 // the agent holds the host from here on
//	…
//	Restore(ctx, dir)                                             // as it was
//	lock.Close()
//
// Everything that is changed is written down in dir before, so that whoever comes next puts it back when the run was killed.
package host

import (
	"context"
	"os"
	"runtime"

	"github.com/durabench/durabench/bench/result"
)

// Fingerprint describes the machine, and the filesystem of dataDir, which need not exist yet; without a dataDir there is none. Fields
// that cannot be read, or that do not apply, are absent: a machine without a cgroup limit has none in its fingerprint. When ctx ends
// before everything was read, the rest is absent too.
func Fingerprint(ctx context.Context, dataDir string) result.Host {
	h := result.Host{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	if name, err := os.Hostname(); err == nil {
		h.Name = name
	}
	describe(ctx, &h, dataDir)
	h.Digest = h.Fingerprint()
	return h
}

// Capacity is what this process may use of the machine. It converts to drivers.Resources.
type Capacity struct {
	MemoryBytes int64 // 0 when it cannot be read
	CPUs        int   // at least 1
}

// Resources returns the memory and CPUs that settings may be computed from: those of the machine, or less where CPU affinity or a
// cgroup allows less. A part of a CPU does not count.
func Resources() Capacity { return capacityOf(Fingerprint(context.Background(), "")) }

func capacityOf(h result.Host) Capacity {
	c := Capacity{MemoryBytes: h.MemoryBytes, CPUs: h.CPUs}
	if h.CgroupBytes != nil && (c.MemoryBytes == 0 || *h.CgroupBytes < c.MemoryBytes) {
		c.MemoryBytes = *h.CgroupBytes
	}
	if h.CgroupCPUs != nil {
		c.CPUs = min(c.CPUs, int(*h.CgroupCPUs))
	}
	c.CPUs = max(c.CPUs, 1)
	return c
}
