//go:build e2e

package e2e

import (
	"os"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/infra/ci"
)

// isolated is how a run changes the machine without waiting for it to be quiet.
var isolated = []string{"--isolation", "standard", "--isolation-load", "1000", "--isolation-without", "caches"}

// A cancelled run cleans up after everything that it ran on was killed.
func TestCancelAfterKillsLeavesNothing(t *testing.T) {
	t.Parallel()
	r := launch(t, "redis", shapes["redis"])
	r.strike(blow{moment{measuring, "read"}, []victim{workerOf, agentOf, serverOf, temporalOf}})
	if o := r.run("cancel", r.id); o.code != 0 {
		t.Errorf("cancel: exit %d: %s", o.code, o.stderr)
	}
	o := r.finish(r.watch, 2*time.Minute)
	doc := r.document(o)
	if o.code != 3 || doc.Run.Verdict != result.Interrupted {
		t.Errorf("watch: exit %d, the run is %s, want 3 and interrupted:\n%s", o.code, doc.Run.Verdict, o.stderr)
	}
	if create := doc.Legs[0]; create.Verdict != result.Valid || create.Measured == nil {
		t.Errorf("leg create, which was measured, is %s", create.Verdict)
	}
	r.endServing()
	r.nothingLeft()
}

// A terminated run can clean up nothing: the next one on the host does, before it begins.
func TestNextRunCleansUpAfterATerminatedOne(t *testing.T) {
	if err := os.WriteFile(hugePages, []byte("madvise"), 0o644); err != nil {
		ci.Need(t, err) // not as root, or a kernel without
	}
	s := shapes["postgres"]
	s.args = append(s.args[:len(s.args):len(s.args)], isolated...)
	r := launch(t, "postgres", s)
	r.strike(blow{moment{measuring, "create"}, nil})
	address, namespace := r.temporal()
	c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.TerminateWorkflow(t.Context(), "run/"+r.id, "", "end-to-end test"); err != nil {
		t.Fatal(err)
	}
	if o := r.finish(r.watch, 2*time.Minute); o.code == 0 {
		t.Errorf("watch of a terminated run: exit 0\n%s", o.stdout)
	}
	if now := hugePagesNow(t); now != "never" {
		t.Errorf("what was terminated has left transparent huge pages %s, want never", now)
	}
	if len(r.find(agentOf)) == 0 || len(r.servers()) == 0 {
		t.Fatal("nothing was left to clean up")
	}
	o := r.run("run", "--host", nightHost, "--store", r.gate.store, "-d", "map", "-s", "2000", "--format", "json")
	if o.code != 0 {
		t.Fatalf("the next run: exit %d\n%s", o.code, o.stderr)
	}
	valid(t, r.document(o), 2000, crud...)
	if now := hugePagesNow(t); now != "madvise" {
		t.Errorf("after the next run transparent huge pages are %s, want madvise as before", now)
	}
	r.endServing()
	r.world.nothingRuns() // its logs stay
	for _, pid := range r.servers() {
		t.Errorf("server %d is left", pid)
	}
}
