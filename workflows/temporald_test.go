//go:build e2e

package workflows_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"github.com/durabench/durabench/infra/ci"
	"github.com/durabench/durabench/infra/temporal"
)

// temporald is an embedded server of a test's own, which can be killed and comes back with what it knew.
type temporald struct {
	t       *testing.T
	binary  string
	dir     string
	port    int
	command *exec.Cmd
}

// startTemporald starts the server that the environment names.
func startTemporald(t *testing.T) *temporald {
	t.Helper()
	binary := os.Getenv(temporal.EnvBinary)
	if binary == "" {
		ci.Need(t, fmt.Errorf("%s does not name a built temporald; make e2e builds one", temporal.EnvBinary))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &temporald{t: t, binary: binary, dir: t.TempDir(), port: listener.Addr().(*net.TCPAddr).Port}
	require.NoError(t, listener.Close())
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *temporald) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

func (s *temporald) start() {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(s.t, err)
	defer log.Close()
	s.command = exec.Command(s.binary, "--db", s.dir, "--headless", "--namespace", "durabench", "--port", fmt.Sprint(s.port))
	s.command.Stdout, s.command.Stderr = log, log
	require.NoError(s.t, s.command.Start())
}

// kill ends the server as a crash does.
func (s *temporald) kill() {
	_ = s.command.Process.Kill()
	_ = s.command.Wait()
}

// dial connects to the server as soon as it answers.
func (s *temporald) dial(ctx context.Context) client.Client {
	return dialTemporal(ctx, s.t, s.address())
}

// dialTemporal connects to a server that may still be starting.
func dialTemporal(ctx context.Context, t *testing.T, address string) client.Client {
	t.Helper()
	var c client.Client
	require.Eventually(t, func() bool {
		dial, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		var err error
		c, err = client.DialContext(dial, client.Options{
			HostPort: address, Namespace: "durabench", Identity: "recorder", Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		})
		return err == nil
	}, time.Minute, 100*time.Millisecond, "no Temporal server answers at %s", address)
	t.Cleanup(c.Close)
	return c
}
