package workflows

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
)

// mostBytes is what a Temporal server takes of one payload.
const mostBytes = 2 << 20

// sizeOf is the size of a value as it travels.
func sizeOf(t *testing.T, value any) int {
	t.Helper()
	payload, err := converter.GetDefaultDataConverter().ToPayload(value)
	require.NoError(t, err)
	return payload.Size()
}

// largestMatrix is the largest that Check lets through, with all that its cells came to.
func largestMatrix() MatrixInput {
	in := MatrixInput{RunID: "night-20270301-120000-abcdef", Store: "s3://bucket/prefix", Done: &MatrixDone{Started: time.Unix(0, 0)}}
	in.Matrix = spec.Matrix{Name: "night", Workloads: map[string]string{"crud": "x"}}
	for c := range spec.MaxCells {
		in.Matrix.Cells = append(in.Matrix.Cells, spec.Cell{Engine: "postgres", Workload: "crud", Variant: fmt.Sprintf("durable clients=%d", c)})
	}
	for h := range MaxMatrixRuns / spec.MaxCells {
		in.Hosts = append(in.Hosts, fmt.Sprintf("bench-%d", h))
		in.Done.Cells = append(in.Done.Cells, nil)
	}
	for h, host := range in.Hosts {
		for c, cell := range in.Matrix.Cells {
			why := fmt.Sprintf("step scan/%d/read: the database server was lost %d times: process %d is gone, and process %d runs in its place; see the log of host %s at line %d",
				c, h+c, 4711*c+h, 815*c+h, host, c*c)
			in.Done.Cells[h] = append(in.Done.Cells[h], result.MatrixCell{
				Engine: cell.Engine, Workload: cell.Workload, Variant: cell.Variant, Host: host,
				Run: fmt.Sprintf("%s-%03d-postgres", in.RunID, h*len(in.Matrix.Cells)+c), Verdict: result.Failed, Why: briefly(why, in.whyLength()),
			})
		}
	}
	return in
}

func TestLargestMatrixTravels(t *testing.T) {
	in := largestMatrix()
	require.NoError(t, in.Check())
	require.Less(t, sizeOf(t, in), mostBytes/2)
	var got MatrixInput
	payload, err := converter.GetDefaultDataConverter().ToPayload(in)
	require.NoError(t, err)
	require.NoError(t, converter.GetDefaultDataConverter().FromPayload(payload, &got))
	require.Equal(t, in.Done.Cells, got.Done.Cells)

	m := &matrix{in: in, done: *in.Done, running: make([]result.MatrixCell, len(in.Hosts))}
	require.Less(t, sizeOf(t, m.progress()), mostBytes/2, "as the answer to a query")
	require.Less(t, sizeOf(t, activities.PutMatrixInput{ID: in.RunID, Cells: m.progress().Done}), mostBytes/2, "as the summary to be stored")

	in.Hosts = append(in.Hosts, "one-too-many")
	require.ErrorContains(t, in.Check(), "4500 runs on 9 hosts, and the most is 4000")
}

// A run whose plan would not fit into a payload as it is: input, document and result are packed on their way.
func TestRunOfALargePlanTravels(t *testing.T) {
	in := input(t, spec.ModeAll)
	for _, step := range in.Plan.Steps {
		if step.Timed {
			for n := range 1500 {
				more := step
				more.ID, more.Title, more.Skip = fmt.Sprintf("%s/%d", step.ID, n), fmt.Sprintf("a scan with a condition that nobody can do, number %d", n), "it cannot be done, and that is a long story"
				in.Plan.Steps = append(in.Plan.Steps, more)
			}
			break
		}
	}
	require.Less(t, sizeOf(t, in), mostBytes/2)
	env, f := environment(t)
	f.legs()
	env.ExecuteWorkflow(Benchmark, in)
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, f.assemble.Plan.Steps, len(in.Plan.Steps))
	require.Len(t, f.assemble.Missing, 1500)
	require.Less(t, sizeOf(t, f.assemble), mostBytes/2)
	var outcome BenchmarkResult
	require.NoError(t, env.GetWorkflowResult(&outcome))
	require.Greater(t, len(outcome.Rows), 1500)
	require.Less(t, sizeOf(t, outcome), mostBytes/2)
}
