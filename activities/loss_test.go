package activities

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/infra/ci"
	"github.com/durabench/durabench/workers/agent"
)

// serverBench is a bench with a server of ours.
type serverBench struct {
	*bench
	server StartedServer
}

func newServerBench(t *testing.T, engine string, change func(*spec.Spec)) *serverBench {
	t.Helper()
	b := &serverBench{bench: newBench(t, engine, change)}
	b.prepare()
	t.Cleanup(func() {
		_, _ = b.env.ExecuteActivity((*Agent)(nil).StopAgent, b.run)
		_, _ = b.env.ExecuteActivity((*Server)(nil).StopServer, StopServerInput{Run: b.run})
		_, _ = b.env.ExecuteActivity(b.host.CleanHost, CleanHostInput{Run: b.run})
	})
	server, err := do[StartedServer](b.bench, (*Server)(nil).StartServer, b.run)
	var application *temporal.ApplicationError
	if errors.As(err, &application) && application.Type() == TypeMissingBinary {
		ci.Need(t, err)
	}
	require.NoError(t, err)
	b.server = server
	return b
}

func (b *serverBench) kill() {
	b.t.Helper()
	require.NoError(b.t, syscall.Kill(b.server.PID, syscall.SIGKILL))
}

// recover does what the workflow does about a lost server.
func (b *serverBench) recover() {
	b.t.Helper()
	_, err := do[any](b.bench, (*Agent)(nil).StopAgent, b.run)
	require.NoError(b.t, err)
	old := b.server
	b.server, err = do[StartedServer](b.bench, (*Server)(nil).RecoverServer, RecoverServerInput{Run: b.run, Server: old})
	require.NoError(b.t, err)
	require.NotEqual(b.t, old.PID, b.server.PID)
	require.Equal(b.t, old.Mode, b.server.Mode)
}

func (b *serverBench) runLost(id string, lost ...agent.Loss) StepResult {
	b.t.Helper()
	came, err := do[StepResult](b.bench, b.leg.RunLeg, RunLegInput{Run: b.run, Server: b.server, Step: b.step(id), Lost: lost})
	require.NoError(b.t, err)
	return came
}

// kept reads what the agent has kept of a leg.
func (b *serverBench) kept(id string) *result.Leg {
	b.t.Helper()
	outcome, err := agent.ReadOutcome(b.run.Dir, id)
	require.NoError(b.t, err)
	return outcome.Leg
}

func causesOf(leg *result.Leg) []string {
	causes := []string{}
	for _, interruption := range leg.Interruptions {
		causes = append(causes, interruption.Cause)
	}
	return causes
}

// A server is killed before a leg and in the middle of one. What it kept decides whether the rows have to be loaded again.
func TestLostServer(t *testing.T) {
	for _, test := range []struct {
		engine  string
		samples int64
		keeps   bool
	}{{"redis", 60_000, false}, {"postgres", 3_000, true}} {
		t.Run(test.engine, func(t *testing.T) {
			b := newServerBench(t, test.engine, func(s *spec.Spec) { s.Samples = test.samples })
			b.runLost("prepare")
			b.runLost("create")

			b.kill()
			require.Eventually(t, func() bool {
				gone, err := serverGone(t.Context(), b.server)
				return err == nil && gone != nil
			}, 5*time.Second, 10*time.Millisecond)
			came := b.runLost("read")
			require.NotNil(t, came.Lost)
			require.Zero(t, came.Lost.Attempt, "the leg has not begun")
			require.Equal(t, agent.CauseServerLost, came.Lost.Cause)
			b.recover()
			came = b.runLost("read", *came.Lost)
			require.Nil(t, came.Lost)
			require.Equal(t, test.samples, came.OK, came.Why)
			require.Equal(t, 1, came.Attempts)
			want := []string{agent.CauseServerLost}
			if !test.keeps {
				want = append(want, agent.CauseDatasetLost)
			}
			require.Equal(t, want, causesOf(b.kept("read")))

			b.runLost("update")
			done := make(chan struct{})
			go func() {
				defer close(done)
				for begun := []string(nil); len(begun) == 0; time.Sleep(10 * time.Millisecond) {
					begun, _ = filepath.Glob(filepath.Join(b.run.Dir, "steps", "*-delete.begun.json"))
				}
				time.Sleep(50 * time.Millisecond)
				_ = syscall.Kill(b.server.PID, syscall.SIGKILL)
			}()
			came = b.runLost("delete")
			<-done
			require.NotNil(t, came.Lost, "%s %s", came.Verdict, came.Why)
			require.Equal(t, 1, came.Lost.Attempt)
			require.Contains(t, came.Lost.Note, "is gone")
			require.WithinDuration(t, time.Now(), came.Lost.At, 10*time.Second)
			b.recover()
			came = b.runLost("delete", *came.Lost)
			require.Nil(t, came.Lost)
			require.Equal(t, test.samples, came.OK, came.Why)
			require.Equal(t, 2, came.Attempts)
			leg := b.kept("delete")
			require.Equal(t, []string{agent.CauseServerLost, agent.CauseDatasetRebuilt}, causesOf(leg))
			require.NoError(t, leg.Validate())
		})
	}
}

// The connection class alone says that a server was lost which is not ours to look at.
func TestLossOfSomebodyElsesServer(t *testing.T) {
	failed := func(classes ...result.ErrorCount) agent.Outcome {
		return agent.Outcome{Leg: &result.Leg{Verdict: result.Failed, Measured: &result.Measured{
			Started: time.Unix(1000, 0), WallNs: int64(3 * time.Second), Errors: classes,
		}}}
	}
	connection := result.ErrorCount{Class: "connection", Count: 4}
	for name, test := range map[string]struct {
		outcome agent.Outcome
		lost    bool
	}{
		"connections broke":       {failed(connection), true},
		"and others were cut off": {failed(connection, result.ErrorCount{Class: load.ClassCancelled, Count: 90}), true},
		"more went wrong":         {failed(connection, result.ErrorCount{Class: "timeout", Count: 5}), false},
		"something else":          {failed(result.ErrorCount{Class: "other", Count: 1}), false},
		"nothing was measured":    {agent.Outcome{Leg: &result.Leg{Verdict: result.Failed}}, false},
		"valid":                   {agent.Outcome{Leg: &result.Leg{Verdict: result.Valid, Measured: &result.Measured{Errors: []result.ErrorCount{connection}}}}, false},
		"an untimed step":         {agent.Outcome{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			lost, err := lossOf(t.Context(), StartedServer{Mode: "endpoint"}, test.outcome, 2)
			require.NoError(t, err)
			require.Equal(t, test.lost, lost != nil)
			if lost != nil {
				require.Equal(t, time.Unix(1003, 0).UTC(), lost.At, "dated at the leg's last moment")
				require.Equal(t, 2, lost.Attempt)
			}
		})
	}
}
