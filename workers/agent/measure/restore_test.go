package measure

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// lose ends the session as the loss of its agent does, and starts another one.
func (r *run) lose() {
	r.t.Helper()
	require.NoError(r.t, r.session.Close())
	r.open()
}

// again runs a step as the second attempt.
func (r *run) again(id string) *result.Leg {
	r.t.Helper()
	r.attempt = 2
	defer func() { r.attempt = 1 }()
	leg := r.do(r.t.Context(), id).Leg
	require.NotNil(r.t, leg)
	return leg
}

// cut does some of a step's operations behind the session's back, as an attempt that was cut short has.
func (r *run) cut(f func(client drivers.Client, key corpus.Key, row *corpus.Row) error, version uint32, from, to uint64) {
	r.t.Helper()
	client := r.session.database.clients[0]
	var buffer corpus.KeyBuffer
	var row corpus.Row
	for index := from; index < to; index++ {
		r.session.corpus.Row(&row, index, version)
		require.NoError(r.t, f(client, r.session.corpus.Key(&buffer, index), &row))
	}
}

func causes(leg *result.Leg) []string {
	var all []string
	for _, interruption := range leg.Interruptions {
		all = append(all, interruption.Cause)
	}
	return all
}

func TestNewAgentGoesOnWithDurableData(t *testing.T) {
	r := newRun(t, "sqlite", nil)
	r.must("prepare", "create")
	r.lose()
	for _, id := range []string{"read", "update"} {
		leg := r.again(id)
		require.Equal(t, result.Valid, leg.Verdict, leg.Why)
		require.Empty(t, leg.Interruptions, "the rows are as they were")
	}
	r.lose()
	r.must("delete")
	require.NotContains(t, strings.Join(r.said, "\n"), "loading rows")
}

func TestInterruptedConsumingLegsStartFromWhatTheyNeed(t *testing.T) {
	r := newRun(t, "sqlite", nil)
	r.must("prepare")
	r.session.ready(t.Context(), agent.Task{Step: r.step("create"), Attempt: 1, Say: func(string) {}})
	r.cut(func(c drivers.Client, key corpus.Key, row *corpus.Row) error { return c.Create(t.Context(), key, row) }, 0, 0, 100)
	r.lose()
	leg := r.again("create")
	require.Equal(t, result.Valid, leg.Verdict, leg.Why)
	require.EqualValues(t, 503, leg.Measured.OK)

	r.must("read")
	r.cut(func(c drivers.Client, key corpus.Key, row *corpus.Row) error { return c.Update(t.Context(), key, row) }, 1, 0, 250)
	r.lose()
	leg = r.again("update")
	require.Equal(t, result.Valid, leg.Verdict, leg.Why)
	require.Equal(t, []string{agent.CauseDatasetRebuilt}, causes(leg), "no row has the new version already when it is measured")
	require.Contains(t, leg.Interruptions[0].Note, "503 rows at version 0")

	r.cut(func(c drivers.Client, key corpus.Key, _ *corpus.Row) error { return c.Delete(t.Context(), key) }, 1, 100, 400)
	r.lose()
	leg = r.again("delete")
	require.Equal(t, result.Valid, leg.Verdict, leg.Why)
	require.EqualValues(t, 503, leg.Measured.OK, "every row was there to be deleted")
	require.Equal(t, []string{agent.CauseDatasetRebuilt}, causes(leg))
	require.Contains(t, leg.Interruptions[0].Note, "503 rows at version 1")
}

// Data is lost in every way that can be told, and is there again for the leg.
func TestLostDataIsLoadedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		engine string
		lose   func(*run)
		why    string
	}{
		"an engine in memory": {"map", (*run).lose, "does not hold the data of this run any more"},
		"a wiped volume": {"sqlite", func(r *run) {
			require.NoError(r.t, r.session.Close())
			files, err := filepath.Glob(filepath.Join(r.dir, "*"))
			require.NoError(r.t, err)
			require.NotEmpty(r.t, files)
			for _, file := range files {
				require.NoError(r.t, os.RemoveAll(file))
			}
			r.open()
		}, "does not hold the data of this run any more"},
		"another run's rows, as many and the same": {"sqlite", func(r *run) {
			require.NoError(r.t, r.session.database.Database.(drivers.Marker).Mark(r.t.Context(), `{"run":"run-2","generation":1}`))
			r.lose()
		}, "does not hold the data of this run any more"},
		"an older state of this run": {"sqlite", func(r *run) {
			r.finished = append(r.finished, agent.Outcome{Mark: `{"run":"run-1","generation":2}`})
			r.lose()
		}, "does not hold the data of this run any more"},
		"too few rows": {"sqlite", func(r *run) {
			r.cut(func(c drivers.Client, key corpus.Key, _ *corpus.Row) error { return c.Delete(r.t.Context(), key) }, 0, 10, 11)
			r.lose()
		}, "holds 1502 rows where the step needs 1503"},
		"rows as they were before": {"sqlite", func(r *run) {
			// The last write of an earlier leg, acknowledged and lost: only the last rows show it.
			r.cut(func(c drivers.Client, key corpus.Key, row *corpus.Row) error {
				return c.Update(r.t.Context(), key, row)
			}, 3, 1501, 1502)
			r.lose()
		}, "row 1501"},
		"an engine that can tell nothing": {faultyEngine, (*run).lose, "holds 0 rows where the step needs 1503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, test.engine, func(s *spec.Spec) { s.Samples = 1503 })
			r.must("prepare", "create")
			test.lose(r)
			outcome := r.do(t.Context(), "read")
			leg := outcome.Leg
			require.Equal(t, result.Valid, leg.Verdict, leg.Why)
			require.EqualValues(t, 1503, leg.Measured.OK)
			require.Equal(t, []string{agent.CauseDatasetLost}, causes(leg))
			require.Contains(t, leg.Interruptions[0].Note, test.why)
			require.Contains(t, leg.Interruptions[0].Note, "1503 rows at version 0")
			if test.engine == "sqlite" {
				require.NotEmpty(t, outcome.Mark, "the new generation is known to the next agent")
			}
			r.must("update")
			if test.engine == "map" || test.engine == faultyEngine {
				return // the next loss is as the first
			}
			r.lose()
			r.must("delete")
			require.Empty(t, r.finished[len(r.finished)-1].Leg.Interruptions)
		})
	}
}

