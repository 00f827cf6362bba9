package main

import (
	"fmt"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/configs"
	"github.com/durabench/durabench/drivers"
)

// request is what the command line of run and plan came to.
type request struct {
	*spec.Request
	plan   *plan.Plan
	engine drivers.Engine
}

// newRequest reads the flags and the spec file and plans the run; everything that is wrong with them is one error.
func newRequest(flags *spec.Flags, remote bool) (*request, error) {
	built, err := spec.Build(flags, nil, facts(remote))
	if err != nil {
		return nil, usage(err)
	}
	engine, known := drivers.Lookup(built.Spec.Database)
	if !known {
		return nil, unknownEngine(built.Spec.Database)
	}
	planned, err := plan.New(built.Spec, engine.PlanAbilities(built.Spec))
	if err != nil {
		return nil, usage(err)
	}
	return &request{Request: built, plan: planned, engine: engine}, nil
}

// facts tells package spec what this build has, from the registrations.
func facts(remote bool) spec.Facts {
	known := spec.Facts{Shipped: configs.Files(), Remote: remote}
	for _, engine := range drivers.Engines() {
		about := spec.EngineFacts{
			Name: engine.Name, Servers: words(engine.Modes), Check: check(engine), Dialects: engine.Dialects(), MaxBatch: engine.MaxBatch(),
		}
		for _, option := range engine.Options {
			about.Options = append(about.Options, spec.EngineOption{Name: option.Name, Values: option.Values})
		}
		known.Engines = append(known.Engines, about)
	}
	return known
}

// check returns what makes an engine refuse a spec: a durability it cannot give.
func check(engine drivers.Engine) func(*spec.Spec) error {
	return func(s *spec.Spec) error {
		if _, err := engine.Tier(drivers.Profile{Sync: s.Sync, Persisted: s.Persisted, Optimised: s.Optimised}); err != nil {
			return fmt.Errorf("%s: %w", engine.Name, err)
		}
		return nil
	}
}
