//go:build e2e

package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/workflows"
)

// leasedHost notes who is on a host, and that it is never two.
type leasedHost struct {
	mu      sync.Mutex
	holders map[string]bool
	held    []string
	broken  []string
}

// Enter and Leave are activities: a crash may have either run twice for the same workflow.
func (h *leasedHost) Enter(_ context.Context, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holders[id] = true
	if len(h.holders) > 1 {
		h.broken = append(h.broken, fmt.Sprint(h.holders))
	}
	h.held = append(h.held, id)
	return nil
}

func (h *leasedHost) Leave(_ context.Context, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.holders, id)
	return nil
}

// holder is who has the host now, "" when nobody has.
func (h *leasedHost) holder() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.holders {
		return id
	}
	return ""
}

// claimer is a workflow that holds the host for a while.
func claimer(ctx workflow.Context, hold time.Duration) error {
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	return workflows.HoldHost(ctx, leased, func(ctx workflow.Context) error {
		// What is begun is ended, also by a run that is cancelled.
		work, cancel := workflow.NewDisconnectedContext(ctx)
		defer cancel()
		work = workflow.WithLocalActivityOptions(work, workflow.LocalActivityOptions{StartToCloseTimeout: 10 * time.Second})
		var host *leasedHost
		if err := workflow.ExecuteLocalActivity(work, host.Enter, id).Get(work, nil); err != nil {
			return err
		}
		slept := workflow.Sleep(ctx, hold)
		return errors.Join(workflow.ExecuteLocalActivity(work, host.Leave, id).Get(work, nil), slept)
	})
}

const leased = "leased"

// leaseBed is a real server of its own with a worker that serves leases and claimers.
type leaseBed struct {
	t      *testing.T
	server *temporald
	client client.Client
	host   *leasedHost
}

func newLeaseBed(t *testing.T) *leaseBed {
	server := startTemporald(t)
	return &leaseBed{t: t, server: server, client: server.dial(t.Context()), host: &leasedHost{holders: map[string]bool{}}}
}

// serve starts a worker and returns how to stop it.
func (b *leaseBed) serve() (stop func()) {
	w := worker.New(b.client, workflows.ControlQueue, worker.Options{})
	w.RegisterWorkflow(workflows.HostLease)
	w.RegisterWorkflow(claimer)
	w.RegisterActivity(&activities.Lease{Client: b.client})
	w.RegisterActivity(b.host)
	require.NoError(b.t, w.Start())
	return w.Stop
}

func (b *leaseBed) claim(id string, hold time.Duration) client.WorkflowRun {
	run, err := b.client.ExecuteWorkflow(b.t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: workflows.ControlQueue}, claimer, hold)
	require.NoError(b.t, err)
	return run
}

func (b *leaseBed) waitForHolder(id string) {
	require.Eventually(b.t, func() bool { return b.host.holder() == id }, time.Minute, 20*time.Millisecond, "%s has not got the host", id)
}

// leases are the executions of the host's lease, the latest first.
func (b *leaseBed) leases() []enumspb.WorkflowExecutionStatus {
	answer, err := b.client.ListWorkflow(b.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = 'HostLease'"})
	require.NoError(b.t, err)
	var all []enumspb.WorkflowExecutionStatus
	for _, e := range answer.GetExecutions() {
		all = append(all, e.GetStatus())
	}
	return all
}

// state asks the lease who has the host and who waits.
func (b *leaseBed) state() (state activities.LeaseState) {
	answer, err := b.client.QueryWorkflow(b.t.Context(), workflows.LeaseID(leased), "", workflows.QueryLease)
	require.NoError(b.t, err)
	require.NoError(b.t, answer.Get(&state))
	return state
}

// Runs come and go by the dozen, some cancelled, some terminated, while the lease goes on as a new execution again and again, the server
// is killed, and the worker is replaced: the host is never two's, and everybody who stays gets it.
func TestRealServerHostIsOnesThroughEverything(t *testing.T) {
	defer workflows.SetLeaseEvents(80)()
	b := newLeaseBed(t)
	stop := b.serve()
	const claims = 20
	var runs []client.WorkflowRun
	for i := range claims {
		runs = append(runs, b.claim(fmt.Sprintf("run/%02d", i), time.Duration(50+i%3*30)*time.Millisecond))
	}
	gone := map[int]bool{3: true, 9: true, 14: true, 18: true}
	for i := range gone {
		var err error
		if i%2 == 0 {
			err = b.client.CancelWorkflow(t.Context(), runs[i].GetID(), runs[i].GetRunID())
		} else {
			err = b.client.TerminateWorkflow(t.Context(), runs[i].GetID(), runs[i].GetRunID(), "a test")
			// Its leaving is the termination.
			require.NoError(t, b.host.Leave(t.Context(), runs[i].GetID()))
		}
		if err != nil {
			delete(gone, i) // it was quicker
		}
	}
	b.server.kill()
	b.server.start()
	b.server.dial(t.Context()).Close()
	stop()
	stop = b.serve()
	defer func() { stop() }()
	for i, run := range runs {
		if err := run.Get(t.Context(), nil); !gone[i] {
			require.NoError(t, err, "run %d", i)
		}
	}
	require.Empty(t, b.host.broken, "the host was two runs' at once")
	held := map[string]bool{}
	for _, id := range b.host.held {
		held[id] = true
	}
	require.GreaterOrEqual(t, len(held), claims-len(gone))
	require.Eventually(t, func() bool {
		all := b.leases()
		return len(all) > 0 && all[0] == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	}, time.Minute, 200*time.Millisecond, "the lease does not end")
	require.Contains(t, b.leases(), enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW)
}

// The holder is terminated, which runs no code of its own, while the server has been killed and come back: the next one has the host soon.
func TestRealServerTerminatedHolderFreesItsHost(t *testing.T) {
	b := newLeaseBed(t)
	defer b.serve()()
	first := b.claim("run/first", time.Hour)
	b.waitForHolder("run/first")
	second := b.claim("run/second", time.Hour)
	third := b.claim("run/third", 10*time.Millisecond)
	require.Eventually(t, func() bool { return len(b.state().Waiting) == 2 }, time.Minute, 50*time.Millisecond)
	state := b.state()
	require.Equal(t, "run/first", state.Holder.Workflow)
	require.Equal(t, "run/second", state.Waiting[0].Workflow)

	b.server.kill()
	b.server.start()
	b.server.dial(t.Context()).Close()
	require.Equal(t, state, b.state(), "the queue outlives the server")

	require.NoError(t, b.host.Leave(t.Context(), "run/first"))
	require.NoError(t, b.client.TerminateWorkflow(t.Context(), first.GetID(), first.GetRunID(), "a test"))
	terminated := time.Now()
	b.waitForHolder("run/second")
	t.Logf("the next run had the host %s after its holder was terminated", time.Since(terminated).Round(10*time.Millisecond))

	require.NoError(t, b.client.CancelWorkflow(t.Context(), second.GetID(), second.GetRunID()))
	require.NoError(t, third.Get(t.Context(), nil))
	require.Empty(t, b.host.broken)
	lease := b.client.GetWorkflow(t.Context(), workflows.LeaseID(leased), "")
	require.NoError(t, lease.Get(t.Context(), nil))
	if *record {
		(&realBed{t: t, ctx: t.Context(), client: b.client}).record(lease, "testdata/lease.json")
	}
}
