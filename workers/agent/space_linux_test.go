package agent

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/infra/pidspace"
)

func TestAgentOfAnotherNamespaceIsNotAlive(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	require.NoError(t, cmd.Start())
	defer func() {
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
	}()
	start, err := processStart(cmd.Process.Pid)
	require.NoError(t, err)
	self := identity{PID: cmd.Process.Pid, StartTime: start}
	require.True(t, alive(self), "of an earlier build")
	self.Space = pidspace.Here()
	require.True(t, alive(self))
	self.Space += "0"
	require.False(t, alive(self))
}
