//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/result"
)

// What can be killed.
type victim string

const (
	workerOf   victim = "worker"
	agentOf    victim = "agent"
	serverOf   victim = "server"
	temporalOf victim = "temporal"
)

// disaster is one row of the recovery table: what is killed, and in which leg.
type disaster struct {
	engine string
	leg    string
	kill   []victim
	// attempts is how often the leg must have been begun.
	attempts int
	// causes are the interruptions that the leg must tell of. That a worker was lost may be among them or not, as it depends on who was quicker.
	causes []string
}

// shapes are runs whose legs take some seconds: long enough to be hit, and bound by the processor rather than by whatever disk there is.
var shapes = map[string][]string{
	"sqlite":   {"-s", "200k", "-c", "2", "-t", "2"},
	"redis":    {"-s", "150k", "-c", "1", "-t", "2"},
	"postgres": {"-s", "40k", "-c", "2", "-t", "2", "--persisted"},
}

const (
	agentLost   = "agent-lost"
	serverLost  = "server-lost"
	dataLost    = "dataset-lost"
	dataRebuilt = "dataset-rebuilt"
	workerLost  = "worker-lost"
)

// Every run ends by itself, with every leg whole and true to what happened; what was finished before is byte for byte what it was; nothing is left.
// The command that watches lives through all of it.
func TestRecoveryInALeg(t *testing.T) {
	for _, d := range []disaster{
		// One at a time. A consuming leg finds what it needs again; a leg that reads or writes the same once more needs nothing but rows that are there.
		{"sqlite", "create", []victim{agentOf}, 2, []string{agentLost}},
		{"sqlite", "update", []victim{agentOf}, 2, []string{agentLost}},
		{"sqlite", "delete", []victim{agentOf}, 2, []string{agentLost, dataRebuilt}},
		{"redis", "create", []victim{serverOf}, 2, []string{serverLost}},
		{"redis", "read", []victim{serverOf}, 2, []string{serverLost, dataLost}}, // in memory: the rows are gone
		{"postgres", "read", []victim{serverOf}, 2, []string{serverLost}},        // on disk: they are not
		{"postgres", "delete", []victim{serverOf}, 2, []string{serverLost, dataRebuilt}},
		{"redis", "update", []victim{workerOf}, 1, nil},
		{"postgres", "update", []victim{temporalOf}, 1, nil},
		// In pairs, and all at once.
		{"sqlite", "delete", []victim{workerOf, agentOf}, 2, []string{agentLost, dataRebuilt}},
		{"redis", "delete", []victim{workerOf, serverOf}, 2, []string{serverLost, dataRebuilt}},
		{"postgres", "update", []victim{agentOf, serverOf}, 2, []string{agentLost, serverLost}},
		{"sqlite", "update", []victim{temporalOf, workerOf}, 1, nil},
		{"redis", "read", []victim{temporalOf, workerOf, agentOf, serverOf}, 2, []string{agentLost, serverLost, dataLost}},
	} {
		var names []string
		for _, v := range d.kill {
			names = append(names, string(v))
		}
		t.Run(d.engine+" "+d.leg+" "+strings.Join(names, "+"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.launch(append([]string{"-d", d.engine}, shapes[d.engine]...)...)
			w.inLeg(r.watch, d.leg)
			finished := r.finished()
			r.kill(d.kill...)
			doc := r.end(finished)
			r.check(doc, d)
			w.nothingLeft()
			r.nothingLeft()
		})
	}
}

// bystander is a run that is going on: served by one process, watched by another.
type bystander struct {
	*world
	id    string
	up    *running // serves the host
	watch *running
}

// launch starts a run that is served by a process of its own and watched by another one.
func (w *world) launch(args ...string) *bystander {
	w.t.Helper()
	up := w.start("up")
	eventually(w.t, time.Minute, "starter up serves", func() bool { return strings.Contains(up.stdout.String(), "host ") })
	o := w.run(append([]string{"run", "--detach"}, args...)...)
	if o.code != 0 {
		w.t.Fatalf("detach: exit %d: %s", o.code, o.stderr)
	}
	r := &bystander{world: w, id: strings.TrimSpace(o.stdout), up: up}
	r.watch = w.start("watch", r.id, "--format", "json")
	return r
}

// kill ends processes as hard as can be, all at the same moment.
func (r *bystander) kill(victims ...victim) {
	r.t.Helper()
	var pids []int
	for _, v := range victims {
		found := r.find(v)
		if len(found) == 0 {
			r.t.Fatalf("there is no %s to kill among %v", v, r.ours())
		}
		pids = append(pids, found...)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			r.t.Fatal(err)
		}
	}
	if slices.Contains(victims, workerOf) {
		_ = r.up.Wait()
	}
}

