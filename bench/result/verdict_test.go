package result

import (
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/load"
)

// quiet is a leg with nothing to complain of: 1,000 operations in a tenth of a second on a busy server.
func quiet() Facts {
	m := fakeMeasured(1_000)
	m.Agent.CPUCores, m.Server.CPUCores = new(0.5), new(3.0)
	return Facts{
		Planned: 1000, InFlight: 32, Measured: m, Proof: Proof{Content: true}, AgentCPUs: 4, ServerCPUs: 4,
		Calibration: &Calibration{NsPerOp: 100},
	}
}

func TestVerdictFollowsFromFacts(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Facts)
		want   Verdict
		why    []string // all of these; none: an empty reason
	}{
		{"nothing wrong", func(*Facts) {}, Valid, nil},
		{"a few failures within the budget", func(f *Facts) {
			f.Planned = 1003
			f.Measured.Failed, f.Measured.Errors = 3, []ErrorCount{{Class: "conflict", Count: 3, Texts: []string{"try again"}}}
		}, Valid, []string{"3 of 1,003 operations failed, within the error budget", "first error: conflict: try again"}},
		{"requests that were sent again", func(f *Facts) { f.Measured.Retries = new(int64(1234)) }, Valid,
			[]string{"1,234 requests were sent again within their operations"}},
		{"no request was sent again", func(f *Facts) { f.Measured.Retries = new(int64) }, Valid, nil},
		{"wrong answers", func(f *Facts) {
			f.Measured.Wrong, f.Measured.Examples = 2, []Mismatch{{Index: 7, Column: "name", Want: "a", Got: "b"}}
		}, Invalid, []string{"2 of 12 answers checked were wrong", "row 7, column name: want a, got b"}},
		// Wrong answers spend the error budget too, and are the worse news.
		{"wrong answers that stopped the leg", func(f *Facts) {
			f.Measured.Wrong, f.Measured.Stopped, f.Measured.OverBudget = 1, load.StoppedErrors, true
		}, Invalid, []string{"1 of 12 answers"}},
		{"wrong answers before the user cancelled", func(f *Facts) {
			f.Measured.Wrong, f.Cancelled = 1, true
		}, Invalid, []string{"1 of 12 answers"}},
		{"error budget spent", func(f *Facts) {
			m := f.Measured
			m.OK, m.Failed, m.Stopped, m.OverBudget = 10, 2, load.StoppedErrors, true
			m.Errors = []ErrorCount{{Class: "cancelled", Count: 31, Texts: []string{"context canceled"}}, {Class: "timeout", Count: 2, Texts: []string{"no answer in 30 s", "other"}}}
		}, Failed, []string{"first error: timeout: no answer in 30 s", "error budget spent", "2 of 12 operations failed"}},
		{"over budget without an early end", func(f *Facts) {
			f.Planned = 1011
			f.Measured.Failed, f.Measured.OverBudget = 11, true
		}, Failed, []string{"11 of 1,011 operations failed"}},
		{"an agent kept off the CPUs", func(f *Facts) {
			f.Measured.WallNs, f.Measured.Agent.Group = 1e9, &GroupUsage{ThrottledSeconds: new(0.02)}
		}, GeneratorLimited, []string{"kept off the CPUs for 0.02 s in 1.00 s", "quota"}},
		{"an agent hardly kept off the CPUs", func(f *Facts) {
			f.Measured.WallNs, f.Measured.Agent.Group = 1e9, &GroupUsage{ThrottledSeconds: new(0.01)}
		}, Valid, nil},
		{"a database inside an agent kept off the CPUs", func(f *Facts) {
			f.Embedded, f.Measured.Server = true, nil
			f.Measured.WallNs, f.Measured.Agent.Group = 1e9, &GroupUsage{ThrottledSeconds: new(0.5)}
		}, Valid, nil},
		{"a stuck worker", func(f *Facts) { f.Measured.Stopped = load.StoppedStuck }, Failed, []string{"worker stuck"}},
		// mlcommons/endpoints#34: a hundred per cent failures looked like 166 queries per second.
		{"nothing succeeded within a budget of everything", func(f *Facts) {
			m := f.Measured
			m.OK, m.Failed, m.Throughput, m.Service = 0, 1000, nil, nil
			m.Errors = []ErrorCount{{Class: "connection", Count: 1000}}
		}, Failed, []string{"no operation succeeded", "first error: connection"}},
		{"less measured than asked", func(f *Facts) { f.Planned = 2000 }, Failed, []string{"only 1,000 of 2,000 operations were done"}},
		{"the leg as a whole", func(f *Facts) { f.Measured, f.Error = nil, "agent: exit status 2" }, Failed, []string{"agent: exit status 2"}},
		{"nothing at all", func(f *Facts) { f.Measured = nil }, Failed, []string{"nothing was measured"}},
		{"cancelled", func(f *Facts) { f.Planned, f.Cancelled = 5000, true }, Interrupted, []string{"cancelled after 1,000 of 5,000 operations"}},
		{"cancelled, says the leg", func(f *Facts) { f.Planned, f.Measured.Stopped = 0, load.StoppedCancelled }, Interrupted, []string{"cancelled after 1,000 operations"}},
		{"cancelled at once", func(f *Facts) { f.Measured, f.Cancelled = nil, true }, Interrupted, []string{"before anything was measured"}},
		{"rows lost", func(f *Facts) { *f.Measured.RowsAfter = 998 }, Invalid, []string{"the database holds 998 rows after the leg where there must be 1,000"}},
		{"rows of a leg that failed", func(f *Facts) { *f.Measured.RowsAfter, f.Measured.Stopped = 998, load.StoppedErrors }, Failed, []string{"error budget"}},

		{"verify none", func(f *Facts) { f.VerifyOff, f.Measured.Checked = true, 0 }, Unverified, []string{"not checked, as asked"}},
		{"verify none on a delete, which the count proves", func(f *Facts) { f.VerifyOff, f.Proof = true, ProofOf("delete") }, Valid, nil},
		{"no answer checked", func(f *Facts) { f.Measured.Checked = 0 }, Unverified, []string{"no answer was checked"}},
		{"rows not counted", func(f *Facts) { f.Proof, f.Measured.RowsAfter = ProofOf("create"), nil }, Unverified, []string{"rows were not counted"}},
		{"counted but not read", func(f *Facts) { f.Proof, f.Measured.Checked = ProofOf("update"), 0 }, Unverified, []string{"no answer was checked"}},
		{"an operation that proves nothing", func(f *Facts) { f.Proof = ProofOf("compact") }, Unverified, []string{"nothing is known by which"}},
		{"the calibration leg", func(f *Facts) { f.Proof, f.Calibrates, f.Calibration.NsPerOp = Proof{}, true, 1e9 }, Valid, nil},

		// YCSB#1036: the client was bound by its CPU, the server idle.
		{"busy agent, idle server", func(f *Facts) { *f.Measured.Agent.CPUCores, *f.Measured.Server.CPUCores = 3.7, 1.2 }, GeneratorLimited,
			[]string{"the agent used 3.70 of the 4 CPU cores it could while the server used 1.20 of 4"}},
		{"busy agent, busy server", func(f *Facts) { *f.Measured.Agent.CPUCores, *f.Measured.Server.CPUCores = 3.7, 2.1 }, Valid, nil},
		{"busy agent, unknown server", func(f *Facts) { *f.Measured.Agent.CPUCores, f.Measured.Server = 3.7, nil }, GeneratorLimited, []string{"what the server used is not known"}},
		{"unknown agent", func(f *Facts) { f.Measured.Agent = nil }, Valid, nil},
		{"busy agent that holds the database", func(f *Facts) { *f.Measured.Agent.CPUCores, f.Measured.Server, f.Embedded = 4, nil, true }, Valid, nil},
		{"one worker busy all the time on many CPUs", func(f *Facts) {
			f.InFlight, f.AgentCPUs, f.ServerCPUs = 1, 16, 16
			*f.Measured.Agent.CPUCores, *f.Measured.Server.CPUCores = 0.95, 0.2
		}, GeneratorLimited, []string{"0.95 of the 1 CPU cores", "0.20 of 1"}},
		// 1,000 operations in 0.1 s on 4 cores leave 400 µs for each.
		{"the harness is a fifth of each operation", func(f *Facts) { f.Calibration.NsPerOp = 80_000 }, GeneratorLimited,
			[]string{"the harness's own cost, 80,000 ns, is 20 % of the 400,000 ns"}},
		{"the harness is less than a fifth", func(f *Facts) { f.Calibration.NsPerOp = 79_000 }, Valid, nil},
		{"the harness is a fifth of an embedded engine's operation", func(f *Facts) { f.Embedded, f.Calibration.NsPerOp = true, 80_000 }, GeneratorLimited, []string{"own cost"}},
		{"fewer operations in flight than CPUs", func(f *Facts) { f.InFlight, f.Calibration.NsPerOp = 1, 20_000 }, GeneratorLimited, []string{"20 % of the 100,000 ns"}},
		{"no calibration", func(f *Facts) { f.Calibration = nil }, Valid, nil},
		{"both", func(f *Facts) { f.Calibration.NsPerOp, f.VerifyOff = 80_000, true }, GeneratorLimited, []string{"own cost", "not checked, as asked"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := quiet()
			tc.change(&f)
			verdict, why := VerdictOf(f)
			if verdict != tc.want {
				t.Errorf("verdict %q (%s), want %q", verdict, why, tc.want)
			}
			if len(tc.why) == 0 && why != "" {
				t.Errorf("reason %q, want none", why)
			}
			for _, want := range tc.why {
				if !strings.Contains(why, want) {
					t.Errorf("no %q in %q", want, why)
				}
			}
			if verdict != Valid && why == "" {
				t.Error("no reason")
			}
		})
	}
}

