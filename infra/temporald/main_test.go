package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/infra/temporald/server"
)

// asProgram makes the test binary behave as temporald, so that the tests have a
// process to kill without building the program apart.
const asProgram = "TEMPORALD_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

type process struct {
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr bytes.Buffer
	state  string
}

func launch(t *testing.T, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p := &process{state: filepath.Join(t.TempDir(), "state.json")}
	p.cmd = exec.Command(self, append(args, "--state", p.state)...)
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	return p
}

func (p *process) ready(t *testing.T) server.State {
	t.Helper()
	var state server.State
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(p.state)
		return err == nil && json.Unmarshal(text, &state) == nil
	}, time.Minute, 20*time.Millisecond, "not ready")
	require.Equal(t, p.cmd.Process.Pid, state.PID)
	return state
}

func (p *process) dial(t *testing.T) client.Client {
	t.Helper()
	state := p.ready(t)
	c, err := client.Dial(client.Options{HostPort: state.Address, Namespace: state.Namespace, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func greet(_ workflow.Context, name string) (string, error) { return "hello " + name, nil }

func TestHistorySurvivesKill(t *testing.T) {
	dir := t.TempDir()
	args := []string{"--db", dir, "--port", "0", "--ui-port", "0"}
	first := launch(t, args...)
	c := first.dial(t)
	w := worker.New(c, "q", worker.Options{})
	w.RegisterWorkflow(greet)
	require.NoError(t, w.Start())
	done, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "done", TaskQueue: "q"}, greet, "you")
	require.NoError(t, err)
	require.NoError(t, done.Get(t.Context(), nil))
	w.Stop()
	// This one waits for a worker across the restart.
	_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "open", TaskQueue: "q"}, greet, "again")
	require.NoError(t, err)
	require.NoError(t, first.cmd.Process.Kill())
	_ = first.cmd.Wait()
	require.FileExists(t, first.state, "a killed server cannot clean up")

	second := launch(t, args...)
	c = second.dial(t)
	var got string
	require.NoError(t, c.GetWorkflow(t.Context(), "done", "").Get(t.Context(), &got))
	require.Equal(t, "hello you", got)
	w = worker.New(c, "q", worker.Options{})
	w.RegisterWorkflow(greet)
	require.NoError(t, w.Start())
	defer w.Stop()
	require.NoError(t, c.GetWorkflow(t.Context(), "open", "").Get(t.Context(), &got))
	require.Equal(t, "hello again", got)
	require.FileExists(t, filepath.Join(dir, server.DBName()))
}

func TestKilledFirstStartIsNoObstacle(t *testing.T) {
	// Somewhere in these the schema is being made.
	for delay := 20 * time.Millisecond; delay <= 200*time.Millisecond; delay += 30 * time.Millisecond {
		args := []string{"--db", t.TempDir(), "--port", "0", "--headless"}
		first := launch(t, args...)
		time.Sleep(delay)
		require.NoError(t, first.cmd.Process.Kill())
		_ = first.cmd.Wait()
		second := launch(t, args...)
		second.ready(t)
		require.NoError(t, second.cmd.Process.Kill())
	}
}

func TestTerminateStopsCleanly(t *testing.T) {
	p := launch(t, "--db", t.TempDir(), "--port", "0", "--ui-port", "0")
	state := p.ready(t)
	info, err := os.Stat(p.state)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NotEmpty(t, state.UI)
	require.WithinDuration(t, time.Now(), state.Started, time.Minute)
	require.Equal(t, server.Version, state.Version)

	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.cmd.Wait(), p.stderr.String())
	require.NoFileExists(t, p.state)
	require.Equal(t, 1, strings.Count(p.stdout.String(), "\n"), "one line: %s", p.stdout.String())
	require.Contains(t, p.stdout.String(), state.Address)
}

func TestFailedStartSaysWhyAndExits(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)

	p := launch(t, "--db", t.TempDir(), "--port", port, "--ui-port", "0")
	require.Error(t, p.cmd.Wait())
	require.Equal(t, 1, p.cmd.ProcessState.ExitCode())
	require.Contains(t, p.stderr.String(), "temporald: frontend port "+port+" is already in use")
	require.NoFileExists(t, p.state)
}

func TestUnwritableStateFileFailsTheStart(t *testing.T) {
	var out, errs bytes.Buffer
	code := run([]string{"--db", t.TempDir(), "--port", "0", "--headless", "--state", filepath.Join(t.TempDir(), "absent", "s.json")}, &out, &errs)
	require.Equal(t, 1, code)
	require.Contains(t, errs.String(), "write state file")
}

func TestStateFileOfAnotherServerIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.json")
	require.NoError(t, server.State{PID: 1}.Write(file))
	server.State{PID: 2}.Remove(file)
	require.FileExists(t, file)
	server.State{PID: 1}.Remove(file)
	require.NoFileExists(t, file)
}

func TestUsage(t *testing.T) {
	tests := map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"version":           {args: []string{"--version"}, stdout: "temporald " + server.Version},
		"help":              {args: []string{"--help"}, stderr: "-db"},
		"start-dev help":    {args: []string{"server", "start-dev", "--help"}, stderr: "-db-filename"},
		"no database":       {code: 2, stderr: "--db is required"},
		"unknown flag":      {args: []string{"--prot", "1"}, code: 2, stderr: "prot"},
		"stray argument":    {args: []string{"--db", "x", "y"}, code: 2, stderr: `unexpected argument "y"`},
		"unknown log level": {args: []string{"--log-level", "loud"}, code: 2, stderr: "loud"},
		"bad port":          {args: []string{"--db", "x", "--port", "-1"}, code: 1, stderr: "port -1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			var out, errs bytes.Buffer
			require.Equal(t, test.code, run(test.args, &out, &errs), errs.String())
			require.Contains(t, out.String(), test.stdout)
			require.Contains(t, errs.String(), test.stderr)
		})
	}
}

func TestDatabasePathMayBeADirectory(t *testing.T) {
	dir := t.TempDir()
	require.Equal(t, filepath.Join(dir, server.DBName()), databaseFile(dir))
	require.Equal(t, filepath.Join(dir, "new", server.DBName()), databaseFile(filepath.Join(dir, "new")+"/"))
	require.Equal(t, filepath.Join(dir, "x.db"), databaseFile(filepath.Join(dir, "x.db")))
}

func TestSDKTestSuiteCanStartIt(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(asProgram, "1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dev, err := testsuite.StartDevServer(ctx, testsuite.DevServerOptions{
		ExistingPath:  self,
		ClientOptions: &client.Options{Logger: slog.New(slog.DiscardHandler), Namespace: "tests"},
		LogLevel:      "error",
		ExtraArgs:     []string{"--search-attribute", "Colour=Keyword", "--dynamic-config-value", `frontend.namespaceRPS=1200`},
		Stdout:        io.Discard,
	})
	require.NoError(t, err)
	attributes, err := dev.Client().OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: "tests"})
	require.NoError(t, err)
	require.Equal(t, enumspb.INDEXED_VALUE_TYPE_KEYWORD, attributes.GetCustomAttributes()["Colour"])
	require.NoError(t, dev.Stop())
}
