package agent

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
)

const secret = "correct-horse-battery"

// bed is one run's directory with what its agents need.
type bed struct {
	t     *testing.T
	dir   string
	data  string
	setup Setup
}

func newBed(t *testing.T) *bed {
	b := &bed{t: t, dir: filepath.Join(t.TempDir(), "run"), data: t.TempDir()}
	b.setup = Setup{RunID: "run-1", Server: "embedded", IdleSeconds: 60, Spec: spec.Spec{Database: "scripted", DataDir: b.data}}
	t.Cleanup(func() {
		if err := Reap(context.Background(), b.dir); err != nil {
			t.Errorf("reap: %v", err)
		}
		// With -race the agents are as well built to look for races, and tell of them here alone.
		if said, err := os.ReadFile(filepath.Join(b.dir, outputFile)); err == nil && bytes.Contains(said, []byte("DATA RACE")) {
			t.Errorf("an agent has a data race:\n%s", said)
		}
	})
	return b
}

func (b *bed) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	b.t.Cleanup(cancel)
	return ctx
}

func (b *bed) launch() *Client {
	b.t.Helper()
	client, err := Launch(b.ctx(), testBinary(b.t), b.dir, b.setup, drivers.Credentials{User: "bench", Password: secret}, nil)
	require.NoError(b.t, err)
	b.t.Cleanup(client.Close)
	return client
}

func (b *bed) start(client *Client, step plan.Step) Status {
	b.t.Helper()
	status, err := client.Start(b.ctx(), step)
	require.NoError(b.t, err)
	return status
}

func (b *bed) wait(client *Client, id string) Outcome {
	b.t.Helper()
	outcome, err := client.Wait(b.ctx(), id, nil)
	require.NoError(b.t, err)
	return outcome
}

// release lets steps go on that wait for the file.
func (b *bed) release(name string) {
	b.t.Helper()
	require.NoError(b.t, os.WriteFile(filepath.Join(b.data, name), nil, 0o600))
}

// ran returns the ids of the executed steps, in order.
func (b *bed) ran() []string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.data, "ran"))
	require.NoError(b.t, err)
	return strings.Fields(string(data))
}

// kill ends the agent without a chance to clear up, and waits until it is gone.
func (b *bed) kill() {
	b.t.Helper()
	self := b.identity()
	require.NoError(b.t, syscall.Kill(self.PID, syscall.SIGKILL))
	require.True(b.t, gone(b.ctx(), self, 5*time.Second))
}

func (b *bed) identity() identity {
	b.t.Helper()
	var self identity
	require.NoError(b.t, readJSON(filepath.Join(b.dir, identityFile), &self))
	return self
}

func testBinary(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

func TestSameStepTwiceRunsOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client := b.launch()
	first := b.start(client, timed("scan/read", "wait:go"))
	require.Equal(t, Running, first.State)
	require.False(t, first.Adopted)
	second := b.start(client, timed("scan/read", "wait:go"))
	require.True(t, second.Adopted, "a running step is found")

	b.release("go")
	require.Equal(t, result.Valid, b.wait(client, "scan/read").Leg.Verdict)
	third := b.start(client, timed("scan/read", "wait:go"))
	require.Equal(t, Finished, third.State)
	require.True(t, third.Adopted)
	require.NotNil(t, third.Outcome, "a finished step is found with its outcome")
	require.Equal(t, []string{"scan/read"}, b.ran())
}

func TestSameIDWithOtherContentIsRefused(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client := b.launch()
	b.start(client, timed("read", "done"))
	b.wait(client, "read")
	_, err := client.Start(b.ctx(), timed("read", "fail"))
	require.ErrorIs(t, err, ErrDifferentStep)
}

func TestOneStepRunsAtATime(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client := b.launch()
	b.start(client, timed("read", "wait:go"))
	_, err := client.Start(b.ctx(), timed("update", "done"))
	require.ErrorIs(t, err, ErrBusy)
	require.ErrorContains(t, err, "read")
	b.release("go")
	b.wait(client, "read")
	b.start(client, timed("update", "done"))
	b.wait(client, "update")
	require.Equal(t, []string{"read", "update"}, b.ran())
}

func TestUnknownStepIsNotFound(t *testing.T) {
	t.Parallel()
	client := newBed(t).launch()
	_, err := client.Status(context.Background(), "read", 0)
	require.ErrorIs(t, err, ErrUnknownStep)
}

func TestWaitReportsProgress(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client := b.launch()
	b.start(client, timed("read", "wait:go"))
	_, err := client.Wait(b.ctx(), "read", func(s Status) {
		require.NotNil(t, s.Progress)
		require.Positive(t, s.Progress.Done)
		b.release("go")
	})
	require.NoError(t, err)
}

