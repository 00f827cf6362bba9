package workflows

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
)

// claimants plays the workflows that want a host.
type claimants struct {
	t     *testing.T
	env   *testsuite.TestWorkflowEnvironment
	mu    sync.Mutex      // signals and activities run beside the workflow
	ended map[string]bool // by workflow id
	told  []string        // "run/a granted", "run/b 1 after run/a"
	// at notes when each was granted the host.
	at map[string]time.Duration
}

func claimantsOf(t *testing.T) *claimants {
	var suite testsuite.WorkflowTestSuite
	c := &claimants{t: t, env: suite.NewTestWorkflowEnvironment(), ended: map[string]bool{}, at: map[string]time.Duration{}}
	c.env.RegisterActivity(leases)
	begun := c.env.Now()
	c.env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, SignalPlace, mock.Anything).Return(
		func(_, id, _, _ string, arg any) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.ended[id] {
				return fmt.Errorf("workflow %s is not there", id)
			}
			place := arg.(Place)
			if place.Granted {
				c.told = append(c.told, id+" granted")
				c.at[id] = c.env.Now().Sub(begun)
			} else {
				c.told = append(c.told, fmt.Sprintf("%s %d after %s", id, place.Ahead, place.Holder))
			}
			return nil
		}).Maybe()
	c.env.OnActivity(leases.FindEnded, mock.Anything, mock.Anything).Return(
		func(_ context.Context, all []activities.Execution) ([]activities.Execution, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			var ended []activities.Execution
			for _, e := range all {
				if c.ended[e.Workflow] {
					ended = append(ended, e)
				}
			}
			return ended, nil
		}).Maybe()
	return c
}

func claim(id string, priority Priority) activities.Claim {
	return activities.Claim{Execution: activities.Execution{Workflow: id, Run: id + "/execution"}, Priority: string(priority)}
}

// after has something happen at a time from the start.
func (c *claimants) after(delay time.Duration, do func()) { c.env.RegisterDelayedCallback(do, delay) }

func (c *claimants) acquire(id string, priority Priority) {
	c.env.SignalWorkflow(SignalAcquire, claim(id, priority))
}
func (c *claimants) release(id string) { c.env.SignalWorkflow(SignalRelease, claim(id, "")) }

func (c *claimants) state() activities.LeaseState {
	c.t.Helper()
	value, err := c.env.QueryWorkflow(QueryLease)
	require.NoError(c.t, err)
	var state activities.LeaseState
	require.NoError(c.t, value.Get(&state))
	return state
}

func TestLeaseIsFirstComeFirstServedWithinPriority(t *testing.T) {
	c := claimantsOf(t)
	c.after(0, func() {
		c.acquire("run/a", PriorityNightly)
		c.acquire("run/b", PriorityNightly)
		c.acquire("run/c", PriorityInteractive)
	})
	c.after(time.Second, func() { c.acquire("run/d", PriorityGate) })
	c.after(2*time.Second, func() { c.acquire("run/e", "") }) // interactive
	c.after(3*time.Second, func() {
		state := c.state()
		require.Equal(t, "bench", state.Host)
		require.Equal(t, "run/c", state.Holder.Workflow, "who has begun is not interrupted by a higher priority")
		var waiting []string
		for _, claim := range state.Waiting {
			waiting = append(waiting, claim.Workflow)
		}
		require.Equal(t, []string{"run/d", "run/e", "run/a", "run/b"}, waiting)
	})
	for i, id := range []string{"run/c", "run/d", "run/e", "run/a", "run/b"} {
		c.after(time.Duration(10+i)*time.Second, func() { c.release(id) })
	}
	c.env.ExecuteWorkflow(HostLease, activities.LeaseState{Host: "bench"})
	require.NoError(t, c.env.GetWorkflowError(), "a lease ends when nobody wants the host")

	var granted []string
	for _, what := range c.told {
		if id, ok := cutGranted(what); ok {
			granted = append(granted, id)
		}
	}
	require.Equal(t, []string{"run/c", "run/d", "run/e", "run/a", "run/b"}, granted)
	require.Contains(t, c.told, "run/a 1 after run/c")
	require.Contains(t, c.told, "run/a 3 after run/c", "whoever comes before moves the others back")
	require.Contains(t, c.told, "run/b 1 after run/a")
}

// end ends a workflow without a word.
func (c *claimants) end(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended[id] = true
}

func cutGranted(what string) (string, bool) {
	const end = " granted"
	if len(what) > len(end) && what[len(what)-len(end):] == end {
		return what[:len(what)-len(end)], true
	}
	return "", false
}

func TestHostOfAHolderThatEndedWithoutAWordIsFreed(t *testing.T) {
	c := claimantsOf(t)
	c.after(0, func() { c.acquire("run/a", ""); c.acquire("run/b", "") })
	c.after(time.Hour, func() { c.end("run/a") })
	c.after(2*time.Hour, func() { c.end("run/b") })
	// Nobody waits, so nobody has looked yet when the next one comes.
	c.after(2*time.Hour+time.Second, func() { c.acquire("run/c", "") })
	c.after(3*time.Hour, func() { c.release("run/c") })
	c.env.ExecuteWorkflow(HostLease, activities.LeaseState{Host: "bench"})
	require.NoError(t, c.env.GetWorkflowError())
	require.LessOrEqual(t, c.at["run/b"]-time.Hour, probeWaited, "the next one waits for one look at most")
	require.Less(t, c.at["run/c"]-2*time.Hour, 2*time.Second, "a new claim has the holder looked for at once")
}

