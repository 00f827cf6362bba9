package measure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/workers/agent"
)

// every is a workload with a leg of every kind.
const every = `
[value]
age = "int:0..20"
name = "text:20"
state = "string_enum:open,paid,lost"
rating = "float:0..10"
address = { city = "string:8", tags = ["bool", "uuid"] }

[[scans]]
id = "age"
where = { age = { lt = 4 } }
order = "age"
limit = 20
iterations = 40
runs = [{ name = "count", projection = "COUNT" }, { name = "id", projection = "ID" }, { name = "full", projection = "FULL" }]
index = { fields = ["age"] }
writes = [0.5]

[[scans]]
id = "totals"
name = "aggregate"
aggregates = ["count", "sum(age)", "avg(rating)"]
group_by = "state"
iterations = 20

[[mixes]]
name = "all"
weights = { read = 30, update = 30, insert = 20, modify = 10, scan = 10 }
scan_length = 10
distribution = "latest"
iterations = 600

[[mixes]]
name = "alone"
weights = { read = 1, modify = 1 }
clients = 1
threads = 1
iterations = 100

[[mixes]]
name = "inserts"
weights = { insert = 1 }
iterations = 50

[[mixes]]
name = "windowed"
weights = { update = 1 }
measurement_time = "100ms"
warmup_time = "30ms"

[[mixes]]
name = "reads"
weights = { read = 1 }
distribution = "zipf"
iterations = 200

[[batches]]
name = "create"
operation = "CREATE"
batch_size = 30
iterations = 10

[[batches]]
name = "read"
operation = "READ"
batch_size = 30
iterations = 10

[[batches]]
name = "update"
operation = "UPDATE"
batch_size = 30
iterations = 10

[[batches]]
name = "update_some"
operation = "UPDATE"
batch_size = 10
iterations = 10

[[batches]]
name = "read_again"
operation = "READ"
batch_size = 10
iterations = 10

[[batches]]
name = "delete_some"
operation = "DELETE"
batch_size = 10
iterations = 10
`

func verifyAll(s *spec.Spec) { s.Verify = load.VerifyAll }

// find returns a leg's result.
func (r *run) find(id string) *result.Leg {
	r.t.Helper()
	for _, outcome := range r.finished {
		if outcome.Step.ID == id && outcome.Leg != nil {
			return outcome.Leg
		}
	}
	r.t.Fatalf("there is no leg %s", id)
	return nil
}

func TestLegOfEveryKindIsValid(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r := workload(t, "sqlite", every, verifyAll)
	last := r.plan.Steps[len(r.plan.Steps)-1].ID
	r.upTo(last)
	r.must(last)

	scan := r.find("scan/age/full/heap/read")
	require.EqualValues(t, 20, *scan.Scan.Expected)
	require.Greater(t, *scan.Scan.Matching, int64(20))
	require.EqualValues(t, 40*20, *scan.Measured.Rows)
	require.EqualValues(t, 20, scan.Measured.WholeCheck.Rows)
	require.EqualValues(t, 41, scan.Measured.Checked, "each answer, and the whole one before")

	build := r.find("index/age/full/build").Index
	require.NotNil(t, build.ReturnedNs)
	require.NotNil(t, build.CorrectNs)
	require.NotNil(t, build.ServingNs)
	require.NotEmpty(t, build.How)
	require.True(t, *r.find("scan/age/full/indexed/read").Explain.Uses)

	writes := r.find("scan/age/full/indexed/write-50").Measured
	require.InDelta(t, 20, writes.Exchanges.OK, 15)
	require.EqualValues(t, 2*writes.Exchanges.OK, *writes.Touched, "the pairs are many enough that none is taken twice")
	require.Equal(t, *writes.Touched, writes.Exchanges.Checked)
	require.EqualValues(t, 300, *writes.RowsAfter)

	trial := r.find("mix/all").Mix.Trial
	require.NotNil(t, trial)
	require.GreaterOrEqual(t, trial.Modifications, int64(100))
	require.Zero(t, trial.Lost+trial.Failed)
	require.Nil(t, r.find("mix/alone").Mix.Trial, "nobody else writes")
	require.Nil(t, r.find("mix/reads").Mix.Trial)
	mix := r.find("mix/all").Measured
	require.Len(t, mix.Kinds, 5)
	var sum int64
	kinds := map[string]int64{}
	for _, kind := range mix.Kinds {
		sum += kind.OK
		kinds[kind.Operation] = kind.OK
	}
	require.EqualValues(t, 600, sum)
	require.InDelta(t, 180, kinds["read"], 60)
	require.EqualValues(t, 300+kinds["insert"], *mix.RowsAfter)
	require.Equal(t, *mix.RowsAfter, *mix.RowsWanted)
	require.Positive(t, mix.ReadBack)
	require.Positive(t, *mix.Rows)
	require.LessOrEqual(t, *mix.Touched, int64(300)+kinds["insert"])
	require.Greater(t, *mix.Touched, kinds["insert"])

	batch := r.find("batch/read").Measured
	require.EqualValues(t, 300, *batch.Rows)
	require.EqualValues(t, 10, batch.Checked)
	require.Positive(t, *batch.Requests)
	require.EqualValues(t, 300, *r.find("batch/create").Measured.RowsAfter)
	require.EqualValues(t, 300, r.find("batch/update").Measured.ReadBack)
	require.EqualValues(t, 200, *r.find("batch/delete_some").Measured.RowsAfter)
}

