//go:build e2e

// Package e2e runs the built programs as a user does, against a real embedded Temporal server and real databases, and kills what a bad
// night kills. Each test has a home directory of its own and checks that nothing is left behind. `make e2e` builds what it needs.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/result"
)

// world is one test's own home and working directory.
type world struct {
	t     testing.TB
	home  string
	dir   string
	extra []string // of the environment of its programs
}

func newWorld(t testing.TB) *world {
	t.Helper()
	for _, variable := range []string{"DURABENCH_STARTER", "DURABENCH_WORKER", "DURABENCH_TEMPORALD"} {
		if os.Getenv(variable) == "" {
			t.Fatalf("%s does not name the built program: run `make e2e`", variable)
		}
	}
	// t.TempDir has a long name and mode 0700 on its parents; a server that runs as another account must get in.
	root, err := os.MkdirTemp("", "durabench-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: filepath.Join(root, "home"), dir: filepath.Join(root, "cwd")}
	for _, dir := range []string{w.home, w.dir} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		w.killLeftovers()
		if t.Failed() {
			w.dumpLogs()
		}
		_ = os.RemoveAll(root)
	})
	return w
}

// command returns a starter command in this world.
func (w *world) command(args ...string) *exec.Cmd {
	if len(args) > 0 && args[0] == "run" && !slices.Contains(args, "--isolation") && !slices.Contains(args, "--matrix") {
		// Tests neither wait for a quiet machine nor change it, but those of isolation.
		args = append(slices.Clone(args), "--isolation", "none")
	}
	return w.program(os.Getenv("DURABENCH_STARTER"), args...)
}

// program returns a command of any program in this world.
func (w *world) program(path string, args ...string) *exec.Cmd {
	command := exec.Command(path, args...)
	command.Dir = w.dir
	command.Env = w.env()
	return command
}

func (w *world) env() []string {
	// With a lock of its own a test does not wait for whoever else measures on this machine.
	env := []string{"DURABENCH_HOME=" + w.home, "DURABENCH_LOCK_DIR=" + w.home, "NO_COLOR=1"}
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, "TEMPORAL_") || name == "DURABENCH_HOME" || name == "DURABENCH_LOCK_DIR" || name == "DURABENCH_CONFIG" {
			continue
		}
		env = append(env, e)
	}
	return append(env, w.extra...)
}

// outcome is what a finished program left.
type outcome struct {
	code           int
	stdout, stderr string
}

// run runs a starter command to its end.
func (w *world) run(args ...string) outcome {
	w.t.Helper()
	return w.finish(w.start(args...), 5*time.Minute)
}

// running is a started program.
type running struct {
	*exec.Cmd
	stdout, stderr *output
}

// output is what a program has written so far; it may be read while the program runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (w *world) start(args ...string) *running {
	w.t.Helper()
	return w.begin(w.command(args...))
}

// begin starts a program.
func (w *world) begin(command *exec.Cmd) *running {
	w.t.Helper()
	r := &running{Cmd: command, stdout: new(output), stderr: new(output)}
	r.Stdout, r.Stderr = r.stdout, r.stderr
	if err := r.Start(); err != nil {
		w.t.Fatalf("start %v: %v", command.Args, err)
	}
	return r
}

// finish waits for a program to end by itself.
func (w *world) finish(r *running, limit time.Duration) outcome {
	w.t.Helper()
	done := make(chan error, 1)
	go func() { done <- r.Wait() }()
	select {
	case err := <-done:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			w.t.Fatalf("wait for %v: %v", r.Args, err)
		}
	case <-time.After(limit):
		_ = r.Process.Signal(syscall.SIGQUIT)
		time.Sleep(time.Second)
		_ = r.Process.Kill()
		<-done
		w.t.Fatalf("%v did not end in %s\nstdout:\n%s\nstderr:\n%s", r.Args, limit, r.stdout, r.stderr)
	}
	return outcome{r.ProcessState.ExitCode(), r.stdout.String(), r.stderr.String()}
}

