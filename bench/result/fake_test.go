package result

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/load"
)

var fakeStart = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeLatency returns a distribution whose every figure is another one that tells its own name: p95 is 95 units, p99 is 99.
func fakeLatency(unit int64) *Latency {
	return &Latency{
		Count: 1000, Mean: 51.5 * float64(unit), Min: unit / 2, P01: unit, P25: 25 * unit, P50: 50 * unit, P75: 75 * unit, P90: 90 * unit,
		P95: 95 * unit, P99: 99 * unit, P999: 999 * unit / 10, P9999: 9999 * unit / 100, Max: 1000 * unit,
	}
}

// fakeMeasured is 1,000 operations in a tenth of a second.
func fakeMeasured(unit int64) *Measured {
	return &Measured{
		Started: fakeStart, WallNs: 100_000_000, OK: 1000, Throughput: new(10_000.0), Service: fakeLatency(unit),
		Intervals:  []Interval{{Second: 0, OK: 1000, P50: new(50 * unit), P99: new(99 * unit), Max: new(1000 * unit)}},
		Checked:    12,
		RowsAfter:  new(int64(1000)),
		RowsWanted: new(int64(1000)),
		GC:         GC{Cycles: 3, PauseNs: 120_000, CPUShare: 0.01, HeapBytes: 8 << 20},
		SkewNs:     4_000,
		Server: &Usage{
			Processes: 5, CPUCores: new(1.25), CPUSeconds: new(0.125), MemoryMean: new(int64(100 << 20)), MemoryPeak: new(int64(120 << 20)),
			MemoryKind: "pss", ReadBytes: new(int64(4096)), WrittenBytes: new(int64(8 << 20)),
		},
		Agent: &Usage{
			Processes: 1, CPUCores: new(0.4), CPUSeconds: new(0.04), MemoryMean: new(int64(30 << 20)), MemoryPeak: new(int64(31 << 20)),
			MemoryKind: "pss", ReadBytes: new(int64(0)), WrittenBytes: new(int64(512)),
		},
		AgentNote: "GOGC=400",
	}
}

// fakeDocument has a leg of every verdict that a table must tell apart.
func fakeDocument() *Document {
	leg := func(id, title string, v Verdict, why string, m *Measured) Leg {
		return Leg{ID: id, Title: title, Kind: id, Verdict: v, Why: why, Clients: 4, Threads: 8, Planned: 1000, Measured: m, Attempts: 1}
	}
	slow := fakeMeasured(1_000_000)
	slow.WallNs, slow.Throughput = 2_000_000_000, new(500.0)

	again := leg("read", "Read", Valid, "", fakeMeasured(1_000))
	again.Attempts = 2
	again.Interruptions = []Interruption{{At: fakeStart.Add(-time.Minute), Cause: "agent-lost", Note: "killed"}}

	failed := fakeMeasured(1_000)
	failed.OK, failed.Failed, failed.Throughput, failed.Service, failed.Checked = 0, 1, nil, nil, 0
	failed.Intervals = []Interval{{Second: 0, Failed: 1}}
	failed.Errors = []ErrorCount{{Class: "timeout", Count: 1, Texts: []string{"no answer in 30 s\x1b[31m\nat 10.0.0.1 | gone"}}}
	failed.Stopped = load.StoppedErrors
	failed.Server, failed.ServerNote = nil, "process 4711 cannot be read: permission denied"

	wrong := fakeMeasured(1_000)
	wrong.Wrong, wrong.Examples = 2, []Mismatch{{Index: 17, Column: "name", Want: "a", Got: "b"}}
	wrong.Server = &Usage{Processes: 1, CPUCores: new(1.0), CPUSeconds: new(0.1), Missing: []string{"memory: permission denied", "disk: permission denied"}}

	d := &Document{
		Schema: SchemaVersion,
		Run: Run{
			ID: "20270301-postgres", Name: "nightly", Verdict: Invalid, Started: fakeStart.Add(-time.Hour), Finished: fakeStart.Add(time.Hour),
			Command: []string{"starter", "run", "-d", "postgres"}, WorkflowID: "benchmark/20270301-postgres", Namespace: "default",
		},
		Harness: Harness{Version: "v0.1.0", Revision: "0123abc", Go: "go1.26.8", Cgo: true},
		Spec:    json.RawMessage(`{"database":"postgres","samples":1000}`),
		Plan:    json.RawMessage(`{"engine":"postgres","steps":[]}`),
		Corpus:  Corpus{Seed: 1<<63 + 1, Digest: "c0ffee", Rows: 1000, Key: "integer", RowSize: 1024},
		Engine: Engine{
			Name: "postgres", Title: "PostgreSQL", Family: "relational", Version: "17.5", Server: "process", TierAsked: "os", Tier: "os",
			Settings: []Setting{{Name: "fsync", Value: "on"}}, Profile: []Setting{{Name: "fsync", Value: "on", Why: "durability"}},
			Clients: 4, Threads: 8, Sockets: new(32), Carries: "one connection per thread",
		},
		Host: Host{
			Name: "bench-1", OS: "linux", Arch: "amd64", Kernel: "6.18", CPUModel: "AMD EPYC", CPUs: 16, MemoryBytes: 64 << 30,
			SwapBytes: new(int64(0)), Filesystem: "ext4",
		},
		Calibration: &Calibration{NsPerOp: 98.4, ClockNs: 21.5, Samples: 1_000_000, P99Ns: 120},
		Legs: []Leg{
			leg("create", "Create", Valid, "", slow),
			again,
			leg("update", "Update", Failed, "first error: timeout: no answer in 30 s\x1b[31m\nat 10.0.0.1 | gone", failed),
			leg("scan/all", "Scan | all", Invalid, "2 of 12 answers checked were wrong", wrong),
			leg("scan/text", "Scan text", Unsupported, "no full-text index", nil),
			leg("scan/vector", "Scan vector", Skipped, "--skip vector", nil),
			leg("delete", "Delete", NotRun, "the leg before it was invalid", nil),
		},
	}
	for i := range d.Legs {
		if d.Legs[i].Measured == nil {
			d.Legs[i].Attempts = 0
		}
	}
	seal(d)
	return d
}

