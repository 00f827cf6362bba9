package workflows

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// losing is a host whose server is lost under one step, some times in a row.
type losing struct {
	*fakeHost
	step    string
	times   int
	attempt func(n int) int // of loss n, counted from 1
	final   bool            // the last loss is one too many
	lost    int
	told    []agent.Loss // what the step was told of its losses, the last time
	servers []int        // the process that each execution of the step had
}

func (l *losing) runLeg(ctx context.Context, in activities.RunLegInput) (activities.StepResult, error) {
	if in.Step.ID != l.step {
		return l.fakeHost.runLeg(ctx, in)
	}
	l.told = in.Lost
	l.servers = append(l.servers, in.Server.PID)
	if l.lost == l.times {
		return l.fakeHost.runLeg(ctx, in)
	}
	l.lost++
	_ = l.note("lost " + in.Step.ID)
	came := activities.StepResult{
		Step:          in.Step.ID,
		Lost:          &agent.Loss{Attempt: l.attempt(l.lost), At: time.Unix(int64(l.lost), 0).UTC(), Cause: agent.CauseServerLost, Note: fmt.Sprintf("loss %d", l.lost)},
		Interruptions: []result.Interruption{{At: time.Unix(int64(l.lost), 1).UTC(), Cause: activities.CauseWorkerLost}},
	}
	if l.final && l.lost == l.times {
		came.Final, came.Verdict, came.Attempts = true, result.Failed, agent.MaxAttempts
	}
	return came, nil
}

// Workers that were lost while they started the server use up none of its attempts: the activity counts those itself.
func TestStartOfTheServerOutlivesWorkers(t *testing.T) {
	env, f := environment(t)
	f.legs()
	lost := 0
	f.fails["start server"] = temporal.NewApplicationError("the worker is gone", activities.TypeDraining)
	f.happens["start server"] = func() {
		if lost++; lost == 8 {
			delete(f.fails, "start server")
		}
	}
	env.ExecuteWorkflow(Benchmark, input(t, spec.ModeAll))
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 8, lost)
}

// runLosing runs a benchmark whose server is lost.
func runLosing(t *testing.T, l *losing) (*losing, error) {
	t.Helper()
	env, f := environment(t)
	l.fakeHost = f
	if l.attempt == nil {
		l.attempt = func(n int) int { return n }
	}
	env.OnActivity(leg.RunLeg, mock.Anything, mock.Anything).Return(l.runLeg)
	env.OnActivity(server.RecoverServer, mock.Anything, mock.Anything).Return(
		func(_ context.Context, in activities.RecoverServerInput) (activities.StartedServer, error) {
			return activities.StartedServer{Mode: drivers.Process, PID: in.Server.PID + 1}, f.note("recover server")
		}).Maybe()
	in := input(t, spec.ModeAll)
	in.Attributes = false
	env.ExecuteWorkflow(Benchmark, in)
	return l, env.GetWorkflowError()
}

func TestLostServerIsBroughtBackAndTheStepRunAgain(t *testing.T) {
	for _, step := range []string{"prepare", "calibrate", "create", "read", "update", "delete"} {
		t.Run(step, func(t *testing.T) {
			l, err := runLosing(t, &losing{step: step, times: 2})
			require.NoError(t, err)
			at := 0
			for i, what := range l.done {
				if what == "lost "+step {
					at = i
					break
				}
			}
			require.Equal(t, []string{
				"lost " + step, "stop agent", "recover server", "lost " + step, "stop agent", "recover server", "run " + step, "put " + step,
			}, l.done[at:at+8])
			require.Equal(t, []int{0, 1, 2}, l.servers, "each execution has the server as it was brought back")
			require.Len(t, l.told, 2)
			require.Equal(t, []int{1, 2}, []int{l.told[0].Attempt, l.told[1].Attempt})
			require.Empty(t, l.assemble.Missing)
			require.Equal(t, 2, l.assemble.Server.PID, "the document names the server that there was at the end")
		})
	}
}