func TestCancelledStepHasAnOutcome(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client := b.launch()
	b.start(client, timed("read", "wait:never"))
	require.NoError(t, client.Cancel(b.ctx(), "read"))
	require.Equal(t, result.Interrupted, b.wait(client, "read").Leg.Verdict)
}

func TestUntimedFailureIsAnOutcome(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client := b.launch()
	step := plan.Step{ID: "prepare", Title: "fail", Kind: plan.Prepare}
	b.start(client, step)
	outcome := b.wait(client, "prepare")
	require.Equal(t, "it failed", outcome.Error)
	require.Equal(t, ErrorPreflight, outcome.ErrorClass)
}

func TestPanicFailsTheStepAndNotTheAgent(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client := b.launch()
	b.start(client, timed("read", "panic"))
	outcome := b.wait(client, "read")
	require.Equal(t, result.Failed, outcome.Leg.Verdict)
	require.Contains(t, outcome.Leg.Why, "scripted panic")
	b.start(client, timed("update", "done"))
	require.Equal(t, result.Valid, b.wait(client, "update").Leg.Verdict)
}

func TestAgentMeasuresOnWithoutAClient(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client := b.launch()
	b.start(client, timed("read", "wait:go"))
	client.Close() // as the death of its worker does
	b.release("go")
	require.Eventually(t, func() bool {
		_, err := ReadOutcome(b.dir, "read")
		return err == nil
	}, 5*time.Second, 5*time.Millisecond)

	again := b.launch()
	require.Equal(t, client.Info().PID, again.Info().PID, "the living agent is adopted")
	status := b.start(again, timed("read", "wait:go"))
	require.Equal(t, Finished, status.State)
	require.Equal(t, 1, status.Outcome.Leg.Attempts)
	require.Empty(t, status.Outcome.Leg.Interruptions)
	require.Equal(t, []string{"read"}, b.ran())
}

func TestKilledAgentLeavesFinishedSteps(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client := b.launch()
	b.start(client, timed("create", "done"))
	before := b.wait(client, "create")
	b.start(client, timed("read", "wait:go"))
	require.Eventually(t, func() bool { return len(b.ran()) == 2 }, 5*time.Second, 5*time.Millisecond)
	b.kill()
	_, err := client.Status(b.ctx(), "read", 0)
	require.ErrorIs(t, err, ErrNoAgent)

	again := b.launch()
	require.NotEqual(t, client.Info().PID, again.Info().PID)
	require.Equal(t, []string{"create"}, again.Info().Finished)
	found := b.start(again, timed("create", "done"))
	require.Equal(t, Finished, found.State)
	require.Equal(t, before, *found.Outcome, "the outcome is the one that was measured")

	_, err = again.Status(b.ctx(), "read", 0)
	require.ErrorIs(t, err, ErrUnknownStep, "a step that was lost has to be started again")
	b.release("go")
	require.Equal(t, 2, b.start(again, timed("read", "wait:go")).Attempt)
	leg := b.wait(again, "read").Leg
	require.Equal(t, 2, leg.Attempts)
	require.Len(t, leg.Interruptions, 1)
	require.Equal(t, CauseAgentLost, leg.Interruptions[0].Cause)
	require.Equal(t, []string{"create", "read", "read"}, b.ran())
}

func TestStepThatTakesEveryAgentWithItFails(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	step := timed("read", "exit")
	for range MaxAttempts {
		client := b.launch()
		self := b.identity()
		_, _ = client.Start(b.ctx(), step) // whether the answer still comes is a matter of luck
		require.True(t, gone(b.ctx(), self, 5*time.Second))
	}
	client := b.launch()
	status := b.start(client, step)
	require.Equal(t, Finished, status.State)
	require.Equal(t, result.Failed, status.Outcome.Leg.Verdict)
	require.Equal(t, MaxAttempts, status.Outcome.Leg.Attempts)
	require.Contains(t, LastWords(b.dir), "scripted exit")
}

func TestAgentEndsWhenNobodyAsks(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.setup.IdleSeconds = 1
	client := b.launch()
	self := b.identity()
	b.start(client, timed("read", "wait:go"))
	client.Close()
	time.Sleep(1500 * time.Millisecond)
	require.True(t, alive(self), "a running step keeps the agent")
	b.release("go")
	require.True(t, gone(b.ctx(), self, 10*time.Second))
	outcome, err := ReadOutcome(b.dir, "read")
	require.NoError(t, err)
	require.Equal(t, result.Valid, outcome.Leg.Verdict)
	require.NoFileExists(t, filepath.Join(b.dir, identityFile))
	require.NoFileExists(t, self.Socket)
}

func TestQuitCancelsWhatRunsAndKeepsIt(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client := b.launch()
	self := b.identity()
	b.start(client, timed("read", "wait:never"))
	require.NoError(t, client.Quit(b.ctx()))
	require.True(t, gone(b.ctx(), self, 5*time.Second))
	outcome, err := ReadOutcome(b.dir, "read")
	require.NoError(t, err)
	require.Equal(t, result.Interrupted, outcome.Leg.Verdict)
}

