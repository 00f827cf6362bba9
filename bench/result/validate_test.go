package result

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/load"
)

func TestValidateNamesEveryContradiction(t *testing.T) {
	for _, tc := range []struct {
		name    string
		falsify func(*Document)
		want    []string
	}{
		// FalkorDB/benchmark PR#8: a published file had p99 below p95.
		{"percentiles fall", func(d *Document) { d.Legs[0].Measured.Service.P99 = 1 }, []string{"legs/0/measured/service/p99: 1 ns is less than p95, 95000000 ns"}},
		{"min above p01", func(d *Document) { d.Legs[0].Measured.Service.Min = 2_000_000 }, []string{"service/p01: 1000000 ns is less than min"}},
		{"max below p9999", func(d *Document) { d.Legs[0].Measured.Service.Max = 5 }, []string{"service/max: 5 ns is less than p9999"}},
		{"mean above max", func(d *Document) { d.Legs[1].Measured.Service.Mean = 1_000_001 }, []string{"legs/1/measured/service/mean: 1.000001e+06 ns is not between"}},
		{"NaN", func(d *Document) { d.Legs[0].Measured.Service.Mean = math.NaN() }, []string{"legs/0/measured/service/mean: is NaN"}},
		{"two infinities", func(d *Document) {
			d.Legs[0].Measured.Throughput = new(math.Inf(1))
			d.Calibration.NsPerOp = math.Inf(-1)
		}, []string{"legs/0/measured/throughput: is +Inf", "calibration/nsPerOp: is -Inf"}},
		{"count is not ok", func(d *Document) { d.Legs[0].Measured.Service.Count = 999 }, []string{"service/count: is 999, but 1000 operations succeeded"}},
		{"more done than planned", func(d *Document) { d.Legs[0].Planned = 999 }, []string{"legs/0/measured: 1000 operations are ok and 0 failed, more than the 999 planned"}},
		{"less done than planned", func(d *Document) { d.Legs[0].Planned = 1001 }, []string{`the leg is "valid", but only 1000 of 1001`}},
		{"failures counted as throughput", func(d *Document) {
			d.Legs[2].Measured.Throughput = new(10.0)
		}, []string{"legs/2/measured/throughput: is 10, but no operation succeeded"}},
		{"throughput of all operations", func(d *Document) { *d.Legs[0].Measured.Throughput = 600 }, []string{"throughput: is 600, but 1000 operations in 2000000000 ns are 500"}},
		{"throughput of zero", func(d *Document) { *d.Legs[0].Measured.Throughput = 0 }, []string{"exclusiveMinimum"}},
		{"no throughput", func(d *Document) { d.Legs[0].Measured.Throughput = nil }, []string{"throughput: is missing, but 1000"}},
		{"valid leg without operations", func(d *Document) {
			m := d.Legs[0].Measured
			m.OK, m.Throughput, m.Service, m.Intervals, m.Checked, d.Legs[0].Planned = 0, nil, nil, nil, 0, 0
		}, []string{`ok: is 0, but the leg is "valid"`}},
		{"no service times", func(d *Document) { d.Legs[0].Measured.Service = nil }, []string{"service: is missing, but 1000 operations succeeded"}},
		{"service times of nothing", func(d *Document) { d.Legs[2].Measured.Service = fakeLatency(1) }, []string{"service: is there, but 0 operations", "service/count: is 1000"}},
		{"valid leg without measured", func(d *Document) { d.Legs[0].Measured = nil }, []string{`legs/0/measured: is missing, but the leg is "valid"`}},
		{"measured of an unsupported leg", func(d *Document) { d.Legs[4].Measured = fakeMeasured(1) }, []string{`legs/4/measured: is there, but the leg is "unsupported"`}},
		{"skipped without reason", func(d *Document) { d.Legs[5].Why = " " }, []string{`legs/5/why: is missing: a leg that is "skipped" says why`}},
		{"failed without reason", func(d *Document) { d.Legs[2].Why = "" }, []string{`legs/2/why: is missing: a leg that is "failed" says why`}},
		{"run better than its legs", func(d *Document) { d.Run.Verdict = Failed }, []string{`run/verdict: is "failed", but the worst of the legs is "invalid"`}},
		{"run worse without reason", func(d *Document) { d.Legs, d.Run.Verdict = d.Legs[:1], Interrupted }, []string{"run/why: is missing"}},
		{"unknown verdict", func(d *Document) { d.Legs[0].Verdict = "fine" }, []string{"legs/0/verdict: value must be one of"}},
		{"intervals out of order", func(d *Document) {
			m := d.Legs[0].Measured
			m.Intervals = append(m.Intervals, Interval{Second: 0})
		}, []string{"intervals/1/second: 0 does not come after 0"}},
		{"intervals do not sum", func(d *Document) { d.Legs[0].Measured.Intervals[0].OK = 999 }, []string{"intervals: sum to 999 ok and 0 failed, but the leg has 1000 and 0"}},
		{"interval after the end", func(d *Document) { d.Legs[0].Measured.Intervals[0].Second = 9 }, []string{"intervals/0/second: 9 is past the end"}},
		{"latency of an empty interval", func(d *Document) {
			m := d.Legs[0].Measured
			m.Intervals = append(m.Intervals, Interval{Second: 1, P50: new(int64(0))})
		}, []string{"intervals/1: has latencies, but nothing succeeded"}},
		{"interval without latency", func(d *Document) { d.Legs[0].Measured.Intervals[0].P99 = nil }, []string{"intervals/0: lacks a latency"}},
		{"interval percentiles fall", func(d *Document) { d.Legs[0].Measured.Intervals[0].P99 = new(int64(1)) }, []string{"do not rise"}},
		{"more checked than done", func(d *Document) { d.Legs[0].Measured.Checked = 1001 }, []string{"checked: is 1001, more than the 1000 operations done"}},
		{"more wrong than checked", func(d *Document) { d.Legs[3].Measured.Wrong = 13 }, []string{"wrong: is 13, more than the 12"}},
		{"wrong answers in a valid leg", func(d *Document) { d.Legs[0].Measured.Wrong = 1 }, []string{`legs/0/measured/wrong: is 1, but the leg is "valid"`}},
		{"lost rows in a valid leg", func(d *Document) { *d.Legs[0].Measured.RowsAfter = 999 }, []string{"rowsAfter: is 999 where there must be 1000"}},
		{"errors do not sum", func(d *Document) { d.Legs[2].Measured.Errors[0].Count = 2 }, []string{"errors: count 2 failed operations, but failed is 1"}},
		{"stopped but valid", func(d *Document) { d.Legs[0].Measured.Stopped = "x" }, []string{"stopped"}},
		{"finished before it started", func(d *Document) { d.Run.Finished = d.Run.Started.Add(-time.Second) }, []string{"run/finished: 2027-03-01T10:59:59Z is before"}},
		{"no times", func(d *Document) { d.Run.Started, d.Legs[0].Measured.Started = time.Time{}, time.Time{} }, []string{"run/started: is missing", "legs/0/measured/started: is missing"}},
		{"two legs of one id", func(d *Document) { d.Legs[1].ID = "create" }, []string{`legs/1/id: "create" is also the id of legs/0`}},
		{"spec changed afterwards", func(d *Document) { d.Spec = json.RawMessage(`{"samples":2000}`) }, []string{"specDigest: is 1cdc2044dd02…, but the spec's digest is"}},
		{"host changed afterwards", func(d *Document) { d.Host.CPUs = 64 }, []string{"host/digest: is"}},
		{"measured although strict isolation was refused", func(d *Document) {
			d.Isolation = &Isolation{Level: "strict", Steps: []IsolationStep{{Name: "swap", State: StepRefused}}}
		}, []string{`isolation/steps/0/why: is missing: "swap" was refused`, `isolation/steps/0/state: "swap" was refused, but legs were measured`}},
		{"unknown isolation state", func(d *Document) {
			d.Isolation = &Isolation{Level: "standard", Steps: []IsolationStep{{Name: "swap", State: "perhaps"}}}
		}, []string{"isolation/steps/0/state"}},
		{"other tier than asked", func(d *Document) { d.Engine.Tier = "none" }, []string{`engine/tier: legs were measured at tier "none", but "os" was asked for`}},
		{"retried without saying why", func(d *Document) { d.Legs[1].Interruptions = nil }, []string{"legs/1/interruptions: is empty, but the leg took 2 attempts"}},
		{"no server and no note", func(d *Document) { d.Legs[0].Measured.Server = nil }, []string{"legs/0/measured/server: is missing, and no note says why"}},
		{"unknown memory and no reason", func(d *Document) {
			u := d.Legs[0].Measured.Server
			u.MemoryMean, u.MemoryPeak, u.MemoryKind = nil, nil, ""
		}, []string{"server/missing: is empty"}},
		{"memory of no kind", func(d *Document) { d.Legs[0].Measured.Server.MemoryKind = "" }, []string{"has only part of"}},
		{"mean memory above peak", func(d *Document) { *d.Legs[0].Measured.Server.MemoryMean = 1 << 40 }, []string{"memoryMeanBytes: is 1099511627776, more than the peak"}},
		{"cores without seconds", func(d *Document) { d.Legs[0].Measured.Agent.CPUSeconds = nil }, []string{"has one of cpuCores and cpuSeconds"}},
		{"more time spent than passed", func(d *Document) { d.Legs[0].Clients, d.Legs[0].Threads = 1, 1 }, []string{"service/mean: 5.15e+07 ns × 1000 operations is more than 1 workers can spend"}},
		{"negative count", func(d *Document) { d.Legs[0].Measured.Failed = -1 }, []string{"legs/0/measured/failed: minimum"}},
		{"no spec", func(d *Document) { d.Spec = nil }, []string{"spec: got null, want object"}},
		{"spec is no JSON", func(d *Document) { d.Spec = json.RawMessage(`{`) }, []string{"json"}},
		{"other version", func(d *Document) { d.Schema = 2 }, []string{"schema: format version 2"}},
		{"measured on nothing known", func(d *Document) {
			d.Host, d.Harness, d.Engine.Server, d.Engine.TierAsked, d.Engine.Tier = Host{}, Harness{}, "", "", ""
		}, []string{"harness/version: is missing", "harness/go", "engine/server", "engine/tierAsked", "host/os", "host/arch", "host/cpus", "host/digest: is missing, but legs were measured"}},
		{"several at once", func(d *Document) {
			d.Legs[0].Measured.Service.P99, d.Legs[1].ID, d.Run.ID = 1, "create", ""
		}, []string{"run/id: ", "service/p99", "also the id"}},
		{"histogram is none", func(d *Document) { d.Legs[0].Measured.Service.Histogram = "x" }, []string{"service/histogram: import histogram"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := fakeDocument()
			tc.falsify(d)
			err := d.Validate()
			if err == nil {
				t.Fatal("valid")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in\n%v", want, err)
				}
			}
			if text, err := d.Bytes(); err == nil {
				t.Errorf("it was written all the same: %d bytes", len(text))
			}
		})
	}
}

