package result

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"pgregory.net/rapid"

	"github.com/durabench/durabench/bench/load"
)

// genDocument draws documents of every shape that a run can leave behind. They are built from drawn measurements in the way a run
// builds them, so they are valid.
func genDocument() *rapid.Generator[*Document] {
	return rapid.Custom(func(t *rapid.T) *Document {
		start := genTime(t, "start")
		d := &Document{
			Schema:  SchemaVersion,
			Run:     Run{ID: genWord(t, "run"), Name: genText(t, "name"), Started: start, Finished: start.Add(time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "duration"))), WorkflowID: genText(t, "workflow")},
			Harness: Harness{Version: genWord(t, "version"), Revision: genText(t, "revision"), Modified: rapid.Bool().Draw(t, "modified"), Go: "go1.26", Cgo: rapid.Bool().Draw(t, "cgo")},
			Spec:    genJSON(t, "spec"),
			Plan:    genJSON(t, "plan"),
			Corpus:  Corpus{Seed: rapid.Uint64().Draw(t, "seed"), Digest: genWord(t, "corpus"), Rows: genCount(t, "rows"), Key: "uuid", Random: rapid.Bool().Draw(t, "random"), RowSize: genCount(t, "row size")},
			Engine: Engine{
				Name: genWord(t, "engine"), Title: genWord(t, "title"), Server: rapid.SampledFrom([]string{"embedded", "process", "docker", "endpoint"}).Draw(t, "server"),
				TierAsked: "os", Tier: rapid.SampledFrom([]string{"os", ""}).Draw(t, "tier"), Clients: 1, Threads: 1, Sockets: genMaybe(t, "sockets", rapid.IntRange(0, 1e6)),
				Settings: rapid.SliceOfN(rapid.Custom(genSetting), 0, 3).Draw(t, "settings"), Profile: rapid.SliceOfN(rapid.Custom(genSetting), 0, 3).Draw(t, "profile"),
			},
			Host: Host{
				Name: genText(t, "host"), OS: "linux", Arch: "arm64", CPUs: rapid.IntRange(1, 1024).Draw(t, "cpus"), SwapBytes: genMaybe(t, "swap", rapid.Int64Range(0, math.MaxInt64)),
				CgroupCPUs: genMaybe(t, "cgroup", rapid.Float64Range(0.01, 512)), Filesystem: genText(t, "filesystem"),
				Cores: rapid.IntRange(1, 512).Draw(t, "cores"), SMT: "on", Mitigations: []string{"spectre_v2: " + genText(t, "mitigation")},
				Disk: genMaybe(t, "disk", rapid.Custom(func(t *rapid.T) Disk {
					return Disk{Model: genText(t, "model"), Rotational: genMaybe(t, "turns", rapid.Bool()), WriteCache: "write back"}
				})),
				Limits: []string{"open files 1024"}, Probe: genMaybe(t, "probe", rapid.Custom(func(t *rapid.T) HostProbe {
					return HostProbe{Flushes: 100, FlushMedianNs: 1 + genCount(t, "median"), FlushP99Ns: 1 + genCount(t, "flush p99"), StealShare: genMaybe(t, "steal", rapid.Float64Range(0, 1))}
				})),
			},
			Isolation: genMaybe(t, "isolation", rapid.Custom(genIsolation)),
			Calibration: genMaybe(t, "calibration", rapid.Custom(func(t *rapid.T) Calibration {
				return Calibration{NsPerOp: rapid.Float64Range(0, 1e9).Draw(t, "cost"), ClockNs: rapid.Float64Range(0, 1e3).Draw(t, "clock"), Samples: 1 + genCount(t, "samples"), P99Ns: genCount(t, "p99")}
			})),
			Legs: rapid.SliceOfN(rapid.Custom(genLeg), 0, 6).Draw(t, "legs"),
		}
		if d.Legs == nil {
			d.Legs = []Leg{}
		}
		for i := range d.Legs {
			d.Legs[i].ID = fmt.Sprintf("%s/%d", d.Legs[i].ID, i)
		}
		if rapid.Bool().Draw(t, "with sample") {
			d.Sample = genJSON(t, "sample")
		}
		d.Run.Verdict, d.Run.Why = Judge(d.Legs)
		seal(d)
		return d
	})
}

