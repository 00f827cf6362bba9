package result

import (
	"strings"
	"testing"
)

// scanLeg is a valid leg of scans on an index, beside exchanges, at a rate.
func scanLeg() *Leg {
	m := fakeMeasured(1_000)
	m.Rows, m.Bytes = new(int64(20_000)), new(int64(20_000<<10))
	m.Exchanges = &Exchanges{OK: 150, Update: fakeLatency(2_000), Checked: 100}
	m.Exchanges.Update.Count = 300
	m.Touched = new(int64(290))
	m.Response = fakeLatency(1_100)
	m.OpenLoop = &OpenLoop{Arrival: "constant", Offered: 10_000, Achieved: 10_000, Lateness: fakeLatency(10)}
	m.Steady = &Steady{First: 9_900, Second: 10_100, Steady: true}
	return &Leg{
		ID: "scan/stock/full/indexed/write-15", Title: "stock full indexed + 15 % writes", Kind: "scan", Verdict: Valid, Clients: 4, Threads: 8,
		WarmupNs: 5e9, WindowNs: 1e8, Measured: m, Attempts: 1,
		Scan: &Scan{Projection: "full", Context: "indexed", Rows: 1_000, Matching: new(int64(20)), Expected: new(int64(20)), WriteRatio: 0.15},
		Index: &Index{
			Name: "ix_stock", Kind: "ordered", Fields: []string{"stock"}, ReturnedNs: new(int64(5)), CorrectNs: new(int64(7)), ServingNs: new(int64(7)),
			How: "pg_index.indisvalid", Polls: 1, Bytes: new(int64(8 << 20)),
			MemoryBefore: &Memory{Bytes: 100 << 20, Kind: "pss", Group: new(int64(300 << 20))}, MemoryAfter: &Memory{Bytes: 130 << 20, Kind: "rss"},
			MemoryNote: "proportional sizes could not be read any more",
		},
		Explain: &Explanation{Text: "Index Scan using ix_stock", Uses: new(true)},
	}
}

// mixLeg is a valid leg of operations of two kinds.
func mixLeg() *Leg {
	m := fakeMeasured(1_000)
	half := fakeLatency(1_000)
	half.Count = 500
	m.Kinds = []KindCount{{Operation: "read", OK: 500, Service: half}, {Operation: "update", OK: 500, Service: half}}
	m.Touched = new(int64(420))
	return &Leg{
		ID: "mix/ycsb-a", Title: "ycsb-a", Kind: "mix", Verdict: Valid, Clients: 4, Threads: 8, Planned: 1000, Measured: m, Attempts: 1,
		Mix: &Mix{
			Weights:      []Weight{{Operation: "read", Weight: 0.5}, {Operation: "update", Weight: 0.5}},
			Distribution: Distribution{Name: "zipf", Theta: 0.99},
		},
	}
}

// batchLeg is a valid leg of batches that were each split into two requests.
func batchLeg() *Leg {
	m := fakeMeasured(1_000)
	m.Rows, m.Requests = new(int64(100_000)), new(int64(2_000))
	return &Leg{
		ID: "batch/create_100", Title: "create_100", Kind: "batch", Verdict: Valid, Clients: 4, Threads: 8, Planned: 1000, Measured: m, Attempts: 1,
		Batch: &Batch{Operation: "create", Size: 100},
	}
}

// buildLeg is a valid build of an index.
func buildLeg() *Leg {
	leg := scanLeg()
	leg.ID, leg.Title, leg.Kind, leg.Planned, leg.WindowNs, leg.WarmupNs = "index/stock/full/build", "stock full index build", "index-build", 1, 0, 0
	leg.Clients, leg.Threads = 1, 1
	one := fakeLatency(1_000)
	one.Count = 1
	leg.Measured = fakeMeasured(1_000)
	leg.Measured.OK, leg.Measured.Service, leg.Measured.Throughput, leg.Measured.Checked = 1, one, new(10.0), 1
	leg.Measured.Intervals[0].OK = 1
	return leg
}

