package workflows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
)

// fakeNight plays the hosts of a matrix and the runs of its cells. What a cell comes to goes by its engine's name.
type fakeNight struct {
	t       *testing.T
	env     *testsuite.TestWorkflowEnvironment
	running map[string]int // runs under way, by host
	most    map[string]int // the most at once
	begun   []BenchmarkInput
	stored  []activities.PutMatrixInput
	putErr  error
}

func night(t *testing.T) *fakeNight {
	var suite testsuite.WorkflowTestSuite
	n := &fakeNight{t: t, env: suite.NewTestWorkflowEnvironment(), running: map[string]int{}, most: map[string]int{}}
	n.env.RegisterWorkflow(Matrix)
	n.env.RegisterWorkflowWithOptions(n.run, workflow.RegisterOptions{Name: "Benchmark"})
	n.env.RegisterActivity(matrices)
	n.env.OnActivity(matrices.PlanCell, mock.Anything, mock.Anything).Return(n.planCell).Maybe()
	n.env.OnActivity(matrices.PutMatrix, mock.Anything, mock.Anything).Return(
		func(_ context.Context, in activities.PutMatrixInput) (activities.StoredMatrix, error) {
			n.stored = append(n.stored, in)
			return activities.StoredMatrix{Store: in.Store, Key: in.ID + "/matrix.json", Path: "/store/" + in.ID + "/matrix.json"}, n.putErr
		}).Maybe()
	return n
}

func (n *fakeNight) planCell(_ context.Context, in activities.PlanCellInput) (activities.PlannedCell, error) {
	switch in.Cell.Engine {
	case "absent":
		return activities.PlannedCell{Skip: "Absent cannot be had on this host:\n no absentd on PATH"}, nil
	case "misspelt":
		return activities.PlannedCell{}, temporal.NewNonRetryableApplicationError("its scan 3 makes no sense", activities.TypeSpec, nil)
	}
	return activities.PlannedCell{Spec: &spec.Spec{Database: in.Cell.Engine}, Plan: &plan.Plan{}}, nil
}

func (n *fakeNight) run(ctx workflow.Context, in BenchmarkInput) (BenchmarkResult, error) {
	n.begun = append(n.begun, in)
	n.running[in.Host]++
	defer func() { n.running[in.Host]-- }()
	n.most[in.Host] = max(n.most[in.Host], n.running[in.Host])
	outcome := BenchmarkResult{RunID: in.RunID, Verdict: result.Valid}
	if err := workflow.Sleep(ctx, time.Hour); err != nil {
		outcome.Verdict, outcome.Why = result.Interrupted, "the run was cancelled"
		return outcome, temporal.NewCanceledError(outcome)
	}
	fail := func(why, kind string) (BenchmarkResult, error) {
		outcome.Verdict, outcome.Why = result.Failed, why
		return outcome, temporal.NewApplicationErrorWithOptions(why, kind, temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{outcome}})
	}
	switch in.Spec.Database {
	case "wrong":
		outcome.Verdict, outcome.Why = result.Invalid, "read: 3 answers are wrong"
	case "crashing":
		return fail("the server did not start: out of memory", activities.TypeInfrastructure)
	case "unpullable":
		return fail("Unpullable cannot be had on this host: --server docker: no such image", activities.TypeMissingBinary)
	case "panicking":
		return BenchmarkResult{}, errors.New("a bug")
	}
	return outcome, nil
}

// matrixOf is a matrix of one cell for each engine.
func matrixOf(engines ...string) MatrixInput {
	in := MatrixInput{RunID: "night-1", Hosts: []string{"bench"}, Store: "dir:/store", Command: []string{"starter"}}
	in.Matrix = spec.Matrix{Name: "night", Workloads: map[string]string{"crud": "x"}}
	for _, engine := range engines {
		in.Matrix.Cells = append(in.Matrix.Cells, spec.Cell{Engine: engine, Workload: "crud"})
	}
	return in
}

