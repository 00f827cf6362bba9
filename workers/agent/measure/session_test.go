package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	_ "github.com/durabench/durabench/drivers/sqlite"
	"github.com/durabench/durabench/workers/agent"
)

// run is one plan on one engine.
type run struct {
	t       *testing.T
	spec    spec.Spec
	plan    *plan.Plan
	dir     string
	session *session
	attempt int
	// finished is what the agent's ledger would have.
	finished []agent.Outcome
	said     []string
	// memory is what each step has remembered for its next execution.
	memory map[string][]byte
}

func newRun(t *testing.T, engine string, change func(*spec.Spec)) *run {
	t.Helper()
	s := spec.Spec{
		Database: engine, Samples: 503, Clients: 3, Threads: 2, Key: "string26", Random: true, Seed: 42, Mode: spec.ModeAll,
		OperationTimeout: spec.Duration(10 * time.Second), Verify: load.VerifySample,
		Value: map[string]any{"age": "int:0..100", "name": "text:20", "address": map[string]any{"city": "string:8", "tags": []any{"bool", "uuid"}}},
	}
	if change != nil {
		change(&s)
	}
	r := &run{t: t, spec: s, dir: t.TempDir(), attempt: 1}
	known, ok := drivers.Lookup(engine)
	require.True(t, ok)
	p, err := plan.New(&s, known.PlanAbilities(&s))
	require.NoError(t, err)
	r.plan = p
	r.open()
	return r
}

// open starts a new session, as a new agent does.
func (r *run) open() {
	r.t.Helper()
	s, err := newSession(agent.Setup{RunID: "run-1", Spec: r.spec, Server: "embedded", Dir: r.dir}, drivers.Credentials{}, r.finished,
		tuning{gcPercent: 100}, slog.New(slog.DiscardHandler))
	require.NoError(r.t, err)
	r.session = s
	if r.memory == nil {
		r.memory = map[string][]byte{}
	}
	r.t.Cleanup(func() { require.NoError(r.t, s.Close()) })
}

func (r *run) step(id string) plan.Step {
	r.t.Helper()
	for _, step := range r.plan.Steps {
		if step.ID == id {
			return step
		}
	}
	r.t.Fatalf("the plan has no step %s", id)
	return plan.Step{}
}

// do runs one step.
func (r *run) do(ctx context.Context, id string) agent.Outcome {
	r.t.Helper()
	step := r.step(id)
	outcome := r.session.Run(ctx, agent.Task{
		Step: step, Attempt: r.attempt, Progress: func(load.Progress) {}, Say: func(text string) { r.said = append(r.said, text) },
		Remember: func(value any) (err error) {
			r.memory[id], err = json.Marshal(value)
			return err
		},
		Recall: func(into any) (bool, error) {
			if r.attempt == 1 || r.memory[id] == nil {
				return false, nil
			}
			return true, json.Unmarshal(r.memory[id], into)
		},
	})
	outcome.Step = step
	r.finished = append(r.finished, outcome)
	if outcome.Leg != nil {
		outcome.Leg.Attempts = 1
		require.NoError(r.t, outcome.Leg.Validate(), "the leg is fit for the document")
	}
	return outcome
}

func (r *run) must(ids ...string) {
	r.t.Helper()
	for _, id := range ids {
		outcome := r.do(r.t.Context(), id)
		require.Empty(r.t, outcome.Error, id)
		if outcome.Leg != nil {
			require.Equal(r.t, result.Valid, outcome.Leg.Verdict, "%s: %s", id, outcome.Leg.Why)
		}
	}
}