func TestReapEndsAStoppedAgent(t *testing.T) {
	b := newBed(t)
	b.launch()
	self := b.identity()
	// A stopped process hears neither words nor SIGTERM.
	require.NoError(t, syscall.Kill(self.PID, syscall.SIGSTOP))
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	require.NoError(t, Reap(ctx, b.dir))
	require.False(t, alive(self))
	require.NoFileExists(t, filepath.Join(b.dir, credentialsFile))
	require.NoFileExists(t, self.Socket)
}

func TestReapLeavesOtherProcessesAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start, err := processStart(os.Getppid())
	require.NoError(t, err)
	// The number of a living process with another start: the agent is long gone and its number taken.
	require.NoError(t, writeJSON(filepath.Join(dir, identityFile), identity{PID: os.Getppid(), StartTime: start + 1, Protocol: Protocol}))
	require.NoError(t, Reap(context.Background(), dir))
}

func TestConcurrentLaunchesShareOneAgent(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const workers = 6
	pids := make([]int, workers)
	errs := make([]error, workers)
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			client, err := Launch(b.ctx(), testBinary(t), b.dir, b.setup, drivers.Credentials{}, nil)
			if errs[i] = err; err == nil {
				pids[i] = client.Info().PID
				client.Close()
			}
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	for _, pid := range pids {
		require.Equal(t, pids[0], pid)
	}
}

func TestOnlyOneAgentServesADirectory(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.launch()
	err := Serve(context.Background(), b.dir, newScripted)
	require.ErrorIs(t, err, errLocked)
}

func TestAgentOfAnotherRunIsNotAdopted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.launch()
	other := b.setup
	other.Spec.Samples = 7
	_, err := Launch(b.ctx(), testBinary(t), b.dir, other, drivers.Credentials{}, nil)
	require.ErrorContains(t, err, "another set-up")
}

func TestLaunchErrorCarriesTheLastWords(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.setup.Spec.Database = "refuse"
	_, err := Launch(b.ctx(), testBinary(t), b.dir, b.setup, drivers.Credentials{Password: secret}, nil)
	require.ErrorContains(t, err, "engine refuses to be opened")
	require.NotContains(t, err.Error(), secret)
	_, err = Launch(b.ctx(), filepath.Join(t.TempDir(), "missing"), b.dir, b.setup, drivers.Credentials{}, nil)
	require.ErrorContains(t, err, "start the agent")
}

func TestAgentIsDetached(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client := b.launch()
	group, err := syscall.Getpgid(client.Info().PID)
	require.NoError(t, err)
	require.Equal(t, client.Info().PID, group, "a process group of its own: Ctrl-C does not reach it")
}

func TestLostExecutionIsRunAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client := b.launch()
	step := timed("read", "panic")
	b.start(client, step)
	require.Equal(t, result.Failed, b.wait(client, "read").Leg.Verdict)

	at := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	lost := Loss{Attempt: 1, At: at, Cause: CauseServerLost, Note: "process 17 is gone"}
	early := Loss{At: at.Add(-time.Hour), Cause: CauseServerLost, Note: "seen before the step"}
	status, err := client.Start(b.ctx(), step, early, lost)
	require.NoError(t, err)
	require.False(t, status.Adopted)
	require.Equal(t, 2, status.Attempt)
	leg := b.wait(client, "read").Leg
	require.Equal(t, 2, leg.Attempts)
	require.Equal(t, []result.Interruption{
		{At: early.At, Cause: CauseServerLost, Note: early.Note}, {At: at, Cause: CauseServerLost, Note: lost.Note},
	}, leg.Interruptions)

	// Whoever asks again for the same finds the second execution, also after the agent was lost.
	again, err := client.Start(b.ctx(), step, early, lost)
	require.NoError(t, err)
	require.True(t, again.Adopted)
	b.kill()
	client = b.launch()
	again, err = client.Start(b.ctx(), step, early, lost)
	require.NoError(t, err)
	require.True(t, again.Adopted)
	require.Equal(t, leg, again.Outcome.Leg)

	// It ends: the last execution counts, whatever is said of it.
	second := Loss{Attempt: 2, At: at.Add(time.Hour), Cause: CauseServerLost}
	_, err = client.Start(b.ctx(), step, lost, second)
	require.NoError(t, err)
	require.Len(t, b.wait(client, "read").Leg.Interruptions, 2)
	third := Loss{Attempt: 3, At: at.Add(2 * time.Hour), Cause: CauseServerLost}
	last, err := client.Start(b.ctx(), step, lost, second, third)
	require.NoError(t, err)
	require.Equal(t, Finished, last.State)
	require.Equal(t, MaxAttempts, last.Outcome.Leg.Attempts)
	require.Len(t, b.ran(), MaxAttempts)
}