func TestWrongAnswersMakeLegsInvalid(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, test := range []struct {
		fault, leg string
		verdict    result.Verdict
		why        string // part of it
		examples   bool
	}{
		{"short", "scan/age/count/heap/read", result.Invalid, "count: want 20, got 19", true},
		{"other condition", "scan/age/id/heap/read", result.Invalid, "want a row with", true},
		{"other order", "scan/age/full/heap/read", result.Invalid, "rows in the order of", true},
		{"other page", "scan/age/full/heap/read", result.Invalid, "before the clock started", true},
		{"short", "scan/age/full/heap/read", result.Invalid, "rows: want 20, got 19", true},
		{"wrong content", "scan/age/full/heap/read", result.Invalid, "column name", true},
		{"wrong later", "scan/age/count/heap/read", result.Invalid, "count: want", true},
		{"wrong later", "scan/age/full/heap/read", result.Invalid, "rows: want 20, got 19", true},
		{"wrong sum", "scan/totals/aggregate/heap/read", result.Invalid, "count of", true},
		{"lost update", "scan/age/full/heap/write-50", result.Invalid, "that exchanges had written were wrong", true},
		{"update fails", "scan/age/full/heap/write-50", result.Failed, "", false},
		{"index not used", "scan/age/full/indexed/read", result.Invalid, "index not used", false},
		{"build fails", "index/age/full/build", result.Failed, "no space left", false},
		{"short", "index/age/count/build", result.Failed, "its answers are wrong", false},
		{"never ready", "index/age/full/build", result.Failed, "not ready", false},
		{"lost drop", "index/age/full/drop", result.Failed, "still there", false},
		{"lost update", "mix/all", result.Invalid, "version", true},
		{"update fails", "mix/windowed", result.Failed, "disk is full", false}, // in the warm-up
		{"lost modify", "mix/all", result.Invalid, "modifications are lost", false},
		{"lost modify", "mix/alone", result.Invalid, "version", true},
		{"modify in two transactions", "mix/all", result.Invalid, "modifications are lost", false},
		{"modify fails", "mix/all", result.Failed, "disk is full", false},
		{"lost insert", "mix/inserts", result.Invalid, "got no row", true},
		{"range with a gap", "mix/all", result.Invalid, "a range without it", true},
		{"short batch", "batch/create", result.Invalid, "no row", true},
		{"row missing", "batch/read", result.Invalid, "rows of the batch: want 30, got 29", true},
		{"lost batch", "batch/update", result.Invalid, "version", true},
	} {
		t.Run(test.fault+" in "+test.leg, func(t *testing.T) {
			r := workload(t, faultySQL, every, func(s *spec.Spec) {
				s.Verify = load.VerifyAll
				s.OperationTimeout = spec.Duration(10 * time.Second)
			})
			// Other scans are not needed to come to this one.
			r.skipTo(test.leg)
			if test.fault == "never ready" || test.leg == "index/age/count/build" {
				r.session.setup.Spec.OperationTimeout = spec.Duration(200 * time.Millisecond)
			}
			r.set(test.fault)
			leg := r.do(t.Context(), test.leg).Leg
			require.Equal(t, test.verdict, leg.Verdict, leg.Why)
			require.Contains(t, leg.Why, test.why)
			if test.examples {
				require.NotEmpty(t, leg.Measured.Examples)
			}
		})
	}
}

