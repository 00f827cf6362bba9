package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/infra/ci"
	"github.com/durabench/durabench/infra/pidspace"
)

// envAsk makes this test's binary tell whether the process of that name has ended.
const envAsk = "DURABENCH_TEST_ASK_ENDED"

func init() {
	if name := os.Getenv(envAsk); name != "" {
		if Ended(name) {
			os.Stdout.WriteString("ended")
		}
		os.Exit(0)
	}
}

// A container may have the name of its machine, and sees none of the machine's processes.
func TestProcessesOutsideAContainerHaveNotEnded(t *testing.T) {
	inside := exec.Command("unshare", "--pid", "--fork", "--mount-proc", os.Args[0])
	inside.Env = append(os.Environ(), envAsk+"="+Self())
	out, err := inside.Output()
	ci.Need(t, err)
	require.Empty(t, string(out), "this process is taken for dead")
}

func TestANumberOfAnotherNamespaceIsNotOurs(t *testing.T) {
	self, err := lookUp(os.Getpid())
	require.NoError(t, err)
	boot, rest, _ := strings.Cut(self.started, "/")
	_, tick, _ := strings.Cut(rest, "/")
	require.True(t, State{PID: self.pid, Started: self.started}.alive())
	require.True(t, State{PID: self.pid, Started: boot + "/" + tick}.alive(), "written by an earlier build")
	foreign := State{PID: self.pid, Started: boot + "/1/" + tick}
	require.False(t, foreign.alive())
	dir := t.TempDir()
	require.NoError(t, foreign.write(dir))
	require.NoError(t, Stop(t.Context(), dir, true), "it would be the end of this test")
}

// Paths in a container are not those of the machine: a server that a container runs in a directory of the same name is not ours to stop.
func TestAServerInAContainerIsNotOfTheFamily(t *testing.T) {
	dir := t.TempDir()
	s := &server{paths: pathsOf(dir)}
	s.Dir = dir
	require.NoError(t, os.MkdirAll(s.server, 0o700))
	run := func(command ...string) {
		t.Helper()
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = s.server
		cmd.Env = append(os.Environ(), labelDir+"="+dir)
		ci.Need(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	run("sh", "-c", "touch outside; sleep 1000 & wait")
	require.Eventually(t, func() bool { return len(s.family()) >= 2 }, 10*time.Second, 10*time.Millisecond, "one of ours is found")
	ours := len(s.family())
	// Unshare itself is outside.
	run("unshare", "--pid", "--fork", "--kill-child", "sh", "-c", "touch inside; sleep 1000")
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(s.server, "inside")); return err == nil }, 10*time.Second, 10*time.Millisecond)
	require.Len(t, s.family(), ours+1)
	for _, p := range s.family() {
		require.True(t, pidspace.Shares(p.pid))
	}
}
