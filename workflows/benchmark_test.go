package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
)

func input(t *testing.T, mode spec.Mode) BenchmarkInput {
	t.Helper()
	s := spec.Spec{
		Name: "nightly", Database: "sqlite", Samples: 1000, Clients: 2, Threads: 3, Key: "integer", Seed: 1, Mode: mode, DataDir: "/data",
		Value: map[string]any{"text": "text:10"},
	}
	p, err := plan.New(&s, plan.Abilities{Engine: "sqlite", Embedded: true, Durable: true, Count: true})
	require.NoError(t, err)
	return BenchmarkInput{RunID: "run-1", Host: "bench", Spec: s, Plan: *p, Store: "dir:/store", Attributes: true}
}

// ending is what every run ends with, whatever happened to it.
var ending = []string{"stop agent", "assemble", "stop server", "clean host", "release host"}

func TestHappyPath(t *testing.T) {
	env, f := environment(t)
	f.legs()
	env.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil)
	var during Progress
	env.RegisterDelayedCallback(func() { during = progressOf(t, env) }, 150*time.Minute)
	env.ExecuteWorkflow(Benchmark, input(t, spec.ModeAll))

	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, append([]string{
		"claim host", "prepare host", "start server", "run prepare", "put prepare", "run calibrate", "put calibrate", "run create", "put create",
		"run read", "put read", "run update", "put update", "run delete", "put delete",
	}, ending...), f.done)
	require.Empty(t, f.assemble.Missing)
	require.False(t, f.clean.KeepLogs)

	var outcome BenchmarkResult
	require.NoError(t, env.GetWorkflowResult(&outcome))
	require.Equal(t, result.Valid, outcome.Verdict)
	require.Equal(t, "run-1/result.json", outcome.Document.Key)
	require.Len(t, outcome.Rows, 4)
	require.Equal(t, "create", outcome.Rows[0].Leg)

	require.Equal(t, Progress{Phase: PhaseMeasuring, Step: "create", Number: 3, Of: 6, Rows: []Row{}}, during)
	require.Equal(t, PhaseFinished, progressOf(t, env).Phase)
}

func progressOf(t *testing.T, env *testsuite.TestWorkflowEnvironment) Progress {
	t.Helper()
	value, err := env.QueryWorkflow(QueryProgress)
	require.NoError(t, err)
	var p Progress
	require.NoError(t, value.Get(&p))
	return p
}

func TestFailedLegs(t *testing.T) {
	for name, test := range map[string]struct {
		step    string
		verdict result.Verdict
		ran     []string
		notRun  []string
	}{
		// Nothing that needs rows can run without them.
		"create fails": {"create", result.Failed, []string{"create"}, []string{"read", "update", "delete"}},
		// Rows that are not what they should be are as good as none.
		"create is wrong": {"create", result.Invalid, []string{"create"}, []string{"read", "update", "delete"}},
		// A read changes nothing, so the others go on.
		"read fails":   {"read", result.Failed, []string{"create", "read", "update", "delete"}, nil},
		"update fails": {"update", result.Failed, []string{"create", "read", "update"}, []string{"delete"}},
		"delete fails": {"delete", result.Failed, []string{"create", "read", "update", "delete"}, nil},
		// A slow harness is a verdict on the number, not on the data.
		"create is limited": {"create", result.GeneratorLimited, []string{"create", "read", "update", "delete"}, nil},
		// The agent found that the data is gone.
		"read is refused": {"read", result.NotRun, []string{"create", "read"}, []string{"update", "delete"}},
	} {
		t.Run(name, func(t *testing.T) {
			env, f := environment(t)
			f.verdicts[test.step] = test.verdict
			f.legs()
			in := input(t, spec.ModeAll)
			in.Attributes = false
			env.ExecuteWorkflow(Benchmark, in)
			require.NoError(t, env.GetWorkflowError(), "a run with a failed leg is complete")

			var ran []string
			for _, what := range f.done {
				for _, step := range in.Plan.Steps {
					if step.Timed && what == "put "+step.ID {
						ran = append(ran, step.ID)
					}
				}
			}
			require.Equal(t, test.ran, ran)
			require.Len(t, f.assemble.Missing, len(test.notRun))
			for _, step := range test.notRun {
				require.Equal(t, result.NotRun, f.missing(step).Verdict)
				require.Contains(t, f.missing(step).Why, test.step, "the reason names the leg that is to blame")
			}
			require.Equal(t, ending, f.done[len(f.done)-len(ending):])
			require.Equal(t, !holds(test.verdict), f.clean.KeepLogs, "logs are kept when something went wrong")
		})
	}
}