// cells are the cells of the summary that was stored, as "engine host verdict why".
func (n *fakeNight) cells() (all []string) {
	n.t.Helper()
	require.Len(n.t, n.stored, 1, "summaries stored")
	for _, cell := range n.stored[0].Cells {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", cell.Engine, cell.Host, cell.Verdict, cell.Why)))
	}
	return all
}

func TestFailedCellIsAResultAndNotTheEnd(t *testing.T) {
	n := night(t)
	n.env.ExecuteWorkflow(Matrix, matrixOf("absent", "wrong", "misspelt", "crashing", "unpullable", "panicking", "good"))
	require.NoError(t, n.env.GetWorkflowError())
	require.Equal(t, []string{
		"absent bench skipped Absent cannot be had on this host: no absentd on PATH",
		"wrong bench invalid read: 3 answers are wrong",
		"misspelt bench failed its scan 3 makes no sense",
		"crashing bench failed the server did not start: out of memory",
		"unpullable bench skipped Unpullable cannot be had on this host: --server docker: no such image",
		"panicking bench failed a bug",
		"good bench valid",
	}, n.cells())
	var outcome MatrixResult
	require.NoError(t, n.env.GetWorkflowResult(&outcome))
	require.Equal(t, map[result.Verdict]int{result.Skipped: 2, result.Invalid: 1, result.Failed: 3, result.Valid: 1}, outcome.Counts)
	require.Equal(t, "/store/night-1/matrix.json", outcome.Document.Path)

	first := n.begun[0]
	require.Equal(t, "night-1-002-wrong", first.RunID)
	require.Equal(t, PriorityNightly, first.Priority, "nobody is awake")
	require.Equal(t, "night", first.Suite)
	require.Equal(t, "dir:/store", first.Store)
}

func TestHostsRunAtTheSameTimeAndEachOneCellAfterTheOther(t *testing.T) {
	n := night(t)
	in := matrixOf("a", "b", "c")
	in.Hosts, in.Priority = []string{"one", "two"}, PriorityGate
	begun := n.env.Now()
	n.env.ExecuteWorkflow(Matrix, in)
	require.NoError(t, n.env.GetWorkflowError())
	require.Equal(t, map[string]int{"one": 1, "two": 1}, n.most)
	require.Less(t, n.env.Now().Sub(begun), 4*time.Hour, "three cells of an hour each, on both at once")
	require.Equal(t, []string{"a one valid", "b one valid", "c one valid", "a two valid", "b two valid", "c two valid"}, n.cells())
	ids := map[string]bool{}
	for _, run := range n.begun {
		require.False(t, ids[run.RunID], "two runs are called %s", run.RunID)
		ids[run.RunID] = true
		require.Equal(t, PriorityGate, run.Priority)
	}
}

func TestCancelledMatrixCancelsItsCellsAndKeepsWhatItHas(t *testing.T) {
	n := night(t)
	in := matrixOf("a", "b", "c")
	in.Hosts = []string{"one", "two"}
	n.env.RegisterDelayedCallback(n.env.CancelWorkflow, 90*time.Minute)
	n.env.ExecuteWorkflow(Matrix, in)
	err := n.env.GetWorkflowError()
	require.True(t, temporal.IsCanceledError(err), "%v", err)
	const unreached = "not run the matrix was cancelled before it"
	require.Equal(t, []string{
		"a one valid", "b one interrupted the run was cancelled", "c one " + unreached,
		"a two valid", "b two interrupted the run was cancelled", "c two " + unreached,
	}, n.cells())
	outcome, ok := MatrixResultOf(err)
	require.True(t, ok)
	require.Equal(t, "/store/night-1/matrix.json", outcome.Document.Path, "the summary is stored all the same")
	require.Len(t, n.begun, 4)
}

