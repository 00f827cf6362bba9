// Package host tells what a machine is and what processes on it use: its fingerprint, its capacity, and the resources of a process
// tree during a leg. What cannot be read is absent and named, never zero.
package host

import (
	"context"

	"github.com/durabench/durabench/bench/result"
)

// Fingerprint describes the machine and the filesystem of dataDir. Fields that cannot be read are absent.
func Fingerprint(ctx context.Context, dataDir string) result.Host { panic("not yet") }

// Capacity is what this process may use of the machine. It converts to drivers.Resources.
type Capacity struct {
	MemoryBytes int64 // 0 when it cannot be read
	CPUs        int   // at least 1
}

// Resources returns the memory and CPUs that settings may be computed from: the machine's, less where a cgroup allows less.
func Resources() Capacity { panic("not yet") }

// Sampler measures a process tree between Start and Stop.
type Sampler struct{}

// Option changes what a Sampler covers.
type Option func(*Sampler)

// Exclude keeps processes, and what descends from them, out of the tree: the agent, when it was started below the server.
func Exclude(pids ...int) Option { panic("not yet") }

// Start begins to sample the tree of the process pid.
func Start(pid int, options ...Option) *Sampler { panic("not yet") }

// StartSelf begins to sample this process alone, without children.
func StartSelf() *Sampler { panic("not yet") }

// Stop ends sampling and returns what was used. The usage is nil when nothing could be read; the note then says why, and otherwise
// anything worth knowing, such as the end of a process.
func (s *Sampler) Stop() (*result.Usage, string) { panic("not yet") }
