//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/infra/ci"
)

// quota makes a control group, of either version, that may use that share of one CPU, and returns the file that takes processes into it.
func quota(t *testing.T, share float64) string {
	t.Helper()
	const period = 100_000 // µs
	name := fmt.Sprintf("durabench-test-%d", os.Getpid())
	used := int(share * period)
	var problems []error
	for _, version := range []struct{ root, file, text string }{
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", fmt.Sprint(used)},
		{"/sys/fs/cgroup", "cpu.max", fmt.Sprintf("%d %d", used, period)},
	} {
		dir := filepath.Join(version.root, name)
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			t.Cleanup(func() { _ = os.Remove(dir) })
			err = os.WriteFile(filepath.Join(dir, version.file), []byte(version.text), 0o644)
		}
		if err == nil {
			return filepath.Join(dir, "cgroup.procs")
		}
		problems = append(problems, err)
	}
	ci.Need(t, fmt.Errorf("make a control group with a quota: %w", errors.Join(problems...)))
	return ""
}

// An agent that gets a fifth of a CPU is the limit of what it measures, whatever the server could do: no leg may pass for a measurement of the server.
func TestAgentWithoutCPUsIsTheLimit(t *testing.T) {
	program, err := exec.LookPath("redis-server")
	ci.Need(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	_ = listener.Close()
	const password = "not-a-secret-but-needed"
	server := exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--requirepass", password, "--save", "", "--dir", t.TempDir())
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	eventually(t, 10*time.Second, "redis listens", func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})

	w := newWorld(t)
	up := w.start("up") // the Temporal server and the worker have all the CPUs they want
	eventually(t, time.Minute, "starter up serves", func() bool { return strings.Contains(up.stdout.String(), "host ") })
	group := quota(t, 0.2)
	r := w.start("run", "-d", "redis", "-e", "redis://:"+password+"@127.0.0.1:"+port+"/0", "-s", "150k", "-c", "2", "-t", "4", "--format", "json")
	eventually(t, time.Minute, "the agent runs", func() bool {
		for pid, command := range w.ours() {
			if strings.Contains(command, " agent ") {
				return os.WriteFile(group, []byte(fmt.Sprint(pid)), 0o644) == nil
			}
		}
		return false
	})
	o := w.finish(r, 3*time.Minute)
	for _, leg := range w.document(o).Legs {
		if leg.Verdict != result.GeneratorLimited || !strings.Contains(leg.Why, "kept off the CPUs") {
			t.Errorf("leg %s is %s: %s", leg.ID, leg.Verdict, leg.Why)
		}
	}
	if o.code != 0 {
		t.Errorf("exit %d\n%s", o.code, tail(o.stderr, 2000))
	}
	_ = up.Process.Signal(os.Interrupt)
	w.finish(up, 30*time.Second)
	w.nothingLeft()
}
