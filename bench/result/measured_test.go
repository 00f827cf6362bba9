package result

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durabench/durabench/bench/load"
)

func TestNoSamplesHaveNoPercentiles(t *testing.T) {
	for name, h := range map[string]*load.Histogram{"nil": nil, "empty": new(load.Histogram)} {
		if l, err := LatencyFrom(h); l != nil || err != nil {
			t.Errorf("%s histogram: %v, %v", name, l, err)
		}
	}
}

func TestLatencyAgreesWithTheSortedSamples(t *testing.T) {
	samples := []int64{0, 1, 255, 256, 1_000, 123_456_789, 200_000_000_000} // the last: 200 s, past where peers cap
	for i := range int64(5_000) {
		samples = append(samples, 700+i*i)
	}
	var h load.Histogram
	sum := 0.0
	for _, ns := range samples {
		h.Record(ns)
		sum += float64(ns)
	}
	slices.Sort(samples)
	l, err := LatencyFrom(&h)
	if err != nil {
		t.Fatal(err)
	}
	if l.Count != int64(len(samples)) || l.Min != 0 || l.Max != 200_000_000_000 || math.Abs(l.Mean-sum/float64(len(samples))) > 1e-3 {
		t.Errorf("count %d, min %d, max %d, mean %g", l.Count, l.Min, l.Max, l.Mean)
	}
	for _, q := range l.percentiles() {
		exact := samples[int(math.Ceil(q.share*float64(len(samples))))-1]
		if q.ns < exact || float64(q.ns) > float64(exact)*1.004+1 {
			t.Errorf("%s is %d, the sorted samples say %d", q.name, q.ns, exact)
		}
	}
	var p problems
	if l.check(&p, "service", int64(len(samples))); len(p.found) > 0 {
		t.Error(p.found)
	}
	// One and two samples.
	for _, few := range [][]int64{{7}, {3, 1_000_000}} {
		var h load.Histogram
		for _, ns := range few {
			h.Record(ns)
		}
		l, err := LatencyFrom(&h)
		if err != nil {
			t.Fatal(err)
		}
		var p problems
		if l.check(&p, "service", int64(len(few))); len(p.found) > 0 || l.P99 != few[len(few)-1] || l.P01 != few[0] {
			t.Errorf("%v: %+v, %v", few, l, p.found)
		}
	}
}

func TestMeasuredKeepsEverythingOfTheLeg(t *testing.T) {
	var service, response load.Histogram
	service.Record(1_000)
	service.Record(3_000)
	response.Record(2_000)
	response.Record(9_000)
	r := &load.Result{
		Started: fakeStart.In(time.FixedZone("x", 3600)), Wall: 2 * time.Second, OK: 2, Failed: 1, Warmup: 5, OverBudget: true,
		Errors: []load.ErrorCount{{Class: "wrong", Count: 1, Texts: []string{"row 1"}}}, Service: &service, Response: &response,
		Intervals: []load.Interval{{Second: 0}, {Second: 1, OK: 2, Failed: 1, Service: &load.IntervalLatency{P50: 1_000, P99: 3_000, Max: 3_001}}},
		Checked:   3, Wrong: 1, Examples: []load.Mismatch{{Index: 1, Column: "c", Want: "a", Got: "b"}}, Stopped: load.StoppedErrors,
		GC: load.GC{Cycles: 4, Pause: 5, CPUShare: 0.5, HeapBytes: 6}, Skew: 7,
	}
	m, err := MeasuredFrom(r)
	if err != nil {
		t.Fatal(err)
	}
	want := &Measured{
		Started: fakeStart, WallNs: 2_000_000_000, OK: 2, Failed: 1, Warmup: 5, OverBudget: true, Throughput: new(1.0),
		Errors: []ErrorCount{{Class: "wrong", Count: 1, Texts: []string{"row 1"}}}, Service: m.Service, Response: m.Response,
		Intervals: []Interval{{Second: 0}, {Second: 1, OK: 2, Failed: 1, P50: new(int64(1_000)), P99: new(int64(3_000)), Max: new(int64(3_001))}},
		Checked:   3, Wrong: 1, Examples: []Mismatch{{Index: 1, Column: "c", Want: "a", Got: "b"}}, Stopped: load.StoppedErrors,
		GC: GC{Cycles: 4, PauseNs: 5, CPUShare: 0.5, HeapBytes: 6}, SkewNs: 7,
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	if m.Service.Max != 3_000 || m.Response.Max != 9_000 {
		t.Errorf("service %+v, response %+v", m.Service, m.Response)
	}
	leg := Leg{ID: "read", Title: "Read", Kind: "read", Verdict: Invalid, Why: "wrong", Clients: 1, Threads: 1, Planned: 100, Measured: m}
	m.ServerNote, m.AgentNote = "not sampled", "not sampled"
	m.OpenLoop = &OpenLoop{Arrival: "constant", Offered: 2, Achieved: 1}
	if err := leg.Validate(); err != nil {
		t.Error(err)
	}

	if m, err := MeasuredFrom(&load.Result{Wall: time.Second, Failed: 3}); err != nil || m.Throughput != nil || m.Service != nil {
		t.Errorf("without any success: %+v, %v", m, err)
	}
	if _, err := MeasuredFrom(&load.Result{OK: 1, Service: &service}); err == nil {
		t.Error("a leg that took no time was measured")
	}
}