// embeddedDocument is a run of an engine inside the agent, fast enough that microseconds would show nothing.
func embeddedDocument() *Document {
	d := fakeDocument()
	d.Engine.Name, d.Engine.Title, d.Engine.Version, d.Engine.Server, d.Engine.Sockets = "map", "Map", "go1.26.8", "embedded", nil
	d.Engine.TierAsked, d.Engine.Tier = "none", "none"
	d.Calibration = nil
	d.Legs = slices.Clone(d.Legs[:2])
	for i := range d.Legs {
		m := fakeMeasured(2)
		m.Server, m.ServerNote = nil, "the database runs inside the agent"
		d.Legs[i].Measured = m
	}
	d.Legs[1].Verdict, d.Legs[1].Why = GeneratorLimited, "the harness's own cost, 98.4 ns, is 33 % of the 298 ns of CPU time that each operation took"
	d.Run.Verdict = GeneratorLimited
	seal(d)
	return d
}

// emptyDocument has a leg without a single sample: user-asks 37.
func emptyDocument() *Document {
	d := fakeDocument()
	d.Legs = []Leg{d.Legs[2]}
	d.Run.Verdict = Failed
	return d
}

// unpreparedDocument is a run that ended before its host was looked at.
func unpreparedDocument() *Document {
	d := fakeDocument()
	d.Legs, d.Run.Verdict, d.Run.Why = d.Legs[6:], Failed, "the host cannot be prepared"
	d.Host, d.Harness, d.Calibration, d.Engine.Server, d.Engine.Version, d.Engine.Tier = Host{}, Harness{}, nil, "", "", ""
	return d
}

// workDocument has a leg of every kind of work, and those that a table must not give a figure of.
func workDocument() *Document {
	d := fakeDocument()
	d.Spec = json.RawMessage(`{"database":"postgres","samples":1000,"scans":[{"id":"stock","writes":[0.15],"runs":[{"name":"select(*) 100%","word":"full",
		"timing":{"window":"100ms"}},{"name":"count(*)","word":"count","samples":1000}]}]}`)
	none := func(leg *Leg, v Verdict, why string) *Leg {
		leg.Verdict, leg.Why, leg.Measured, leg.Explain, leg.Attempts = v, why, nil, nil, 0
		return leg
	}
	heap := scanLeg()
	heap.ID, heap.Title, heap.Scan.Context, heap.Scan.WriteRatio, heap.Index, heap.Explain = "scan/stock/full/heap/read", "stock full heap", "heap", 0, nil, nil
	heap.Measured.Exchanges, heap.Measured.Touched, heap.Measured.OpenLoop, heap.Measured.Response = nil, nil, nil, nil
	heap.Measured.Steady = &Steady{First: 12_000, Second: 8_000, Note: "the halves differ by more than a tenth"}
	unused := scanLeg()
	unused.ID, unused.Title, unused.Verdict, unused.Why = "scan/stock/count/indexed/read", "stock count indexed", Invalid, "index not used"
	unused.Explain.Uses = new(false)
	unused.Measured.Exchanges, unused.Scan.WriteRatio = nil, 0
	late := batchLeg()
	late.ID, late.Title = "batch/read_100", "read_100"
	read := mixLeg()
	read.ID, read.Title, read.Mix.Distribution = "mix/growth", "growth", Distribution{Name: "hotspot", HotRows: 0.1, HotOperations: 0.9}
	dropped := buildLeg()
	dropped.ID, dropped.Title, dropped.Kind = "index/stock/full/drop", "stock full index drop", "index-drop"
	text := none(buildLeg(), Unsupported, "no full-text index")
	text.ID, text.Title, text.Index = "index/words/full/build", "words full index build", &Index{Name: "ix_words", Kind: "fulltext", Fields: []string{"words"}}
	worn := searchLeg()
	worn.ID, worn.Title = strings.Replace(worn.ID, "/hnsw/", "/hnsw/churned/", 1), worn.Title+", churned"
	worn.Search.Churn = &Churn{Index: "ix_knn_hnsw", Rows: 1000, Rounds: 2}
	d.Legs = []Leg{
		*heap, *buildLeg(), *scanLeg(), *unused, *dropped, *text, *mixLeg(), *none(read, NotRun, "the run was cancelled"), *batchLeg(),
		*none(late, Skipped, "--skip-batches"), *exactLeg(), *searchLeg(), *churnLeg(), *worn,
	}
	d.Run.Verdict = Invalid
	seal(d)
	return d
}

// seal sets the digests.
func seal(d *Document) {
	d.SpecDigest, _ = SpecDigest(d.Spec)
	d.Host.Digest = d.Host.Fingerprint()
}

func TestFakesAreValid(t *testing.T) {
	for name, d := range map[string]*Document{"fake": fakeDocument(), "embedded": embeddedDocument(), "empty": emptyDocument(), "work": workDocument(), "unprepared": unpreparedDocument()} {
		if err := d.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