// find returns the processes of a kind. Of a server with many it is the one that the others end with.
func (r *bystander) find(v victim) []int {
	switch v {
	case workerOf:
		return []int{r.up.Process.Pid}
	case serverOf:
		return r.servers()
	}
	word := map[victim]string{agentOf: " agent --dir ", temporalOf: "temporald"}[v]
	var pids []int
	for pid, command := range r.ours() {
		if strings.Contains(command, word) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// servers returns the main processes of the run's database servers: they work in a directory of the run's, and their parents do not.
func (r *bystander) servers() []int {
	there := map[int]bool{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		args, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		dir, err := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd"))
		if err == nil && len(args) > 0 && strings.Contains(dir, r.id) && !bytes.Contains(args, []byte("\x00agent\x00")) {
			there[pid] = true
		}
	}
	var mains []int
	for pid := range there {
		if !there[parentOf(pid)] {
			mains = append(mains, pid)
		}
	}
	return mains
}

func parentOf(pid int) int {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	// The name before it may hold anything, but not a closing bracket after the last one.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// finished returns the stored legs of the run as they are now, by file.
func (r *bystander) finished() map[string][]byte {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.home, "runs", r.id, "legs", "*"))
	if err != nil {
		r.t.Fatal(err)
	}
	legs := map[string][]byte{}
	for _, file := range files {
		if legs[file], err = os.ReadFile(file); err != nil {
			r.t.Fatal(err)
		}
	}
	return legs
}

// end waits for the run's end, as the watching command tells it, and ends what served it.
func (r *bystander) end(finished map[string][]byte) *result.Document {
	r.t.Helper()
	o := r.finish(r.watch, 4*time.Minute)
	if o.code != 0 {
		r.t.Fatalf("watch: exit %d\n%s", o.code, o.stderr)
	}
	doc := r.document(o)
	for file, before := range finished {
		after, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(before, after) {
			r.t.Errorf("%s has changed since it was finished (%v)", file, err)
		}
	}
	if r.up.ProcessState == nil {
		_ = r.up.Process.Signal(os.Interrupt)
		if o := r.finish(r.up, 30*time.Second); o.code != 0 {
			r.t.Errorf("up: exit %d: %s", o.code, o.stderr)
		}
	}
	return doc
}

// check compares the document with what must have come of a disaster.
func (r *bystander) check(doc *result.Document, d disaster) {
	r.t.Helper()
	whole(r.t, doc)
	for _, leg := range doc.Legs {
		if leg.ID != d.leg {
			if leg.Attempts != 1 {
				r.t.Errorf("leg %s took %d attempts and nothing happened in it: %+v", leg.ID, leg.Attempts, leg.Interruptions)
			}
			continue
		}
		if leg.Attempts != d.attempts {
			r.t.Errorf("leg %s took %d attempts, want %d: %+v", leg.ID, leg.Attempts, d.attempts, leg.Interruptions)
		}
		var causes []string
		for _, interruption := range leg.Interruptions {
			if interruption.Cause != workerLost {
				causes = append(causes, interruption.Cause)
			}
			if at := interruption.At; at.Before(doc.Run.Started) || at.After(doc.Run.Finished) {
				r.t.Errorf("leg %s: %+v is dated outside the run", leg.ID, interruption)
			}
		}
		slices.Sort(causes)
		if want := slices.Sorted(slices.Values(d.causes)); !slices.Equal(causes, want) {
			r.t.Errorf("leg %s: interruptions %v, want %v: %+v", leg.ID, causes, want, leg.Interruptions)
		}
	}
}

// whole asserts that every leg is valid with its full sample count, whatever happened to it.
func whole(t testing.TB, doc *result.Document) {
	t.Helper()
	if doc.Run.Verdict != result.Valid {
		t.Errorf("verdict %q (%s), want valid", doc.Run.Verdict, doc.Run.Why)
	}
	var ids []string
	for _, leg := range doc.Legs {
		ids = append(ids, leg.ID)
		switch m := leg.Measured; {
		case leg.Verdict != result.Valid:
			t.Errorf("leg %s is %s: %s", leg.ID, leg.Verdict, leg.Why)
		case m == nil || m.OK != leg.Planned || m.Failed != 0 || m.Service == nil || m.Service.Count != leg.Planned:
			t.Errorf("leg %s: measured %+v, want all %d operations", leg.ID, m, leg.Planned)
		}
	}
	if !slices.Equal(ids, crud) {
		t.Errorf("legs %v, want %v", ids, crud)
	}
}

// nothingLeft asserts that no server of the run lives, and that its data is gone.
func (r *bystander) nothingLeft() {
	r.t.Helper()
	for _, pid := range r.servers() {
		r.t.Errorf("server %d is left", pid)
	}
	for _, pattern := range []string{"/var/tmp/durabench-" + r.id + "*", filepath.Join(os.TempDir(), "*"+r.id+"*")} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			r.t.Errorf("%v is left", left)
		}
	}
}
