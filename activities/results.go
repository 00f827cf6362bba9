package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/infra/store"
	"github.com/durabench/durabench/workers/agent"
)

// Results keeps what was measured.
type Results struct{}

// PutLegInput says which step's outcome to store.
type PutLegInput struct {
	Run    Run       `json:"run"`
	Step   plan.Step `json:"step"`
	Number int       `json:"number"` // of the leg in the plan, counted from 1
	// Interruptions are those of waiting for the step; they join the ones that the agent noted.
	Interruptions []result.Interruption `json:"interruptions,omitempty"`
}

// PutLeg copies a finished leg from the agent's disk to the store, from where nothing takes it away again.
func (*Results) PutLeg(ctx context.Context, in PutLegInput) error {
	beat := startBeat(ctx, Heartbeat{Step: in.Step.ID, Waiting: "storing the result"})
	defer beat.stop()
	outcome, err := agent.ReadOutcome(in.Run.Dir, in.Step.ID)
	if err != nil {
		return unlessMissing(fmt.Errorf("store leg %s: %w", in.Step.ID, err))
	}
	return putOutcome(ctx, in, outcome)
}

// SalvagedLeg is what was found of a leg whose activity did not come to its end.
type SalvagedLeg struct {
	Found  bool       `json:"found"`
	Result StepResult `json:"result"`
}

// SalvageLeg stores what the agent has kept of a leg that nobody waited for to the end, if it has kept anything. The agent must have
// ended.
func (*Results) SalvageLeg(ctx context.Context, in PutLegInput) (SalvagedLeg, error) {
	beat := startBeat(ctx, Heartbeat{Step: in.Step.ID, Waiting: "storing the result"})
	defer beat.stop()
	if in.Run.Dir == "" {
		return SalvagedLeg{}, nil
	}
	outcome, err := agent.ReadOutcome(in.Run.Dir, in.Step.ID)
	if errors.Is(err, os.ErrNotExist) || err == nil && outcome.Leg == nil {
		return SalvagedLeg{}, nil
	}
	if err != nil {
		return SalvagedLeg{}, passing(TypeInfrastructure, fmt.Errorf("salvage leg %s: %w", in.Step.ID, err))
	}
	if err := putOutcome(ctx, in, outcome); err != nil {
		return SalvagedLeg{}, err
	}
	return SalvagedLeg{Found: true, Result: summarise(outcome, in.Interruptions)}, nil
}

// putOutcome writes a leg to the store.
func putOutcome(ctx context.Context, in PutLegInput, outcome agent.Outcome) error {
	if outcome.Leg == nil {
		return permanent(TypeInfrastructure, fmt.Errorf("store leg %s: the agent kept no leg for it", in.Step.ID))
	}
	leg := *outcome.Leg
	leg.Interruptions = append(leg.Interruptions[:len(leg.Interruptions):len(leg.Interruptions)], in.Interruptions...)
	data, err := leg.Bytes()
	if err != nil {
		return permanent(TypeInfrastructure, fmt.Errorf("store leg %s: the result is not consistent: %w", in.Step.ID, err))
	}
	return put(ctx, in.Run, store.LegKey(in.Run.ID, in.Number, in.Step.ID), data)
}

// PutFoundInput says which untimed step's outcome to store.
type PutFoundInput struct {
	Run  Run       `json:"run"`
	Step plan.Step `json:"step"`
}

// PutFound stores what an untimed step found out: the database as it was read back, the harness's own cost.
func (*Results) PutFound(ctx context.Context, in PutFoundInput) error {
	beat := startBeat(ctx, Heartbeat{Step: in.Step.ID, Waiting: "storing the result"})
	defer beat.stop()
	outcome, err := agent.ReadOutcome(in.Run.Dir, in.Step.ID)
	if err != nil {
		return unlessMissing(fmt.Errorf("store step %s: %w", in.Step.ID, err))
	}
	data, err := json.Marshal(found{Engine: outcome.Engine, Calibration: outcome.Calibration})
	if err != nil {
		return permanent(TypeInfrastructure, fmt.Errorf("store step %s: %w", in.Step.ID, err))
	}
	return put(ctx, in.Run, foundKey(in.Run.ID, in.Step.ID), data)
}

// found is what an untimed step adds to the document.
type found struct {
	Engine      *result.Engine      `json:"engine,omitempty"`
	Calibration *result.Calibration `json:"calibration,omitempty"`
}

// foundKey is where found is kept. Untimed steps have plain words for ids.
func foundKey(runID, stepID string) string { return runID + "/steps/" + stepID + ".json" }

// put writes to the run's store. A store that is away or full may be back at the next attempt; one that holds another run is not.
func put(ctx context.Context, run Run, key string, data []byte) error {
	s, err := store.Open(run.Store)
	if err != nil {
		return permanent(TypeSpec, fmt.Errorf("open the store %s: %w", run.Store, err))
	}
	bounded, release := untilStop(ctx) // what a slow store has of it is written again
	defer release()
	switch err := s.Put(bounded, key, data); {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrExists):
		return permanent(TypeInfrastructure, fmt.Errorf("store %s: %w", key, err))
	case stopping(ctx):
		return draining("the next one stores " + key)
	default:
		return passing(TypeInfrastructure, fmt.Errorf("store %s: %w", key, err))
	}
}

// unlessMissing retries reading what may come back and gives up on what is not there.
func unlessMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return permanent(TypeInfrastructure, err)
	}
	return passing(TypeInfrastructure, err)
}
