package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/store"
)

// AssembleInput is what the document says beyond the stored legs.
type AssembleInput struct {
	Run     Run            `json:"run"`
	Plan    plan.Plan      `json:"plan"`
	Command []string       `json:"command,omitempty"`
	Host    PreparedHost   `json:"host"`
	Server  *StartedServer `json:"server,omitempty"` // nil when it never was
	// Missing says of every leg that is not in the store what became of it.
	Missing  []MissingLeg `json:"missing,omitempty"`
	Started  time.Time    `json:"started"`
	Finished time.Time    `json:"finished"`
	// Error is why the run as a whole failed, Cancelled that it was told to end.
	Error     string `json:"error,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"`
}

// MarshalJSON packs what is large.
func (in AssembleInput) MarshalJSON() ([]byte, error) {
	type plain AssembleInput
	return Pack(plain(in))
}

// UnmarshalJSON reads the packed and the plain form.
func (in *AssembleInput) UnmarshalJSON(text []byte) error {
	type plain AssembleInput
	return Unpack(text, (*plain)(in))
}

// MissingLeg is a leg without a stored result.
type MissingLeg struct {
	Step    string         `json:"step"`
	Verdict result.Verdict `json:"verdict"`
	Why     string         `json:"why"`
}

// Assembled is the finished document, by reference.
type Assembled struct {
	Verdict result.Verdict `json:"verdict"`
	Why     string         `json:"why,omitempty"`
	Store   string         `json:"store"`
	Key     string         `json:"key"`
	// Path is where a person finds the document, when the store has such places.
	Path  string `json:"path,omitempty"`
	Bytes int    `json:"bytes"`
}

// Assemble makes the run's result document from the stored legs and stores it. It is complete in every case: a leg that was not measured
// says why. Assembling the same run again gives the same bytes.
func (*Results) Assemble(ctx context.Context, in AssembleInput) (Assembled, error) {
	beat := startBeat(ctx, Heartbeat{Waiting: "assembling the result"})
	defer beat.stop()
	kept, err := store.Open(in.Run.Store)
	if err != nil {
		return Assembled{}, permanent(TypeSpec, fmt.Errorf("open the store %s: %w", in.Run.Store, err))
	}
	info := activity.GetInfo(ctx)
	document, err := assemble(ctx, kept, in, info.WorkflowExecution.ID, info.Namespace)
	if err != nil {
		return Assembled{}, err
	}
	data, err := document.Bytes()
	if err != nil {
		return Assembled{}, permanent(TypeInfrastructure, fmt.Errorf("assemble the result of run %s: %w", in.Run.ID, err))
	}
	key := store.DocumentKey(in.Run.ID)
	if err := put(ctx, in.Run, key, data); err != nil {
		return Assembled{}, err
	}
	assembled := Assembled{
		Verdict: document.Run.Verdict, Why: shorten(document.Run.Why), Store: in.Run.Store, Key: key, Bytes: len(data),
	}
	if locator, ok := kept.(store.Locator); ok {
		assembled.Path = locator.Path(key)
	}
	return assembled, nil
}

func assemble(ctx context.Context, kept store.Store, in AssembleInput, workflowID, namespace string) (*result.Document, error) {
	spec := in.Run.Spec
	rows, err := spec.Corpus()
	if err != nil {
		return nil, permanent(TypeSpec, fmt.Errorf("make the corpus: %w", err))
	}
	specJSON, err := json.Marshal(spec)
	if err != nil {
		return nil, permanent(TypeSpec, fmt.Errorf("encode the spec: %w", err))
	}
	planJSON, err := json.Marshal(in.Plan)
	if err != nil {
		return nil, permanent(TypeSpec, fmt.Errorf("encode the plan: %w", err))
	}
	legs, err := gatherLegs(ctx, kept, in)
	if err != nil {
		return nil, err
	}
	engine, calibration, err := gatherFound(ctx, kept, in)
	if err != nil {
		return nil, err
	}
	document := &result.Document{
		Schema: result.SchemaVersion,
		Run: result.Run{
			ID: in.Run.ID, Name: spec.Name, Started: in.Started.UTC(), Finished: in.Finished.UTC(), Command: in.Command,
			WorkflowID: workflowID, Namespace: namespace,
		},
		Harness: in.Host.Harness, Spec: specJSON, SpecDigest: spec.Digest(), Plan: planJSON,
		Corpus: result.Corpus{
			Seed: spec.Seed, Digest: rows.Digest(), Rows: spec.Samples, Key: string(spec.Key), Random: spec.Random,
			RowSize: meanRowSize(rows, spec.Samples),
		},
		Engine: engine, Host: in.Host.Host, Isolation: in.Host.Isolation, Calibration: calibration, Legs: legs,
	}
	if in.Server != nil {
		document.Host.ContainerEngine = in.Server.ContainerEngine
	}
	document.Run.Verdict, document.Run.Why = judge(legs, in)
	if spec.ShowSample {
		var row corpus.Row
		rows.Row(&row, 0, 0)
		document.Sample = row.AppendJSON(nil, rows.Template())
	}
	return document, nil
}