// churnLeg is a valid leg of inserts into a table with an index.
func churnLeg() *Leg {
	return &Leg{
		ID: "index/knn/hnsw/churn/2/insert", Title: "knn hnsw churn 2 insert", Kind: "create", Verdict: Valid, Clients: 4, Threads: 8, Planned: 1000,
		Measured: fakeMeasured(1_000), Attempts: 1, Churn: &Churn{Index: "ix_knn_hnsw", Rows: 1000, Rounds: 2, Round: 2, ReadyNs: new(int64(25e6))},
		Index: &Index{
			Name: "ix_knn_hnsw", Kind: "vector", Fields: []string{"embedding"}, How: "pg_index.indisvalid", Polls: 2, Bytes: new(int64(9 << 20)),
			MemoryAfter: &Memory{Bytes: 140 << 20, Kind: "pss"},
		},
	}
}

func TestLegsOfEveryKindAreChecked(t *testing.T) {
	for _, test := range []struct {
		name   string
		leg    func() *Leg
		change func(*Leg)
		want   string // "" when nothing is wrong
	}{
		{"a scan", scanLeg, func(*Leg) {}, ""},
		{"a mix", mixLeg, func(*Leg) {}, ""},
		{"churn", churnLeg, func(*Leg) {}, ""},
		{"churn of a round too many", churnLeg, func(l *Leg) { l.Churn.Round = 3 }, "churn/round: is 3, more than the 2 rounds"},
		{"a batch", batchLeg, func(*Leg) {}, ""},
		{"a build", buildLeg, func(*Leg) {}, ""},
		{"a number of operations and a window", scanLeg, func(l *Leg) { l.Planned = 1000 }, "windowNs: is 100000000, but 1000 operations were planned"},
		{"more rows match than there are", scanLeg, func(l *Leg) { *l.Scan.Matching = 1001 }, "scan/matching: is 1001, more than the 1000 rows"},
		{"an index that is not used", scanLeg, func(l *Leg) { *l.Explain.Uses = false }, `explain/uses: is false, but the leg is "valid"`},
		{"a trial that lost nothing", mixLeg, func(l *Leg) { l.Mix.Trial = &Trial{Modifications: 4000, Failed: 1} }, ""},
		{"modifications that are lost", mixLeg, func(l *Leg) { l.Mix.Trial = &Trial{Modifications: 4000, Lost: 1} }, `mix/trial/lost: is 1, but the leg is "valid"`},
		{"more lost than made", mixLeg, func(l *Leg) { l.Mix.Trial = &Trial{Modifications: 4000, Lost: 4001} }, "mix/trial/lost: is 4001, more than the 4000"},
		{"a clock before the call returned", buildLeg, func(l *Leg) { *l.Index.CorrectNs = 4 }, "index/correctNs: is there, but the call had not returned"},
		{"a clock without the call's", buildLeg, func(l *Leg) { l.Index.ReturnedNs = nil }, "index/servingNs: is there, but the call had not returned"},
		{"a build without its end", buildLeg, func(l *Leg) { l.Index.ServingNs = nil }, "index: lacks a clock"},
		{"kinds that do not add up", mixLeg, func(l *Leg) { l.Measured.Kinds[0].OK, l.Measured.Kinds[0].Service.Count = 501, 501 },
			"measured/kinds: sum to 1001 ok and 0 failed, but the leg has 1000 and 0"},
		{"a kind's latency of other operations", mixLeg, func(l *Leg) { l.Measured.Kinds[1].Service = fakeLatency(1_000) },
			"measured/kinds/1/service/count: is 1000, but 500 operations succeeded"},
		{"batches of other sizes", batchLeg, func(l *Leg) { *l.Measured.Rows = 1 }, "measured/rows: is 1, but 1000 batches of 100 rows succeeded"},
		{"less than one request per batch", batchLeg, func(l *Leg) { *l.Measured.Requests = 999 }, "measured/requests: is 999, fewer than the 1000"},
		{"exchanges of one update", scanLeg, func(l *Leg) { l.Measured.Exchanges.Update.Count = 299 },
			"exchanges/update/count: is 299, but 150 exchanges succeeded and 0 failed"},
		{"rows written wrong", scanLeg, func(l *Leg) { l.Measured.Exchanges.Wrong = 1 }, `exchanges/wrong: is 1, but the leg is "valid"`},
		{"another rate than the throughput", scanLeg, func(l *Leg) { l.Measured.OpenLoop.Achieved = 9_000 },
			"openLoop/achieved: is 9000, but the throughput is 10000"},
		{"a rate without response times", scanLeg, func(l *Leg) { l.Measured.Response = nil }, "openLoop: is there, but there are no response times"},
		{"response times without a rate", scanLeg, func(l *Leg) { l.Measured.OpenLoop = nil }, "openLoop: is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			leg := test.leg()
			test.change(leg)
			err := leg.Validate()
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("problems %v, want %s", err, test.want)
			}
		})
	}
}

