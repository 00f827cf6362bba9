package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/testsuite"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
)

// fakeHost plays the activities of a host and notes what it was asked.
type fakeHost struct {
	t        *testing.T
	env      *testsuite.TestWorkflowEnvironment
	verdicts map[string]result.Verdict // of legs by step; valid when not named
	cleared  map[string]bool           // by step
	fails    map[string]error          // of activities by what they note
	happens  map[string]func()         // at activities by what they note
	occupied bool                      // another run has the host
	done     []string
	assemble activities.AssembleInput
	stop     activities.StopServerInput
	clean    activities.CleanHostInput
	salvaged activities.SalvagedLeg
	put      map[string]activities.PutLegInput // by step
}

// environment returns a workflow environment whose host does everything right, but for what a test changes.
func environment(t *testing.T) (*testsuite.TestWorkflowEnvironment, *fakeHost) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflow(Benchmark)
	for _, methods := range []any{host, server, agents, leg, data, results, leases} {
		env.RegisterActivity(methods)
	}
	f := &fakeHost{t: t, env: env, verdicts: map[string]result.Verdict{}, cleared: map[string]bool{}, fails: map[string]error{}, happens: map[string]func(){}, put: map[string]activities.PutLegInput{}}
	env.OnActivity(leases.ClaimHost, mock.Anything, mock.Anything).Return(
		func(context.Context, activities.ClaimHostInput) error {
			if !f.occupied {
				env.SignalWorkflow(SignalPlace, Place{Granted: true})
			}
			return f.note("claim host")
		}).Maybe()
	env.OnSignalExternalWorkflow(mock.Anything, LeaseID("bench"), "", SignalRelease, mock.Anything).Return(
		func(string, string, string, string, any) error { return f.note("release host") }).Maybe()
	env.OnActivity(host.PrepareHost, mock.Anything, mock.Anything).Return(
		func(_ context.Context, run activities.Run) (activities.PreparedHost, error) {
			return activities.PreparedHost{Dir: "work/" + run.ID}, f.note("prepare host")
		}).Maybe()
	env.OnActivity(server.StartServer, mock.Anything, mock.Anything).Return(
		func(context.Context, activities.Run) (activities.StartedServer, error) {
			return activities.StartedServer{Mode: drivers.Embedded}, f.note("start server")
		}).Maybe()
	env.OnActivity(results.PutLeg, mock.Anything, mock.Anything).Return(
		func(_ context.Context, in activities.PutLegInput) error {
			f.put[in.Step.ID] = in
			return f.note("put " + in.Step.ID)
		}).Maybe()
	env.OnActivity(results.PutFound, mock.Anything, mock.Anything).Return(
		func(_ context.Context, in activities.PutFoundInput) error {
			return f.note("put " + in.Step.ID)
		}).Maybe()
	env.OnActivity(results.SalvageLeg, mock.Anything, mock.Anything).Return(
		func(_ context.Context, in activities.PutLegInput) (activities.SalvagedLeg, error) {
			return f.salvaged, f.note("salvage " + in.Step.ID)
		}).Maybe()
	env.OnActivity(agents.StopAgent, mock.Anything, mock.Anything).Return(f.noting("stop agent")).Maybe()
	env.OnActivity(server.StopServer, mock.Anything, mock.Anything).Return(
		func(_ context.Context, in activities.StopServerInput) error {
			f.stop = in
			return f.note("stop server")
		}).Maybe()
	env.OnActivity(data.OpenDataset, mock.Anything, mock.Anything).Return(f.noting("open dataset")).Maybe()
	env.OnActivity(data.SealDataset, mock.Anything, mock.Anything).Return(f.noting("seal dataset")).Maybe()
	env.OnActivity(host.CleanHost, mock.Anything, mock.Anything).Return(
		func(_ context.Context, in activities.CleanHostInput) error {
			f.clean = in
			return f.note("clean host")
		}).Maybe()
	env.OnActivity(results.Assemble, mock.Anything, mock.Anything).Return(
		func(_ context.Context, in activities.AssembleInput) (activities.Assembled, error) {
			f.assemble = in
			assembled := activities.Assembled{Verdict: result.Valid, Key: in.Run.ID + "/result.json", Path: "/store/" + in.Run.ID + "/result.json"}
			return assembled, f.note("assemble")
		}).Maybe()
	return env, f
}

func (f *fakeHost) note(what string) error {
	f.done = append(f.done, what)
	if happens := f.happens[what]; happens != nil {
		happens()
	}
	return f.fails[what]
}

func (f *fakeHost) noting(what string) func(context.Context, activities.Run) error {
	return func(context.Context, activities.Run) error {
		return f.note(what)
	}
}

// legs has the legs take an hour each and come to the verdicts that the test chose.
func (f *fakeHost) legs() {
	f.env.OnActivity(leg.RunLeg, mock.Anything, mock.Anything).After(time.Hour).Return(f.runLeg)
}

func (f *fakeHost) runLeg(_ context.Context, in activities.RunLegInput) (activities.StepResult, error) {
	if err := f.note("run " + in.Step.ID); err != nil {
		return activities.StepResult{}, err
	}
	if !in.Step.Timed {
		return activities.StepResult{Step: in.Step.ID}, nil
	}
	verdict, named := f.verdicts[in.Step.ID]
	if !named {
		verdict = result.Valid
	}
	rate, latency := 1000.0, int64(12_345)
	return activities.StepResult{
		Step: in.Step.ID, Verdict: verdict, OK: in.Step.Samples, Rate: &rate, P50: &latency, P99: &latency, Attempts: 1,
		Cleared: f.cleared[in.Step.ID],
	}, nil
}

// missing returns what the document says of a leg without a result.
func (f *fakeHost) missing(step string) activities.MissingLeg {
	f.t.Helper()
	for _, leg := range f.assemble.Missing {
		if leg.Step == step {
			return leg
		}
	}
	f.t.Fatalf("leg %s is not among the missing: %+v", step, f.assemble.Missing)
	return activities.MissingLeg{}
}
