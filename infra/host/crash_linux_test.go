package host

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// killed is what a test panics with where kill -9 would hit.
type killed struct{}

// survive calls f, which may be killed, and tells whether it was.
func survive(f func()) (was bool) {
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case killed:
			was = true
		default:
			panic(r)
		}
	}()
	f()
	return false
}

// killAt makes the machine kill whoever makes its nth change: before it is made, when only the journal knows of it, or after.
func (f *fakeHost) killAt(n int, after bool) {
	count := 0
	hit := func(string) {
		if count++; count == n {
			panic(killed{})
		}
	}
	f.before, f.after = nil, nil
	if after {
		f.after = hit
	} else {
		f.before = hit
	}
}

func (f *fakeHost) spare() { f.before, f.after = nil, nil }

// Whatever was being done when the run was killed, and however often putting back is killed too, the machine ends exactly as it was.
func TestAnyPrefixOfStepsIsPutBackExactly(t *testing.T) {
	base := t.TempDir()
	count := 0
	rapid.Check(t, func(t *rapid.T) {
		count++
		root := filepath.Join(base, fmt.Sprint(count))
		dir := filepath.Join(root, "journal")
		machine := newFakeHost(root)
		machine.put("sys/kernel/mm/transparent_hugepage/enabled", rapid.SampledFrom([]string{"[always] madvise never", "always [madvise] never", "always madvise [never]"}).Draw(t, "thp"))
		for _, policy := range []string{"policy0", "policy1"} {
			machine.put("sys/devices/system/cpu/cpufreq/"+policy+"/scaling_governor", rapid.SampledFrom([]string{"schedutil", "powersave", "performance"}).Draw(t, policy))
		}
		var swaps []fakeSwap
		next := -2
		for _, path := range rapid.Permutation([]string{"/dev/sda2", "/dev/sdb2", "/swap file"}).Draw(t, "swap areas") {
			switch rapid.SampledFrom([]string{"absent", "ranked", "own rank"}).Draw(t, path) {
			case "ranked":
				swaps = append(swaps, fakeSwap{path, next})
				next--
			case "own rank":
				swaps = append(swaps, fakeSwap{path, 10 + len(swaps)})
			}
		}
		machine.setSwaps(swaps)
		found := machine.state()
		refused := rapid.SampledFrom([]string{"nothing", "swapoff /dev/sdb2", "stop atd", "write sys/kernel"}).Draw(t, "refused")
		machine.refuse = func(change string) error { return refuseWith(change, refused, syscall.EPERM) }

		runs := rapid.IntRange(1, 3).Draw(t, "runs") // the next run begins where the one before was killed
		for range runs {
			machine.killAt(rapid.IntRange(1, 14).Draw(t, "killed at change"), rapid.Bool().Draw(t, "after it"))
			i := everything(rapid.SampledFrom([]Level{Standard, Strict}).Draw(t, "level"))
			i.HugePages = rapid.SampledFrom([]string{"never", "always"}).Draw(t, "wanted pages")
			i.Governor = rapid.SampledFrom([]string{"performance", "powersave"}).Draw(t, "wanted governor")
			was := survive(func() {
				_, err := i.apply(context.Background(), machine.rig(), dir, "run", nil)
				var strict *RefusedError
				if err != nil && !errors.As(err, &strict) {
					t.Fatal(err)
				}
			})
			if was && rapid.Bool().Draw(t, "torn line") {
				tearJournal(t, dir)
			}
		}
		machine.refuse = nil // root is back
		for range rapid.IntRange(0, 2).Draw(t, "restores that are killed") {
			machine.killAt(rapid.IntRange(1, 6).Draw(t, "restore killed at change"), rapid.Bool().Draw(t, "after that"))
			survive(func() {
				if err := restore(context.Background(), machine.rig(), dir); err != nil {
					t.Fatal(err)
				}
			})
		}
		machine.spare()
		if err := restore(context.Background(), machine.rig(), dir); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(found, machine.state()); diff != "" {
			t.Fatal(diff)
		}
		if _, err := os.Stat(filepath.Join(dir, journalFile)); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("the journal is left: %v", err)
		}
	})
}

