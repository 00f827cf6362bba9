package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// The search attributes that our workflows set. infra/temporal registers them under the same names.
var (
	EngineAttribute  = temporal.NewSearchAttributeKeyKeyword("Engine")
	SpecAttribute    = temporal.NewSearchAttributeKeyKeyword("Spec") // the spec's name, or its engine's
	HostAttribute    = temporal.NewSearchAttributeKeyKeyword("Host")
	SuiteAttribute   = temporal.NewSearchAttributeKeyKeyword("Suite") // the matrix that the run is a cell of
	VerdictAttribute = temporal.NewSearchAttributeKeyKeyword("Verdict")
)

// setAttributes upserts search attributes where the server has them.
func (b *benchmark) setAttributes(ctx workflow.Context, updates ...temporal.SearchAttributeUpdate) {
	upsertAttributes(ctx, b.in.Attributes, updates)
}

// upsertAttributes sets attributes if the server is known to have them. An attribute is a convenience: nothing fails for one.
func upsertAttributes(ctx workflow.Context, there bool, updates []temporal.SearchAttributeUpdate) {
	if !there {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes not set", "error", err)
	}
}

// specName is what a run's spec is called in searches.
func (b *benchmark) specName() string {
	if b.in.Spec.Name != "" {
		return b.in.Spec.Name
	}
	return b.in.Spec.Database
}
