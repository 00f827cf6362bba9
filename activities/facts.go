package activities

import (
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/configs"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/home"
)

// Facts tells package spec what this build has: its engines, the workload files that ship with it, and the isolation that it knows. Remote says
// that the data directory is on another machine.
func Facts(remote bool) spec.Facts {
	known := drivers.Facts(configs.Files(), remote)
	if cache, err := home.Datasets(); err == nil { // without one, files of data sets are looked at each time
		known.Cache = cache
	}
	known.CheckIsolation = func(s *spec.Spec) error { return IsolationOf(s).Validate() }
	return known
}
