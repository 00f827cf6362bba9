//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/workers/agent"
)

// What can be killed.
type victim string

const (
	workerOf   victim = "worker"
	agentOf    victim = "agent"
	serverOf   victim = "server"
	temporalOf victim = "temporal"
)

// The causes of interruptions that results tell.
const (
	agentLost   = "agent-lost"
	serverLost  = "server-lost"
	dataLost    = "dataset-lost"
	dataRebuilt = "dataset-rebuilt"
	workerLost  = "worker-lost"
)

// when is how far something has come.
type when string

const (
	measuring when = "in leg"        // operations of the leg are under way
	loading   when = "in load of"    // rows are loaded again for the leg
	ended     when = "at the end of" // the leg's result is on the agent's disk and not in the store
	uploading when = "in upload of"  // it is on its way there
	stored    when = "after upload"  // it is there, and who sent it does not know
	between   when = "after"         // and now it does: the run is between two legs, or in clean-up
)

// document is what a run uploads at last.
const document = "result"

// moment is when something happens to a run.
type moment struct {
	when when
	of   string // leg or document
}

// blow is one thing that happens.
type blow struct {
	moment
	victims []victim
}

// loses tells whether an execution of a leg is lost by it.
func (b blow) loses() bool {
	return slices.Contains(b.victims, agentOf) || slices.Contains(b.victims, serverOf)
}

// nightHost is the host of these runs: another than this machine by its name, so that who watches a run does not serve it, too.
const nightHost = "bench-1"

// bystander is a run that is going on: served by one process, which is started again whenever it is killed as a service manager does, and watched
// by another. Its results go through a gate.
type bystander struct {
	*world
	shape  shape
	gate   *gate
	id     string
	up     *running      // serves the host
	upEnds chan struct{} // closed when that ends
	watch  *running
	struck []blow
	legs   map[string][]byte // as they were stored, by file
}

// launch starts a run.
func launch(t *testing.T, engine string, s shape) *bystander {
	t.Helper()
	r := &bystander{world: newWorld(t), shape: s, gate: newGate(t), legs: map[string][]byte{}}
	r.extra = append(slices.Clone(r.gate.env), s.env...)
	if s.config != "" {
		s.args = append(slices.Clone(s.args), "--config", r.written("workload.toml", s.config))
	}
	r.serve()
	eventually(t, time.Minute, "starter up serves", func() bool { return strings.Contains(r.up.stdout.String(), "host ") })
	o := r.run(append([]string{"run", "--detach", "--host", nightHost, "--store", r.gate.store, "-d", engine}, s.args...)...)
	if o.code != 0 {
		t.Fatalf("detach: exit %d: %s", o.code, o.stderr)
	}
	r.id = strings.TrimSpace(o.stdout)
	r.watch = r.start("watch", r.id, "--format", "json")
	return r
}

// serve starts what serves the host.
func (r *bystander) serve() {
	up, ends := r.start("up", "--host", nightHost), make(chan struct{})
	r.up, r.upEnds = up, ends
	go func() {
		defer close(ends)
		_ = up.Wait()
	}()
}

// supervise starts it again when it has ended: it does when the Temporal server is killed as it begins.
func (r *bystander) supervise() {
	select {
	case <-r.upEnds:
		r.t.Logf("what served the host has ended and is started again:\n%s", r.up.stderr)
		r.serve()
	default:
	}
}

// temporal returns the address and the namespace of the run's Temporal server, as starter up has printed them.
func (r *bystander) temporal() (address, namespace string) {
	r.t.Helper()
	for line := range strings.Lines(r.up.stdout.String()) {
		if n, _ := fmt.Sscanf(strings.ReplaceAll(line, ",", " "), "temporal %s namespace %s", &address, &namespace); n == 2 {
			return address, namespace
		}
	}
	r.t.Fatalf("starter up does not tell where the Temporal server is:\n%s", r.up.stdout)
	return "", ""
}

// dir is the run's directory.
func (r *bystander) dir() string { return filepath.Join(r.home, "work", r.id) }

