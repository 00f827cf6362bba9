// Package workflows holds the durable part of a benchmark: what is done in which order, and what is done about what goes wrong. Workflows
// decide; activities act.
//
// Workflows replay, so nothing here looks at the clock, the environment or the order of a map, and a change of the order of their
// commands needs workflow.GetVersion: runs of hours are under way when a worker is upgraded. Histories recorded in testdata/ are replayed by
// the tests.
package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
)

// BenchmarkInput is one run. It holds no secret: credentials reach the host through package secrets.
type BenchmarkInput struct {
	RunID string    `json:"runId"` // names the run everywhere; letters, digits, dots, dashes and underscores
	Host  string    `json:"host"`  // whose task queue runs the activities
	Spec  spec.Spec `json:"spec"`
	Plan  plan.Plan `json:"plan"`
	// Store is where results are kept, as store.Open takes it. A directory is one of the host's.
	Store string `json:"store"`
	// Command is the exact command, secrets removed.
	Command []string `json:"command,omitempty"`
	// Attributes tells that the server has the search attributes; setting one that it lacks would fail the run.
	Attributes bool `json:"attributes,omitempty"`
	// LegTimeout bounds each step; 0 means a day.
	LegTimeout spec.Duration `json:"legTimeout,omitempty"`
	// Suite is the name of the matrix that the run is a cell of.
	Suite string `json:"suite,omitempty"`
	// Priority orders the run among those that wait for the same host.
	Priority Priority `json:"priority,omitempty"`
	// KeepLogs leaves the logs of agent and server on the host; after a run that failed they stay anyway.
	KeepLogs bool `json:"keepLogs,omitempty"`
}

// MarshalJSON packs what is large.
func (in BenchmarkInput) MarshalJSON() ([]byte, error) {
	type plain BenchmarkInput
	return activities.Pack(plain(in))
}

// UnmarshalJSON reads the packed and the plain form.
func (in *BenchmarkInput) UnmarshalJSON(text []byte) error {
	type plain BenchmarkInput
	return activities.Unpack(text, (*plain)(in))
}

// BenchmarkResult is what a run came to, by reference. It is the workflow's result, and the details of its error when the run failed or
// was cancelled, see ResultOf.
type BenchmarkResult struct {
	RunID    string               `json:"runId"`
	Verdict  result.Verdict       `json:"verdict"`
	Why      string               `json:"why,omitempty"`
	Document activities.Assembled `json:"document"` // its Key is empty when no document could be stored
	Rows     []Row                `json:"rows"`
}

// MarshalJSON packs what is large.
func (r BenchmarkResult) MarshalJSON() ([]byte, error) {
	type plain BenchmarkResult
	return activities.Pack(plain(r))
}

// UnmarshalJSON reads the packed and the plain form.
func (r *BenchmarkResult) UnmarshalJSON(text []byte) error {
	type plain BenchmarkResult
	return activities.Unpack(text, (*plain)(r))
}

// Activities are referred to through nil pointers, so that a renamed method does not compile.
var (
	host    *activities.Host
	server  *activities.Server
	agents  *activities.Agent
	leg     *activities.Leg
	data    *activities.Dataset
	results *activities.Results
)

// benchmark is the state of one run.
type benchmark struct {
	in      BenchmarkInput
	run     activities.Run
	started time.Time
	host    activities.PreparedHost
	server  *activities.StartedServer // nil before it was started
	dataset dataset
	indexes indexes
	missing []activities.MissingLeg
	// unfinished is the leg whose activity did not come to its end. What the agent has of it is stored once the agent has ended.
	unfinished *activities.MissingLeg
	progress   Progress
	measured   bool // a leg of this run is in the store
	document   activities.Assembled
}

