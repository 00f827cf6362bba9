package activities

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sys/unix"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/infra/host"
	"github.com/durabench/durabench/workers/agent"
)

// onMachine gives the bench a machine with a lock and a journal of its own.
func (b *bench) onMachine() *Machine {
	m := &Machine{LockDir: b.t.TempDir(), Journal: b.t.TempDir(), Temporal: "test", Patience: time.Millisecond}
	b.host.Machine, b.agent.Machine, b.leg.Machine = m, m, m
	b.environment()
	return m
}

func holder(t *testing.T, m *Machine) *host.Holder {
	t.Helper()
	held, err := host.Held(m.LockDir)
	require.NoError(t, err)
	return held
}

// without are all steps of isolation but these, so that tests leave the machine as it is.
func without(but ...string) []string {
	return slices.DeleteFunc(host.StepNames(), func(name string) bool { return slices.Contains(but, name) })
}

func TestTheMachineIsHeldFromPreparingToCleaning(t *testing.T) {
	b := newBench(t, "map", nil)
	m := b.onMachine()
	prepared := b.prepare()
	require.Equal(t, "none", prepared.Isolation.Level)
	require.Equal(t, os.Getpid(), holder(t, m).PID, "the worker has it first")
	require.Equal(t, "run-1", holder(t, m).RunID)

	server := b.start()
	b.runStep(server, "prepare")
	pid, lives := agent.Living(b.run.Dir)
	require.True(t, lives)
	require.Equal(t, pid, holder(t, m).PID, "then its agent")
	b.prepare() // as a retry would: held for this run is not held by somebody else
	require.Equal(t, pid, holder(t, m).PID)

	_, err := do[any](b, b.agent.StopAgent, b.run)
	require.NoError(t, err)
	require.Equal(t, os.Getpid(), holder(t, m).PID, "then the worker again, until all is put back")
	_, err = do[any](b, b.host.CleanHost, CleanHostInput{Run: b.run})
	require.NoError(t, err)
	require.Nil(t, holder(t, m))
}

// An agent that is killed lets go, and the next one has the machine again.
func TestTheNextAgentHoldsTheMachineAgain(t *testing.T) {
	b := newBench(t, "map", nil)
	m := b.onMachine()
	b.prepare()
	server := b.start()
	b.runStep(server, "prepare")
	first, _ := agent.Living(b.run.Dir)
	require.NoError(t, unix.Kill(first, unix.SIGKILL))
	require.Eventually(t, func() bool { _, lives := agent.Living(b.run.Dir); return !lives }, 5*time.Second, 10*time.Millisecond)
	b.runStep(server, "create")
	second, lives := agent.Living(b.run.Dir)
	require.True(t, lives)
	require.NotEqual(t, first, second)
	require.Equal(t, second, holder(t, m).PID)
}

func TestAMachineThatIsHeldIsWaitedFor(t *testing.T) {
	b := newBench(t, "map", nil)
	m := b.onMachine()
	other, err := host.Lock(m.LockDir, host.Holder{RunID: "another"})
	require.NoError(t, err)
	_, err = do[PreparedHost](b, b.host.PrepareHost, b.run)
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.False(t, application.NonRetryable())
	require.ErrorContains(t, err, "run another")
	require.NoError(t, other.Close())
	b.prepare()
	require.Equal(t, "run-1", holder(t, m).RunID)

	// A run that was terminated has left the lock in this worker, and whoever comes next has the host's lease.
	b.run.ID, b.run.Dir = "run-2", filepath.Join(b.host.Work, "run-2")
	b.prepare()
	require.Equal(t, "run-2", holder(t, m).RunID)
	_, err = do[any](b, b.host.CleanHost, CleanHostInput{Run: b.run})
	require.NoError(t, err)
	require.Nil(t, holder(t, m))
}

func TestIsolationReachesAgentAndResult(t *testing.T) {
	nice := 1
	b := newBench(t, "map", func(s *spec.Spec) {
		s.Isolation = &spec.Isolation{Level: "standard", Without: without(host.StepNice), Nice: &nice}
	})
	b.onMachine()
	prepared := b.prepare()
	require.Equal(t, 1, *prepared.Placed.Agent.Nice)
	require.False(t, prepared.Placed.Changed)
	require.NotNil(t, prepared.Host.Probe)
	step := prepared.Isolation.Steps[slices.Index(host.StepNames(), host.StepNice)]
	require.Equal(t, result.StepDone, step.State)

	b.run.Placed = prepared.Placed
	server := b.start()
	b.runStep(server, "prepare")
	pid, _ := agent.Living(b.run.Dir)
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	require.NoError(t, err)
	require.Equal(t, 20-1, raw, "the system call gives 20 − nice")
	require.Equal(t, prepared.Isolation, b.document(b.assembleInput(prepared, server, "create", "read", "update", "delete")).Isolation)
}

func TestStrictIsolationThatIsRefusedMeasuresNothing(t *testing.T) {
	b := newBench(t, "map", func(s *spec.Spec) {
		s.Isolation = &spec.Isolation{Level: "strict", Without: without(host.StepServices), Services: []string{"durabench-no-such-unit.service"}}
	})
	m := b.onMachine()
	_, err := do[PreparedHost](b, b.host.PrepareHost, b.run)
	requirePermanent(t, err, TypePreflight, "services: ")
	require.Nil(t, holder(t, m), "nothing is held for a run that is not to be")
}

func TestIsolationThatMeansNothingIsRefused(t *testing.T) {
	s := &spec.Spec{Isolation: &spec.Isolation{Level: "standard", Without: []string{"swop"}, Services: []string{"-x"}}}
	err := IsolationOf(s).Validate()
	require.ErrorContains(t, err, `"swop"`)
	require.ErrorContains(t, err, `"-x"`)
	require.Equal(t, host.None, IsolationOf(&spec.Spec{}).Level, "who builds a spec without Build asks for none")
}