// skipTo brings the data to what a step needs, without the legs that are not needed for it.
func (r *run) skipTo(id string) {
	r.t.Helper()
	for _, step := range r.plan.Steps {
		if step.ID == id {
			return
		}
		sameIndex := step.Kind == plan.IndexBuild && step.Index.Name == indexOf(r.step(id))
		switch {
		case step.Kind == plan.IndexDrop && step.Index.Name == indexOf(r.step(id)):
			r.must(step.ID)
		case step.Kind == plan.ScanLeg, step.Kind == plan.IndexBuild && !sameIndex, step.Kind == plan.IndexDrop, step.Kind == plan.MixLeg,
			step.Kind == plan.Restore, step.Kind == plan.Calibrate, step.Kind == plan.Analyze, step.Kind == plan.Read:
		default:
			r.must(step.ID)
		}
	}
}

// indexOf names the index that a step builds, drops or uses.
func indexOf(step plan.Step) string {
	switch {
	case step.Index != nil:
		return step.Index.Name
	case step.Scan != nil && step.Scan.Indexed != nil:
		return step.Scan.Indexed.Name
	}
	return ""
}

// raw is a condition in the engine's own words, of which nothing is known but what the file says.
const raw = `
[value]
age = "int:0..20"

[[scans]]
id = "unknown"
name = "count"
projection = "COUNT"
condition = { sql = "age < 20" }
iterations = 20

[[scans]]
id = "expected"
name = "count"
projection = "COUNT"
condition = { sql = "age < 20" }
iterations = 20
expect = 300

[[scans]]
id = "mistaken"
name = "count"
projection = "COUNT"
condition = { sql = "age < 20" }
iterations = 20
expect = 299
`

func TestRawConditionsAreUnverifiedUnlessExpected(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r := workload(t, "sqlite", raw, nil)
	var reads []plan.Step
	for _, step := range r.plan.Steps {
		if step.Kind == plan.ScanLeg {
			reads = append(reads, step)
		}
	}
	require.Len(t, reads, 3)
	r.upTo(reads[0].ID)
	require.Equal(t, result.Unverified, r.do(t.Context(), reads[0].ID).Leg.Verdict)
	r.must(reads[1].ID)
	leg := r.do(t.Context(), reads[2].ID).Leg
	require.Equal(t, result.Invalid, leg.Verdict)
	require.Contains(t, leg.Why, "count: want 299, got 300")
}

// After the loss of the agent what a leg has stirred is not known, and is put right all the same.
func TestRowsAreRestoredWithoutWhatWasKnown(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, leg := range []string{"scan/age/full/heap/write-50", "mix/all"} {
		t.Run(leg, func(t *testing.T) {
			r := workload(t, "sqlite", every, verifyAll)
			r.skipTo(leg)
			r.must(leg)
			r.lose()
			r.must(leg+"/restore", "delete")
		})
	}
}

// A leg that comes to nothing before its first operation does not pass for what is known of the rows: an execution before it may have stirred them.
func TestRowsAreRestoredAfterALegThatDidNotBegin(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, id := range []string{"scan/age/full/heap/write-50", "mix/all"} {
		t.Run(id, func(t *testing.T) {
			r := workload(t, faultySQL, every, verifyAll)
			r.skipTo(id)
			r.must(id)
			r.lose()
			r.set("prepare fails")
			require.Equal(t, result.Failed, r.again(id).Verdict)
			r.set("none")
			r.must(id+"/restore", "delete")
		})
	}
}

