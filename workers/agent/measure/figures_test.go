package measure

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
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