func TestLossBeforeAStepIsNoAttempt(t *testing.T) {
	l, err := runLosing(t, &losing{step: "read", times: 1, attempt: func(int) int { return 0 }})
	require.NoError(t, err)
	require.Zero(t, l.told[0].Attempt)
	require.Empty(t, l.assemble.Missing)
}

// A leg that takes the server with it every time is failed, and the legs after it that can run do so on a server that lives.
func TestLegThatTakesEveryServerWithItIsFailed(t *testing.T) {
	l, err := runLosing(t, &losing{step: "read", times: agent.MaxAttempts, final: true})
	require.NoError(t, err)
	recovered := 0
	for _, what := range l.done {
		if what == "recover server" {
			recovered++
		}
	}
	require.Equal(t, agent.MaxAttempts, recovered)
	require.Contains(t, l.done, "put read")
	require.Contains(t, l.done, "put delete")
	require.Empty(t, l.assemble.Missing)
}

func TestServerThatNeverLivesEndsTheRun(t *testing.T) {
	l, err := runLosing(t, &losing{step: "update", times: 100, attempt: func(int) int { return 0 }})
	require.ErrorContains(t, err, "lost 6 times")
	require.Equal(t, ending[1:], l.done[len(l.done)-len(ending)+1:])
	require.Contains(t, l.done, "put read", "what was measured before it is kept")
}

func TestServerThatCannotBeBroughtBackEndsTheRun(t *testing.T) {
	env, f := environment(t)
	l := &losing{fakeHost: f, step: "update", times: 1, attempt: func(n int) int { return n }}
	env.OnActivity(leg.RunLeg, mock.Anything, mock.Anything).Return(l.runLeg)
	env.OnActivity(server.RecoverServer, mock.Anything, mock.Anything).Return(
		activities.StartedServer{}, temporal.NewNonRetryableApplicationError("the disk is gone", activities.TypeInfrastructure, nil))
	f.salvaged = activities.SalvagedLeg{Found: true, Result: activities.StepResult{Step: "update", Verdict: result.Failed}}
	in := input(t, spec.ModeAll)
	in.Attributes = false
	env.ExecuteWorkflow(Benchmark, in)
	require.ErrorContains(t, env.GetWorkflowError(), "the disk is gone")
	require.Equal(t, ending[1:], f.done[len(f.done)-len(ending)+1:])
	require.Contains(t, f.done, "salvage update", "what is known of the leg is kept")
	require.Equal(t, result.NotRun, f.missing("delete").Verdict)
}

// What was told of waiting for a step is kept over the executions that do not count.
func TestInterruptionsOfLostExecutionsAreKept(t *testing.T) {
	env, f := environment(t)
	l := &losing{fakeHost: f, step: "read", times: 2, attempt: func(n int) int { return n }}
	env.OnActivity(leg.RunLeg, mock.Anything, mock.Anything).Return(l.runLeg)
	env.OnActivity(server.RecoverServer, mock.Anything, mock.Anything).Return(activities.StartedServer{Mode: drivers.Process}, nil)
	in := input(t, spec.ModeAll)
	in.Attributes = false
	env.ExecuteWorkflow(Benchmark, in)
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, f.put["read"].Interruptions, 2)
	require.Empty(t, f.put["update"].Interruptions)
}

func TestCancelWhileTheServerIsBroughtBack(t *testing.T) {
	env, f := environment(t)
	l := &losing{fakeHost: f, step: "read", times: 1, attempt: func(n int) int { return n }}
	env.OnActivity(leg.RunLeg, mock.Anything, mock.Anything).Return(l.runLeg)
	env.OnActivity(server.RecoverServer, mock.Anything, mock.Anything).Return(
		func(context.Context, activities.RecoverServerInput) (activities.StartedServer, error) {
			env.CancelWorkflow()
			return activities.StartedServer{}, nil
		})
	in := input(t, spec.ModeAll)
	in.Attributes = false
	env.ExecuteWorkflow(Benchmark, in)
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()), "%v", env.GetWorkflowError())
	require.Equal(t, ending[1:], f.done[len(f.done)-len(ending)+1:])
}