// What was cut short is run again from what it needs.
func TestInterruptedMixedLegsStartAgain(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, id := range []string{"scan/age/full/heap/write-50", "mix/all", "batch/update_some", "batch/read_again", "batch/delete_some"} {
		t.Run(id, func(t *testing.T) {
			r := workload(t, "sqlite", every, verifyAll)
			r.skipTo(id)
			r.must(id)
			r.lose()
			leg := r.again(id)
			require.Equal(t, result.Valid, leg.Verdict, leg.Why)
		})
	}
}

// What batches need may be several ranges of rows at different versions: all of them are there again.
func TestInterruptedBatchFindsEveryRangeOfRows(t *testing.T) {
	r := workload(t, "sqlite", `
[value]
age = "int:0..20"

[[batches]]
name = "create"
operation = "CREATE"
batch_size = 30
iterations = 10

[[batches]]
name = "update"
operation = "UPDATE"
batch_size = 10
iterations = 11

[[batches]]
name = "delete"
operation = "DELETE"
batch_size = 10
iterations = 11
`, verifyAll)
	r.skipTo("batch/delete")
	r.must("batch/delete")
	r.lose()
	outcome := r.again("batch/delete")
	require.Equal(t, result.Valid, outcome.Verdict, outcome.Why)
	require.Equal(t, []string{agent.CauseDatasetRebuilt}, causes(outcome))
	require.Contains(t, outcome.Interruptions[0].Note, "300 rows (rows 0-109 v1, 110-299 v0)")
	require.EqualValues(t, 190, *outcome.Measured.RowsAfter)
	r.session.trusted = false
	wrong, err := r.session.sampleContent(t.Context(), agent.Task{Step: plan.Step{Needs: "rows 110-299 v0"}, Attempt: 1, Say: func(string) {}})
	require.NoError(t, err)
	require.Empty(t, wrong)
	wrong, err = r.session.sampleContent(t.Context(), agent.Task{Step: plan.Step{Needs: "rows 110-299 v1"}, Attempt: 1, Say: func(string) {}})
	require.NoError(t, err)
	require.NotEmpty(t, wrong)
}

// open is a workload of two rates, one of which the faulty engine cannot keep: two operations at once, of 5 ms each.
const open = `
[value]
age = "int:0..20"

[[mixes]]
name = "kept"
weights = { update = 1 }
rate = 40
arrival = "poisson"
clients = 1
threads = 2
measurement_time = "500ms"
warmup_time = "50ms"

[[mixes]]
name = "passed"
weights = { update = 1 }
rate = 1000
clients = 1
threads = 2
measurement_time = "2200ms"
warmup_time = "50ms"
`

func TestRateThatIsNotKeptIsOverload(t *testing.T) {
	r := workload(t, faultySQL, open, nil)
	r.upTo("mix/kept")
	r.set("slow update")
	kept := r.do(t.Context(), "mix/kept").Leg
	require.Equal(t, "poisson", kept.Measured.OpenLoop.Arrival)
	require.NotNil(t, kept.Measured.Response)
	require.Contains(t, []result.Verdict{result.Valid, result.GeneratorLimited, result.Overloaded}, kept.Verdict, "others may have the machine busy")
	r.set("none")
	r.must("mix/kept/restore")
	r.set("slow update")

	leg := r.do(t.Context(), "mix/passed").Leg
	require.Equal(t, result.Overloaded, leg.Verdict, leg.Why)
	require.Contains(t, leg.Why, "1,000 operations per second offered")
	o := leg.Measured.OpenLoop
	require.Equal(t, "constant", o.Arrival)
	require.Less(t, o.Achieved, 500.0)
	require.Positive(t, o.Slope)
	require.Positive(t, o.Dropped)
	require.Greater(t, leg.Measured.Response.P99, leg.Measured.Service.P99, "the waiting shows")
	r.set("none")
	r.must("mix/passed/restore", "delete")
}