// strike waits for the moment and kills.
func (r *bystander) strike(b blow) {
	r.t.Helper()
	began := time.Now()
	key := "/result.json"
	if b.of != document {
		key = "-" + b.of + ".json"
	}
	await := func(what string, check func() bool) {
		r.t.Helper()
		poll(r.t, 3*time.Minute, 5*time.Millisecond, what, func() bool {
			r.supervise()
			return check()
		})
	}
	atGate := func(at point) (open func()) {
		r.t.Helper()
		reached, open := r.gate.stop(key, at)
		await(fmt.Sprint(b.moment), func() bool {
			select {
			case <-reached:
				return true
			default:
				return false
			}
		})
		return open
	}
	open := func() {}
	switch b.when {
	case measuring:
		since := time.Time{}
		await(fmt.Sprint(b.moment), func() bool {
			status, ok := r.status(b.of)
			if !ok || status.State != agent.Running || status.Waiting != "" {
				since = time.Time{}
				return false
			}
			if since.IsZero() {
				since = time.Now()
			}
			// Nothing but operations for a while, or some of them counted already.
			return time.Since(since) > 150*time.Millisecond || status.Progress != nil && status.Progress.Done > 0
		})
	case loading:
		await(fmt.Sprint(b.moment), func() bool {
			var at, of int64
			status, ok := r.status(b.of)
			if ok && status.Attempt > 1 && status.Waiting == "" && status.Progress != nil {
				r.t.Fatalf("the load was over before it could be struck")
			}
			n, _ := fmt.Sscanf(status.Waiting, "loading rows again: %d of %d", &at, &of)
			return ok && n == 2 && at > 0
		})
	case ended:
		_, open = r.gate.stop(key, onItsWay)
		await(fmt.Sprint(b.moment), func() bool { return r.finished(b.of) })
	case uploading:
		open = atGate(onItsWay)
	case stored:
		open = atGate(there)
	case between:
		await(fmt.Sprint(b.moment), func() bool { return r.gate.hasPassed(key) })
	}
	b.victims = r.kill(b.victims...)
	open()
	r.t.Logf("%s: %v %s, after %s", time.Now().Format("15:04:05.0"), b.victims, fmt.Sprint(b.moment), time.Since(began).Round(100*time.Millisecond))
	r.struck = append(r.struck, b)
	r.compare()
}

// compare asserts that the results that are stored are what they were, and remembers them.
func (r *bystander) compare() {
	r.t.Helper()
	for file, content := range r.gate.objects(r.id) {
		if before, ok := r.legs[file]; ok && !bytes.Equal(before, content) {
			r.t.Errorf("%s has changed since it was finished", file)
		}
		r.legs[file] = content
	}
}

// status asks the run's agent where a step is.
func (r *bystander) status(step string) (agent.Status, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client, err := agent.Dial(ctx, r.dir())
	if err != nil {
		return agent.Status{}, false
	}
	defer client.Close()
	status, err := client.Status(ctx, step, 0)
	return status, err == nil
}

// finished tells whether the agent's disk has the result of a leg.
func (r *bystander) finished(leg string) bool {
	outcome, err := agent.ReadOutcome(r.dir(), leg)
	return err == nil && outcome.Leg != nil && outcome.Leg.Verdict == result.Valid // one that failed for a loss is begun again
}

// kill ends processes as hard as can be, all at the same moment. What is not there any more cannot be killed: an agent in clean-up, the server of
// an engine that has none, one that was killed just before. It returns what was killed.
func (r *bystander) kill(victims ...victim) (killed []victim) {
	r.t.Helper()
	var pids []int
	for _, v := range victims {
		if found := r.find(v); len(found) > 0 {
			pids, killed = append(pids, found...), append(killed, v)
		}
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			r.t.Fatal(err)
		}
	}
	// A process is gone some time after it was killed. What goes on before that would have it still there.
	poll(r.t, time.Minute, time.Millisecond, "the killed processes are gone", func() bool {
		return !slices.ContainsFunc(pids, runs)
	})
	if slices.Contains(victims, workerOf) {
		<-r.upEnds
		r.serve()
	}
	return killed
}

// find returns the processes of a kind. Of a server with many it is the one that the others end with.
func (r *bystander) find(v victim) []int {
	switch {
	case v == workerOf:
		return []int{r.up.Process.Pid}
	case v == serverOf && !r.shape.embedded:
		return r.servers()
	case v == serverOf:
		v = agentOf // which holds it
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

// runs tells whether a process has not ended.
func runs(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[0] != "Z"
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

// end waits for the run's end, as the watching command tells it, and ends what served it.
func (r *bystander) end() *result.Document {
	r.t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = r.watch.Wait()
	}()
	poll(r.t, 5*time.Minute, 100*time.Millisecond, "the watched run is over", func() bool {
		r.supervise()
		select {
		case <-over:
			return true
		default:
			return false
		}
	})
	o := outcome{r.watch.ProcessState.ExitCode(), r.watch.stdout.String(), r.watch.stderr.String()}
	if o.code != 0 {
		r.t.Fatalf("watch: exit %d after %v\n%s", o.code, r.struck, o.stderr)
	}
	doc := r.document(o)
	for file, before := range r.legs {
		after, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(before, after) {
			r.t.Errorf("%s has changed since it was finished (%v)", file, err)
		}
	}
	r.endServing()
	return doc
}

// endServing ends what serves the host, gently.
func (r *bystander) endServing() {
	r.t.Helper()
	_ = r.up.Process.Signal(os.Interrupt)
	select {
	case <-r.upEnds:
	case <-time.After(time.Minute):
		r.t.Fatalf("up does not end:\n%s", r.up.stderr)
	}
	if code := r.up.ProcessState.ExitCode(); code != 0 {
		r.t.Errorf("up: exit %d: %s", code, r.up.stderr)
	}
}

// nothingLeft asserts that nothing of the run lives, and that its data is gone.
func (r *bystander) nothingLeft() {
	r.t.Helper()
	r.world.nothingLeft()
	for _, pid := range r.servers() {
		r.t.Errorf("server %d is left", pid)
	}
	for _, pattern := range []string{"/var/tmp/durabench-" + r.id + "*", filepath.Join(os.TempDir(), "*"+r.id+"*")} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			r.t.Errorf("%v is left", left)
		}
	}
}