// Rows that were loaded again for an execution that was lost after that are those which the next one measures.
func TestRowsLoadedForALostExecutionAreTold(t *testing.T) {
	r := newRun(t, "sqlite", nil)
	r.must("prepare", "create")
	r.cut(func(c drivers.Client, key corpus.Key, _ *corpus.Row) error { return c.Delete(t.Context(), key) }, 0, 10, 11)
	r.lose()
	first := r.do(t.Context(), "read").Leg
	require.Equal(t, []string{agent.CauseDatasetLost}, causes(first))
	r.lose()
	leg := r.again("read")
	require.Equal(t, result.Valid, leg.Verdict, leg.Why)
	require.Equal(t, first.Interruptions, leg.Interruptions)
	r.lose()
	r.must("update")
	require.Empty(t, r.finished[len(r.finished)-1].Leg.Interruptions, "it happened to another leg")
}

func TestLoadThatIsCutShortGoesOnWhereItWas(t *testing.T) {
	const rows = 3*loadRows*3 + 17
	r := newRun(t, "sqlite", func(s *spec.Spec) { s.Samples = rows })
	r.must("prepare", "create", "update")
	r.lose()
	// As a loss in the middle of a rebuild leaves it: marked up to a row, and some rows further.
	at := uint64(2 * loadRows)
	ctx := t.Context()
	task := agent.Task{Step: r.step("delete"), Attempt: 2, Say: func(string) {}}
	s := r.session
	db, err := s.open(ctx)
	require.NoError(t, err)
	s.database = db
	from, err := s.resume(ctx, plan.Updated, rows)
	require.NoError(t, err)
	require.Zero(t, from)
	require.NoError(t, db.connect(ctx, 1, task.Say))
	require.NoError(t, drivers.LoadRows(ctx, db.clients[0], s.corpus, 0, at+55, 1))
	require.NoError(t, s.note(ctx, plan.Updated, at, rows))

	r.lose()
	leg := r.again("delete")
	require.Equal(t, result.Valid, leg.Verdict, leg.Why)
	require.EqualValues(t, rows, leg.Measured.OK)
	require.Contains(t, leg.Interruptions[0].Note, fmt.Sprintf("the first %d of them by a load that was cut short", at))
	require.NotContains(t, r.said, fmt.Sprintf("loading rows again: 0 of %d", rows))
	require.Contains(t, r.said, fmt.Sprintf("loading rows again: %d of %d", at, rows))
}

// A load notes how far it is only behind rows that are there: cancelled anywhere, the next one leaves the whole.
func TestLoadSurvivesCancellation(t *testing.T) {
	const rows = 20*loadRows + 1
	r := newRun(t, "map", func(s *spec.Spec) { s.Samples, s.Clients = rows, 1 })
	r.must("prepare")
	s := r.session
	require.NoError(t, s.database.connect(t.Context(), 1, func(string) {}))
	rounds := 0
	ctx, cancel := context.WithCancel(t.Context())
	task := agent.Task{Step: r.step("read"), Attempt: 2, Say: func(text string) {
		if strings.HasPrefix(text, "loading rows") {
			if rounds++; rounds == 7 {
				cancel()
			}
		}
	}}
	require.Error(t, s.rebuild(ctx, task, agent.CauseDatasetLost, "it was"))
	require.Empty(t, s.notes)
	task.Say = func(string) {}
	require.NoError(t, s.rebuild(t.Context(), task, agent.CauseDatasetLost, "it was"))
	require.Len(t, s.notes, 1)
	count, err := s.database.count(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, rows, *count)
}

// A database that loses rows even as they are loaded does not pass for whole.
func TestRebuildThatDoesNotHoldFailsTheLeg(t *testing.T) {
	r := faulty(t, "none", nil)
	r.must("prepare", "create")
	r.session.setup.Spec.Engine["fault"] = "lost create"
	require.NoError(t, r.session.Close())
	leg := r.again("read")
	require.Equal(t, result.Failed, leg.Verdict)
	require.Contains(t, leg.Why, "after its rows were loaded again")
	require.Nil(t, leg.Measured)
}

func TestDryEngineHasNothingToLose(t *testing.T) {
	r := newRun(t, "dry", nil)
	r.must("prepare", "create")
	r.lose()
	require.Equal(t, result.Valid, r.again("read").Verdict)
}