// gatherLegs returns every timed step of the plan as a leg: as it was stored, or why it was not.
func gatherLegs(ctx context.Context, kept store.Store, in AssembleInput) ([]result.Leg, error) {
	missing := map[string]MissingLeg{}
	for _, leg := range in.Missing {
		missing[leg.Step] = leg
	}
	legs := []result.Leg{}
	for _, step := range in.Plan.Steps {
		if !step.Timed {
			continue
		}
		number := len(legs) + 1
		if known, ok := missing[step.ID]; ok {
			// Not what may lie in the store under its name: this run did not put it there.
			legs = append(legs, unmeasured(step, known.Verdict, known.Why))
			continue
		}
		data, err := kept.Get(ctx, store.LegKey(in.Run.ID, number, step.ID))
		switch {
		case err == nil:
			leg, err := result.DecodeLeg(data)
			if err != nil {
				return nil, permanent(TypeInfrastructure, fmt.Errorf("leg %s as it was stored: %w", step.ID, err))
			}
			legs = append(legs, *leg)
		case errors.Is(err, store.ErrNotFound):
			// Every leg that this run has not stored is among the missing. A store that lacks one is not what it was: it may be a directory
			// whose file system is not mounted.
			return nil, passing(TypeInfrastructure, fmt.Errorf("leg %s was stored and is not there: is %s the store that it was?", step.ID, in.Run.Store))
		default:
			return nil, passing(TypeInfrastructure, fmt.Errorf("read leg %s: %w", step.ID, err))
		}
	}
	return legs, nil
}

// unmeasured is a leg without numbers.
func unmeasured(step plan.Step, verdict result.Verdict, why string) result.Leg {
	return result.Leg{
		ID: step.ID, Title: step.Title, Kind: string(step.Kind), Verdict: verdict, Why: why,
		Clients: step.Clients, Threads: step.Threads, Planned: step.Samples,
	}
}

// gatherFound returns the database as the untimed steps found it, completed by what was known before.
func gatherFound(ctx context.Context, kept store.Store, in AssembleInput) (result.Engine, *result.Calibration, error) {
	var all found
	for _, step := range in.Plan.Steps {
		if step.Timed {
			continue
		}
		data, err := kept.Get(ctx, foundKey(in.Run.ID, step.ID))
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return result.Engine{}, nil, passing(TypeInfrastructure, fmt.Errorf("read step %s: %w", step.ID, err))
		}
		if err := json.Unmarshal(data, &all); err != nil {
			return result.Engine{}, nil, permanent(TypeInfrastructure, fmt.Errorf("step %s as it was stored: %w", step.ID, err))
		}
	}
	engine := askedEngine(in)
	if all.Engine != nil {
		engine = *all.Engine
	}
	if in.Server != nil {
		engine.Binary, engine.Image, engine.ImageDigest = in.Server.Binary, in.Server.Image, in.Server.ImageDigest
		engine.Direct, engine.Warnings = in.Server.Direct, in.Server.Warnings
		if len(in.Server.Profile) > 0 {
			engine.Profile = in.Server.Profile
		}
	}
	return engine, all.Calibration, nil
}

// askedEngine is what is known of a database that was never opened.
func askedEngine(in AssembleInput) result.Engine {
	spec := in.Run.Spec
	engine := result.Engine{
		Name: spec.Database, Title: spec.Database, Server: spec.Server, Endpoint: spec.Endpoint,
		Settings: []result.Setting{}, Profile: []result.Setting{}, Clients: spec.Clients, Threads: spec.Threads,
	}
	if known, ok := drivers.Lookup(spec.Database); ok {
		engine.Title, engine.Family = known.Title, string(known.Family)
		if tier, err := known.Tier(profileOf(spec)); err == nil {
			engine.TierAsked = string(tier)
		}
	}
	if in.Server != nil {
		engine.Server, engine.Endpoint = string(in.Server.Mode), in.Server.Endpoint
	}
	return engine
}

// judge gives the run the worst of its legs' verdicts and of what happened to the run itself.
func judge(legs []result.Leg, in AssembleInput) (result.Verdict, string) {
	all := legs[:len(legs):len(legs)]
	switch {
	case in.Error != "":
		all = append(all, result.Leg{Title: "Run", Verdict: result.Failed, Why: in.Error})
	case in.Cancelled:
		all = append(all, result.Leg{Title: "Run", Verdict: result.Interrupted, Why: "the run was cancelled"})
	}
	verdict, why := result.Judge(all)
	switch {
	case in.Error != "":
		why = in.Error
	case in.Cancelled && verdict == result.Interrupted:
		why = "the run was cancelled"
	}
	return verdict, why
}

// meanRowSize is the mean encoded size of the first rows, in bytes.
func meanRowSize(rows *corpus.Corpus, samples int64) int64 {
	const most = 100
	n := min(max(samples, 1), most)
	var row corpus.Row
	var encoded []byte
	for index := range uint64(n) {
		rows.Row(&row, index, 0)
		encoded = row.AppendBinary(encoded, rows.Template())
	}
	return (int64(len(encoded)) + n/2) / n
}
