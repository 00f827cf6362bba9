package activities

import (
	"context"
	"fmt"

	"github.com/durabench/durabench/bench/spec"
)

// Dataset keeps account of data that outlives its run.
type Dataset struct{}

// OpenDataset takes away the manifest of an earlier load, before a run changes the data that it describes.
func (*Dataset) OpenDataset(_ context.Context, run Run) error {
	if err := spec.RemoveManifest(run.Spec.DataDir, run.Spec.Database, run.Spec.Name); err != nil {
		return permanent(TypePreflight, err)
	}
	return nil
}

// SealDataset writes the manifest of a load that came to its end, so that query runs know what is there.
func (*Dataset) SealDataset(_ context.Context, run Run) error {
	manifest, err := spec.NewManifest(&run.Spec)
	if err != nil {
		return permanent(TypeSpec, err)
	}
	if err := manifest.Write(run.Spec.DataDir); err != nil {
		return passing(TypeInfrastructure, fmt.Errorf("keep the loaded data of run %s: %w", run.ID, err))
	}
	return nil
}
