package activities

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/infra/store"
	"github.com/durabench/durabench/workers/agent"
)

// assembleInput is what a workflow would give for a run that came to its end, or never came to some of its legs.
func (b *bench) assembleInput(prepared PreparedHost, server StartedServer, unreached ...string) AssembleInput {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	in := AssembleInput{
		Run: b.run, Plan: *b.plan, Command: []string{"starter", "run"}, Host: prepared, Server: &server, Started: start, Finished: start.Add(time.Minute),
	}
	for _, id := range unreached {
		in.Missing = append(in.Missing, MissingLeg{Step: id, Verdict: result.NotRun, Why: "the run was cancelled before it"})
	}
	return in
}

func (b *bench) document(in AssembleInput) *result.Document {
	b.t.Helper()
	assembled, err := do[Assembled](b, (*Results)(nil).Assemble, in)
	require.NoError(b.t, err)
	again, err := do[Assembled](b, (*Results)(nil).Assemble, in)
	require.NoError(b.t, err, "a retry stores the same bytes")
	require.Equal(b.t, assembled, again)
	document, err := result.ReadFile(assembled.Path)
	require.NoError(b.t, err)
	require.Equal(b.t, assembled.Verdict, document.Run.Verdict)
	return document
}

func TestRunFromPreparingToTheDocument(t *testing.T) {
	b := newBench(t, "sqlite", nil)
	prepared, server := b.prepare(), b.start()
	number := 0
	for _, step := range b.plan.Steps {
		came := b.runStep(server, step.ID)
		if !step.Timed {
			_, err := do[any](b, (*Results)(nil).PutFound, PutFoundInput{Run: b.run, Step: step})
			require.NoError(t, err)
			continue
		}
		number++
		require.Contains(t, []result.Verdict{result.Valid, result.GeneratorLimited}, came.Verdict, came.Why)
		require.Equal(t, b.run.Spec.Samples, came.OK)
		require.Equal(t, 1, came.Attempts)
		require.NotNil(t, came.P99)
		for range 2 {
			_, err := do[any](b, (*Results)(nil).PutLeg, PutLegInput{Run: b.run, Step: step, Number: number})
			require.NoError(t, err, "a retry stores the same bytes")
		}
	}
	_, err := do[any](b, (*Agent)(nil).StopAgent, b.run)
	require.NoError(t, err)
	_, err = agent.Dial(t.Context(), b.run.Dir)
	require.ErrorIs(t, err, agent.ErrNoAgent)

	document := b.document(b.assembleInput(prepared, server))
	require.Len(t, document.Legs, 4)
	for _, leg := range document.Legs {
		require.Equal(t, b.run.Spec.Samples, leg.Measured.OK, leg.ID)
	}
	require.NotNil(t, document.Calibration)
	require.Equal(t, "sqlite", document.Engine.Name)
	require.NotEmpty(t, document.Engine.Version)
	require.Equal(t, "embedded", document.Engine.Server)
	require.Positive(t, document.Corpus.RowSize)
	require.NotEmpty(t, document.Sample)
	require.Equal(t, []string{"starter", "run"}, document.Run.Command)
}

func TestRetriedLegFindsItsStep(t *testing.T) {
	b := newBench(t, "map", nil)
	b.prepare()
	server := b.start()
	b.runStep(server, "prepare")
	first := b.runStep(server, "create")
	b.environment() // another worker
	second := b.runStep(server, "create")
	require.Equal(t, first.OK, second.OK)
	require.Equal(t, first.WallNs, second.WallNs, "it is the same measurement")
	require.Equal(t, 1, second.Attempts)
}

func TestStoppedWorkerLeavesTheLegToTheAgent(t *testing.T) {
	b := newBench(t, slowEngine, func(s *spec.Spec) { s.Samples = 2000 })
	b.prepare()
	server := b.start()
	b.runStep(server, "prepare")
	stop := make(chan struct{})
	b.env.SetWorkerStopChannel(stop)
	time.AfterFunc(300*time.Millisecond, func() { close(stop) })
	begun := time.Now()
	_, err := do[StepResult](b, b.leg.RunLeg, RunLegInput{Run: b.run, Server: server, Step: b.step("create")})
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, TypeDraining, application.Type())
	require.False(t, application.NonRetryable())
	require.Less(t, time.Since(begun), 5*time.Second, "a stopping worker does not wait for the leg")

	b.environment()
	came := b.runStep(server, "create")
	require.Equal(t, b.run.Spec.Samples, came.OK)
	require.Equal(t, 1, came.Attempts)
}

