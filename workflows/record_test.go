//go:build e2e

package workflows_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	_ "github.com/durabench/durabench/drivers/dry"
	_ "github.com/durabench/durabench/drivers/map"
	_ "github.com/durabench/durabench/drivers/sqlite"
	"github.com/durabench/durabench/infra/home"
	hostlock "github.com/durabench/durabench/infra/host"
	"github.com/durabench/durabench/workers/agent"
	"github.com/durabench/durabench/workers/agent/measure"
	"github.com/durabench/durabench/workers/serve"
	"github.com/durabench/durabench/workflows"
)

// record makes the histories in testdata anew, on a server of the test's own or one at the address in the environment:
//
//	DURABENCH_TEMPORALD=bin/temporald go test ./workflows -run TestRealServer -record
//	DURABENCH_TEMPORAL_ADDRESS=127.0.0.1:7233 go test ./workflows -run TestRealServer -record
//
// Do so for a history whose commands were changed on purpose and that no running workflow can have any more; otherwise the change needs
// workflow.GetVersion.
var record = flag.Bool("record", false, "write the histories of TestRealServer to testdata")

// envAddress names a server that runs already.
const envAddress = "DURABENCH_TEMPORAL_ADDRESS"

// TestMain makes this test's binary an agent when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == agent.Command {
		command := measure.Command()
		command.SetArgs(os.Args[2:])
		if err := command.Execute(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// The engines that tests need beside the real ones: a map whose creates take a while, and one whose creates fail.
func init() {
	for name, create := range map[string]func() error{
		"slow": func() error {
			time.Sleep(2 * time.Millisecond)
			return nil
		},
		"broken": func() error { return errors.New("disk is full") },
	} {
		base, ok := drivers.Lookup("map")
		if !ok {
			panic("the map engine is not registered")
		}
		open := base.Open
		base.Name, base.Title = name, name
		base.Open = func(ctx context.Context, config drivers.Config) (drivers.Database, error) {
			database, err := open(ctx, config)
			if err != nil {
				return nil, err
			}
			return &testDatabase{database, database.(drivers.Counter), create}, nil
		}
		drivers.Register(base)
	}
}

type testDatabase struct {
	drivers.Database
	drivers.Counter
	create func() error
}

func (d *testDatabase) Client(ctx context.Context, i int) (drivers.Client, error) {
	client, err := d.Database.Client(ctx, i)
	return &testClient{client, d.create}, err
}

type testClient struct {
	drivers.Client
	create func() error
}

func (c *testClient) Create(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	if err := c.create(); err != nil {
		return err
	}
	return c.Client.Create(ctx, key, row)
}

// TestRealServer runs whole benchmarks on a real Temporal server, worker, agent and all, and records their histories when asked to.
func TestRealServer(t *testing.T) {
	address := os.Getenv(envAddress)
	if address == "" {
		address = startTemporald(t).address()
	}
	// The paths that come into the histories are those of no real user.
	root := filepath.Join(os.TempDir(), "durabench-record")
	require.NoError(t, os.RemoveAll(root))
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	t.Setenv(home.Env, root)
	t.Setenv(hostlock.EnvLockDir, t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := dialTemporal(ctx, t, address)
	bed := &realBed{t: t, ctx: ctx, client: c, root: root}

	t.Run("valid", func(t *testing.T) {
		stop := bed.serve()
		defer stop()
		outcome, err := bed.run("valid", "sqlite", 500, nil)
		require.NoError(t, err)
		require.Contains(t, []result.Verdict{result.Valid, result.GeneratorLimited}, outcome.Verdict, outcome.Why)
		document, err := result.ReadFile(outcome.Document.Path)
		require.NoError(t, err)
		for _, leg := range document.Legs {
			require.EqualValues(t, 500, leg.Measured.OK)
			require.Equal(t, 1, leg.Attempts)
		}
		bed.nothingIsLeft("valid")
	})
	t.Run("failed leg", func(t *testing.T) {
		stop := bed.serve()
		defer stop()
		outcome, err := bed.run("failed-leg", "broken", 500, nil)
		require.NoError(t, err)
		require.Equal(t, result.Failed, outcome.Verdict)
		require.Equal(t, result.NotRun, outcome.Rows[3].Verdict)
	})
	t.Run("failed run", func(t *testing.T) {
		stop := bed.serve()
		defer stop()
		_, err := bed.run("failed-run", "map", 500, func(s *spec.Spec) { s.Sync = true })
		require.ErrorContains(t, err, "--sync")
		outcome, ok := workflows.ResultOf(err)
		require.True(t, ok)
		require.FileExists(t, outcome.Document.Path)
	})
	t.Run("cancelled", func(t *testing.T) {
		stop := bed.serve()
		defer stop()
		_, err := bed.runThen("cancelled", "slow", 100_000, nil, func(run client.WorkflowRun) {
			bed.waitForProgress(run)
			require.NoError(t, c.CancelWorkflow(ctx, run.GetID(), run.GetRunID()))
		})
		outcome, ok := workflows.ResultOf(err)
		require.True(t, ok, "%v", err)
		require.Equal(t, result.Interrupted, outcome.Verdict)
		require.Equal(t, result.Interrupted, outcome.Rows[0].Verdict)
		require.Positive(t, outcome.Rows[0].OK, "what was measured until then is kept")
		require.FileExists(t, outcome.Document.Path)
		_, err = agent.Dial(ctx, filepath.Join(root, "work", "cancelled"))
		require.ErrorIs(t, err, agent.ErrNoAgent)
	})
	t.Run("worker upgraded", func(t *testing.T) {
		stop := bed.serve()
		outcome, err := bed.runThen("worker-upgraded", "slow", 12_000, nil, func(run client.WorkflowRun) {
			bed.waitForProgress(run)
			begun := time.Now()
			stop()
			require.Less(t, time.Since(begun), 5*time.Second)
			stop = bed.serve()
		})
		defer func() { stop() }()
		require.NoError(t, err)
		document, err := result.ReadFile(outcome.Document.Path)
		require.NoError(t, err)
		create := document.Legs[0]
		require.EqualValues(t, 12_000, create.Measured.OK)
		require.Equal(t, 1, create.Attempts, "the agent measured on")
		require.Len(t, create.Interruptions, 1)
	})
}

// realBed is a real server with a host of its own.
type realBed struct {
	t      *testing.T
	ctx    context.Context
	client client.Client
	root   string
}

const realHost = "bench-of-tests"

// serve starts a worker and returns how to stop it.
func (b *realBed) serve() (stop func()) {
	exe, err := os.Executable()
	require.NoError(b.t, err)
	ctx, cancel := context.WithCancel(b.ctx)
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- serve.Run(ctx, b.client, serve.Options{
			Host: realHost, Control: true, Executable: exe, AgentIdle: time.Minute, Logger: slog.New(slog.DiscardHandler),
			Ready: func() { close(ready) },
		})
	}()
	select {
	case <-ready:
	case err := <-ended:
		b.t.Fatalf("worker: %v", err)
	}
	return func() {
		cancel()
		require.NoError(b.t, <-ended)
	}
}

func (b *realBed) run(id, engine string, samples int64, change func(*spec.Spec)) (workflows.BenchmarkResult, error) {
	return b.runThen(id, engine, samples, change, func(client.WorkflowRun) {})
}

// runThen runs a benchmark, has something happen to it, and records it.
func (b *realBed) runThen(
	id, engine string, samples int64, change func(*spec.Spec), happen func(client.WorkflowRun),
) (workflows.BenchmarkResult, error) {
	s := spec.Spec{
		Database: engine, Samples: samples, Clients: 2, Threads: 2, Key: "integer", Seed: 1, Mode: spec.ModeAll, Verify: "sample",
		OperationTimeout: spec.Duration(30 * time.Second), Value: map[string]any{"name": "text:30", "age": "int:1..99"},
	}
	if change != nil {
		change(&s)
	}
	known, ok := drivers.Lookup(engine)
	require.True(b.t, ok)
	p, err := plan.New(&s, known.PlanAbilities(&s))
	require.NoError(b.t, err)
	run, err := b.client.ExecuteWorkflow(b.ctx, client.StartWorkflowOptions{
		// The id of an earlier recording may still be there.
		ID: fmt.Sprintf("%s/%d", workflows.WorkflowID(id), time.Now().UnixNano()), TaskQueue: workflows.ControlQueue,
	}, workflows.Benchmark, workflows.BenchmarkInput{
		RunID: id, Host: realHost, Spec: s, Plan: *p, Store: "dir:" + filepath.Join(b.root, "runs"), Command: []string{"starter", "run", "-d", engine},
		Attributes: true,
	})
	require.NoError(b.t, err)
	happen(run)
	var outcome workflows.BenchmarkResult
	failure := run.Get(b.ctx, &outcome)
	if *record {
		b.record(run, filepath.Join("testdata", id+".json"))
	}
	return outcome, failure
}

// waitForProgress waits until a leg has told that operations are done.
func (b *realBed) waitForProgress(run client.WorkflowRun) {
	require.Eventually(b.t, func() bool {
		described, err := b.client.DescribeWorkflow(b.ctx, run.GetID(), run.GetRunID())
		require.NoError(b.t, err)
		beat, activityType, ok := workflows.PendingHeartbeat(described.RawResponse)
		return ok && activityType == "RunLeg" && beat.Step == "create" && beat.Progress != nil && beat.Progress.Done > 0
	}, time.Minute, 100*time.Millisecond)
}

// nothingIsLeft makes sure that a valid run has cleared up after itself.
func (b *realBed) nothingIsLeft(id string) {
	require.NoDirExists(b.t, filepath.Join(b.root, "work", id))
	require.NoFileExists(b.t, filepath.Join(b.root, "secrets", id+".json"))
}

func (b *realBed) record(run client.WorkflowRun, path string) {
	events := b.client.GetWorkflowHistory(b.ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	history := new(historypb.History)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(b.t, err)
		history.Events = append(history.Events, event)
	}
	data, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(history)
	require.NoError(b.t, err)
	require.NoError(b.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(b.t, os.WriteFile(path, append(data, '\n'), 0o644))
}
