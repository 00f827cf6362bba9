//go:build e2e

package e2e

import (
	"os"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/durabench/durabench/bench/result"
)

// hugePages is a setting of the machine that isolation changes.
func hugePages(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil {
		t.Skipf("this machine has no setting of huge pages: %v", err)
	}
	return string(text)
}

// isolated is how a run changes the machine without waiting for it to be quiet.
var isolated = []string{"--isolation", "standard", "--isolation-load", "1000", "--isolation-without", "caches"}

// What was changed of the machine is changed again for a run whose worker and agent were killed, and back when it is over.
func TestMachineIsPutBackAfterKills(t *testing.T) {
	before := hugePages(t)
	s := shapes["sqlite"]
	s.args = append(s.args[:len(s.args):len(s.args)], isolated...)
	r := launch(t, "sqlite", s)
	r.strike(blow{moment{measuring, "create"}, []victim{workerOf, agentOf}})
	r.strike(blow{moment{measuring, "read"}, []victim{workerOf}})
	during := hugePages(t)
	doc := r.end()
	r.check(doc)
	if doc.Isolation == nil {
		t.Fatal("the document tells nothing of isolation")
	}
	changes := false
	for _, step := range doc.Isolation.Steps {
		changes = changes || step.Name == "thp" && step.State == "done" && step.Before != step.After
	}
	if changes && during == before {
		t.Error("after the kills the machine was not isolated again")
	}
	if after := hugePages(t); after != before {
		t.Errorf("huge pages are %q after the run, and were %q before", after, before)
	}
	r.nothingLeft()
}

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
	before := hugePages(t)
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
	if len(r.find(agentOf)) == 0 || len(r.servers()) == 0 {
		t.Fatal("nothing was left to clean up")
	}
	o := r.run("run", "--host", nightHost, "--store", r.gate.store, "-d", "map", "-s", "2000", "--format", "json")
	if o.code != 0 {
		t.Fatalf("the next run: exit %d\n%s", o.code, o.stderr)
	}
	valid(t, r.document(o), 2000, crud...)
	if after := hugePages(t); after != before {
		t.Errorf("huge pages are %q after the next run, and were %q before", after, before)
	}
	r.endServing()
	r.world.nothingRuns() // its logs stay
	for _, pid := range r.servers() {
		t.Errorf("server %d is left", pid)
	}
}