func TestStepThatIsSkippedIsUnsupported(t *testing.T) {
	env, f := environment(t)
	f.legs()
	in := input(t, spec.ModeAll)
	in.Attributes = false
	for i := range in.Plan.Steps {
		if in.Plan.Steps[i].ID == "update" {
			in.Plan.Steps[i].Skip = "it is append-only"
		}
	}
	env.ExecuteWorkflow(Benchmark, in)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, activities.MissingLeg{Step: "update", Verdict: result.Unsupported, Why: "it is append-only"}, f.missing("update"))
	require.Equal(t, result.NotRun, f.missing("delete").Verdict)
}

func TestFailedRunHasADocumentAndCleansUp(t *testing.T) {
	broken := temporal.NewNonRetryableApplicationError("durability: asked for os, got process", activities.TypeDurability, nil)
	for name, test := range map[string]struct {
		fails string
		err   error
		kind  string
	}{
		"host":             {"prepare host", broken, activities.TypeDurability},
		"server":           {"start server", broken, activities.TypeDurability},
		"prepare":          {"run prepare", broken, activities.TypeDurability},
		"found not stored": {"put prepare", broken, activities.TypeDurability},
		// Tried a few times, and given up.
		"server that never comes": {"start server", temporal.NewApplicationError("no answer", activities.TypeInfrastructure), activities.TypeInfrastructure},
	} {
		t.Run(name, func(t *testing.T) {
			env, f := environment(t)
			f.legs()
			f.fails[test.fails] = test.err
			in := input(t, spec.ModeAll)
			in.Attributes = false
			env.ExecuteWorkflow(Benchmark, in)

			err := env.GetWorkflowError()
			var application *temporal.ApplicationError
			require.ErrorAs(t, err, &application)
			require.Equal(t, test.kind, application.Type())
			require.Equal(t, message(test.err), application.Message())
			outcome, ok := ResultOf(err)
			require.True(t, ok, "the error carries what the run came to")
			require.Equal(t, "run-1/result.json", outcome.Document.Key)
			require.Equal(t, []result.Verdict{result.NotRun, result.NotRun, result.NotRun, result.NotRun}, verdicts(outcome.Rows))
			require.Equal(t, ending, f.done[len(f.done)-len(ending):])
			require.Equal(t, message(test.err), f.assemble.Error)
			require.True(t, f.clean.KeepLogs)
		})
	}
}

func TestCleanUpGoesOnWhenPartOfItFails(t *testing.T) {
	env, f := environment(t)
	f.legs()
	f.fails["stop agent"] = temporal.NewNonRetryableApplicationError("process lives on", activities.TypeAgent, nil)
	f.fails["stop server"] = f.fails["stop agent"]
	in := input(t, spec.ModeAll)
	in.Attributes = false
	env.ExecuteWorkflow(Benchmark, in)
	require.NoError(t, env.GetWorkflowError(), "the result is what it is")
	require.Equal(t, ending, f.done[len(f.done)-len(ending):])
}

