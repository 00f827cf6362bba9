//go:build e2e

package workflows_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/infra/home"
	hostlock "github.com/durabench/durabench/infra/host"
	"github.com/durabench/durabench/workflows"
)

// matrixBed is a server of a test's own, with a host, for whole matrices.
type matrixBed struct {
	*realBed
	server *temporald
}

func newMatrixBed(t *testing.T) *matrixBed {
	server := startTemporald(t)
	// The paths that come into the histories are those of no real user.
	root := filepath.Join(os.TempDir(), "durabench-matrix")
	require.NoError(t, os.RemoveAll(root))
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	t.Setenv(home.Env, root)
	t.Setenv(hostlock.EnvLockDir, t.TempDir()) // a run of somebody else on this machine is none of the test's business
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return &matrixBed{&realBed{t: t, ctx: ctx, client: server.dial(ctx), root: root}, server}
}

const matrixWorkload = `
clients = 2
threads = 2

[value]
name = "text:30"
`

// start starts a matrix of these cells, of 200 rows where they say no other number.
func (b *matrixBed) start(id string, cells ...spec.Cell) client.WorkflowRun {
	for i := range cells {
		cells[i].Workload = "small"
		settings := map[string]string{"samples": "200", "isolation": "none"} // tests do not wait for a quiet machine
		for key, value := range cells[i].Settings {
			settings[key] = value
		}
		cells[i].Settings = settings
	}
	in := workflows.MatrixInput{
		RunID: id, Hosts: []string{realHost}, Store: "dir:" + filepath.Join(b.root, "runs"), Command: []string{"starter", "run", "--matrix", id},
		Attributes: true, MaxEvents: 30,
		Matrix: spec.Matrix{Name: id, Workloads: map[string]string{"small": matrixWorkload}, Cells: cells},
	}
	run, err := b.client.ExecuteWorkflow(b.ctx, client.StartWorkflowOptions{ID: workflows.MatrixID(id), TaskQueue: workflows.ControlQueue},
		workflows.Matrix, in)
	require.NoError(b.t, err)
	return run
}

// waitForCell waits until a leg of the cell with this run id is being measured.
func (b *matrixBed) waitForCell(run string) {
	require.Eventually(b.t, func() bool {
		described, err := b.client.DescribeWorkflow(b.ctx, workflows.WorkflowID(run), "")
		if err != nil {
			return false
		}
		beat, activityType, ok := workflows.PendingHeartbeat(described.RawResponse)
		return ok && activityType == "RunLeg" && beat.Progress != nil && beat.Progress.Done > 0
	}, time.Minute, 50*time.Millisecond, "run %s does not measure", run)
}

func (b *matrixBed) summary(stored workflows.MatrixResult) *result.Matrix {
	data, err := os.ReadFile(stored.Document.Path)
	require.NoError(b.t, err)
	summary, err := result.DecodeMatrix(data)
	require.NoError(b.t, err)
	return summary
}

// A night with everything: an engine that cannot do what its cell asks, one whose writes fail, the server killed and the worker replaced in
// the middle of a leg, and a history so short that the matrix goes on as a new execution again and again.
func TestRealServerMatrixGoesThroughTheNight(t *testing.T) {
	b := newMatrixBed(t)
	stop := b.serve()
	defer func() { stop() }()
	run := b.start("night",
		spec.Cell{Engine: "map", Variant: "usual"},
		spec.Cell{Engine: "map", Variant: "durable", Settings: map[string]string{"sync": "true"}},
		spec.Cell{Engine: "broken"},
		spec.Cell{Engine: "unheard-of"},
		spec.Cell{Engine: "slow", Settings: map[string]string{"samples": "8000"}},
		spec.Cell{Engine: "sqlite"},
	)
	b.waitForCell("night-005-slow")
	stop()
	b.server.kill()
	b.server.start()
	b.server.dial(b.ctx).Close()
	stop = b.serve()

	var outcome workflows.MatrixResult
	require.NoError(t, b.client.GetWorkflow(b.ctx, run.GetID(), "").Get(b.ctx, &outcome))
	summary := b.summary(outcome)
	var came []string
	for _, cell := range summary.Cells {
		came = append(came, fmt.Sprintf("%s: %s", workflows.CellName(cell), cell.Verdict))
		require.Equal(t, realHost, cell.Host)
	}
	require.Len(t, came, 6)
	require.Contains(t, came[0], "map small usual")
	for _, i := range []int{0, 4, 5} {
		cell := summary.Cells[i]
		require.Contains(t, []result.Verdict{result.Valid, result.GeneratorLimited}, cell.Verdict, "%s: %s", came[i], cell.Why)
		require.Len(t, cell.Legs, 4)
		for _, leg := range cell.Legs {
			require.NotNil(t, leg.Rate, "%s %s", came[i], leg.ID)
		}
	}
	require.Equal(t, result.Skipped, summary.Cells[1].Verdict)
	require.Contains(t, summary.Cells[1].Why, "--sync")
	require.Equal(t, result.Failed, summary.Cells[2].Verdict)
	require.Equal(t, result.Skipped, summary.Cells[3].Verdict)
	require.Contains(t, summary.Cells[3].Why, "unheard-of")
	require.Equal(t, 8000, int(summary.Cells[4].Rows))

	executions := b.executions(run.GetID())
	require.Contains(t, executions, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, executions[0])
	if *record {
		b.record(run, "testdata/matrix-continued.json")
		b.record(b.client.GetWorkflow(b.ctx, run.GetID(), ""), "testdata/matrix.json")
	}
	b.nothingIsLeft("night-005-slow")
}

// executions are the states of the executions of a workflow, the latest first.
func (b *matrixBed) executions(id string) (all []enumspb.WorkflowExecutionStatus) {
	// The list is brought up to date a moment after a workflow has ended.
	require.Eventually(b.t, func() bool {
		answer, err := b.client.ListWorkflow(b.ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId = '%s'", id)})
		require.NoError(b.t, err)
		all = nil
		for _, e := range answer.GetExecutions() {
			all = append(all, e.GetStatus())
		}
		return len(all) > 0 && all[0] != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	}, time.Minute, 100*time.Millisecond)
	return all
}

func TestRealServerCancelledMatrixStopsItsCell(t *testing.T) {
	b := newMatrixBed(t)
	defer b.serve()()
	run := b.start("cancelled-night",
		spec.Cell{Engine: "map"},
		spec.Cell{Engine: "slow", Settings: map[string]string{"samples": "100000"}},
		spec.Cell{Engine: "sqlite"},
	)
	b.waitForCell("cancelled-night-002-slow")
	require.NoError(t, b.client.CancelWorkflow(b.ctx, run.GetID(), ""))
	err := run.Get(b.ctx, nil)
	require.True(t, temporal.IsCanceledError(err), "%v", err)
	outcome, ok := workflows.MatrixResultOf(err)
	require.True(t, ok, "%v", err)
	summary := b.summary(outcome)
	require.Equal(t, result.Interrupted, summary.Cells[1].Verdict)
	require.Positive(t, summary.Cells[1].Rows, "what was measured until then is in the cell's own document")
	require.Equal(t, result.NotRun, summary.Cells[2].Verdict)
	require.Empty(t, summary.Cells[2].Run)
	child, err := b.client.DescribeWorkflow(b.ctx, workflows.WorkflowID("cancelled-night-002-slow"), "")
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, child.Status)
	if *record {
		b.record(run, "testdata/matrix-cancelled.json")
	}
}
