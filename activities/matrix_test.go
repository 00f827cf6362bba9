package activities

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/infra/store"
)

func matrixEnvironment() *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(&Matrix{})
	return env
}

func TestPlanCellSkipsWhatThisHostCannotHave(t *testing.T) {
	empty := t.TempDir() // no server is on PATH
	for name, test := range map[string]struct {
		cell spec.Cell
		skip string // "" when it can be run
	}{
		"embedded":            {spec.Cell{Engine: "sqlite"}, ""},
		"no such engine":      {spec.Cell{Engine: "sqlite4"}, `engine "sqlite4" is not in this worker's build`},
		"no such durability":  {spec.Cell{Engine: "map", Settings: map[string]string{"sync": "true"}}, "only tier is none"},
		"no binary":           {spec.Cell{Engine: "redis", Settings: map[string]string{"server": "process"}}, "install"},
		"not in this way":     {spec.Cell{Engine: "sqlite", Settings: map[string]string{"server": "process"}}, "cannot be had as process"},
		"setting of the past": {spec.Cell{Engine: "sqlite", Settings: map[string]string{"a-setting-of-another-build": "1"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", empty)
			settings := map[string]string{"samples": "1000"}
			for key, value := range test.cell.Settings {
				settings[key] = value
			}
			test.cell.Settings, test.cell.Workload = settings, "crud"
			value, err := matrixEnvironment().ExecuteActivity(new(Matrix).PlanCell, PlanCellInput{
				Matrix: "night", Cell: test.cell, Workload: "[value]\nname = \"text:10\"\n",
			})
			require.NoError(t, err)
			var planned PlannedCell
			require.NoError(t, value.Get(&planned))
			if test.skip == "" {
				require.Empty(t, planned.Skip)
				require.EqualValues(t, 1000, planned.Spec.Samples)
				require.Len(t, planned.Plan.Timed(), 4)
				return
			}
			require.Contains(t, planned.Skip, test.skip)
			require.Nil(t, planned.Plan)
		})
	}
}

func TestPlanCellThatIsWrongAnywhereIsAnError(t *testing.T) {
	_, err := matrixEnvironment().ExecuteActivity(new(Matrix).PlanCell, PlanCellInput{
		Matrix: "night", Cell: spec.Cell{Engine: "map", Workload: "crud", Settings: map[string]string{"samples": "ten"}}, Workload: "",
	})
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.True(t, application.NonRetryable())
	require.Equal(t, TypeSpec, application.Type())
	require.Contains(t, err.Error(), "ten")
}

func TestPutMatrixTakesTheNumbersOfItsCells(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "night-001-broken"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "night-001-broken", "result.json"), []byte("{"), 0o600))
	in := PutMatrixInput{
		ID: "night", Name: "night", Store: "dir:" + root, Started: time.Now().Add(-time.Hour), Finished: time.Now(),
		Cells: []result.MatrixCell{
			{Engine: "broken", Workload: "crud", Host: "bench", Run: "night-001-broken", Verdict: result.Valid},
			{Engine: "gone", Workload: "crud", Host: "bench", Run: "night-002-gone", Verdict: result.Interrupted, Why: "it was cancelled"},
			{Engine: "absent", Workload: "crud", Host: "bench", Verdict: result.Skipped, Why: "no binary"},
		},
	}
	value, err := matrixEnvironment().ExecuteActivity(new(Matrix).PutMatrix, in)
	require.NoError(t, err)
	var stored StoredMatrix
	require.NoError(t, value.Get(&stored))
	require.Equal(t, store.MatrixKey("night"), stored.Key)
	data, err := os.ReadFile(stored.Path)
	require.NoError(t, err)
	summary, err := result.DecodeMatrix(data)
	require.NoError(t, err)
	require.Contains(t, summary.Cells[0].Why, "cannot be read", "a document that is broken is told of, and costs no other cell its numbers")
	require.Equal(t, "it was cancelled", summary.Cells[1].Why)
	require.Equal(t, result.Skipped, summary.Cells[2].Verdict)
	// A retry after the answer was lost stores nothing twice; another summary under the name is refused.
	_, err = matrixEnvironment().ExecuteActivity(new(Matrix).PutMatrix, in)
	require.NoError(t, err)
	in.Cells = in.Cells[:1]
	_, err = matrixEnvironment().ExecuteActivity(new(Matrix).PutMatrix, in)
	require.True(t, strings.Contains(err.Error(), "exists already"), "%v", err)
}

// gone is a store without documents, or with nothing but this error.
type gone struct {
	store.Store
	err error
}

func (g gone) Get(context.Context, string) ([]byte, error) { return nil, g.err }

func TestDocumentThatIsNotThereYetIsWaitedFor(t *testing.T) {
	for verdict, waits := range map[result.Verdict]bool{
		result.Valid: true, result.GeneratorLimited: true, result.Overloaded: true, result.Unverified: true, result.Invalid: true,
		result.Failed: false, result.Interrupted: false,
	} {
		cell := result.MatrixCell{Engine: "map", Run: "night-001-map", Verdict: verdict}
		err := takeDocument(t.Context(), gone{err: store.ErrNotFound}, &cell, true)
		if !waits {
			require.NoError(t, err, verdict)
			continue
		}
		var application *temporal.ApplicationError
		require.ErrorAs(t, err, &application, verdict)
		require.False(t, application.NonRetryable(), "%s: it may be shown to us in a moment", verdict)
		require.Contains(t, err.Error(), "night-001-map")

		require.NoError(t, takeDocument(t.Context(), gone{err: store.ErrNotFound}, &cell, false), "one document is not waited for for ever")
		require.Contains(t, cell.Why, "not in the store any more")
	}
}

func TestSummaryWaitsForTheDocumentOfAValidCell(t *testing.T) {
	_, err := matrixEnvironment().ExecuteActivity(new(Matrix).PutMatrix, PutMatrixInput{
		ID: "night", Name: "night", Store: "dir:" + t.TempDir(), Cells: []result.MatrixCell{{Engine: "map", Host: "bench", Run: "night-001-map", Verdict: result.Valid}},
	})
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.False(t, application.NonRetryable())
}

func TestDamagedDocumentCostsItsCellAlone(t *testing.T) {
	cell := result.MatrixCell{Engine: "map", Run: "night-001-map", Verdict: result.Valid}
	require.NoError(t, takeDocument(t.Context(), gone{err: fmt.Errorf("get: %w", store.ErrDamaged)}, &cell, true))
	require.Contains(t, cell.Why, "cannot be read")
	require.Contains(t, cell.Why, "damaged")
}
