package temporal

import (
	"sync"
	"syscall"
	"testing"

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

func TestServerOfSomebodyElseIsNotRevived(t *testing.T) {
	revived, err := (&Server{Address: "temporal.example:7233", Origin: OriginAddress}).Revive(t.Context(), FindOptions{})
	require.NoError(t, err)
	require.False(t, revived)
}
