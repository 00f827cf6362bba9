//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/result"
)

// consuming is a workload whose mixes and batches are long enough to be hit.
const consuming = `
[value]
age = "int:0..99"
name = "text:20"

[[scans]]
id = "age"
name = "full"
where = { age = 21 }
limit = 50
index = { fields = ["age"] }
iterations = 30_000
writes = [0.5]

[[mixes]]
name = "mixed"
weights = { read = 40, update = 40, insert = 20 }
iterations = 200_000

[[batches]]
name = "create"
operation = "CREATE"
batch_size = 100
iterations = 10_000

[[batches]]
name = "update"
operation = "UPDATE"
batch_size = 100
iterations = 10_000

[[batches]]
name = "delete"
operation = "DELETE"
batch_size = 100
iterations = 10_000
`

// The agent is killed in a leg of every kind that writes, with the rows that SQLite keeps for it. Each is run again on rows as they were, in full.
func TestLegsThatWriteSurviveTheLossOfTheirAgent(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(w.dir, "consuming.toml")
	if err := os.WriteFile(file, []byte(consuming), 0o600); err != nil {
		t.Fatal(err)
	}
	hit := []string{"scan/age/full/indexed/write-50", "mix/mixed", "batch/create", "batch/update", "batch/delete"}
	r := w.start("run", "-d", "sqlite", "--config", file, "-s", "20k", "-c", "2", "-t", "2", "--format", "json")
	for _, leg := range hit {
		begun := filepath.Join(w.home, "work", "*", "steps", "*-"+strings.ReplaceAll(leg, "/", "~")+".begun.json")
		eventually(t, 2*time.Minute, "the agent is in leg "+leg, func() bool {
			found, _ := filepath.Glob(begun)
			return len(found) == 1
		})
		killed := 0
		for pid, command := range w.ours() {
			if strings.Contains(command, " agent ") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				killed++
			}
		}
		if killed != 1 {
			t.Fatalf("%d agents in leg %s", killed, leg)
		}
	}
	o := w.finish(r, 5*time.Minute)
	if o.code != 0 {
		t.Fatalf("exit %d\n%s", o.code, tail(o.stderr, 4000))
	}
	for _, leg := range w.document(o).Legs {
		if leg.Verdict != result.Valid && !tooFast("sqlite", leg) {
			t.Errorf("leg %s is %s: %s", leg.ID, leg.Verdict, leg.Why)
			continue
		}
		want := 1
		if slices.Contains(hit, leg.ID) {
			want = 2
		}
		lost := 0
		for _, interruption := range leg.Interruptions {
			if interruption.Cause == agentLost {
				lost++
			}
		}
		if leg.Attempts != want || lost != want-1 {
			t.Errorf("leg %s took %d attempts, want %d: %+v", leg.ID, leg.Attempts, want, leg.Interruptions)
		}
		if m := leg.Measured; leg.Planned > 0 && m.OK != leg.Planned {
			t.Errorf("leg %s did %d of %d operations", leg.ID, m.OK, leg.Planned)
		}
		checkWork(t, leg)
	}
	w.nothingLeft()
}