func TestVerdictsOfRatesAndIndexes(t *testing.T) {
	// open is a leg at a rate of 10,000 per second that was kept.
	open := func() Facts {
		f := quiet()
		f.Measured.OpenLoop = &OpenLoop{Arrival: "constant", Offered: 10_000, Achieved: 10_000}
		return f
	}
	for _, test := range []struct {
		name   string
		change func(*Facts)
		want   Verdict
		why    string
	}{
		{"a rate that was kept", func(*Facts) {}, Valid, ""},
		// User asks 2: a capacity of 500 at an offered 1,000 is overload, not a latency.
		{"half of the rate", func(f *Facts) {
			o := f.Measured.OpenLoop
			o.Achieved, o.Slope, o.Dropped, o.Backlog = 5_000, 5_000, 1_000, 1_000
		}, Overloaded, "the rate was not sustained: 10,000 operations per second offered, 5,000 achieved, backlog growing by 5,000 per second, 1,000 never started"},
		{"a rate missed by a little", func(f *Facts) { f.Measured.OpenLoop.Achieved = 9_600 }, Valid, ""},
		{"a rate that chance made a little lower", func(f *Facts) {
			f.Measured.OpenLoop.Arrival, f.Measured.OpenLoop.Achieved = "poisson", 8_700
		}, Valid, ""},
		{"a backlog at the end", func(f *Facts) { f.Measured.OpenLoop.Backlog = 100 }, Overloaded, "the rate was not sustained"},
		{"overload that the agent made", func(f *Facts) {
			o := f.Measured.OpenLoop
			o.Achieved, o.Dropped, o.AgentLate = 5_000, 1_000, new(0.8)
		}, GeneratorLimited, "80 % of them began late although a worker was free"},
		{"a few late starts of a rate that was kept", func(f *Facts) { f.Measured.OpenLoop.AgentLate = new(0.9) }, Valid, ""},
		{"an index that is used", func(f *Facts) { f.Explain = &Explanation{Uses: new(true)} }, Valid, ""},
		{"an index that cannot be proven to be used", func(f *Facts) { f.Explain = &Explanation{Note: "no plans"} }, Valid, ""},
		{"an index that is not used", func(f *Facts) { f.Explain = &Explanation{Uses: new(false)} }, Invalid, "index not used"},
		{"exchanges that went wrong", func(f *Facts) { f.Measured.Exchanges = &Exchanges{OK: 9, Checked: 8, Wrong: 2} }, Invalid,
			"2 of 8 rows that exchanges had written were wrong afterwards"},
		{"a raw scan", func(f *Facts) { f.Proof = ProofOfScan(&Scan{Raw: true}, false) }, Unverified, "nothing is known"},
		{"a raw scan of a known number of rows", func(f *Facts) { f.Proof = ProofOfScan(&Scan{Raw: true}, true) }, Valid, ""},
		{"a batch that was not counted", func(f *Facts) {
			f.Proof, f.Measured.RowsAfter = ProofOfBatch(&Batch{Operation: "delete"}), nil
		}, Unverified, "the rows were not counted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := open()
			test.change(&f)
			got, why := VerdictOf(f)
			if got != test.want || !strings.Contains(why, test.why) || (test.why == "") != (why == "") {
				t.Errorf("%s: %s, want %s: %s", got, why, test.want, test.why)
			}
		})
	}
}

func TestJudgeNamesTheFirstOfManyLegs(t *testing.T) {
	var legs []Leg
	for range 20 {
		legs = append(legs, Leg{Title: "x", Verdict: Invalid})
	}
	if _, why := Judge(legs); why != "20 of 20 legs: x, x, x, x, x, x, x, x and 12 more" {
		t.Error(why)
	}
}