func TestCancelledLegIsStoppedAndKept(t *testing.T) {
	b := newBench(t, slowEngine, func(s *spec.Spec) { s.Samples = 1_000_000 })
	prepared := b.prepare()
	server := b.start()
	b.runStep(server, "prepare")
	ctx, cancel := context.WithCancelCause(t.Context())
	b.env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	time.AfterFunc(300*time.Millisecond, func() { cancel(temporal.NewCanceledError()) })
	came := b.runStep(server, "create")
	require.Equal(t, result.Interrupted, came.Verdict)
	require.Less(t, came.OK, b.run.Spec.Samples)

	b.environment()
	salvaged, err := do[SalvagedLeg](b, (*Results)(nil).SalvageLeg, PutLegInput{Run: b.run, Step: b.step("create"), Number: 1})
	require.NoError(t, err)
	require.True(t, salvaged.Found)
	require.Equal(t, came.OK, salvaged.Result.OK)
	none, err := do[SalvagedLeg](b, (*Results)(nil).SalvageLeg, PutLegInput{Run: b.run, Step: b.step("read"), Number: 2})
	require.NoError(t, err)
	require.False(t, none.Found)

	in := b.assembleInput(prepared, server, "read", "update", "delete")
	in.Cancelled = true
	document := b.document(in)
	require.Equal(t, result.Interrupted, document.Run.Verdict)
	require.Equal(t, result.Interrupted, document.Legs[0].Verdict)
	require.Equal(t, "the run was cancelled before it", document.Legs[1].Why)
	require.Equal(t, result.NotRun, document.Legs[3].Verdict)
}

func TestWhatWasLostIsToldFromHowTheStepIsFound(t *testing.T) {
	begun := time.Now()
	before, since := agent.Info{Started: begun.Add(-time.Minute)}, agent.Info{Started: begun.Add(time.Second)}
	for _, test := range []struct {
		info  agent.Info
		state agent.StepState
		cause string
		note  string
	}{
		{before, agent.Running, CauseWorkerLost, "the agent went on"},
		{before, agent.Finished, CauseWorkerLost, "when the leg was over"},
		{since, agent.Finished, agent.CauseAgentLost, "the agent ended when the leg was over"},
	} {
		found := takenOver(test.info, agent.Status{State: test.state}, begun)
		require.Equal(t, test.cause, found.Cause)
		require.Contains(t, found.Note, test.note)
		require.False(t, found.At.Before(begun.UTC()))
	}
}

func TestLostAgentIsStartedAgain(t *testing.T) {
	b := newBench(t, "sqlite", nil)
	b.prepare()
	server := b.start()
	for _, id := range []string{"prepare", "create"} {
		b.runStep(server, id)
	}
	require.NoError(t, agent.Reap(t.Context(), b.run.Dir))
	came := b.runStep(server, "read")
	require.Equal(t, b.run.Spec.Samples, came.OK, came.Why)
}

func TestAgentThatCannotBeHadEndsTheRun(t *testing.T) {
	b := newBench(t, "map", nil)
	b.prepare()
	server := b.start()
	b.leg.Executable = filepath.Join(t.TempDir(), "missing")
	b.environment()
	in := RunLegInput{Run: b.run, Server: server, Step: b.step("prepare")}
	_, err := do[StepResult](b, b.leg.RunLeg, in)
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, TypeAgent, application.Type())
	require.False(t, application.NonRetryable(), "the first failures may pass")

	b.env.SetHeartbeatDetails(Heartbeat{Failures: maxFailures - 1})
	_, err = do[StepResult](b, b.leg.RunLeg, in)
	requirePermanent(t, err, TypeAgent, "given up after 3 attempts")
}

func TestStepThatFailsHasItsType(t *testing.T) {
	b := newBench(t, "map", func(s *spec.Spec) { s.Sync = true })
	b.prepare()
	_, err := do[StepResult](b, b.leg.RunLeg, RunLegInput{Run: b.run, Server: b.start(), Step: b.step("prepare")})
	requirePermanent(t, err, TypeSpec, "--sync")
}

