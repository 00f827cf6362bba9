package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOneRunHoldsTheHost(t *testing.T) {
	dir := t.TempDir()
	if holder, err := Held(dir); holder != nil || err != nil {
		t.Fatalf("held by %v, %v", holder, err)
	}
	first, err := Lock(dir, Holder{RunID: "run-1", Temporal: "127.0.0.1:7233/default"})
	if err != nil {
		t.Fatal(err)
	}
	if first.Previous() != nil {
		t.Errorf("previous %v", first.Previous())
	}
	// Also against this very process: a run within a run.
	_, err = Lock(dir, Holder{RunID: "run-2"})
	var held *HeldError
	if !errors.As(err, &held) || !held.By("run-1") || held.By("run-2") || held.Holder.PID != os.Getpid() || held.Holder.Since.IsZero() {
		t.Fatalf("second lock: %v", err)
	}
	for _, want := range []string{"held by run run-1 (process ", "since 20", "Temporal 127.0.0.1:7233/default)", filepath.Join(dir, lockFile)} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if holder, err := Held(dir); err != nil || holder == nil || holder.RunID != "run-1" {
		t.Errorf("held by %v, %v", holder, err)
	}
	if info, err := os.Stat(filepath.Join(dir, lockFile)); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("the file of all users is %v, %v", info.Mode(), err)
	}
	if err := errors.Join(first.Close(), first.Close()); err != nil {
		t.Fatal(err)
	}
	if holder, err := Held(dir); holder != nil || err != nil {
		t.Errorf("after letting go, held by %v, %v", holder, err)
	}
	second, err := Lock(dir, Holder{RunID: "run-2"})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if second.Previous() != nil {
		t.Errorf("who let go is a previous holder: %v", second.Previous())
	}
}

// The directory is everyone's, so anything may lie there.
func TestLockFileIsAPlainFileOfItsOwn(t *testing.T) {
	for name, lay := range map[string]func(dir, path string) error{
		"a link":              func(dir, path string) error { return os.Symlink(filepath.Join(dir, "precious"), path) },
		"another name":        func(dir, path string) error { return os.Link(filepath.Join(dir, "precious"), path) },
		"a directory":         func(_, path string) error { return os.Mkdir(path, 0o777) },
		"a pipe":              func(_, path string) error { return syscall.Mkfifo(path, 0o666) },
		"a missing directory": func(dir, _ string) error { return os.RemoveAll(dir) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "lock")
			precious := filepath.Join(dir, "precious")
			if err := errors.Join(os.Mkdir(dir, 0o777), os.WriteFile(precious, []byte("old"), 0o666), lay(dir, filepath.Join(dir, lockFile))); err != nil {
				t.Fatal(err)
			}
			lock, err := Lock(dir, Holder{RunID: "run-1"})
			var held *HeldError
			if err == nil || errors.As(err, &held) || lock != nil {
				t.Errorf("locked: %v", err)
			}
			if text, err := os.ReadFile(precious); err == nil && string(text) != "old" {
				t.Errorf("another file was overwritten: %q", text)
			}
		})
	}
}

// Whatever someone writes into the file, the lock works.
func TestWhatTheLockFileSaysIsNotNeeded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, lockFile)
	for _, text := range []string{"", "not JSON", `{"runId":""}`, strings.Repeat("x", 1<<20)} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		lock, err := Lock(dir, Holder{RunID: "run-1"})
		if err != nil || lock.Previous() != nil {
			t.Fatalf("after %.20q: %v", text, err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Lock(dir, Holder{RunID: "run-2"}); !errors.As(err, new(*HeldError)) {
			t.Errorf("after %.20q: %v", text, err)
		}
		if holder, err := Held(dir); holder == nil || err != nil {
			t.Errorf("after %.20q: held by %v, %v", text, holder, err)
		}
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A cleaner of temporary files removes the file of a holder: the next one locks a new file, and not one that no name leads to.
func TestRemovedLockFileIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	old, err := openLock(filepath.Join(dir, lockFile))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := os.Remove(filepath.Join(dir, lockFile)); err != nil {
		t.Fatal(err)
	}
	if sameFile(old, filepath.Join(dir, lockFile)) {
		t.Error("a removed file is taken for the lock file")
	}
	lock, err := Lock(dir, Holder{RunID: "run-1"})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if !sameFile(lock.file, filepath.Join(dir, lockFile)) {
		t.Error("the lock is on another file")
	}
}

func TestLockDirIsOneForAllUsers(t *testing.T) {
	before := LockDir()
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("DURABENCH_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	if after := LockDir(); after != before {
		t.Errorf("%s and %s", before, after)
	}
}
