//go:build e2e

package temporal

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/infra/ci"
)

// realBench is a bench with the real temporald on it.
func realBench(t *testing.T) *bench {
	t.Helper()
	binary := os.Getenv(EnvBinary)
	if binary == "" {
		ci.Need(t, fmt.Errorf("%s does not name a built temporald: `CGO_ENABLED=0 go -C infra/temporald build -trimpath -o FILE .`", EnvBinary))
	}
	b := newBench(t)
	t.Setenv(EnvBinary, binary)
	return b
}

func connect(t *testing.T, s *Server) client.Client {
	t.Helper()
	c, err := s.Dial(t.Context(), Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func greet(_ workflow.Context, name string) (string, error) { return "hello " + name, nil }

func TestRealServerKeepsHistoryAcrossStopAndKill(t *testing.T) {
	b := realBench(t)
	s := b.find(t)
	require.Equal(t, OriginTemporald, s.Origin)
	require.NotEmpty(t, s.Version)
	c := connect(t, s)
	require.NoError(t, EnsureNamespace(t.Context(), c, s.Namespace))
	report, err := EnsureSearchAttributes(t.Context(), c, s.Namespace)
	require.NoError(t, err)
	require.Empty(t, report.Missing)
	require.Empty(t, report.Added, "they come with the server")

	w := worker.New(c, "q", worker.Options{})
	w.RegisterWorkflow(greet)
	require.NoError(t, w.Start())
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "bench/one", TaskQueue: "q",
		TypedSearchAttributes: temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyKeyword(AttributeEngine).ValueSet("map")),
	}, greet, "you")
	require.NoError(t, err)
	require.NoError(t, run.Get(t.Context(), nil))
	w.Stop()
	require.Contains(t, RunURL(s, s.Namespace, "bench/one", run.GetRunID()), s.UI+"/namespaces/durabench/workflows/bench%2Fone/")
	c.Close()
	stopped, err := s.Stop(t.Context())
	require.NoError(t, err)
	require.True(t, stopped)

	s = b.find(t)
	require.True(t, s.Started)
	require.NoError(t, syscall.Kill(s.PID, syscall.SIGKILL))
	require.True(t, processID{PID: s.PID}.gone(t.Context()))
	s.use.release()

	s = b.find(t)
	require.True(t, s.Started)
	var got string
	require.NoError(t, connect(t, s).GetWorkflow(t.Context(), "bench/one", "").Get(t.Context(), &got))
	require.Equal(t, "hello you", got)
	_, err = s.Stop(t.Context())
	require.NoError(t, err)
}

func TestRealServerGetsAnotherNamespace(t *testing.T) {
	b := realBench(t)
	s := b.find(t)
	b.options.Namespace = "another"
	other := b.find(t)
	require.Equal(t, OriginRunning, other.Origin)
	c := connect(t, other)
	require.NoError(t, EnsureNamespace(t.Context(), c, "another"))
	report, err := EnsureSearchAttributes(t.Context(), c, "another")
	require.NoError(t, err)
	require.Len(t, report.Added, len(Attributes()))
	require.Empty(t, report.Missing)
	other.use.release()
	_, err = s.Stop(t.Context())
	require.NoError(t, err)
}

func TestRealServerOnTakenPorts(t *testing.T) {
	for _, port := range []int{preferredPort, preferredUIPort} {
		if l, err := net.Listen("tcp", address(port)); err == nil {
			defer func() { _ = l.Close() }()
		}
	}
	b := realBench(t)
	s := b.find(t)
	require.Contains(t, strings.Join(b.said, "\n"), "8233")
	require.NotEqual(t, address(preferredPort), s.Address)
	connect(t, s)
	_, err := s.Stop(t.Context())
	require.NoError(t, err)
}

func TestRealServerThatCannotStartSaysWhy(t *testing.T) {
	b := realBench(t)
	d, err := directoryOf("")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(d.file("temporal-1.32.db"), 0o700))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = Find(ctx, b.options)
	require.ErrorContains(t, err, "not a regular file")
	requireNothingLeft(t, d)
}

// TestRealServerAsTheCLI runs temporald as if it were the temporal CLI, whose
// arguments it takes.
func TestRealServerAsTheCLI(t *testing.T) {
	b := realBench(t)
	binary := os.Getenv(EnvBinary)
	t.Setenv(EnvBinary, "")
	b.install(t, "temporal", `[ "$1" = --version ] && echo "temporal version 1.9.9 (Server 1.32.1, UI 2.55.0)" && exit
exec "`+binary+`" "$@"`)
	s := b.find(t)
	require.Equal(t, OriginCLI, s.Origin)
	c := connect(t, s)
	require.NoError(t, EnsureNamespace(t.Context(), c, s.Namespace))
	report, err := EnsureSearchAttributes(t.Context(), c, s.Namespace)
	require.NoError(t, err)
	require.Empty(t, report.Missing)
	stopped, err := s.Stop(t.Context())
	require.NoError(t, err)
	require.True(t, stopped)
}
