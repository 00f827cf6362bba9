//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/infra/ci"
	"github.com/durabench/durabench/infra/host"
)

// hugePages is the setting of the machine that this test has changed: it takes root, and has an effect on nobody for long.
const hugePages = "/sys/kernel/mm/transparent_hugepage/enabled"

func hugePagesNow(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(hugePages)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`\[(.*)\]`).FindStringSubmatch(string(text))[1]
}

// niceOf returns the nice value of the process that works in a directory of the run and whose command line has the word.
func niceOf(run, word string) (nice int, found bool) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil || !strings.Contains(string(args)+cwd, run) || !strings.Contains(string(args), word) {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))
		if nice, err = strconv.Atoi(fields[16]); err == nil { // the 19th of the line
			return nice, true
		}
	}
	return 0, false
}

// Worker and agent are killed at one moment: what they changed of the machine is put back when the next worker comes, changed again for the rest of
// the run, and put back at its end.
func TestIsolationThroughAKill(t *testing.T) {
	if err := os.WriteFile(hugePages, []byte("madvise"), 0o644); err != nil {
		ci.Need(t, err) // not as root, or a kernel without
	}
	w := newWorld(t)
	without := slices.DeleteFunc(host.StepNames(), func(name string) bool { return name == host.StepHugePages || name == host.StepNice })
	r := w.start("run", "-d", "redis", "--server", "process", "-s", "150000", "-t", "2",
		"--isolation", "standard", "--isolation-without", strings.Join(without, ","), "--nice", "3")
	w.inLeg(r, "read")
	if now := hugePagesNow(t); now != "never" {
		t.Errorf("in a leg transparent huge pages are %s, want never", now)
	}
	run := runName.FindStringSubmatch(r.stderr.String())
	victims := []int{r.Process.Pid}
	for pid, command := range w.ours() {
		if strings.Contains(command, " agent --dir ") {
			victims = append(victims, pid)
		}
	}
	if run == nil || len(victims) != 2 {
		t.Fatalf("run %v, victims %v", run, victims)
	}
	const agent, server = "\x00agent\x00", "redis-server"
	for _, who := range []string{server, agent} {
		if nice, found := niceOf(run[1], who); !found || nice != 3 {
			t.Errorf("%q has nice value %d (%v), want 3", who, nice, found)
		}
	}
	for _, pid := range victims {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	_ = r.Wait()
	again := w.start("watch", run[1], "--format", "json")
	eventually(t, time.Minute, "the next agent has the machine as the first had it", func() bool {
		nice, found := niceOf(run[1], agent)
		return found && nice == 3 && hugePagesNow(t) == "never"
	})
	o := w.finish(again, 3*time.Minute)
	if o.code != 0 {
		t.Fatalf("watch: exit %d\n%s", o.code, o.stderr)
	}
	d := w.document(o)
	for _, leg := range d.Legs {
		if want := map[bool]int{true: 2, false: 1}[leg.ID == "read"]; leg.Verdict != result.Valid || leg.Attempts != want {
			t.Errorf("leg %s is %s after %d attempts, want %d: %s", leg.ID, leg.Verdict, leg.Attempts, want, leg.Why)
		}
	}
	if d.Isolation == nil || d.Host.THP != "never" {
		t.Fatalf("isolation %+v on a host with transparent huge pages %s", d.Isolation, d.Host.THP)
	}
	for _, step := range d.Isolation.Steps {
		want := result.StepNotAsked
		if !slices.Contains(without, step.Name) {
			want = result.StepDone
		}
		if step.State != want || step.Name == host.StepHugePages && (step.Before != "madvise" || step.After != "never") {
			t.Errorf("%+v, want it %s", step, want)
		}
	}
	if now := hugePagesNow(t); now != "madvise" {
		t.Errorf("after the run transparent huge pages are %s, want madvise as before", now)
	}
	w.nothingLeft()
}