func TestStoredLegsAreNeverReplaced(t *testing.T) {
	b := newBench(t, "map", nil)
	b.prepare()
	server := b.start()
	for _, id := range []string{"prepare", "create"} {
		b.runStep(server, id)
	}
	kept, err := store.Open(b.run.Store)
	require.NoError(t, err)
	require.NoError(t, kept.Put(t.Context(), store.LegKey(b.run.ID, 1, "create"), []byte("of another run")))
	_, err = do[any](b, (*Results)(nil).PutLeg, PutLegInput{Run: b.run, Step: b.step("create"), Number: 1})
	requirePermanent(t, err, TypeInfrastructure, "different content")
}

func TestDocumentOfARunThatNeverBegan(t *testing.T) {
	b := newBench(t, "sqlite", nil)
	in := b.assembleInput(b.prepare(), StartedServer{}, "create", "read", "update", "delete")
	in.Server, in.Error = nil, "PostgreSQL is not installed: install it"
	document := b.document(in)
	require.Equal(t, result.Failed, document.Run.Verdict)
	require.Equal(t, in.Error, document.Run.Why)
	require.Equal(t, "SQLite", document.Engine.Title)
	for _, leg := range document.Legs {
		require.Equal(t, result.NotRun, leg.Verdict)
		require.NotEmpty(t, leg.Why)
	}
}

func TestMissingLegIsNotTakenFromTheStore(t *testing.T) {
	b := newBench(t, "map", nil)
	prepared, server := b.prepare(), b.start()
	for _, id := range []string{"prepare", "create"} {
		b.runStep(server, id)
	}
	_, err := do[any](b, (*Results)(nil).PutLeg, PutLegInput{Run: b.run, Step: b.step("create"), Number: 1})
	require.NoError(t, err)
	in := b.assembleInput(prepared, server, "read", "update", "delete")
	in.Missing = append(in.Missing, MissingLeg{Step: "create", Verdict: result.Failed, Why: "its result could not be stored"})
	document := b.document(in)
	require.Nil(t, document.Legs[0].Measured, "what lies there is not this run's")
}

// A store that lacks what was put there, as a directory does whose file system is not mounted, is waited for: no leg is told not to have run that
// did.
func TestStoreThatHasLostALegIsWaitedFor(t *testing.T) {
	b := newBench(t, "map", nil)
	prepared, server := b.prepare(), b.start()
	_, err := do[Assembled](b, (*Results)(nil).Assemble, b.assembleInput(prepared, server, "read", "update", "delete"))
	var failure *temporal.ApplicationError
	require.ErrorAs(t, err, &failure)
	require.False(t, failure.NonRetryable())
	require.ErrorContains(t, err, "leg create was stored and is not there")
}

func TestNoSecretReachesTheResult(t *testing.T) {
	const secret = "correct-horse-battery"
	t.Setenv("DURABENCH_PASSWORD", secret)
	b := newBench(t, "sqlite", nil)
	prepared, server := b.prepare(), b.start()
	b.runStep(server, "prepare")
	b.document(b.assembleInput(prepared, server, "create", "read", "update", "delete"))
	for _, dir := range []string{b.run.Dir, strings.TrimPrefix(b.run.Store, "dir:")} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			require.NotContains(t, string(data), secret, path)
			return err
		}))
	}
}

func TestRemaining(t *testing.T) {
	none := Heartbeat{}
	_, ok := none.Remaining()
	require.False(t, ok)
	for name, test := range map[string]struct {
		progress load.Progress
		want     time.Duration
	}{
		"counted":  {load.Progress{Done: 250, Total: 1000, Elapsed: time.Second}, 3 * time.Second},
		"windowed": {load.Progress{Done: 250, Window: 10 * time.Second, Elapsed: 4 * time.Second}, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			left, ok := Heartbeat{Progress: &test.progress}.Remaining()
			require.True(t, ok)
			require.Equal(t, test.want, left)
		})
	}
}

// A workflow hears whether an index whose build failed may still be there: it is not to be taken for gone when nobody says so.
func TestStepResultTellsWhetherAnIndexIsCleared(t *testing.T) {
	for _, cleared := range []bool{true, false} {
		outcome := agent.Outcome{Leg: &result.Leg{Verdict: result.Failed}, Cleared: cleared}
		came, err := new(Leg).conclude(RunLegInput{}, outcome, nil, nil)
		if err != nil || came.Cleared != cleared || came.Verdict != result.Failed {
			t.Errorf("%v: %+v", err, came)
		}
	}
}
