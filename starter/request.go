package main

import (
	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/spec"
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
	built, err := spec.Build(flags, nil, activities.Facts(remote))
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
	if err := activities.CheckPlan(built.Spec, planned); err != nil {
		return nil, usage(err)
	}
	return &request{Request: built, plan: planned, engine: engine}, nil
}
