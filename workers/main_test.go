package main

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

func TestHelpHidesTheAgent(t *testing.T) {
	var out bytes.Buffer
	root := command()
	root.SetOut(&out)
	root.SetArgs([]string{"--help"})
	require.NoError(t, root.Execute())
	require.Contains(t, out.String(), "--host")
	require.Contains(t, out.String(), "TEMPORAL_ADDRESS")
	require.NotContains(t, out.String(), "--dir")

	found, _, err := root.Find([]string{agent.Command})
	require.NoError(t, err)
	require.Equal(t, agent.Command, found.Name(), "what Launch starts is there")
}

func TestUsageErrorsAreNotThoseOfServing(t *testing.T) {
	for _, args := range [][]string{{"--hots", "x"}, {"extra"}, {"--log-level", "loud"}, {"--log-format", "xml"}} {
		root := command()
		root.SetArgs(args)
		err := root.Execute()
		require.Error(t, err, args)
		var serving *servingError
		require.False(t, errors.As(err, &serving), "%v: %v", args, err)
	}
}

func TestUnreachableServerIsAnErrorOfServing(t *testing.T) {
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	root := command()
	root.SetArgs([]string{"--log-level", "error", "--dial-timeout", "100ms"})
	begun := time.Now()
	err := root.Execute()
	var serving *servingError
	require.ErrorAs(t, err, &serving)
	require.ErrorContains(t, err, "127.0.0.1:1")
	require.Less(t, time.Since(begun), 10*time.Second)
}

func TestEveryEngineIsInTheProgram(t *testing.T) {
	require.Subset(t, drivers.Names(), []string{"dry", "map", "sqlite"})
}