func TestWaitersThatEndedLeaveTheQueue(t *testing.T) {
	c := claimantsOf(t)
	c.after(0, func() {
		for _, id := range []string{"run/a", "run/b", "run/c", "run/d"} {
			c.acquire(id, "")
		}
	})
	c.after(time.Second, func() { c.release("run/b") }) // cancelled while it waited
	c.after(2*time.Second, func() { c.end("run/c") })
	c.after(time.Minute, func() {
		state := c.state()
		require.Len(t, state.Waiting, 1)
		require.Equal(t, "run/d", state.Waiting[0].Workflow)
		c.end("run/d") // and this one is found out when it cannot take the host
		c.release("run/a")
	})
	c.env.ExecuteWorkflow(HostLease, activities.LeaseState{Host: "bench"})
	require.NoError(t, c.env.GetWorkflowError())
	require.NotContains(t, c.told, "run/b granted")
	require.NotContains(t, c.told, "run/c granted")
	require.Contains(t, c.told, "run/d 1 after run/a")
}

func TestTheSameClaimTwiceIsOneClaim(t *testing.T) {
	c := claimantsOf(t)
	c.after(0, func() {
		for range 2 {
			c.acquire("run/a", "")
			c.acquire("run/b", "")
		}
	})
	c.after(time.Second, func() { c.acquire("run/a", "") }) // it has not heard that the host is its own
	c.after(time.Minute, func() {
		require.Len(t, c.state().Waiting, 1)
		c.release("run/a")
		c.release("run/a") // late copies of a release free nobody else's host
	})
	c.after(2*time.Minute, func() {
		require.Equal(t, "run/b", c.state().Holder.Workflow)
		c.release("run/b")
	})
	c.env.ExecuteWorkflow(HostLease, activities.LeaseState{Host: "bench"})
	require.NoError(t, c.env.GetWorkflowError())
}

// A lease whose history has grown long goes on as a new execution with everybody in it, those included whose signals came while it was
// busy telling others.
func TestLeaseContinuesAsNewWithEverySignalTakenIn(t *testing.T) {
	c := claimantsOf(t)
	c.env.SetCurrentHistoryLength(leaseEvents)
	c.after(0, func() {
		c.acquire("run/a", "")
		c.acquire("run/b", "")
		c.acquire("run/c", "")
		c.release("run/a")
		c.acquire("run/d", PriorityGate)
	})
	c.env.ExecuteWorkflow(HostLease, activities.LeaseState{Host: "bench"})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, c.env.GetWorkflowError(), &again)
	var state activities.LeaseState
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &state))
	require.NotNil(t, state.Holder)
	all := []string{state.Holder.Workflow}
	for _, claim := range state.Waiting {
		all = append(all, claim.Workflow)
	}
	require.ElementsMatch(t, []string{"run/b", "run/c", "run/d"}, all)
}

func TestRunWaitsForItsHostAndShowsItsPlace(t *testing.T) {
	env, f := environment(t)
	f.occupied = true
	f.legs()
	in := input(t, spec.ModeAll)
	in.Attributes = false
	var waiting Progress
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalPlace, Place{Ahead: 2, Holder: "run/other"}) }, time.Second)
	env.RegisterDelayedCallback(func() { waiting = progressOf(t, env) }, time.Minute)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalPlace, Place{Granted: true}) }, 7*time.Minute)
	env.ExecuteWorkflow(Benchmark, in)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, PhaseWaiting, waiting.Phase)
	require.Equal(t, &Place{Ahead: 2, Holder: "run/other"}, waiting.Queue)
	require.Equal(t, []string{"claim host", "claim host", "prepare host"}, f.done[:3], "the claim is repeated, in case its lease was terminated")
	require.Nil(t, progressOf(t, env).Queue)
}

func TestRunCancelledWhileItWaitsLeavesTheQueueAndTheHostAlone(t *testing.T) {
	env, f := environment(t)
	f.occupied = true
	in := input(t, spec.ModeAll)
	in.Attributes = false
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
	env.ExecuteWorkflow(Benchmark, in)
	err := env.GetWorkflowError()
	require.True(t, temporal.IsCanceledError(err), "%v", err)
	require.Equal(t, []string{"claim host", "release host"}, f.done, "the host is another run's")
	outcome, ok := ResultOf(err)
	require.True(t, ok)
	require.Equal(t, result.Interrupted, outcome.Verdict)
	require.Contains(t, outcome.Why, "waited for host bench")
	require.Equal(t, []result.Verdict{result.NotRun, result.NotRun, result.NotRun, result.NotRun}, verdicts(outcome.Rows))
}

func TestRunThatCannotAskForItsHostFails(t *testing.T) {
	env, f := environment(t)
	f.occupied = true
	f.fails["claim host"] = temporal.NewNonRetryableApplicationError("permission denied", activities.TypeInfrastructure, nil)
	in := input(t, spec.ModeAll)
	in.Attributes = false
	env.ExecuteWorkflow(Benchmark, in)
	err := env.GetWorkflowError()
	require.ErrorContains(t, err, "permission denied")
	outcome, ok := ResultOf(err)
	require.True(t, ok)
	require.Equal(t, result.Failed, outcome.Verdict)
	require.Equal(t, []string{"claim host", "release host"}, f.done)
}
