//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/result"
)

// matrix writes a matrix file and returns its path.
func (w *world) matrix(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name+".toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// summary decodes the summary that a command with --format json printed, and returns it with its cells as "engine variant: verdict".
func (w *world) summary(o outcome) (*result.Matrix, []string) {
	w.t.Helper()
	m, err := result.DecodeMatrix([]byte(o.stdout))
	if err != nil {
		w.t.Fatalf("summary on stdout: %v\nstdout:\n%.2000s\nstderr:\n%s", err, o.stdout, o.stderr)
	}
	var cells []string
	for _, cell := range m.Cells {
		verdict := cell.Verdict
		if cell.Engine == "map" && verdict == result.GeneratorLimited { // as fast as the harness
			verdict = result.Valid
		}
		cells = append(cells, strings.TrimSpace(cell.Engine+" "+cell.Variant)+": "+string(verdict))
	}
	return m, cells
}

// inCell waits until a leg of a cell is being measured.
func (w *world) inCell(r *running, cell, leg string) {
	w.t.Helper()
	eventually(w.t, time.Minute, cell+" is in leg "+leg, func() bool {
		_, own, begun := strings.Cut(r.stderr.String(), cell)
		return begun && strings.Contains(own, leg+": started")
	})
}

// All engines of a matrix on the real programs: the worker and the Temporal server are killed in the middle of a cell, and the command that
// looks at the matrix again brings both back. An engine that cannot do what a cell asks is skipped and no fault.
func TestMatrixThroughTheLossOfWorkerAndServer(t *testing.T) {
	w := newWorld(t)
	path := w.matrix("night", `
engines = ["map", "sqlite", "postgres", "redis"]

[settings]
isolation = "none"
samples = "2k"
clients = 2
threads = 2

[[variants]]
name = "usual"

[[variants]]
name = "durable"
engines = ["map"]
settings = { sync = true }

[[override]]
match = { engine = "sqlite" }
settings = { samples = "200k" }
`)
	if o := w.run("plan", "--matrix", path); o.code != 0 || !strings.Contains(o.stdout, "postgres") || !strings.Contains(o.stdout, "only tier is none") {
		t.Fatalf("plan: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	r := w.start("run", "--matrix", path)
	w.inCell(r, "cell sqlite crud usual", "create")
	for pid, command := range w.ours() {
		if strings.Contains(command, "temporald") {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = r.Process.Signal(syscall.SIGKILL)
	_ = r.Wait()
	_, rest, _ := strings.Cut(r.stderr.String(), "matrix ")
	id, _, _ := strings.Cut(rest, ": ")

	o := w.finish(w.start("watch", id, "--format", "json"), 3*time.Minute)
	if o.code != 0 {
		t.Fatalf("watch: exit %d\n%s", o.code, o.stderr)
	}
	m, cells := w.summary(o)
	want := []string{"map usual: valid", "sqlite usual: valid", "postgres usual: valid", "redis usual: valid", "map durable: skipped"}
	if !slices.Equal(cells, want) {
		t.Errorf("cells %q, want %q", cells, want)
	}
	if !strings.Contains(m.Cells[4].Why, "only tier is none") {
		t.Errorf("skipped because %q", m.Cells[4].Why)
	}
	// The cell in which everything was killed is as whole as the others.
	d, err := result.ReadFile(filepath.Join(w.home, "runs", m.Cells[1].Run, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	valid(t, d, 200_000, crud...)

	o = w.run("show", id)
	for _, want := range []string{"SQLite 3.", "PostgreSQL 1", "map crud durable on", "durability tier process"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("show lacks %q:\n%s", want, o.stdout)
		}
	}
	to := filepath.Join(w.dir, "pulled")
	if o := w.run("pull", id, "-o", to); o.code != 0 || strings.TrimSpace(o.stdout) != filepath.Join(to, id) {
		t.Errorf("pull: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	for _, cell := range m.Cells[:4] {
		pulled, err := os.ReadFile(filepath.Join(to, cell.Run, "result.json"))
		kept, err2 := os.ReadFile(filepath.Join(w.home, "runs", cell.Run, "result.json"))
		if err != nil || err2 != nil || string(pulled) != string(kept) {
			t.Errorf("the result of %s is not what was stored: %v, %v", cell.Run, err, err2)
		}
	}
	w.nothingLeft()
}

func TestCancelledMatrixIsClearedUp(t *testing.T) {
	w := newWorld(t)
	path := w.matrix("night", "engines = [\"map\", \"sqlite\", \"redis\"]\n[settings]\nisolation = \"none\"\nsamples = 300000\nsync = true\n[[override]]\nmatch = {engine = \"map\"}\n"+
		"settings = {sync = false, samples = 100}\n")
	r := w.start("run", "--matrix", path, "--format", "json")
	w.inCell(r, "cell sqlite crud", "create")
	_ = r.Process.Signal(os.Interrupt)
	o := w.finish(r, time.Minute)
	if o.code != 3 {
		t.Errorf("exit %d, want 3\n%s", o.code, o.stderr)
	}
	_, cells := w.summary(o)
	if want := []string{"map: valid", "sqlite: interrupted", "redis: not run"}; !slices.Equal(cells, want) {
		t.Errorf("cells %q, want %q", cells, want)
	}
	w.nothingLeft()
}

type schedule struct {
	Schedule, Cron, TimeZone, Note, Overlap, CatchUp string
	Paused                                           bool
	Next                                             []time.Time
	Recent                                           []struct{ Workflow string }
	Cells                                            int
}

func (w *world) schedule(name string) (s schedule) {
	w.t.Helper()
	o := w.run("schedule", "show", name, "--format", "json")
	if err := json.Unmarshal([]byte(o.stdout), &s); err != nil {
		w.t.Fatalf("show: exit %d, %v\n%s%s", o.code, err, o.stdout, o.stderr)
	}
	return s
}

// matrices counts the matrices of the list in that state.
func (w *world) matrices(state string) (n int) {
	w.t.Helper()
	o := w.run("list", "--format", "json")
	var rows []struct{ Engine, State string }
	if err := json.Unmarshal([]byte(o.stdout), &rows); err != nil {
		w.t.Fatalf("list: %v\n%s%s", err, o.stdout, o.stderr)
	}
	for _, row := range rows {
		if row.Engine == "matrix nightly" && row.State == state {
			n++
		}
	}
	return n
}

func TestSchedules(t *testing.T) {
	w := newWorld(t)
	path := w.matrix("nightly", "engines = [\"map\"]\n[settings]\nisolation = \"none\"\nsamples = 100\n")
	ok := func(args ...string) outcome {
		t.Helper()
		o := w.run(args...)
		if o.code != 0 {
			t.Fatalf("%v: exit %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
		return o
	}
	refused := func(want string, args ...string) {
		t.Helper()
		if o := w.run(args...); o.code != 4 || !strings.Contains(o.stderr, want) {
			t.Errorf("%v: exit %d, want 4 with %q\n%s", args, o.code, want, o.stderr)
		}
	}
	up := w.start("up")
	eventually(t, time.Minute, "starter up serves", func() bool { return strings.Contains(up.stdout.String(), "host ") })

	// It is made, and made anew.
	ok("schedule", "--matrix", path, "--cron", "0 2 * * *")
	ok("schedule", "--matrix", path, "--cron", "30 3 * * *", "--time-zone", "Asia/Kolkata", "--note", "the nights", "--catch-up", "2h")
	s := w.schedule("nightly")
	if s.Cron != "30 3 * * *" || s.TimeZone != "Asia/Kolkata" || s.Note != "the nights" || s.CatchUp != "2h0m0s" || s.Overlap != "BufferOne" || s.Cells != 1 {
		t.Errorf("schedule %+v", s)
	}
	for _, next := range s.Next {
		if at := next.UTC().Format("15:04"); at != "22:00" { // of the evening before
			t.Errorf("next at %s UTC, want 22:00: half past three in India, once a day", at)
		}
	}
	// Pausing keeps what the schedule is for, and the next start as it was.
	ok("schedule", "pause", "nightly", "--note", "new disks")
	if s := w.schedule("nightly"); !s.Paused || s.Note != "the nights – paused: new disks" {
		t.Errorf("paused: %+v", s)
	}
	refused("is paused", "schedule", "backfill", "nightly", "--from", "2026-01-01T00:00:00Z", "--to", "2026-01-03T00:00:00Z")
	ok("schedule", "resume", "nightly")
	if s := w.schedule("nightly"); s.Paused || s.Note != "the nights" {
		t.Errorf("resumed: %+v", s)
	}
	// Started by hand, and for two nights of the past, one after the other.
	ok("schedule", "trigger", "nightly")
	eventually(t, time.Minute, "the matrix that was triggered is done", func() bool { return w.matrices("completed") == 1 })
	ok("schedule", "backfill", "nightly", "--from", "2026-01-01T00:00:00Z", "--to", "2026-01-03T00:00:00Z")
	eventually(t, time.Minute, "both nights are made up for", func() bool { return w.matrices("completed") == 3 })
	if s := w.schedule("nightly"); len(s.Recent) != 3 {
		t.Errorf("recent starts %+v, want 3", s.Recent)
	}
	// Without --cron it is once, now.
	id := strings.TrimSpace(ok("schedule", "--matrix", path).stdout)
	_, cells := w.summary(ok("watch", id, "--format", "json"))
	if want := []string{"map: valid"}; !slices.Equal(cells, want) {
		t.Errorf("cells %q, want %q", cells, want)
	}
	if o := ok("schedule", "list"); !strings.Contains(o.stdout, "the nights") {
		t.Errorf("list:\n%s", o.stdout)
	}
	if o := ok("hosts", "--format", "json"); !strings.Contains(o.stdout, `"workers": [`) || strings.Contains(o.stdout, `"holder"`) {
		t.Errorf("hosts, of which nobody has one:\n%s", o.stdout)
	}
	refused("did you mean nightly", "schedule", "trigger", "nigthly")
	ok("schedule", "delete", "nightly")
	refused("there is no schedule", "schedule", "show", "nightly")
	refused("not in range", "schedule", "--matrix", path, "--cron", "61 2 * * *")
	_ = up.Process.Signal(os.Interrupt)
	w.finish(up, 30*time.Second)
	w.nothingLeft()
}
