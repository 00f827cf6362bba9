package temporal

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRevivedServerHasTheAddressThatItHad(t *testing.T) {
	b := newBench(t)
	b.cached(t, "serve")
	s := b.find(t)
	other := b.find(t)
	revived, err := s.Revive(t.Context(), b.options)
	require.NoError(t, err)
	require.False(t, revived, "it lives")

	address, pid := s.Address, s.PID
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.True(t, processID{PID: pid}.gone(t.Context()))
	var group sync.WaitGroup
	for _, user := range []*Server{s, other} {
		group.Go(func() {
			revived, err := user.Revive(t.Context(), b.options)
			if err != nil || !revived {
				t.Errorf("revive: %v, %v", revived, err)
			}
		})
	}
	group.Wait()
	require.Equal(t, address, s.Address)
	require.NotEqual(t, pid, s.PID)
	require.Equal(t, s.PID, other.PID, "one of them has started it")
	require.NoError(t, answers(t.Context(), address, s.Namespace))
	stopped, err := other.Stop(t.Context())
	require.NoError(t, err)
	require.False(t, stopped, "it is in use")
	stopped, err = s.Stop(t.Context())
	require.NoError(t, err)
	require.True(t, stopped)
	requireNothingLeft(t, s.dir)
}

// A server that was started by hand has left no record of its start, and its number may have passed on to another process since.
func TestServerStartedByHandIsRevivedAlsoWhenItsNumberIsTaken(t *testing.T) {
	b := newBench(t)
	b.cached(t, "serve")
	d, err := directoryOf("")
	require.NoError(t, err)
	require.NoError(t, d.open())
	byHand := exec.Command("sh", "-c", fakeScript(t, "serve"), "sh", "--state", d.state())
	require.NoError(t, byHand.Start())
	require.Eventually(t, func() bool { _, err := os.Stat(d.state()); return err == nil }, 20*time.Second, 10*time.Millisecond)
	s := b.find(t)
	require.Equal(t, byHand.Process.Pid, s.process.PID)
	require.NotEmpty(t, s.process.Birth)
	require.NoError(t, byHand.Process.Kill())
	require.Error(t, byHand.Wait())
	require.NoFileExists(t, d.launch())

	// Its number, on the system and in the files, is now that of this test.
	state, err := readJSON[State](d.state())
	require.NoError(t, err)
	state.PID = os.Getpid()
	require.NoError(t, writeJSON(d.state(), state))
	s.PID, s.process.PID = state.PID, state.PID
	address := s.Address
	revived, err := s.Revive(t.Context(), b.options)
	require.NoError(t, err)
	require.True(t, revived)
	require.Equal(t, address, s.Address)
	require.NotEqual(t, os.Getpid(), s.PID)
	stopped, err := s.Stop(t.Context())
	require.NoError(t, err)
	require.True(t, stopped)
	requireNothingLeft(t, s.dir)
}

// One whose start the system did not tell has to answer to be taken for alive.
func TestServerOfUnknownBirthIsAsked(t *testing.T) {
	b := newBench(t)
	b.cached(t, "serve")
	s := b.find(t)
	s.process.Birth = ""
	require.True(t, s.lives(t.Context()))
	pid := s.PID
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.True(t, processID{PID: pid}.gone(t.Context()))
	s.process.PID = os.Getpid() // of whom the number is now
	require.False(t, s.lives(t.Context()))
	revived, err := s.Revive(t.Context(), b.options)
	require.NoError(t, err)
	require.True(t, revived)
	_, err = s.Stop(t.Context())
	require.NoError(t, err)
}

func TestServerOfSomebodyElseIsNotRevived(t *testing.T) {
	revived, err := (&Server{Address: "temporal.example:7233", Origin: OriginAddress}).Revive(t.Context(), FindOptions{})
	require.NoError(t, err)
	require.False(t, revived)
}