func TestRunIsAsGoodAsItsWorstLeg(t *testing.T) {
	for _, tc := range []struct {
		name string
		legs []Verdict
		want Verdict
		why  string
	}{
		{"none", nil, NotRun, "the plan has no legs"},
		{"all valid", []Verdict{Valid, Valid}, Valid, ""},
		{"what cannot be done was never meant to run", []Verdict{Valid, Unsupported, Skipped}, Valid, ""},
		{"nothing could be done", []Verdict{Unsupported, Unsupported}, Unsupported, "2 of 2 legs: 0, 1"},
		{"nothing was wanted", []Verdict{Skipped}, Skipped, "1 of 1 legs: 0"},
		{"unverified", []Verdict{Valid, Unverified, Unsupported}, Unverified, "1 of 3 legs: 1"},
		{"generator", []Verdict{Unverified, GeneratorLimited}, GeneratorLimited, "1 of 2 legs: 1"},
		{"overloaded", []Verdict{GeneratorLimited, Overloaded}, Overloaded, "1 of 2 legs: 1"},
		{"unfinished", []Verdict{Valid, Overloaded, NotRun, NotRun}, Interrupted, "not run: 2 of 4 legs: 2, 3"},
		{"interrupted", []Verdict{Valid, Interrupted, NotRun}, Interrupted, "1 of 3 legs: 1"},
		{"failed", []Verdict{Failed, Interrupted, NotRun}, Failed, "1 of 3 legs: 0"},
		{"invalid", []Verdict{Invalid, Failed}, Invalid, "1 of 2 legs: 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			legs := make([]Leg, len(tc.legs))
			for i, v := range tc.legs {
				legs[i] = Leg{Title: string(rune('0' + i)), Verdict: v}
			}
			got, why := Judge(legs)
			if got != tc.want || why != tc.why || Worst(legs) != got {
				t.Errorf("verdict %q because %q, want %q because %q", got, why, tc.want, tc.why)
			}
		})
	}
	if !Invalid.Worse(Failed) || Valid.Worse(Valid) || Valid.Worse(NotRun) {
		t.Error("verdicts are out of order")
	}
}
