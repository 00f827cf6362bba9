//go:build e2e

package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/workers/agent"
)

// standalone starts the worker program as a service manager does, with nothing but the server's address.
func (r *bystander) standalone() *running {
	r.t.Helper()
	address, namespace := r.temporal()
	command := r.program(os.Getenv("DURABENCH_WORKER"), "--host", "bench-2")
	command.Env = append(command.Env, "TEMPORAL_ADDRESS="+address, "TEMPORAL_NAMESPACE="+namespace)
	return r.begin(command)
}

// A worker that is told to stop does so at once, in the middle of a leg and of an upload that does not get on, and the next one goes on where it was.
func TestDrainedWorkerLosesNothing(t *testing.T) {
	t.Parallel()
	r := &bystander{world: newWorld(t), shape: shapes["redis"], gate: newGate(t), legs: map[string][]byte{}}
	r.extra = r.gate.env
	r.serve() // another host; this one is the worker program's
	eventually(t, time.Minute, "starter up serves", func() bool { return strings.Contains(r.up.stdout.String(), "host ") })
	worker := r.standalone()
	o := r.run(append([]string{"run", "--detach", "--host", "bench-2", "--store", r.gate.store, "-d", "redis"}, r.shape.args...)...)
	if o.code != 0 {
		t.Fatalf("detach: exit %d: %s", o.code, o.stderr)
	}
	r.id = strings.TrimSpace(o.stdout)
	r.watch = r.start("watch", r.id, "--format", "json")
	drain := func() {
		t.Helper()
		if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if o := r.finish(worker, time.Minute); o.code != 0 {
			t.Errorf("worker: exit %d\n%s", o.code, o.stderr)
		}
	}

	poll(t, time.Minute, 10*time.Millisecond, "leg create is measured", func() bool {
		status, ok := r.status("create")
		return ok && status.State == agent.Running && status.Progress != nil && status.Progress.Done > 0
	})
	drain()
	if status, ok := r.status("create"); !ok || status.State != agent.Running {
		t.Errorf("the worker ended when leg create was over: it is to end at once, and the leg to go on without it")
	}
	worker = r.standalone()

	reached, open := r.gate.stop("-read.json", onItsWay)
	select {
	case <-reached:
	case <-time.After(2 * time.Minute):
		t.Fatal("leg read is not uploaded")
	}
	drain() // with the gate closed
	worker = r.standalone()
	open()

	doc := r.end()
	whole(t, doc)
	for _, leg := range doc.Legs {
		if leg.Attempts != 1 {
			t.Errorf("leg %s took %d attempts", leg.ID, leg.Attempts)
		}
		for _, i := range leg.Interruptions {
			if leg.ID != "create" || i.Cause != workerLost {
				t.Errorf("leg %s tells of %+v", leg.ID, i)
			}
		}
	}
	drain()
	r.nothingLeft()
}