func genLeg(t *rapid.T) Leg {
	leg := Leg{ID: genWord(t, "id"), Title: genWord(t, "title"), Kind: "read", Clients: rapid.IntRange(1, 128).Draw(t, "clients"), Threads: rapid.IntRange(1, 48).Draw(t, "threads")}
	leg.Planned = rapid.Int64Range(1, 1e12).Draw(t, "planned")
	switch v := rapid.SampledFrom([]Verdict{Valid, Unsupported, Skipped, NotRun, Failed}).Draw(t, "fate"); v {
	case Valid:
		m := genMeasured(t, leg.Clients*leg.Threads)
		leg.Measured, leg.Attempts = m, 1
		facts := Facts{Planned: m.OK + m.Failed, InFlight: leg.Clients * leg.Threads, Measured: m, Cancelled: rapid.Bool().Draw(t, "cancelled"),
			Proof: Proof{Content: true}, Calibration: &Calibration{NsPerOp: 100}, AgentCPUs: 4, ServerCPUs: 4}
		if rapid.Bool().Draw(t, "windowed") {
			facts.Planned = 0
		}
		leg.Planned = facts.Planned
		leg.Verdict, leg.Why = VerdictOf(facts)
	default:
		leg.Verdict, leg.Why = v, genWord(t, "why")
	}
	if rapid.Bool().Draw(t, "again") {
		leg.Attempts = 2
		leg.Interruptions = []Interruption{{At: genTime(t, "at"), Cause: "agent-lost", Note: genText(t, "note")}}
	}
	return leg
}

// genMeasured draws what a worker pool would measure: operations, each with a latency and a second in which it ended.
func genMeasured(t *rapid.T, inFlight int) *Measured {
	var service load.Histogram
	times := rapid.SliceOfN(rapid.Int64Range(0, 200e9), 0, 50).Draw(t, "service times")
	var spent int64
	for _, ns := range times {
		service.Record(ns)
		spent += ns
	}
	r := &load.Result{
		Started: genTime(t, "released"),
		Wall:    time.Duration(spent/int64(inFlight) + rapid.Int64Range(1, 1e9).Draw(t, "idle")),
		OK:      int64(len(times)),
		Failed:  rapid.Int64Range(0, 3).Draw(t, "failed"),
		Service: &service,
		GC:      load.GC{Cycles: genCount(t, "cycles"), Pause: time.Duration(genCount(t, "pause")), CPUShare: rapid.Float64Range(0, 1).Draw(t, "share")},
		Skew:    time.Duration(genCount(t, "skew")),
	}
	if r.Failed > 0 {
		r.Errors = []load.ErrorCount{{Class: "timeout", Count: r.Failed, Texts: []string{genText(t, "text")}}}
	}
	r.Checked = rapid.Int64Range(0, r.OK).Draw(t, "checked")
	r.Wrong = rapid.Int64Range(0, min(r.Checked, rapid.Int64Range(0, 2).Draw(t, "at most"))).Draw(t, "wrong")
	second := load.Interval{OK: r.OK, Failed: r.Failed}
	if r.OK > 0 {
		p50, _ := service.Quantile(0.5)
		p99, _ := service.Quantile(0.99)
		most, _ := service.Max()
		second.Service = &load.IntervalLatency{P50: p50, P99: p99, Max: most}
	}
	r.Intervals = []load.Interval{second}
	m, err := MeasuredFrom(r)
	if err != nil {
		t.Fatal(err)
	}
	m.Server, m.ServerNote = genUsage(t, "server")
	m.Agent, m.AgentNote = genUsage(t, "agent")
	if rapid.Bool().Draw(t, "counted") {
		m.RowsAfter, m.RowsWanted = new(r.OK), new(r.OK+rapid.Int64Range(0, 1).Draw(t, "lost"))
	}
	return m
}