// document decodes and validates the result document that a command with --format json printed.
func (w *world) document(o outcome) *result.Document {
	w.t.Helper()
	doc, err := result.Decode([]byte(o.stdout))
	if err != nil {
		w.t.Fatalf("result document on stdout: %v\nstdout:\n%.2000s\nstderr:\n%s", err, o.stdout, o.stderr)
	}
	if err := doc.Validate(); err != nil {
		w.t.Fatalf("result document: %v", err)
	}
	return doc
}

// ours lists the processes that work for this world, by the home directory in their environment or arguments.
func (w *world) ours() map[int]string {
	found := map[int]string{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		args, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		env, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if len(args) == 0 {
			continue // a zombie, or a kernel thread
		}
		if bytes.Contains(args, []byte(w.home)) || bytes.Contains(env, []byte(w.home)) {
			found[pid] = strings.TrimSpace(strings.ReplaceAll(string(args), "\x00", " "))
		}
	}
	return found
}

// nothingLeft asserts that no process, working directory or secret of this world is left.
func (w *world) nothingLeft() {
	w.t.Helper()
	w.nothingRuns()
	entries, _ := filepath.Glob(filepath.Join(w.home, "work", "*"))
	for _, entry := range entries {
		if !strings.HasSuffix(entry, ".lock") {
			w.t.Errorf("%s is left", entry)
		}
	}
}

// nothingRuns asserts that no process and no secret of this world is left. A run that failed keeps its logs.
func (w *world) nothingRuns() {
	w.t.Helper()
	var left map[int]string
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if left = w.ours(); len(left) == 0 {
			break
		}
	}
	for pid, command := range left {
		w.t.Errorf("process %d is left: %s", pid, command)
	}
	entries, _ := filepath.Glob(filepath.Join(w.home, "secrets", "*"))
	for _, entry := range entries {
		w.t.Errorf("%s is left", entry)
	}
}

func (w *world) killLeftovers() {
	for pid := range w.ours() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// dumpLogs shows what a failed test's programs logged.
func (w *world) dumpLogs() {
	_ = filepath.WalkDir(w.home, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".log") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil {
			w.t.Logf("--- %s\n%s", strings.TrimPrefix(path, w.home), tail(string(data), 3000))
		}
		return nil
	})
}

func tail(text string, n int) string {
	if len(text) > n {
		return "…" + text[len(text)-n:]
	}
	return text
}

// eventually waits until check says yes.
func eventually(t testing.TB, limit time.Duration, what string, check func() bool) {
	t.Helper()
	poll(t, limit, 100*time.Millisecond, what, check)
}

// poll asks check again and again, with pauses, until it says yes.
func poll(t testing.TB, limit, pause time.Duration, what string, check func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for !check() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not in %s", what, limit)
		case <-time.After(pause):
		}
	}
}

// valid asserts that every leg is valid with its full sample count in one attempt.
func valid(t *testing.T, doc *result.Document, samples int64, legs ...string) {
	t.Helper()
	// The map is nearly as fast as the harness, which may well be what limits it.
	limited := result.Valid
	if doc.Engine.Name == "map" {
		limited = result.GeneratorLimited
	}
	if doc.Run.Verdict != result.Valid && doc.Run.Verdict != limited {
		t.Errorf("verdict %q (%s), want valid", doc.Run.Verdict, doc.Run.Why)
	}
	var ids []string
	for _, leg := range doc.Legs {
		ids = append(ids, leg.ID)
		switch {
		case leg.Verdict != result.Valid && leg.Verdict != limited:
			t.Errorf("leg %s is %s: %s", leg.ID, leg.Verdict, leg.Why)
		case leg.Measured == nil || leg.Measured.OK != samples || leg.Measured.Failed != 0:
			t.Errorf("leg %s: measured %+v, want %d operations", leg.ID, leg.Measured, samples)
		case leg.Attempts != 1:
			t.Errorf("leg %s: %d attempts, want 1", leg.ID, leg.Attempts)
		case leg.Measured.Service == nil || leg.Measured.Service.Min <= 0:
			t.Errorf("leg %s: no service time, or one of 0 ns", leg.ID)
		}
	}
	if fmt.Sprint(ids) != fmt.Sprint(legs) {
		t.Errorf("legs %v, want %v", ids, legs)
	}
}