func TestChain(t *testing.T) {
	for _, engine := range []string{"map", "sqlite"} {
		for _, verify := range []load.Verify{load.VerifySample, load.VerifyAll} {
			t.Run(fmt.Sprintf("%s, verify %s", engine, verify), func(t *testing.T) {
				t.Parallel()
				r := newRun(t, engine, func(s *spec.Spec) { s.Verify = verify })
				prepared := r.do(t.Context(), "prepare")
				require.Empty(t, prepared.Error)
				require.Equal(t, engine, prepared.Engine.Name)
				require.NotEmpty(t, prepared.Engine.Version)
				require.Equal(t, prepared.Engine.TierAsked, prepared.Engine.Tier)

				calibration := r.do(t.Context(), "calibrate").Calibration
				require.Positive(t, calibration.NsPerOp)
				require.Positive(t, calibration.ClockNs)
				require.Positive(t, calibration.P99Ns)
				// On a machine that does other things at the same time, the map may well be as fast as the harness: that is no matter here.
				r.session.calibration = nil

				rows := map[string]int64{"create": 503, "update": 503, "delete": 0}
				for _, id := range []string{"create", "read", "update", "delete"} {
					leg := r.do(t.Context(), id).Leg
					require.Equal(t, result.Valid, leg.Verdict, "%s: %s", id, leg.Why)
					require.Equal(t, r.spec.Samples, leg.Measured.OK)
					require.Zero(t, leg.Measured.Failed)
					require.Positive(t, leg.Measured.Checked)
					if verify == load.VerifyAll {
						require.Equal(t, r.spec.Samples, leg.Measured.Checked)
					}
					if want, counted := rows[id]; counted {
						require.Equal(t, want, *leg.Measured.RowsAfter)
						require.Equal(t, want, *leg.Measured.RowsWanted)
					}
					require.NotNil(t, leg.Measured.Agent, leg.Measured.AgentNote)
					require.Contains(t, leg.Measured.AgentNote, "GOGC")
					require.Contains(t, leg.Measured.ServerNote, "inside the agent")
				}
			})
		}
	}
}

func TestDryEngineIsValidWithoutProof(t *testing.T) {
	r := newRun(t, "dry", nil)
	r.must("prepare", "create", "read", "update", "delete")
}

func TestNoVerificationIsUnverified(t *testing.T) {
	r := newRun(t, "map", func(s *spec.Spec) { s.Verify = load.VerifyNone })
	r.must("prepare")
	for _, id := range []string{"create", "read", "update"} {
		require.Equal(t, result.Unverified, r.do(t.Context(), id).Leg.Verdict, id)
	}
}

// faulty returns a run on the faulty engine.
func faulty(t *testing.T, fault string, change func(*spec.Spec)) *run {
	return newRun(t, faultyEngine, func(s *spec.Spec) {
		s.Engine = map[string]string{"fault": fault}
		if change != nil {
			change(s)
		}
	})
}

func TestFaultsAreFound(t *testing.T) {
	all := func(s *spec.Spec) { s.Verify = load.VerifyAll }
	for name, test := range map[string]struct {
		change  func(*spec.Spec)
		steps   []string // the last one shows the fault
		verdict result.Verdict
		why     string
	}{
		// Answers that came back, and were not what was written.
		"wrong row":    {nil, []string{"create"}, result.Invalid, "row 7, version 0"},
		"wrong column": {nil, []string{"create"}, result.Invalid, "column"},
		"undecodable":  {nil, []string{"create"}, result.Invalid, "not a row"},
		"lost create":  {nil, []string{"create"}, result.Invalid, "no row"},
		"stale update": {nil, []string{"create", "read", "update"}, result.Invalid, "version 0"},
		"lost delete":  {all, []string{"create", "read", "update", "delete"}, result.Invalid, "was deleted"},
		"count":        {nil, []string{"create"}, result.Invalid, "502"},
		// Operations that failed.
		"create fails": {nil, []string{"create"}, result.Failed, "disk is full"},
		"panic":        {nil, []string{"create"}, result.Failed, "driver is broken"},
		"slow":         {func(s *spec.Spec) { s.OperationTimeout = spec.Duration(time.Millisecond) }, []string{"create"}, result.Failed, "timeout"},
		// Some failures are within the budget, and the rows that are missing for them are excused.
		"some creates fail": {func(s *spec.Spec) { s.MaxErrorRate = 0.05; s.Verify = load.VerifyAll }, []string{"create"}, result.Valid, "server is busy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := faulty(t, name, test.change)
			r.must("prepare")
			last := len(test.steps) - 1
			r.must(test.steps[:last]...)
			leg := r.do(t.Context(), test.steps[last]).Leg
			require.Equal(t, test.verdict, leg.Verdict, leg.Why)
			require.Contains(t, leg.Why, test.why)
		})
	}
}

