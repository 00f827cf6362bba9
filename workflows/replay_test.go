package workflows_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/durabench/durabench/workflows"
)

// TestRecordedHistoriesReplay is what keeps a change of the workflow from breaking the runs that are under way: a history that was made by
// an earlier build must give the same commands.
func TestRecordedHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files, "no histories are recorded")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			replayer := worker.NewWorkflowReplayer()
			replayer.RegisterWorkflow(workflows.Benchmark)
			replayer.RegisterWorkflow(workflows.HostLease)
			replayer.RegisterWorkflow(workflows.Matrix)
			require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)), file))
		})
	}
}
