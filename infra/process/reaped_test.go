package process

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that was killed is not gone before its parent knows: until then another one on its data may take it for alive.
func TestEndedProcessIsWaitedForUntilItsNumberIsFree(t *testing.T) {
	command := exec.Command("sleep", "60")
	require.NoError(t, command.Start())
	pid := command.Process.Pid
	require.NoError(t, command.Process.Kill())
	require.Eventually(t, func() bool {
		p, err := lookUp(pid)
		return err == nil && p.zombie
	}, 5*time.Second, time.Millisecond)
	returned := make(chan struct{})
	go func() {
		awaitReaped(t.Context(), pid)
		close(returned)
	}()
	select {
	case <-returned:
		t.Fatal("the process is still there")
	case <-time.After(200 * time.Millisecond):
	}
	require.Error(t, command.Wait()) // by the signal
	select {
	case <-returned:
	case <-time.After(5 * time.Second):
		t.Fatal("it is waited for although it is gone")
	}
	awaitReaped(t.Context(), 0)
	awaitReaped(t.Context(), 1) // which lives
}