// tearJournal appends the beginning of a line, as a writer that is killed in the middle leaves it: its change was never made.
func tearJournal(t *rapid.T, dir string) {
	const line = `{"step":"thp","knob":"thp","object":"enabled","before":"always","after":"never"}`
	file, err := os.OpenFile(filepath.Join(dir, journalFile), os.O_APPEND|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.WriteString(file, line[:rapid.IntRange(1, len(line)).Draw(t, "torn at")]); err != nil {
		t.Fatal(err)
	}
}

// The same with a process and a signal: the journal must be on disk before the change, not in the memory of who makes it.
func TestKilledProcessIsPutBack(t *testing.T) {
	for _, change := range []string{"stop cron", "swapoff /dev/sda2", "write sys/devices/system/cpu/cpufreq/policy1"} {
		for _, moment := range []string{"before", "after"} {
			t.Run(moment+" "+change, func(t *testing.T) {
				root, dir := t.TempDir(), t.TempDir()
				machine := newFakeHost(root)
				found := machine.state()
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), childMode+"=isolate", "ISOLATE_ROOT="+root, "ISOLATE_DIR="+dir, "ISOLATE_STOP="+moment+" "+change)
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				in, err := cmd.StdinPipe() // open until it is killed
				if err != nil {
					t.Fatal(err)
				}
				cmd.Stderr = os.Stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				lines := bufio.NewScanner(out)
				for lines.Scan() && lines.Text() != "reached" {
				}
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait()
				in.Close()
				if machine.state() == found && moment == "after" {
					t.Error("nothing was changed")
				}
				if err := restore(t.Context(), machine.rig(), dir); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(found, machine.state()); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// isolateChild is the process that is killed.
func isolateChild() error {
	machine := &fakeHost{root: os.Getenv("ISOLATE_ROOT")}
	moment, at, _ := strings.Cut(os.Getenv("ISOLATE_STOP"), " ")
	stop := func(change string) {
		if strings.HasPrefix(change, at) {
			fmt.Println("reached")
			_, _ = io.Copy(io.Discard, os.Stdin)
		}
	}
	if moment == "before" {
		machine.before = stop
	} else {
		machine.after = stop
	}
	_, err := everything(Standard).apply(context.Background(), machine.rig(), os.Getenv("ISOLATE_DIR"), "run", nil)
	return err
}

func TestJournalsThatCannotBeTrusted(t *testing.T) {
	const whole = `{"version":1,"run":"run-1","boot":"boot-1","since":"2027-03-01T12:00:00Z"}
{"step":"thp","knob":"thp","object":"enabled","before":"always","after":"madvise"}
`
	for _, tc := range []struct {
		name    string
		journal string
		mode    os.FileMode
		want    string // of the error
		pages   string // afterwards
		left    string // of the journal
	}{
		{"whole", whole, 0o600, "", "[always] madvise never", ""},
		{"empty: killed before its first line", "", 0o600, "", "always [madvise] never", ""},
		{"a torn first line", whole[:20], 0o600, "", "always [madvise] never", ""},
		{"of another boot", strings.ReplaceAll(whole, "boot-1", "boot-0"), 0o600, "", "always [madvise] never", ""},
		{"a damaged line", strings.Replace(whole, "\n", "\n\x00\x00\x00\n", 1), 0o600, "isolation.journal:2: invalid character", "[always] madvise never", ""},
		{"a damaged first line", "x" + whole, 0o600, "isolation.journal:1: invalid character", "[always] madvise never", ""},
		{"an unknown knob", strings.ReplaceAll(whole, `"knob":"thp"`, `"knob":"turbo"`), 0o600, "turbo enabled: this build does not know how to set it to always",
			"always [madvise] never", strings.ReplaceAll(whole, `"knob":"thp"`, `"knob":"turbo"`)},
		{"changed by someone else since", strings.ReplaceAll(whole, `"after":"madvise"`, `"after":"never"`), 0o600, "", "always [madvise] never", ""},
		{"writable by others", whole, 0o622, "can be written by others", "always [madvise] never", whole},
		{"a value that is none", strings.ReplaceAll(whole, `"before":"always"`, `"before":"sometimes"`), 0o600,
			"thp enabled back to sometimes: invalid argument", "always [madvise] never", strings.ReplaceAll(whole, `"before":"always"`, `"before":"sometimes"`)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			machine, dir := newFakeHost(t.TempDir()), t.TempDir()
			path := filepath.Join(dir, journalFile)
			if err := errors.Join(os.WriteFile(path, []byte(tc.journal), 0o600), os.Chmod(path, tc.mode)); err != nil {
				t.Fatal(err)
			}
			err := restore(t.Context(), machine.rig(), dir)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v", err)
			}
			if got := machine.get("sys/kernel/mm/transparent_hugepage/enabled"); got != tc.pages {
				t.Errorf("huge pages are %s, want %s", got, tc.pages)
			}
			left, err := os.ReadFile(path)
			if string(left) != tc.left || (err != nil) != (tc.left == "") {
				t.Errorf("left %q, %v", left, err)
			}
			_, err = os.Stat(path + ".damaged")
			if kept := err == nil; kept != strings.Contains(tc.name, "damaged") {
				t.Errorf("kept aside: %t", kept)
			}
		})
	}
}

// What cannot be put back today stays, in order, and what depends on it stays too.
func TestWhatCannotBePutBackStaysInTheJournal(t *testing.T) {
	machine, dir := newFakeHost(t.TempDir()), t.TempDir()
	found := machine.state()
	machine.killAt(100, false)
	if _, err := everything(Standard).apply(t.Context(), machine.rig(), dir, "run-1", nil); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, journalFile))
	if err != nil {
		t.Fatal(err)
	}
	machine.refuse = func(change string) error { return refuseWith(change, "swapon", syscall.EPERM) }
	err = restore(t.Context(), machine.rig(), dir)
	for _, want := range []string{"swap /dev/sda2 back to on", "swap /swap file back to on", "it takes root"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	after, err := os.ReadFile(filepath.Join(dir, journalFile))
	if err != nil {
		t.Fatal(err)
	}
	var wanted []byte
	for n, line := range bytes.SplitAfter(before, []byte("\n")) {
		if n == 0 || bytes.Contains(line, []byte(`"knob":"swap"`)) {
			wanted = append(wanted, line...)
		}
	}
	if diff := cmp.Diff(string(wanted), string(after)); diff != "" {
		t.Error(diff)
	}
	// A run goes on under standard isolation, and its own changes are written behind.
	if _, err := everything(Standard).apply(t.Context(), machine.rig(), dir, "run-2", nil); err != nil {
		t.Fatal(err)
	}
	// Under strict isolation it does not begin.
	if _, err := everything(Strict).apply(t.Context(), machine.rig(), dir, "run-3", nil); err == nil || !strings.Contains(err.Error(), "put back") {
		t.Errorf("strict: %v", err)
	}
	machine.refuse = nil
	if err := restore(t.Context(), machine.rig(), dir); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(found, machine.state()); diff != "" {
		t.Error(diff)
	}
}

// Nothing is changed whose old value could not be written down.
func TestNoChangeWithoutJournal(t *testing.T) {
	machine, dir := newFakeHost(t.TempDir()), t.TempDir()
	found := machine.state()
	if err := os.Mkdir(filepath.Join(dir, journalFile), 0o700); err != nil { // no file can be there
		t.Fatal(err)
	}
	out, err := everything(Standard).apply(t.Context(), machine.rig(), dir, "run-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if machine.state() != found {
		t.Errorf("changed: %s", cmp.Diff(found, machine.state()))
	}
	for _, step := range out.Record.Steps {
		if step.Name == StepSwap && (step.State != "refused" || !strings.Contains(step.Why, "write down the old value")) {
			t.Errorf("%+v", step)
		}
	}
}
