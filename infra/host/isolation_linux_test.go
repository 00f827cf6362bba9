package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durabench/durabench/bench/result"
)

// everything asks for every step that the fake machine has; its CPUs and limits are the real ones of the test, and it is never waited for.
func everything(level Level) Isolation {
	return Isolation{Level: level, Services: []string{"cron", "nginx", "atd"}, Without: []string{StepQuiet, StepCPUs, StepFiles, StepLocked}}
}

const isolated = `thp always madvise [never]
sys/devices/system/cpu/cpufreq/policy0/scaling_governor performance
sys/devices/system/cpu/cpufreq/policy1/scaling_governor performance
services/atd inactive
services/cron inactive
services/nginx inactive`

func TestIsolationIsTakenRecordedAndPutBack(t *testing.T) {
	machine, dir := newFakeHost(t.TempDir()), t.TempDir()
	found := machine.state()
	var told []string
	out, err := everything(Strict).apply(t.Context(), machine.rig(), dir, "run-1", func(line string) { told = append(told, line) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(isolated, machine.state()); diff != "" {
		t.Errorf("during the run: %s", diff)
	}
	want := result.Isolation{Level: "strict", SharedCPUs: true, Steps: []result.IsolationStep{
		{Name: "services", Asked: "cron, nginx, atd", State: "done", Before: "cron running, nginx stopped, atd running", After: "cron stopped, nginx stopped, atd stopped"},
		{Name: "swap", Asked: "off", State: "done", Before: "/swap file (1024 MiB), /dev/sda2 (1024 MiB), /dev/sdb2 (1024 MiB)", After: "off"},
		{Name: "thp", Asked: "never", State: "done", Before: "madvise", After: "never"},
		{Name: "governor", Asked: "performance", State: "done", Before: "powersave, schedutil", After: "performance"},
		{Name: "files", State: "not asked"},
		{Name: "memlock", State: "not asked"},
		{Name: "nice", State: "not asked"},
		{Name: "ionice", State: "not asked"},
		{Name: "cpus", State: "not asked"},
		{Name: "caches", Asked: "drop, compact", State: "done", Before: "3.9 MiB cached", After: "1000 KiB cached"},
		{Name: "quiet", State: "not asked"},
	}}
	if diff := cmp.Diff(want, out.Record); diff != "" {
		t.Error(diff)
	}
	if len(told) != 5 {
		t.Errorf("progress: %q", told)
	}
	if run, _, ok := Left(dir); !ok || run != "run-1" {
		t.Errorf("left by %q, %t", run, ok)
	}
	for range 2 { // and once more does nothing
		if err := restore(t.Context(), machine.rig(), dir); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(found, machine.state()); diff != "" {
			t.Errorf("after the run: %s", diff)
		}
		if _, _, ok := Left(dir); ok {
			t.Error("the journal is still there")
		}
	}
	if !slices.Contains(machine.did, "swapon /dev/sda2 0x30000") || !slices.Contains(machine.did, "swapon /dev/sdb2 0x8005") {
		t.Errorf("swap space came back without its options: %q", machine.did)
	}
}

func TestRefusedStepsAreRecordedOrEndAStrictRun(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(f *fakeHost)
		step   string
		why    []string
	}{
		{"no right to turn swap off", func(f *fakeHost) {
			f.refuse = func(change string) error { return refuseWith(change, "swapoff", syscall.EPERM) }
		}, "swap", []string{"/swap file: it takes root"}},
		// The first two areas are off by then and must come back.
		{"the last swap area stays", func(f *fakeHost) {
			f.refuse = func(change string) error { return refuseWith(change, "swapoff /dev/sdb2", syscall.ENOMEM) }
		}, "swap", []string{"/dev/sdb2: cannot allocate memory"}},
		{"memory would not do", func(f *fakeHost) {
			f.put("proc/meminfo", "MemAvailable: 100000 kB\nCached: 1 kB\n")
		}, "swap", []string{"3.0 MiB are swapped out and only 98 MiB of memory are available"}},
		{"a swap file was deleted", func(f *fakeHost) {
			if err := os.Remove(f.path("swap file")); err != nil {
				panic(err)
			}
		}, "swap", []string{"/swap file could not be turned on again"}},
		{"sysfs is read-only", func(f *fakeHost) {
			f.refuse = func(change string) error { return refuseWith(change, "write sys/kernel/mm", syscall.EROFS) }
		}, "thp", []string{"read-only here, as in most containers"}},
		{"a governor that is not offered", func(f *fakeHost) {
			f.put("sys/devices/system/cpu/cpufreq/policy1/scaling_available_governors", "powersave")
		}, "governor", []string{"policy1", `the kernel offers "powersave"`}},
		{"no governors", func(f *fakeHost) {
			if err := os.RemoveAll(f.path("sys/devices/system/cpu/cpufreq")); err != nil {
				panic(err)
			}
		}, "governor", []string{"as in most virtual machines"}},
		{"an unknown service", func(f *fakeHost) {
			if err := os.Remove(f.path("services/atd")); err != nil {
				panic(err)
			}
		}, "services", []string{"atd: there is no unit of this name"}},
		{"a service that does not stop", func(f *fakeHost) {
			f.after = func(change string) {
				if change == "stop atd" {
					f.put("services/atd", "active")
				}
			}
		}, "services", []string{"atd: it was set to stopped and is running"}},
		{"no systemd", func(f *fakeHost) {
			if err := os.RemoveAll(f.path("run")); err != nil {
				panic(err)
			}
		}, "services", []string{"systemd, which does not run here"}},
		{"our own service", func(f *fakeHost) {
			f.put("proc/7/cgroup", "0::/system.slice/atd.service\n")
		}, "services", []string{"atd: this program runs in it"}},
		{"no right to drop caches", func(f *fakeHost) {
			f.refuse = func(change string) error { return refuseWith(change, "write proc/sys/vm", syscall.EACCES) }
		}, "caches", []string{"it takes root"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			machine, dir := newFakeHost(t.TempDir()), t.TempDir()
			tc.change(machine)
			found := machine.state()
			out, err := everything(Standard).apply(t.Context(), machine.rig(), dir, "run-1", nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range out.Record.Steps {
				switch {
				case step.Name != tc.step && step.State == result.StepRefused:
					t.Errorf("also refused: %+v", step)
				case step.Name == tc.step:
					if step.State != result.StepRefused || step.After != "" {
						t.Errorf("%+v is not refused", step)
					}
					for _, why := range tc.why {
						if !strings.Contains(step.Why, why) {
							t.Errorf("why %q does not say %q", step.Why, why)
						}
					}
				}
			}
			if got := section(machine.state(), tc.step); got != section(found, tc.step) {
				t.Errorf("the refused step left %q, found %q", got, section(found, tc.step))
			}
			if err := restore(t.Context(), machine.rig(), dir); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(found, machine.state()); diff != "" {
				t.Errorf("put back: %s", diff)
			}

			_, err = everything(Strict).apply(t.Context(), machine.rig(), dir, "run-1", nil)
			var refused *RefusedError
			if !errors.As(err, &refused) || len(refused.Steps) != 1 || refused.Steps[0].Name != tc.step {
				t.Fatalf("strict: %v", err)
			}
			if diff := cmp.Diff(found, machine.state()); diff != "" {
				t.Errorf("after a refused strict run: %s", diff)
			}
			if _, _, ok := Left(dir); ok {
				t.Error("a refused strict run leaves a journal")
			}
		})
	}
}

func refuseWith(change, prefix string, err error) error {
	if strings.HasPrefix(change, prefix) {
		return err
	}
	return nil
}

// section returns the lines of a state that a step is about.
func section(state, step string) string {
	part := map[string]string{"swap": "swap ", "thp": "thp ", "governor": "sys/", "services": "services/"}[step]
	var lines []string
	for line := range strings.SplitSeq(state, "\n") {
		if part != "" && strings.HasPrefix(line, part) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func TestNoIsolationChangesNothing(t *testing.T) {
	machine, dir := newFakeHost(t.TempDir()), t.TempDir()
	found := machine.state()
	out, err := everything(None).apply(t.Context(), machine.rig(), dir, "run-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if machine.state() != found || len(machine.did) > 0 || len(out.Record.Steps) != len(StepNames()) {
		t.Errorf("did %q, recorded %+v", machine.did, out.Record)
	}
	for _, step := range out.Record.Steps {
		if step.State != result.StepNotAsked {
			t.Errorf("%+v", step)
		}
	}
}

// A machine on which nothing has to be changed is isolated without a journal, and without rights.
func TestWhatIsSoAlreadyTakesNoRights(t *testing.T) {
	machine, dir := newFakeHost(t.TempDir()), t.TempDir()
	if _, err := everything(Strict).apply(t.Context(), machine.rig(), dir, "run-1", nil); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	machine.refuse = func(change string) error {
		if strings.Contains(change, "vm/") {
			return nil
		}
		return syscall.EPERM
	}
	if _, err := everything(Strict).apply(t.Context(), machine.rig(), other, "run-2", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(other, journalFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a journal of no changes: %v", err)
	}
}

// The activity that isolates is retried: what the first attempt changed must not be taken for what the machine was.
func TestIsolatingAgainKeepsTheFirstOldValues(t *testing.T) {
	machine, dir := newFakeHost(t.TempDir()), t.TempDir()
	found := machine.state()
	first, err := everything(Standard).apply(t.Context(), machine.rig(), dir, "run-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := everything(Standard).apply(t.Context(), machine.rig(), dir, "run-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range first.Record.Steps {
		if first.Record.Steps[i].Name == StepCaches {
			continue
		}
		if diff := cmp.Diff(first.Record.Steps[i], second.Record.Steps[i]); diff != "" {
			t.Error(diff)
		}
	}
	if machine.state() != isolated {
		t.Errorf("isolated again: %s", machine.state())
	}
	if err := restore(t.Context(), machine.rig(), dir); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(found, machine.state()); diff != "" {
		t.Error(diff)
	}
}

func TestCancelledIsolationIsPutBack(t *testing.T) {
	machine, dir := newFakeHost(t.TempDir()), t.TempDir()
	found := machine.state()
	ctx, cancel := context.WithCancelCause(t.Context())
	wanted := errors.New("run was cancelled")
	i := everything(Standard)
	i.Without = []string{StepCPUs, StepFiles, StepLocked} // wait for a quiet machine
	machine.put("proc/stat", "cpu  1 1 1 1 1 1 1 1 0 0\nprocs_blocked 9\n")
	machine.put("proc/loadavg", "9.00 9.00 9.00 1/1 1\n")
	_, err := i.apply(ctx, machine.rig(), dir, "run-1", func(line string) {
		if strings.Contains(line, StepQuiet) {
			cancel(wanted)
		}
	})
	if !errors.Is(err, wanted) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(found, machine.state()); diff != "" {
		t.Error(diff)
	}
}

func TestIsolationRequestsAreChecked(t *testing.T) {
	if err := (Isolation{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
	i := Isolation{
		Level: "hard", Without: []string{"swapp"}, Server: "cloud", Load: -1, Wait: -1, Services: []string{"--force", "a b", "ok.timer"}, HugePages: "some",
		Governor: "../x", OpenFiles: -1, LockedBytes: -2, Nice: new(20), IO: "idle/3",
	}
	err := i.Validate()
	for _, want := range []string{
		`isolation "hard" is none of none, standard, strict`, `without "swapp": there is no such step; there are services, swap,`, `server "cloud"`, "load -1",
		"wait -1", `service "--force"`, `service "a b"`, `huge pages "some"`, `governor "../x"`, "open files -1", "locked memory -2", "nice 20", `io priority "idle/3"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "ok.timer") {
		t.Error(err)
	}
	if _, err := i.apply(t.Context(), rig{}, t.TempDir(), "run", nil); err == nil {
		t.Error("a bad request is carried out")
	}
	for text, want := range map[string]int{"": 0, "realtime/0": 1 << 13, "best-effort/7": 2<<13 | 7, "idle": 3 << 13} {
		if got, err := parseIO(text); got != want || err != nil {
			t.Errorf("io %q is %#x, %v", text, got, err)
		}
	}
	for _, text := range []string{"best-effort", "realtime/8", "realtime/-1", "x/1", "idle/", "/"} {
		if got, err := parseIO(text); err == nil {
			t.Errorf("io %q is %#x", text, got)
		}
	}
}
