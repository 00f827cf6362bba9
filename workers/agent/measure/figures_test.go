package measure

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/workers/agent"
)

// figures is a workload whose operations bring one row each, with a warm-up.
const figures = `
[value]
age = "int:0..20"

[[scans]]
id = "one"
limit = 1
measurement_time = "200ms"
warmup_time = "100ms"
runs = [{ name = "id", projection = "ID" }]
writes = [0.5]

[[mixes]]
name = "ranges"
weights = { scan = 3, read = 1 }
scan_length = 1
measurement_time = "200ms"
warmup_time = "100ms"
`

// What came in the warm-up, and with operations that failed, is not in a leg's rows.
func TestRowsAreThoseOfMeasuredOperations(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r := workload(t, faultySQL, figures, func(s *spec.Spec) { s.MaxErrorRate = 1 })
	r.skipTo("scan/one/id/heap/read")
	scan := r.do(t.Context(), "scan/one/id/heap/read").Leg.Measured
	require.Positive(t, scan.Warmup)
	require.Equal(t, scan.OK, *scan.Rows)

	scan = r.do(t.Context(), "scan/one/id/heap/write-50").Leg.Measured
	require.Equal(t, scan.OK, *scan.Rows)
	require.Greater(t, *scan.Touched, int64(0))
	require.Equal(t, 2*scan.Exchanges.OK, scan.Exchanges.Update.Count)
	require.InDelta(t, float64(scan.OK)/2, scan.Exchanges.OK, float64(scan.OK)/4, "the warm-up's are not among them")
	r.must("scan/one/id/heap/write-50/restore")

	r.set("some ranges too long")
	mix := r.do(t.Context(), "mix/ranges").Leg.Measured
	require.Positive(t, mix.Warmup)
	require.Positive(t, mix.Wrong)
	for _, kind := range mix.Kinds {
		if kind.Operation == string(plan.ScanRange) {
			require.Equal(t, kind.OK, *mix.Rows)
		}
	}
}

// Answers that nobody can check are not looked for one by one: what is written alone is checked after the leg.
func TestMixesWithoutAnswersAreCheckedLater(t *testing.T) {
	r := workload(t, "sqlite", every, verifyAll)
	for id, want := range map[string]load.Verify{
		"mix/all": load.VerifyAll, "mix/reads": load.VerifyAll, "mix/inserts": load.VerifyNone, "mix/windowed": load.VerifyNone,
	} {
		task := agent.Task{Step: r.step(id)}
		leg, err := r.session.loadLeg(task, r.session.mixWork(task))
		require.NoError(t, err)
		require.Equal(t, want, leg.Verify, id)
	}
	r.skipTo("mix/inserts")
	r.must("mix/inserts")
	require.GreaterOrEqual(t, r.find("mix/inserts").Measured.ReadBack, int64(50))
}

// An operation that failed may have left its own row either way. It excuses no other row, and none when it changes no number of rows.
func TestFailuresExcuseNoOtherRows(t *testing.T) {
	allowed := func(s *spec.Spec) { s.MaxErrorRate, s.Verify = 1, load.VerifyAll }
	for leg, before := range map[string][]string{"create": nil, "update": {"create"}, "delete": {"create", "read", "update"}} {
		t.Run(leg, func(t *testing.T) {
			r := faulty(t, "none", allowed)
			r.must("prepare")
			r.must(before...)
			require.NoError(t, r.session.database.connect(t.Context(), r.spec.Clients, func(string) {}))
			for _, client := range r.session.database.clients {
				client.(*faultyClient).fault = "failures hide losses"
			}
			got := r.do(t.Context(), leg).Leg
			require.Equal(t, result.Invalid, got.Verdict, got.Why)
			require.InDelta(t, got.Measured.Failed, got.Measured.Wrong, float64(r.spec.Clients), "as many were lost as failed")
			if leg == "update" {
				require.Equal(t, *got.Measured.RowsAfter, *got.Measured.RowsWanted)
			}
		})
	}
	t.Run("scans", func(t *testing.T) {
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		r := workload(t, faultySQL, figures, func(s *spec.Spec) { s.MaxErrorRate = 1 })
		const id = "scan/one/id/heap/write-50"
		r.skipTo(id)
		r.set("scans fail and a row is lost")
		leg := r.do(t.Context(), id).Leg
		require.Positive(t, leg.Measured.Failed)
		require.Equal(t, result.Invalid, leg.Verdict, leg.Why)
		require.Contains(t, leg.Why, "holds 299 rows after the leg where there must be 300")
	})
	t.Run("batches", func(t *testing.T) {
		r := workload(t, faultySQL, every, allowed)
		r.skipTo("batch/create")
		r.set("a batch fails and a row is lost")
		leg := r.do(t.Context(), "batch/create").Leg
		require.EqualValues(t, 1, leg.Measured.Failed)
		require.Equal(t, result.Invalid, leg.Verdict, leg.Why)
		require.EqualValues(t, 1, leg.Measured.Wrong)
	})
}
