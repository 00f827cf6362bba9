package measure

import (
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/result"
)

// process starts one that does nothing, in place of a server.
func process(t *testing.T) (pid int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sleep", "600")
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Wait() }) // it is killed as the test ends
	return c.Process.Pid
}

// What the server held before a build and with the index is in the result, or why it is not.
func TestABuildTellsWhatTheServerHeld(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r := workload(t, faultySQL, every, nil)
	r.skipTo(indexLeg)
	none := r.do(t.Context(), indexLeg).Leg
	require.Equal(t, result.Valid, none.Verdict, none.Why)
	require.Nil(t, none.Index.MemoryBefore)
	require.Nil(t, none.Index.MemoryAfter)
	require.Contains(t, none.Index.MemoryNote, "the database runs inside the agent")

	r.session.setup.ServerPID = process(t)
	read := r.do(t.Context(), indexLeg).Leg
	require.Equal(t, result.Valid, read.Verdict, read.Why)
	require.Positive(t, read.Index.MemoryBefore.Bytes)
	require.Positive(t, read.Index.MemoryAfter.Bytes)
	require.Empty(t, read.Index.MemoryNote)

	r.set("build fails")
	failed := r.do(t.Context(), indexLeg).Leg
	require.Equal(t, result.Failed, failed.Verdict)
	require.Nil(t, failed.Index.MemoryAfter, "no index serves")
}

// Of a build that was gone on with, what the server held before is what was read before its start, and of that server alone.
func TestAResumedBuildTellsWhatTheServerHeldBeforeItsStart(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, same := range []bool{true, false} {
		r := workload(t, faultySQL, every, nil)
		r.skipTo(indexLeg)
		pid := process(t)
		begun := begunBuild{At: time.Now().Add(-time.Minute), Asked: 1, Before: serverReading{PID: pid, Memory: &result.Memory{Bytes: 12345, Kind: "pss"}}}
		if !same {
			begun.Before.PID++
		}
		var err error
		r.memory[indexLeg], err = json.Marshal(begun)
		require.NoError(t, err)
		r.server().begin(*r.step(indexLeg).Index)
		r.set("build under way")
		r.lose()
		r.session.setup.ServerPID = pid
		leg := r.again(indexLeg)
		require.Equal(t, result.Valid, leg.Verdict, leg.Why)
		require.True(t, leg.Index.Resumed)
		require.Positive(t, leg.Index.MemoryAfter.Bytes)
		if same {
			require.EqualValues(t, 12345, leg.Index.MemoryBefore.Bytes)
			require.Empty(t, leg.Index.MemoryNote)
		} else {
			require.Nil(t, leg.Index.MemoryBefore)
			require.Contains(t, leg.Index.MemoryNote, "its process is not the one that began it")
		}
	}
}