// A host whose history is long leaves its cells to the next execution, and waits for the other hosts. When the matrix is cancelled then, they are
// in the summary all the same.
func TestCancelledMatrixOfALongHistoryHasEveryCell(t *testing.T) {
	n := night(t)
	in := matrixOf("absent", "b", "c")
	in.Hosts = []string{"one", "two"}
	in.Done = &MatrixDone{Started: n.env.Now(), Cells: [][]result.MatrixCell{nil, {{Engine: "absent", Workload: "crud", Host: "two", Verdict: result.Skipped}}}}
	n.env.SetContinueAsNewSuggested(true)                               // after every cell
	n.env.RegisterDelayedCallback(n.env.CancelWorkflow, 30*time.Minute) // one has left b and c, two runs b
	n.env.ExecuteWorkflow(Matrix, in)
	require.True(t, temporal.IsCanceledError(n.env.GetWorkflowError()), "%v", n.env.GetWorkflowError())
	const unreached = "not run the matrix was cancelled before it"
	require.Equal(t, []string{
		"absent one skipped Absent cannot be had on this host: no absentd on PATH", "b one " + unreached, "c one " + unreached,
		"absent two skipped", "b two interrupted the run was cancelled", "c two " + unreached,
	}, n.cells())
	outcome, ok := MatrixResultOf(n.env.GetWorkflowError())
	require.True(t, ok)
	require.Equal(t, 3, outcome.Counts[result.NotRun])
}

func TestSummaryThatCannotBeStoredFailsTheMatrixAndNamesItsCells(t *testing.T) {
	n := night(t)
	n.putErr = temporal.NewNonRetryableApplicationError("no such bucket", activities.TypeSpec, nil)
	n.env.ExecuteWorkflow(Matrix, matrixOf("a"))
	err := n.env.GetWorkflowError()
	require.ErrorContains(t, err, "no such bucket")
	outcome, ok := MatrixResultOf(err)
	require.True(t, ok)
	require.Equal(t, map[result.Verdict]int{result.Valid: 1}, outcome.Counts)
}

// The state that goes on is taken through as many executions as it needs: every cell runs once, and the summary has all of them.
func TestLongMatrixGoesOnAsNewExecutions(t *testing.T) {
	engines := []string{"a", "absent", "b", "crashing", "c"}
	in := matrixOf(engines...)
	in.RunID, in.Hosts = "", []string{"one", "two"} // as a schedule has it
	var begun []BenchmarkInput
	var id string
	var started time.Time
	for executions := 1; ; executions++ {
		require.LessOrEqual(t, executions, len(engines))
		n := night(t)
		n.env.SetContinueAsNewSuggested(true) // after every cell
		n.env.ExecuteWorkflow(Matrix, in)
		begun = append(begun, n.begun...)
		var again *workflow.ContinueAsNewError
		if err := n.env.GetWorkflowError(); errors.As(err, &again) {
			require.Empty(t, n.stored)
			in = MatrixInput{}
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &in))
			require.NotEmpty(t, in.RunID, "it keeps its name")
			if id == "" {
				id, started = in.RunID, in.Done.Started
			}
			continue
		}
		require.NoError(t, n.env.GetWorkflowError())
		require.Greater(t, executions, 1, "it never went on as a new execution")
		require.Len(t, n.cells(), 2*len(engines))
		require.Equal(t, id, n.stored[0].ID)
		require.True(t, started.Equal(n.stored[0].Started), "it has begun when the first execution did")
		break
	}
	var runs []string
	for _, run := range begun {
		runs = append(runs, run.RunID)
	}
	slices.Sort(runs)
	require.Len(t, slices.Compact(slices.Clone(runs)), 8, "each of the cells that can be had runs once on each host")
	require.Len(t, runs, 8)
}

func TestMatrixTellsHowFarItIs(t *testing.T) {
	n := night(t)
	n.env.RegisterDelayedCallback(func() {
		value, err := n.env.QueryWorkflow(QueryProgress)
		require.NoError(t, err)
		var p MatrixProgress
		require.NoError(t, value.Get(&p))
		require.Equal(t, 3, p.Of)
		require.Len(t, p.Done, 1)
		require.Equal(t, result.Skipped, p.Done[0].Verdict)
		require.Len(t, p.Running, 1)
		require.Equal(t, "night-1-002-a", p.Running[0].Run)
	}, 30*time.Minute)
	n.env.ExecuteWorkflow(Matrix, matrixOf("absent", "a", "b"))
	require.NoError(t, n.env.GetWorkflowError())
}
