package drivers

import (
	"fmt"
	"io/fs"

	"github.com/durabench/durabench/bench/spec"
)

// Facts tells package spec what this build has, from the registrations: shipped are the workload files that are found by name, and remote
// says that the data directory is on another machine.
func Facts(shipped fs.FS, remote bool) spec.Facts {
	known := spec.Facts{Shipped: shipped, Remote: remote}
	for _, engine := range Engines() {
		about := spec.EngineFacts{Name: engine.Name, Check: engine.checkTier, Dialects: engine.Dialects(), MaxBatch: engine.MaxBatch(),
			SearchedVectors: engine.SearchedVectors}
		for _, mode := range engine.Modes {
			about.Servers = append(about.Servers, string(mode))
		}
		for _, option := range engine.Options {
			about.Options = append(about.Options, spec.EngineOption{Name: option.Name, Values: option.Values, Check: option.Check})
		}
		known.Engines = append(known.Engines, about)
	}
	return known
}

// checkTier returns what makes the engine refuse a spec: a durability that it cannot give.
func (e Engine) checkTier(s *spec.Spec) error {
	if _, err := e.Tier(Profile{Sync: s.Sync, Persisted: s.Persisted, Optimised: s.Optimised}); err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	return nil
}
