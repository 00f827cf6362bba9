//go:build !linux

package host

import "context"

// examine finds nothing more: what the rest is read from exists on Linux only.
func examine(_ context.Context, o DoctorOptions, s *symptoms) {
	s.refusals = []string{errElsewhere.Error()}
	s.split = SplitCPUs(Topology{}, false)
	s.split.Why = ""
}
