package host

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// placed reads how a thread is placed: "cpus 0, nice 5, io 0x6000".
func placed(t *testing.T, pid, tid int) string {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return "gone"
	}
	if err != nil {
		t.Fatal(err)
	}
	cpus := ""
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			cpus = strings.TrimSpace(text)
		}
	}
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
	io, _, code := unix.Syscall(unix.SYS_IOPRIO_GET, 1, uintptr(tid), 0)
	if err != nil || code != 0 {
		return "gone"
	}
	return fmt.Sprintf("cpus %s, nice %d, io %#x", cpus, 20-raw, io)
}

func threads(pid int) []int {
	var ids []int
	for _, name := range names(fmt.Sprintf("/proc/%d/task", pid)) {
		if id, err := strconv.Atoi(name); err == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Placement to a rank below ours takes no rights, and whoever runs the test may use its own CPUs.
func lowPlacement(t *testing.T) (Placement, string) {
	t.Helper()
	cpu := allowedCPUs()[0]
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	nice := min(19, 20-raw+3)
	return Placement{CPUs: []int{cpu}, Nice: &nice, IO: "idle"}, fmt.Sprintf("cpus %d, nice %d, io 0x6000", cpu, nice)
}

func TestCommandsStartPlaced(t *testing.T) {
	before := map[int]string{}
	for _, id := range threads(os.Getpid()) {
		before[id] = placed(t, os.Getpid(), id)
	}
	files := limitOf(t, unix.RLIMIT_NOFILE)
	p, want := lowPlacement(t)
	p.OpenFiles = int64(files.Cur) // as many as there may be
	cmd := exec.Command("sh", "-c", "ulimit -n; exec sleep 60")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(cmd); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != fmt.Sprint(files.Cur) {
		t.Errorf("the command may open %q files, %v; want %d", line, err, files.Cur)
	}
	if got := placed(t, cmd.Process.Pid, cmd.Process.Pid); got != want {
		t.Errorf("the command is on %s, want %s", got, want)
	}
	// Neither what runs here already nor what is started later is where the command is. The thread that started it ends in a moment.
	var moved []int
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		moved = slices.DeleteFunc(threads(os.Getpid()), func(id int) bool {
			was, there := before[id]
			now := placed(t, os.Getpid(), id)
			return !there || now == was || now == "gone"
		})
		if len(moved) == 0 {
			break
		}
	}
	if len(moved) > 0 {
		t.Errorf("threads %v were moved", moved)
	}
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	if got := placed(t, other.Process.Pid, other.Process.Pid); got != before[os.Getpid()] {
		t.Errorf("another command is on %s, want %s", got, before[os.Getpid()])
	}
	if now := limitOf(t, unix.RLIMIT_NOFILE); now != files {
		t.Errorf("our own limit is %+v and was %+v", now, files)
	}
}

func limitOf(t *testing.T, resource int) syscall.Rlimit {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(resource, &limit); err != nil {
		t.Fatal(err)
	}
	return limit
}

// However often threads are placed, the process is not: its first thread is never among them.
func TestPlacingThreadsLeavesTheProcess(t *testing.T) {
	p, _ := lowPlacement(t)
	before := placed(t, os.Getpid(), os.Getpid())
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if err := onThread(func() error { return p.placeThread(0) }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if after := placed(t, os.Getpid(), os.Getpid()); after != before {
		t.Errorf("the process was on %s and is on %s", before, after)
	}
}

// A program with many threads and a child is moved whole.
func TestRunningTreeIsPlaced(t *testing.T) {
	parent := startChild(t, "spawn")
	parent.tell(1) // its child burns CPU for 300 ms
	p, want := lowPlacement(t)
	var child int
	for deadline := time.Now().Add(20 * time.Second); child == 0 && time.Now().Before(deadline); {
		fs := newProcFS()
		if found := fs.children(parent.pid(), len(threads(parent.pid()))); len(found) > 0 {
			child = found[0]
		}
	}
	if err := p.Place(parent.pid()); err != nil {
		t.Fatal(err)
	}
	for _, id := range threads(parent.pid()) {
		if got := placed(t, parent.pid(), id); got != want {
			t.Errorf("thread %d is on %s, want %s", id, got, want)
		}
	}
	// The child may be over by now.
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", child))
	if alone := fmt.Sprintf("Cpus_allowed_list:\t%d\n", p.CPUs[0]); err == nil && !strings.Contains(string(status), "State:\tZ") && !strings.Contains(string(status), alone) {
		t.Errorf("the child is elsewhere: %s", status)
	}
	parent.answer()
	if err := p.Place(1 << 22); err == nil {
		t.Error("a process that is not there is placed")
	}
}

func TestPlacementsThatAreRefused(t *testing.T) {
	for name, p := range map[string]Placement{
		"CPU that is not there": {CPUs: []int{1023}},
		"only a part of them":   {CPUs: []int{allowedCPUs()[0], 1023}},
		"no such class":         {IO: "first"},
	} {
		cmd := exec.Command("true")
		if err := p.Start(cmd); err == nil {
			_ = cmd.Wait()
			t.Errorf("%s: started", name)
		}
	}
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := (Placement{IO: "idle"}).Start(cmd); err == nil {
		t.Error("a command with a death signal is started on a thread that ends")
	}
	plain := exec.Command("true")
	if err := (Placement{}).Start(plain); err != nil {
		t.Fatal(err)
	}
	if err := plain.Wait(); err != nil {
		t.Error(err)
	}
	if err := (Placement{}).Place(-1); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
}

// The steps that only concern processes change nothing, so they can be taken for real.
func TestProcessStepsArePassedOn(t *testing.T) {
	machine, dir := newFakeHost(t.TempDir()), t.TempDir()
	for cpu := range 4 {
		machine.put(fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/core_cpus_list", cpu), fmt.Sprint(cpu))
	}
	machine.put("sys/devices/system/cpu/online", "0-3")
	files := limitOf(t, unix.RLIMIT_NOFILE)
	memory := limitOf(t, unix.RLIMIT_MEMLOCK)
	p, _ := lowPlacement(t)
	i := Isolation{
		Without: []string{StepQuiet, StepCaches, StepSwap, StepHugePages, StepGovernor}, Nice: p.Nice, IO: "idle",
		OpenFiles: int64(files.Cur), LockedBytes: int64(min(memory.Cur, 1<<20)),
	}
	r := (system{root: machine.root, pid: 7, cpus: []int{0}}).rig(machine)
	out, err := i.apply(t.Context(), r, dir, "run-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range out.Record.Steps {
		switch step.Name {
		case StepFiles, StepLocked, StepNice, StepIO:
			if step.State != "done" || step.Asked == "" || step.After == "" {
				t.Errorf("%+v", step)
			}
		case StepCPUs: // one core
			if step.State != "refused" || !strings.Contains(step.Why, "too few for agent and server") || step.Before != "all on 0" {
				t.Errorf("%+v", step)
			}
		}
	}
	want := Placement{Nice: p.Nice, IO: "idle", OpenFiles: i.OpenFiles, LockedBytes: i.LockedBytes}
	if fmt.Sprint(out.Agent) != fmt.Sprint(want) || fmt.Sprint(out.Server) != fmt.Sprint(want) {
		t.Errorf("agent %+v, server %+v", out.Agent, out.Server)
	}
	if !out.Record.SharedCPUs || out.Record.CPUNote == "" || out.Record.AgentCPUs != "" {
		t.Errorf("%+v", out.Record)
	}
	if now := limitOf(t, unix.RLIMIT_MEMLOCK); now != memory {
		t.Errorf("our own limit is %+v and was %+v", now, memory)
	}
}

// Where more than the hard limit is wanted and refused, commands get as much as there is.
func TestRefusedLimitsAreRaisedAsFarAsTheyMayBe(t *testing.T) {
	memory := limitOf(t, unix.RLIMIT_MEMLOCK)
	out, err := Isolation{Without: slices.DeleteFunc(StepNames(), func(name string) bool { return name == StepLocked })}.Apply(t.Context(), t.TempDir(), "run-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range out.Record.Steps {
		switch {
		case step.Name != StepLocked:
		case step.State == "done":
			if out.Agent.LockedBytes != Unlimited || step.After != "unlimited" {
				t.Errorf("%+v: %+v", step, out.Agent)
			}
		case uint64(out.Agent.LockedBytes) != memory.Max || !strings.Contains(step.Why, "LimitMEMLOCK"):
			t.Errorf("%+v: %+v", step, out.Agent)
		}
	}
	if now := limitOf(t, unix.RLIMIT_MEMLOCK); now != memory {
		t.Errorf("our own limit is %+v and was %+v", now, memory)
	}
}

// The real machine is watched, which changes nothing. Within a second no machine is known to be quiet.
func TestRealMachineIsWatched(t *testing.T) {
	i := Isolation{Without: slices.DeleteFunc(StepNames(), func(name string) bool { return name == StepQuiet }), Wait: time.Second}
	out, err := i.Apply(t.Context(), t.TempDir(), "run-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	last := out.Record.Steps[len(out.Record.Steps)-1]
	if last.Name != StepQuiet || last.State != "refused" || !strings.Contains(last.Why, "not quiet within 1s") {
		t.Errorf("%+v", last)
	}
}