// Benchmark runs one spec on one host: it prepares the host, has the server started, walks the plan, and stores every leg before it goes on
// to the next. However the run ends, what was started is stopped, and the result document says of every leg what became of it.
//
// A run whose legs failed or were invalid is a completed workflow with that verdict. A run that could not be carried out fails with the
// type of error of the activity that could not; a cancelled one is cancelled.
func Benchmark(ctx workflow.Context, in BenchmarkInput) (BenchmarkResult, error) {
	b := &benchmark{
		in:      in,
		run:     activities.Run{ID: in.RunID, Spec: in.Spec.WithoutWorkload(), Store: in.Store},
		started: workflow.Now(ctx),
		dataset: newDataset(in.Spec.Mode),
	}
	b.progress = Progress{Phase: PhasePreparing, Of: len(in.Plan.Steps), Rows: []Row{}}
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (Progress, error) { return b.progress, nil }); err != nil {
		return BenchmarkResult{}, err
	}
	b.setAttributes(ctx, EngineAttribute.ValueSet(in.Spec.Database), SpecAttribute.ValueSet(b.specName()), HostAttribute.ValueSet(in.Host))
	if in.Suite != "" {
		b.setAttributes(ctx, SuiteAttribute.ValueSet(in.Suite))
	}
	b.show(ctx)

	release, err := b.holdHost(ctx)
	if err != nil {
		return b.withoutHost(ctx, err)
	}
	err = b.measure(ctx)
	// What follows has to be done whether or not the run was cancelled.
	finish, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	defer release(finish)
	return b.conclude(finish, err, err != nil && ctx.Err() != nil)
}

