//go:build e2e

package e2e

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/result"
)

var crud = []string{"create", "read", "update", "delete"}

// The README's command, on each engine that needs nothing but what this machine has.
func TestRunMeasuresEveryEngine(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct {
		engine string
		args   []string
		server string
		tier   string
	}{
		{"map", nil, "embedded", "none"},
		{"sqlite", nil, "embedded", "process"},
		{"sqlite", []string{"--sync", "-k", "uuid"}, "embedded", "os"},
		{"postgres", []string{"-k", "string26", "-r"}, "process", "os"},
		{"postgres", []string{"--sync", "-k", "uuid", "--engine", "connections=client"}, "process", "os"},
		{"redis", nil, "process", "none"},
		{"redis", []string{"--persisted", "-k", "string90"}, "process", "process"},
	} {
		t.Run(strings.Join(append([]string{test.engine}, test.args...), " "), func(t *testing.T) {
			const samples = 4000
			o := w.run(append([]string{"run", "-d", test.engine, "-s", "4000", "-c", "2", "-t", "4", "--verify", "all", "--format", "json"}, test.args...)...)
			if o.code != 0 {
				t.Fatalf("exit %d\nstdout:\n%.3000s\nstderr:\n%s", o.code, o.stdout, o.stderr)
			}
			d := w.document(o)
			valid(t, d, samples, crud...)
			if d.Engine.Name != test.engine || d.Engine.Server != test.server || d.Engine.Tier != test.tier || d.Engine.TierAsked != test.tier {
				t.Errorf("engine %+v, want %s as %s with tier %s", d.Engine, test.engine, test.server, test.tier)
			}
			if d.Engine.Version == "" || len(d.Engine.Settings) == 0 && test.engine != "map" {
				t.Errorf("engine %+v: nothing was read back", d.Engine)
			}
			if d.Calibration == nil || d.Calibration.NsPerOp <= 0 {
				t.Errorf("calibration %+v, want a cost", d.Calibration)
			}
			for _, leg := range d.Legs {
				m := leg.Measured
				if m == nil {
					continue
				}
				if leg.ID != "read" && (m.RowsAfter == nil || m.RowsWanted == nil || *m.RowsAfter != *m.RowsWanted) {
					t.Errorf("leg %s: rows after %v, want %v", leg.ID, m.RowsAfter, m.RowsWanted)
				}
				if leg.ID == "read" && m.Checked != samples {
					t.Errorf("leg read checked %d answers, want all %d", m.Checked, samples)
				}
				if m.Agent == nil || m.Agent.CPUCores == nil {
					t.Errorf("leg %s: the agent's CPU was not sampled: %+v %s", leg.ID, m.Agent, m.AgentNote)
				}
				if test.server == "process" && (m.Server == nil || m.Server.CPUCores == nil || m.Server.MemoryPeak == nil) {
					t.Errorf("leg %s: the server was not sampled: %+v %s", leg.ID, m.Server, m.ServerNote)
				}
			}
		})
	}
	w.nothingLeft()
}

