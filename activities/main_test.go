package activities

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	_ "github.com/durabench/durabench/drivers/dry"
	_ "github.com/durabench/durabench/drivers/map"
	_ "github.com/durabench/durabench/drivers/sqlite"
	"github.com/durabench/durabench/infra/docker/testimage"
	"github.com/durabench/durabench/infra/home"
	"github.com/durabench/durabench/workers/agent"
	"github.com/durabench/durabench/workers/agent/measure"
)

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
	code := m.Run()
	if err := images.Remove(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// images are of the servers that are installed on this machine.
var images testimage.Images

// bench is one run and the host that it is on.
type bench struct {
	t      *testing.T
	env    *testsuite.TestActivityEnvironment
	host   *Host
	agent  Agent
	server Server
	leg    *Leg
	run    Run
	plan   *plan.Plan
}

func newBench(t *testing.T, engine string, change func(*spec.Spec)) *bench {
	t.Helper()
	t.Setenv(home.Env, t.TempDir())
	exe, err := os.Executable()
	require.NoError(t, err)
	s := spec.Spec{
		Database: engine, Samples: 200, Clients: 2, Threads: 2, Key: "integer", Seed: 7, Mode: spec.ModeAll,
		OperationTimeout: spec.Duration(10 * time.Second), Verify: load.VerifySample, ShowSample: true,
		Value: map[string]any{"age": "int:0..100", "name": "text:20"},
	}
	if change != nil {
		change(&s)
	}
	work := t.TempDir()
	b := &bench{
		t:    t,
		host: &Host{Name: "bench-1", Work: work},
		leg:  &Leg{Executable: exe, Idle: time.Minute},
		run:  Run{ID: "run-1", Spec: s, Dir: filepath.Join(work, "run-1"), Store: "dir:" + t.TempDir()},
	}
	b.environment()
	if known, ok := drivers.Lookup(engine); ok {
		b.plan, err = plan.New(&s, known.PlanAbilities(&s))
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		if err := agent.Reap(context.Background(), b.run.Dir); err != nil {
			t.Errorf("reap: %v", err)
		}
	})
	return b
}

// environment makes a fresh one, as a new worker is.
func (b *bench) environment() {
	var suite testsuite.WorkflowTestSuite
	b.env = suite.NewTestActivityEnvironment()
	for _, methods := range []any{b.host, &b.server, &b.agent, b.leg, &Dataset{}, &Results{}} {
		b.env.RegisterActivity(methods)
	}
}

func (b *bench) step(id string) plan.Step {
	b.t.Helper()
	for _, step := range b.plan.Steps {
		if step.ID == id {
			return step
		}
	}
	b.t.Fatalf("the plan has no step %s", id)
	return plan.Step{}
}

// do runs an activity and decodes its result.
func do[T any](b *bench, activity, input any) (T, error) {
	b.t.Helper()
	var out T
	value, err := b.env.ExecuteActivity(activity, input)
	if err != nil {
		return out, err
	}
	if value.HasValue() {
		require.NoError(b.t, value.Get(&out))
	}
	return out, nil
}

func (b *bench) prepare() PreparedHost {
	b.t.Helper()
	prepared, err := do[PreparedHost](b, b.host.PrepareHost, b.run)
	require.NoError(b.t, err)
	require.Equal(b.t, b.run.Dir, prepared.Dir)
	return prepared
}

func (b *bench) start() StartedServer {
	b.t.Helper()
	started, err := do[StartedServer](b, (*Server)(nil).StartServer, b.run)
	require.NoError(b.t, err)
	return started
}

func (b *bench) runStep(server StartedServer, id string) StepResult {
	b.t.Helper()
	result, err := do[StepResult](b, b.leg.RunLeg, RunLegInput{Run: b.run, Server: server, Step: b.step(id)})
	require.NoError(b.t, err)
	return result
}