func genUsage(t *rapid.T, name string) (*Usage, string) {
	if rapid.Bool().Draw(t, name+" unreadable") {
		return nil, genWord(t, name+" note")
	}
	u := &Usage{Processes: rapid.IntRange(1, 1000).Draw(t, name+" processes")}
	if rapid.Bool().Draw(t, name+" cpu") {
		u.CPUCores, u.CPUSeconds = new(rapid.Float64Range(0, 512).Draw(t, "cores")), new(rapid.Float64Range(0, 1e6).Draw(t, "seconds"))
	} else {
		u.Missing = append(u.Missing, "cpu: "+genWord(t, "reason"))
	}
	if rapid.Bool().Draw(t, name+" memory") {
		peak := genCount(t, "peak")
		u.MemoryMean, u.MemoryPeak, u.MemoryKind = new(rapid.Int64Range(0, peak).Draw(t, "mean")), &peak, rapid.SampledFrom([]string{"pss", "rss"}).Draw(t, "kind")
	} else {
		u.Missing = append(u.Missing, "memory: "+genWord(t, "reason"))
	}
	if rapid.Bool().Draw(t, name+" disk") {
		u.ReadBytes, u.WrittenBytes = new(genCount(t, "read")), new(genCount(t, "written"))
	} else {
		u.Missing = append(u.Missing, "disk: "+genWord(t, "reason"))
	}
	if rapid.Bool().Draw(t, name+" group") {
		u.Group = &GroupUsage{CPUSeconds: new(rapid.Float64Range(0, 1e6).Draw(t, "group seconds")), MemoryPeak: new(genCount(t, "group peak"))}
	}
	return u, genText(t, name+" remark")
}

func genIsolation(t *rapid.T) Isolation {
	return Isolation{Level: "standard", AgentCPUs: "1-2", SharedCPUs: rapid.Bool().Draw(t, "shared"), CPUNote: genText(t, "cpu note"),
		Steps: []IsolationStep{
			{Name: "swap", Asked: "off", State: StepRefused, Why: genWord(t, "refusal")},
			{Name: "page cache", State: StepDone, Before: genText(t, "before"), After: genText(t, "after")},
			{Name: "nice", State: StepNotAsked},
		}}
}

func genSetting(t *rapid.T) Setting {
	return Setting{Name: genWord(t, "setting"), Value: genText(t, "value"), Why: genText(t, "why")}
}

func genMaybe[T any](t *rapid.T, name string, of *rapid.Generator[T]) *T {
	if !rapid.Bool().Draw(t, name+" known") {
		return nil
	}
	value := of.Draw(t, name)
	return &value
}

func genCount(t *rapid.T, name string) int64 { return rapid.Int64Range(0, 1<<62).Draw(t, name) }

func genText(t *rapid.T, name string) string { return rapid.String().Draw(t, name) }

func genWord(t *rapid.T, name string) string {
	return rapid.StringMatching(`[a-zé<&"\\][a-z0-9 -]{0,12}[a-z0-9]`).Draw(t, name)
}

func genTime(t *rapid.T, name string) time.Time {
	return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, name), rapid.Int64Range(0, 999_999_999).Draw(t, name+" ns")).UTC()
}

func genJSON(t *rapid.T, name string) json.RawMessage {
	text, err := json.Marshal(rapid.MapOfN(rapid.String(), rapid.OneOf(
		rapid.String().AsAny(), rapid.Int64().AsAny(), rapid.Bool().AsAny(), rapid.SliceOfN(rapid.String(), 0, 2).AsAny(),
	), 0, 4).Draw(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