// measure prepares the run and walks the plan. Its error is what keeps the run from going on; legs that fail are not.
func (b *benchmark) measure(ctx workflow.Context) error {
	prepare := workflow.WithActivityOptions(ctx, b.prepareOptions())
	if err := workflow.ExecuteActivity(prepare, host.PrepareHost, b.run).Get(ctx, &b.host); err != nil {
		return err
	}
	b.run.Dir, b.run.Placed = b.host.Dir, b.host.Placed
	b.run.Spec.Searched = b.run.Spec.Searched || b.host.Searched
	if b.in.Spec.Mode == spec.ModeLoad {
		open := workflow.WithActivityOptions(ctx, b.hostOptions("manifest", time.Minute, 5))
		if err := workflow.ExecuteActivity(open, data.OpenDataset, b.run).Get(ctx, nil); err != nil {
			return err
		}
	}
	// The activity counts the server's own failures: attempts are lost with workers, too.
	start := workflow.WithActivityOptions(ctx, b.hostOptions(b.in.Spec.Database, startTimeout, 0))
	var started activities.StartedServer
	if err := workflow.ExecuteActivity(start, server.StartServer, b.run).Get(ctx, &started); err != nil {
		return err
	}
	b.server = &started

	b.progress.Phase = PhaseMeasuring
	for i, step := range b.in.Plan.Steps {
		b.progress.Number, b.progress.Step = i+1, step.ID
		if step.Skip == "" { // one that is skipped takes no time in which it could be seen
			b.show(ctx)
		}
		if err := b.step(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

// step runs one step of the plan, if it can be run, and has its outcome stored.
func (b *benchmark) step(ctx workflow.Context, step plan.Step) error {
	if step.Skip != "" {
		b.miss(step, result.Unsupported, step.Skip)
		return nil
	}
	if ok, why := b.dataset.allows(step); !ok {
		verdict := result.NotRun
		if step.Churn != nil { // that the index is not there is why its rows were left as they are
			if because, text, there := b.indexAllows(ctx, step); !there {
				verdict, why = because, text
			}
		}
		b.miss(step, verdict, why)
		return nil
	}
	if verdict, why, ok := b.indexAllows(ctx, step); !ok {
		b.miss(step, verdict, why)
		return nil
	}
	came, err := b.runStep(ctx, step)
	switch {
	case err != nil && ctx.Err() != nil:
		b.unfinished = &activities.MissingLeg{Step: step.ID, Verdict: result.Interrupted, Why: "the run was cancelled"}
		return err
	case err != nil:
		b.unfinished = &activities.MissingLeg{Step: step.ID, Verdict: result.Failed, Why: message(err)}
		return err
	case !step.Timed:
		b.dataset = b.dataset.after(step, result.Valid)
		return b.keepFound(ctx, step)
	}
	b.dataset = b.dataset.after(step, came.Verdict)
	b.noteIndex(ctx, step, came)
	b.keepLeg(ctx, step, came)
	if came.Final && ctx.Err() == nil {
		return b.recoverServer(ctx) // the legs that follow need it
	}
	return ctx.Err()
}

// keepFound has what an untimed step found out stored.
func (b *benchmark) keepFound(ctx workflow.Context, step plan.Step) error {
	put := workflow.WithActivityOptions(ctx, b.storeOptions("store "+step.ID))
	return workflow.ExecuteActivity(put, results.PutFound, activities.PutFoundInput{Run: b.run, Step: step}).Get(ctx, nil)
}

// keepLeg has a leg stored, also one that the run's cancellation has cut short. A leg that cannot be stored is as good as failed.
func (b *benchmark) keepLeg(ctx workflow.Context, step plan.Step, came activities.StepResult) {
	keep, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	put := workflow.WithActivityOptions(keep, b.storeOptions("store "+step.ID))
	err := workflow.ExecuteActivity(put, results.PutLeg, activities.PutLegInput{
		Run: b.run, Step: step, Number: b.legNumber(step), Interruptions: came.Interruptions,
	}).Get(keep, nil)
	if err != nil {
		b.miss(step, result.Failed, "its result could not be stored: "+message(err))
		return
	}
	b.measured = true
	b.progress.Rows = append(b.progress.Rows, row(step, came))
}

// legNumber counts the timed steps of the plan up to this one, from 1.
func (b *benchmark) legNumber(step plan.Step) int {
	number := 0
	for _, other := range b.in.Plan.Steps {
		if other.Timed {
			number++
		}
		if other.ID == step.ID {
			break
		}
	}
	return number
}

// miss notes why a leg has no result. Untimed steps are no legs of the result.
func (b *benchmark) miss(step plan.Step, verdict result.Verdict, why string) {
	if !step.Timed {
		return
	}
	b.missing = append(b.missing, activities.MissingLeg{Step: step.ID, Verdict: verdict, Why: why})
	b.progress.Rows = append(b.progress.Rows, Row{Leg: step.ID, Title: step.Title, Verdict: verdict, Why: why})
}

// known tells whether it is noted what became of a leg.
func (b *benchmark) known(step plan.Step) bool {
	for _, row := range b.progress.Rows {
		if row.Leg == step.ID {
			return true
		}
	}
	return false
}

// valid tells whether every leg that the engine can do has left the data as it should be, and there is one.
func (b *benchmark) valid() bool {
	held := false
	for _, row := range b.progress.Rows {
		switch {
		case holds(row.Verdict):
			held = true
		case row.Verdict != result.Unsupported && row.Verdict != result.Skipped:
			return false
		}
	}
	return held
}

// setVerdict shows a run's verdict in lists of workflows.
func (b *benchmark) setVerdict(ctx workflow.Context, verdict result.Verdict) {
	b.setAttributes(ctx, VerdictAttribute.ValueSet(string(verdict)))
	memo := map[string]any{"verdict": string(verdict), "document": b.document.Path}
	if err := workflow.UpsertMemo(ctx, memo); err != nil {
		workflow.GetLogger(ctx).Warn("memo not set", "error", err)
	}
}

// logFailure notes a failure of clean-up, which changes nothing about the result.
func logFailure(ctx workflow.Context, what string, err error) {
	if err != nil && !temporal.IsCanceledError(err) {
		workflow.GetLogger(ctx).Error(what, "error", err)
	}
}
