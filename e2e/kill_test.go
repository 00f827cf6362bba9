//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/result"
)

var runName = regexp.MustCompile(`run ([a-z]+-\d{8}-\d{6}-[0-9a-f]{6})`)

// The worker is in the starter process. It is killed in the middle of a leg, alone or with the embedded server; watch brings back what is gone and
// serves the host again. The agent has not noticed: one attempt, the full count, the leg's first seconds and last ones in one record.
func TestStarterKilledInALegLeavesTheMeasurementUntouched(t *testing.T) {
	for _, with := range []string{"", "temporald"} {
		t.Run("with "+with, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.start(append([]string{"run", "-d", "sqlite"}, shapes["sqlite"].args...)...)
			w.inLeg(r, "create")
			for pid, command := range w.ours() {
				if with == "" || !strings.Contains(command, with) {
					continue
				}
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			_ = r.Process.Signal(syscall.SIGKILL)
			_ = r.Wait()
			run := runName.FindStringSubmatch(r.stderr.String())
			if run == nil {
				t.Fatalf("the run's name was not printed:\n%s", r.stderr)
			}
			o := w.finish(w.start("watch", run[1], "--format", "json"), 5*time.Minute)
			if o.code != 0 {
				t.Fatalf("watch: exit %d\n%s", o.code, o.stderr)
			}
			valid(t, w.document(o), 200_000, crud...)
			w.nothingLeft()
		})
	}
}

func TestDetachWatchListCancel(t *testing.T) {
	w := newWorld(t)
	up := w.start("up")
	eventually(t, time.Minute, "starter up prints its addresses", func() bool { return strings.Contains(up.stdout.String(), "host ") })
	if !strings.Contains(up.stdout.String(), "web ui    http://127.0.0.1:") {
		t.Errorf("no Web UI:\n%s", up.stdout)
	}
	first := w.run("run", "-d", "map", "-s", "2000", "--detach")
	if first.code != 0 {
		t.Fatalf("detach: exit %d: %s", first.code, first.stderr)
	}
	name := strings.TrimSpace(first.stdout)
	o := w.run("watch", name, "--format", "json")
	if o.code != 0 {
		t.Fatalf("watch: exit %d: %s", o.code, o.stderr)
	}
	valid(t, w.document(o), 2000, crud...)

	long := w.run("run", "-d", "sqlite", "-s", "2M", "--sync", "--detach")
	longName := strings.TrimSpace(long.stdout)
	if o := w.run("list"); !strings.Contains(o.stdout, longName) || !strings.Contains(o.stdout, name) {
		t.Errorf("list lacks a run:\n%s%s", o.stdout, o.stderr)
	}
	watching := w.start("watch", longName)
	w.inLeg(watching, "create")
	_ = watching.Process.Signal(os.Interrupt)
	if o := w.finish(watching, 20*time.Second); o.code != 3 || !strings.Contains(o.stderr, "goes on") {
		t.Errorf("interrupted watch: exit %d, want 3 saying that the run goes on:\n%s", o.code, o.stderr)
	}
	if o := w.run("cancel", longName); o.code != 0 {
		t.Errorf("cancel: exit %d: %s", o.code, o.stderr)
	}
	d, err := result.ReadFile(filepath.Join(w.home, "runs", longName, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if d.Run.Verdict != result.Interrupted {
		t.Errorf("cancelled run is %s", d.Run.Verdict)
	}
	if o := w.run("watch", "map-20200101-000000-abcdef"); o.code != 4 {
		t.Errorf("watch of no run: exit %d, want 4: %s", o.code, o.stderr)
	}
	_ = up.Process.Signal(os.Interrupt)
	if o := w.finish(up, 30*time.Second); o.code != 0 {
		t.Errorf("up: exit %d: %s", o.code, o.stderr)
	}
	w.nothingLeft()
}

func TestDetachedRunWithoutAnybodyServing(t *testing.T) {
	w := newWorld(t)
	o := w.run("run", "-d", "map", "-s", "2000", "--detach")
	if o.code != 0 {
		t.Fatalf("detach: exit %d: %s", o.code, o.stderr)
	}
	path := filepath.Join(w.home, "runs", strings.TrimSpace(o.stdout), "result.json")
	eventually(t, time.Minute, "the detached run ends by itself", func() bool { _, err := os.Stat(path); return err == nil })
	eventually(t, time.Minute, "its background worker and server end", func() bool { return len(w.ours()) == 0 })
	w.nothingLeft()
}
