package serve

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/workflows"
)

// envSay makes this test's binary say which worker it is.
const envSay = "DURABENCH_TEST_SAY_WORKER"

func init() {
	if queue := os.Getenv(envSay); queue != "" {
		os.Stdout.WriteString(identity(queue))
		os.Exit(0)
	}
}

// ended is a worker of a process that has ended.
func ended(t *testing.T, queue string) string {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), envSay+"="+queue)
	out, err := command.Output()
	require.NoError(t, err)
	return string(out)
}

// A worker takes over what killed ones of its own queue have of runs and of matrices, and nothing else.
func TestWorkOfKilledWorkersIsTakenOver(t *testing.T) {
	o := &Options{Host: "bench", Logger: slog.New(slog.DiscardHandler)}
	own, other := workflows.HostQueue("bench"), workflows.HostQueue("bench-2")
	self, _, _ := strings.Cut(ended(t, own), " for ")
	pending := map[string][]*workflowpb.PendingActivityInfo{
		"run/one": {
			activityOf("1", ended(t, own)),
			activityOf("2", ended(t, other)), // whose own worker sees to it
			activityOf("3", identity(own)),   // which lives
			activityOf("4", self),            // of an earlier build: whose is not known
			activityOf("5", ""),
		},
		"matrix/night": {activityOf("6", ended(t, own))},
	}
	c := mocks.NewClient(t)
	c.On("ListWorkflow", mock.Anything, mock.Anything).Return(func(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) *workflowservice.ListWorkflowExecutionsResponse {
		page := &workflowservice.ListWorkflowExecutionsResponse{}
		for id, kind := range map[string]string{"run/one": "Benchmark", "matrix/night": "Matrix"} {
			if strings.Contains(in.GetQuery(), "WorkflowType = '"+kind+"'") {
				page.Executions = append(page.Executions, &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: "first"}})
			}
		}
		return page
	}, nil)
	for id, all := range pending {
		c.On("DescribeWorkflow", mock.Anything, id, "first").Return(&client.WorkflowExecutionDescription{
			RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{PendingActivities: all},
		}, nil)
	}
	taken := map[string]string{}
	c.On("CompleteActivityByID", mock.Anything, client.DefaultNamespace, mock.Anything, "first", mock.Anything, nil, mock.Anything).Run(func(args mock.Arguments) {
		taken[args.String(4)] = args.String(2)
		var application *temporal.ApplicationError
		require.ErrorAs(t, args.Error(6), &application)
		require.Equal(t, activities.TypeDraining, application.Type())
		require.False(t, application.NonRetryable())
	}).Return(nil)
	require.NoError(t, o.relieveAll(t.Context(), c))
	require.Equal(t, map[string]string{"1": "run/one", "6": "matrix/night"}, taken)
}

func activityOf(id, worker string) *workflowpb.PendingActivityInfo {
	return &workflowpb.PendingActivityInfo{
		ActivityId: id, ActivityType: &commonpb.ActivityType{Name: "RunLeg"}, State: enumspb.PENDING_ACTIVITY_STATE_STARTED, LastWorkerIdentity: worker,
	}
}