func TestTheSameRunInEveryFormat(t *testing.T) {
	w := newWorld(t)
	o := w.run("run", "-d", "map", "-s", "2000", "-c", "2", "-t", "2")
	if o.code != 0 {
		t.Fatalf("exit %d: %s", o.code, o.stderr)
	}
	for _, want := range []string{"Read", "ops/s", "result: "} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("the table lacks %q:\n%s", want, o.stdout)
		}
	}
	if !strings.Contains(o.stderr, "http://127.0.0.1:") {
		t.Errorf("no link to the run in the Temporal UI:\n%s", o.stderr)
	}
	if strings.Contains(o.stdout+o.stderr, "\x1b[") {
		t.Error("colours or cursor movements although neither output is a terminal")
	}
	_, path, _ := strings.Cut(strings.TrimSpace(o.stdout), "result: ")
	d, err := result.ReadFile(strings.TrimSpace(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	if o := w.run("show", d.Run.ID, "--format", "csv"); o.code != 0 {
		t.Errorf("show: exit %d: %s", o.code, o.stderr)
	} else if rows, err := csv.NewReader(strings.NewReader(o.stdout)).ReadAll(); err != nil || len(rows) != 1+len(crud) {
		t.Errorf("csv has %d rows (%v), want a header and %d legs:\n%s", len(rows), err, len(crud), o.stdout)
	}
	if o := w.run("show", d.Run.ID, "--format", "markdown"); o.code != 0 || !strings.Contains(o.stdout, "| ") {
		t.Errorf("show markdown: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := w.run("list"); o.code != 0 || !strings.Contains(o.stdout, d.Run.ID) {
		t.Errorf("list: exit %d, does not name %s:\n%s%s", o.code, d.Run.ID, o.stdout, o.stderr)
	}
	w.nothingLeft()
}

func TestLoadOnceQueryMany(t *testing.T) {
	w := newWorld(t)
	data := filepath.Join(w.dir, "data")
	load := w.run("run", "-d", "sqlite", "-s", "3000", "-c", "2", "-t", "2", "--mode", "load", "--data-dir", data, "--format", "json")
	if load.code != 0 {
		t.Fatalf("load: exit %d: %s", load.code, load.stderr)
	}
	valid(t, w.document(load), 3000, "create", "update")
	for range 2 {
		query := w.run("run", "-d", "sqlite", "-s", "3000", "-c", "4", "-t", "2", "--mode", "query", "--data-dir", data, "--verify", "all", "--format", "json")
		if query.code != 0 {
			t.Fatalf("query: exit %d: %s", query.code, query.stderr)
		}
		valid(t, w.document(query), 3000, "read")
	}
	other := w.run("run", "-d", "sqlite", "-s", "4000", "-k", "uuid", "--mode", "query", "--data-dir", data)
	if other.code != 4 || !strings.Contains(other.stderr, "samples") || !strings.Contains(other.stderr, "key") {
		t.Errorf("query of other data: exit %d, want 4 naming samples and key:\n%s", other.code, other.stderr)
	}
	w.nothingLeft()
}

func TestInterruptCancelsCleansUpAndKeepsWhatWasMeasured(t *testing.T) {
	w := newWorld(t)
	r := w.start("run", "-d", "sqlite", "-s", "2M", "-c", "1", "-t", "1", "--sync", "--format", "json")
	w.inLeg(r, "create")
	if err := r.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	o := w.finish(r, 90*time.Second)
	if o.code != 3 {
		t.Fatalf("exit %d, want 3\n%s", o.code, o.stderr)
	}
	d := w.document(o)
	if d.Run.Verdict != result.Interrupted || d.Legs[0].Verdict != result.Interrupted {
		t.Errorf("run is %s, its first leg %s, want both interrupted", d.Run.Verdict, d.Legs[0].Verdict)
	}
	for _, leg := range d.Legs[1:] {
		if leg.Verdict != result.NotRun || leg.Why == "" {
			t.Errorf("leg %s is %s (%s), want not run and why", leg.ID, leg.Verdict, leg.Why)
		}
	}
	w.nothingLeft()
}

func TestSecondInterruptEndsAtOnce(t *testing.T) {
	w := newWorld(t)
	r := w.start("run", "-d", "sqlite", "-s", "2M", "-c", "1", "-t", "1", "--sync")
	w.inLeg(r, "create")
	_ = r.Process.Signal(os.Interrupt)
	time.Sleep(30 * time.Millisecond)
	_ = r.Process.Signal(os.Interrupt)
	done := make(chan struct{})
	go func() { _ = r.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		_ = r.Process.Signal(syscall.SIGKILL)
		<-done
		t.Fatal("the second interrupt did not end the program")
	}
}

// inLeg waits until a run is in the leg.
func (w *world) inLeg(r *running, leg string) {
	w.t.Helper()
	eventually(w.t, 2*time.Minute, "the run is in leg "+leg, func() bool {
		if r.ProcessState != nil {
			w.t.Fatalf("the run ended before leg %s:\n%s", leg, r.stderr)
		}
		return strings.Contains(r.stderr.String(), leg+": started")
	})
}