func TestCancelledRunKeepsWhatItHasAndCleansUp(t *testing.T) {
	env, f := environment(t)
	env.OnActivity(leg.RunLeg, mock.Anything, mock.Anything).Return(
		func(ctx context.Context, in activities.RunLegInput) (activities.StepResult, error) {
			if in.Step.ID != "read" {
				return f.runLeg(ctx, in)
			}
			// The environment does not wait for an activity that it cancels, as a server does when no worker is there. What the agent has
			// kept is found once it has ended.
			f.salvaged = activities.SalvagedLeg{Found: true, Result: activities.StepResult{Step: "read", Verdict: result.Interrupted, OK: 10}}
			env.CancelWorkflow()
			return f.salvaged.Result, nil
		})
	in := input(t, spec.ModeAll)
	in.Attributes = false
	env.ExecuteWorkflow(Benchmark, in)

	err := env.GetWorkflowError()
	require.True(t, temporal.IsCanceledError(err), "%v", err)
	require.True(t, f.assemble.Cancelled)
	require.Empty(t, f.assemble.Error)
	require.Equal(t, append([]string{
		"claim host", "prepare host", "start server", "run prepare", "put prepare", "run calibrate", "put calibrate", "run create", "put create",
		"stop agent", "salvage read",
	}, ending[1:]...), f.done, "nothing is started any more, and the interrupted leg is stored")
	require.Equal(t, result.NotRun, f.missing("update").Verdict)
	require.Contains(t, f.missing("update").Why, "cancelled")

	outcome, ok := ResultOf(err)
	require.True(t, ok)
	require.Equal(t, []result.Verdict{result.Valid, result.Interrupted, result.NotRun, result.NotRun}, verdicts(outcome.Rows))
}

func verdicts(rows []Row) []result.Verdict {
	var all []result.Verdict
	for _, row := range rows {
		all = append(all, row.Verdict)
	}
	return all
}

func TestCancelBeforeTheFirstStep(t *testing.T) {
	env, f := environment(t)
	f.legs()
	in := input(t, spec.ModeAll)
	in.Attributes = false
	f.happens["prepare host"] = env.CancelWorkflow
	env.ExecuteWorkflow(Benchmark, in)
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()))
	require.Equal(t, append([]string{"claim host", "prepare host"}, ending...), f.done)
	require.Len(t, f.assemble.Missing, 4)
}

func TestLegIsRetriedUntilItsWorkerIsBack(t *testing.T) {
	env, f := environment(t)
	tries := 0
	env.OnActivity(leg.RunLeg, mock.Anything, mock.Anything).Return(
		func(ctx context.Context, in activities.RunLegInput) (activities.StepResult, error) {
			if in.Step.ID == "read" {
				if tries++; tries <= 6 {
					return activities.StepResult{}, temporal.NewApplicationError("the worker is stopping", activities.TypeDraining)
				}
			}
			return f.runLeg(ctx, in)
		})
	in := input(t, spec.ModeAll)
	in.Attributes = false
	env.ExecuteWorkflow(Benchmark, in)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 7, tries)
	require.Empty(t, f.assemble.Missing)
}

func TestLegThatCannotBeStoredIsFailedAndOthersGoOn(t *testing.T) {
	env, f := environment(t)
	f.legs()
	f.fails["put read"] = temporal.NewNonRetryableApplicationError("exists already with different content", activities.TypeInfrastructure, nil)
	in := input(t, spec.ModeAll)
	in.Attributes = false
	env.ExecuteWorkflow(Benchmark, in)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, result.Failed, f.missing("read").Verdict)
	require.Contains(t, f.missing("read").Why, "different content")
	require.Contains(t, f.done, "put delete")
}

func TestDocumentThatCannotBeStoredFailsTheRun(t *testing.T) {
	env, f := environment(t)
	f.legs()
	f.fails["assemble"] = temporal.NewNonRetryableApplicationError("it contradicts itself", activities.TypeInfrastructure, nil)
	in := input(t, spec.ModeAll)
	in.Attributes = false
	env.ExecuteWorkflow(Benchmark, in)
	err := env.GetWorkflowError()
	require.ErrorContains(t, err, "it contradicts itself")
	outcome, ok := ResultOf(err)
	require.True(t, ok)
	require.Equal(t, result.Failed, outcome.Verdict)
	require.Empty(t, outcome.Document.Key)
	require.Equal(t, []string{"stop server", "clean host", "release host"}, f.done[len(f.done)-3:])
}

