package plan

import (
	"fmt"

	"github.com/durabench/durabench/bench/spec"
)

// mixKinds are the operations of mixes as steps name them.
var mixKinds = map[string]Kind{
	spec.MixRead: Read, spec.MixUpdate: Update, spec.MixInsert: Insert, spec.MixScan: ScanRange, spec.MixModify: Modify,
}

// MixKey is where Abilities.Unsupported says that an engine cannot run a mix: the id of its leg.
func MixKey(mix spec.Mix) string { return "mix/" + mix.Name }

// addMixes appends the mixed legs. One that writes stirs the rows and is followed by a step that restores them.
func (p *Plan) addMixes(s *spec.Spec, a Abilities) error {
	for _, mix := range s.Mixes {
		step := Step{
			ID: MixKey(mix), Title: mix.Name, Kind: MixLeg, Timed: true, Needs: Updated, Leaves: Any, Effect: ReadOnly, Version: updated, Rows: s.Samples,
			Mix: &Mix{Distribution: mix.Distribution}, Skip: a.Unsupported[MixKey(mix)],
		}
		step.load(mix.Volume)
		for _, weight := range mix.Weights {
			kind, known := mixKinds[weight.Operation]
			if !known {
				return fmt.Errorf("plan mix %s: there is no operation %q", mix.Name, weight.Operation)
			}
			step.Mix.Weights = append(step.Mix.Weights, Weight{Operation: kind, Weight: weight.Weight, Length: weight.Length})
		}
		if !mix.Writes() {
			p.add(step)
			continue
		}
		if s.Mode != spec.ModeAll {
			continue
		}
		step.Leaves, step.Effect = Stirred, Consuming
		p.add(step)
		if step.Skip == "" {
			p.add(restore(step.ID + "/restore"))
		}
	}
	return nil
}
