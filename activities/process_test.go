package activities

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	_ "github.com/durabench/durabench/drivers/postgres"
	_ "github.com/durabench/durabench/drivers/redis"
	"github.com/durabench/durabench/infra/ci"
)

func TestRunOnAServerOfOurs(t *testing.T) {
	for _, engine := range []string{"postgres", "redis"} {
		t.Run(engine, func(t *testing.T) {
			b := newBench(t, engine, nil)
			prepared := b.prepare()
			t.Cleanup(func() {
				_, _ = b.env.ExecuteActivity((*Server)(nil).StopServer, StopServerInput{Run: b.run})
				_, _ = b.env.ExecuteActivity(b.host.CleanHost, CleanHostInput{Run: b.run})
			})
			server, err := do[StartedServer](b, (*Server)(nil).StartServer, b.run)
			var application *temporal.ApplicationError
			if errors.As(err, &application) && application.Type() == TypeMissingBinary {
				ci.Need(t, err)
			}
			require.NoError(t, err)
			require.Equal(t, drivers.Process, server.Mode)
			require.Positive(t, server.PID)
			require.NotEmpty(t, server.Binary)
			again, err := do[StartedServer](b, (*Server)(nil).StartServer, b.run)
			require.NoError(t, err)
			require.Equal(t, server.PID, again.PID, "a retry finds the server that runs")

			number := 0
			for _, step := range b.plan.Steps {
				came := b.runStep(server, step.ID)
				if step.Timed {
					number++
					_, err = do[any](b, (*Results)(nil).PutLeg, PutLegInput{Run: b.run, Step: step, Number: number})
					require.NoError(t, err)
					require.NotContains(t, []result.Verdict{result.Failed, result.Invalid, result.NotRun}, came.Verdict, "%s: %s", step.ID, came.Why)
					require.Equal(t, b.run.Spec.Samples, came.OK)
				}
			}
			_, err = do[any](b, (*Results)(nil).PutFound, PutFoundInput{Run: b.run, Step: b.step("prepare")})
			require.NoError(t, err)
			document := b.document(b.assembleInput(prepared, server))
			require.Equal(t, "process", document.Engine.Server)
			require.Equal(t, server.Binary, document.Engine.Binary)
			require.NotNil(t, document.Engine.Sockets)

			_, err = do[any](b, (*Agent)(nil).StopAgent, b.run)
			require.NoError(t, err)
			for range 2 {
				_, err = do[any](b, (*Server)(nil).StopServer, StopServerInput{Run: b.run})
				require.NoError(t, err)
			}
			require.ErrorIs(t, syscall.Kill(server.PID, 0), syscall.ESRCH, "the server is gone")
			require.FileExists(t, filepath.Join(b.run.Dir, "server.log"))
			_, err = do[any](b, b.host.CleanHost, CleanHostInput{Run: b.run, KeepLogs: true})
			require.NoError(t, err)
			require.NoDirExists(t, server.Dir)
			require.FileExists(t, filepath.Join(b.run.Dir, "server.log"), "the log is there to be read")
		})
	}
}