func TestStoreThatCannotBeWrittenDoesNotHoldARunThatMeasuredNothing(t *testing.T) {
	env, f := environment(t)
	f.fails["prepare host"] = temporal.NewNonRetryableApplicationError("write in /store: permission denied", activities.TypePreflight, nil)
	f.fails["assemble"] = temporal.NewApplicationError("write in /store: permission denied", activities.TypeInfrastructure)
	in := input(t, spec.ModeAll)
	in.Attributes = false
	begun := env.Now()
	env.ExecuteWorkflow(Benchmark, in)
	var application *temporal.ApplicationError
	require.ErrorAs(t, env.GetWorkflowError(), &application)
	require.Equal(t, activities.TypePreflight, application.Type(), "the run's own failure is what is told")
	require.Less(t, env.Now().Sub(begun), time.Minute)
	require.Contains(t, f.done, "clean host")
}

func TestLoadIsSealedWhenItIsWhole(t *testing.T) {
	for name, test := range map[string]struct {
		verdict result.Verdict
		sealed  bool
	}{
		"whole":  {result.Valid, true},
		"failed": {result.Failed, false},
	} {
		t.Run(name, func(t *testing.T) {
			env, f := environment(t)
			f.verdicts["update"] = test.verdict
			f.legs()
			in := input(t, spec.ModeLoad)
			in.Attributes = false
			env.ExecuteWorkflow(Benchmark, in)
			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, "open dataset", f.done[2], "the old manifest goes before the data does")
			if test.sealed {
				require.Contains(t, f.done, "seal dataset")
			} else {
				require.NotContains(t, f.done, "seal dataset")
			}
		})
	}
}

func TestQueryFindsTheDataAsTheLoadLeftIt(t *testing.T) {
	env, f := environment(t)
	f.legs()
	in := input(t, spec.ModeQuery)
	in.Attributes = false
	env.ExecuteWorkflow(Benchmark, in)
	require.NoError(t, env.GetWorkflowError())
	require.Empty(t, f.assemble.Missing)
	require.Contains(t, f.done, "run attach")
	require.Contains(t, f.done, "put read")
}

func TestVerdictAttributeIsSet(t *testing.T) {
	env, f := environment(t)
	f.legs()
	var names []string
	env.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(args mock.Arguments) {
		attributes := args.Get(0).(temporal.SearchAttributes)
		for _, key := range []temporal.SearchAttributeKeyKeyword{EngineAttribute, SpecAttribute, HostAttribute, VerdictAttribute} {
			if value, ok := attributes.GetKeyword(key); ok {
				names = append(names, key.GetName()+"="+value)
			}
		}
	}).Return(nil)
	env.ExecuteWorkflow(Benchmark, input(t, spec.ModeAll))
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"Engine=sqlite", "Spec=nightly", "Host=bench", "Verdict=valid"}, names)
}

func TestActivitiesRunOnTheHostsQueue(t *testing.T) {
	b := &benchmark{in: BenchmarkInput{Host: "bench-7"}}
	for name, options := range map[string]workflow.ActivityOptions{
		"host":  b.hostOptions("", time.Minute, 1),
		"leg":   b.legOptions(plan.Step{}),
		"store": b.storeOptions(""),
		"clean": b.cleanOptions(""),
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, "host/bench-7", options.TaskQueue)
			require.Positive(t, options.HeartbeatTimeout)
			require.Positive(t, options.StartToCloseTimeout)
		})
	}
	require.Equal(t, "read · 100000 × 4×8", b.legOptions(plan.Step{ID: "read", Samples: 100_000, Clients: 4, Threads: 8}).Summary)
}