func TestValidateAllowsWhatIsTrue(t *testing.T) {
	for name, change := range map[string]func(*Document){
		"empty lists are nil":   func(d *Document) { d.Legs, d.Engine.Settings, d.Engine.Profile, d.Run.Verdict = nil, nil, nil, NotRun },
		"run worse with reason": func(d *Document) { d.Legs, d.Run.Verdict, d.Run.Why = d.Legs[:1], Failed, "the disk was full" },
		"failures of a warm-up": func(d *Document) {
			l := &d.Legs[0]
			l.Planned = 0
			l.Measured.Failed = 1
			l.Measured.Errors = []ErrorCount{{Class: "timeout", Count: 1}}
		},
		"checked in the warm-up":   func(d *Document) { l := &d.Legs[0]; l.Planned = 0; l.Measured.Warmup, l.Measured.Checked = 500, 1500 },
		"rows of a failed leg":     func(d *Document) { *d.Legs[2].Measured.RowsAfter = 1 },
		"failed before it started": func(d *Document) { d.Legs[2].Measured = nil },
		"ended before anything was known": func(d *Document) {
			d.Legs, d.Run.Verdict, d.Run.Why = d.Legs[4:], Failed, "the host cannot be prepared"
			d.Host, d.Harness, d.Engine.Server, d.Engine.TierAsked, d.Engine.Tier = Host{}, Harness{}, "", "", ""
		},
		"no calibration":  func(d *Document) { d.Calibration = nil },
		"a row as sample": func(d *Document) { d.Sample = json.RawMessage(`{"name":"x"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			d := fakeDocument()
			change(d)
			if err := d.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPercentilesMustBeThoseOfTheHistogram(t *testing.T) {
	var h load.Histogram
	for i := range int64(1000) {
		h.Record(1_000 + 37*i*i)
	}
	fresh := func() *Document {
		d := fakeDocument()
		latency, err := LatencyFrom(&h)
		if err != nil {
			t.Fatal(err)
		}
		d.Legs[0].Measured.Service = latency
		return d
	}
	if err := fresh().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, falsify := range map[string]func(*Latency){
		"p50: is":                 func(l *Latency) { l.P50 = l.P50 * 102 / 100 },
		"p99: is":                 func(l *Latency) { l.P99 = l.P95 },
		"mean: is":                func(l *Latency) { l.Mean *= 0.98 },
		"min: is":                 func(l *Latency) { l.Min = 900 },
		"max: is":                 func(l *Latency) { l.Max *= 2 },
		"histogram: holds 1000 t": func(l *Latency) { l.Count = 999 },
	} {
		d := fresh()
		falsify(d.Legs[0].Measured.Service)
		if err := d.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("no %q in %v", name, err)
		}
	}
}

func TestLegIsValidatedByItself(t *testing.T) {
	for _, leg := range fakeDocument().Legs {
		text, err := leg.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeLeg(text)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := again.Bytes(); err != nil || string(second) != string(text) {
			t.Errorf("leg %s changed by writing and reading: %v", leg.ID, err)
		}
	}
	leg := fakeDocument().Legs[0]
	leg.Measured.Service.P99 = 1
	if _, err := leg.Bytes(); err == nil || !strings.Contains(err.Error(), "leg create is not written") || !strings.Contains(err.Error(), "measured/service/p99: 1 ns") {
		t.Errorf("broken leg: %v", err)
	}
	if _, err := DecodeLeg([]byte(`{"id":"x"}`)); err == nil || !strings.Contains(err.Error(), "missing properties") {
		t.Errorf("half a leg: %v", err)
	}
}