func TestReadFaultsFailTheReadAlone(t *testing.T) {
	for _, fault := range []string{"read fails", "miss"} {
		t.Run(fault, func(t *testing.T) {
			r := faulty(t, "none", nil)
			r.must("prepare", "create")
			// The fault begins once the rows are there and were read back.
			for _, client := range r.session.database.clients {
				client.(*faultyClient).fault = fault
			}
			require.Equal(t, result.Failed, r.do(t.Context(), "read").Leg.Verdict)
			for _, client := range r.session.database.clients {
				client.(*faultyClient).fault = "none"
			}
			r.must("update", "delete")
		})
	}
}

func TestPrepareErrorsHaveTheirClass(t *testing.T) {
	for fault, test := range map[string]struct {
		class agent.ErrorClass
		text  string
	}{
		"open":      {agent.ErrorInfrastructure, "connection refused"},
		"tier":      {agent.ErrorDurability, "process"},
		"preflight": {agent.ErrorPreflight, "allows 20"},
		"client":    {agent.ErrorInfrastructure, "client 2 of 3"},
	} {
		t.Run(fault, func(t *testing.T) {
			r := faulty(t, fault, nil)
			outcome := r.do(t.Context(), "prepare")
			require.Equal(t, test.class, outcome.ErrorClass)
			require.Contains(t, outcome.Error, test.text)
			require.Nil(t, r.session.database, "nothing stays open")
		})
	}
	t.Run("durability that the engine does not have", func(t *testing.T) {
		r := newRun(t, "map", func(s *spec.Spec) { s.Sync = true })
		require.Equal(t, agent.ErrorSpec, r.do(t.Context(), "prepare").ErrorClass)
	})
	t.Run("step that this build does not know", func(t *testing.T) {
		r := newRun(t, "map", nil)
		outcome := r.session.Run(t.Context(), agent.Task{Step: plan.Step{ID: "x", Kind: "sorcery"}, Attempt: 1})
		require.Equal(t, agent.ErrorSpec, outcome.ErrorClass)
	})
}

func TestCancelledLegIsInterrupted(t *testing.T) {
	r := faulty(t, "slow", func(s *spec.Spec) { s.Samples = 100_000 })
	r.must("prepare")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for r.session.database.clients[0].(*faultyClient).calls.Load() < 5 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	leg := r.do(ctx, "create").Leg
	require.Equal(t, result.Interrupted, leg.Verdict)
	require.Positive(t, leg.Measured.OK)
	require.Nil(t, leg.Measured.RowsAfter, "nothing is checked once the run is over")
}

func TestAttachWantsAllRows(t *testing.T) {
	data := t.TempDir()
	kept := func(mode spec.Mode, samples int64) *run {
		r := newRun(t, "sqlite", func(s *spec.Spec) { s.Mode, s.DataDir, s.Samples = mode, data, samples })
		r.dir = data
		r.open()
		return r
	}
	loaded := kept(spec.ModeLoad, 503)
	loaded.must("prepare", "create", "update")
	require.NoError(t, loaded.session.Close())

	more := kept(spec.ModeQuery, 504)
	outcome := more.do(t.Context(), "attach")
	require.Equal(t, agent.ErrorDataset, outcome.ErrorClass)
	require.Contains(t, outcome.Error, "503")

	query := kept(spec.ModeQuery, 503)
	require.NotNil(t, query.do(t.Context(), "attach").Engine)
	query.must("read")
}

func TestSlotsAreBoundedByMemory(t *testing.T) {
	const inFlight = 128 * 48
	require.Equal(t, mostSlots, keySlots(32))
	many := keySlots(inFlight)
	require.Positive(t, many)
	require.LessOrEqual(t, many*inFlight*600, slotMemory*11/10)

	r := newRun(t, "map", func(s *spec.Spec) { s.Value = map[string]any{"text": "text:100000"} })
	require.Equal(t, 1, r.session.rowSlots(inFlight), "a large row is made one at a time")
	require.Positive(t, r.session.rowSlots(1))
}

func TestCommandNeedsADirectory(t *testing.T) {
	command := Command()
	command.SetArgs(nil)
	command.SilenceErrors, command.SilenceUsage = true, true
	require.ErrorContains(t, command.Execute(), "dir")
	require.True(t, command.Hidden)
	require.Error(t, Serve(t.Context(), filepath.Join(t.TempDir(), "missing")))
}
