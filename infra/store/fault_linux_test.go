package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/durabench/durabench/infra/ci"
)

// mount puts a tmpfs on a fresh directory, which needs root.
func mount(t *testing.T, options string, flags uintptr) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("durabench-test", dir, "tmpfs", flags, options); err != nil {
		ci.Need(t, fmt.Errorf("mount a tmpfs, which takes root: %w", err))
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFullDiskSaysWhereAndWhatToDo(t *testing.T) {
	dir := mount(t, "size=64k", 0)
	s := open(t, dir)
	ctx := t.Context()
	if err := s.Put(ctx, "run/small.json", []byte("fits")); err != nil {
		t.Fatal(err)
	}
	err := s.Put(ctx, "run/big.json", bytes.Repeat([]byte("x"), 256<<10))
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("full disk: %v", err)
	}
	wantError(t, err, filepath.Join(dir, "run", "big.json"), "no space left", "free some space")
	// Nothing half-written stays: neither under the key nor beside it, and the space is free again.
	if _, err := s.Get(ctx, "run/big.json"); !errors.Is(err, ErrNotFound) {
		t.Errorf("half a result is there: %v", err)
	}
	if err := s.Put(ctx, "run/next.json", bytes.Repeat([]byte("x"), 20<<10)); err != nil {
		t.Errorf("the space was not given back: %v", err)
	}
	if got, err := s.Get(ctx, "run/small.json"); err != nil || string(got) != "fits" {
		t.Errorf("finished leg: %q, %v", got, err)
	}
}

func TestReadOnlyFilesystemSaysWhereAndWhatToDo(t *testing.T) {
	dir := mount(t, "", unix.MS_RDONLY)
	s := open(t, dir)
	wantError(t, s.(Checker).Check(t.Context()), dir, "read-only file system", "choose another store")
	wantError(t, s.Put(t.Context(), "run/a", nil), filepath.Join(dir, "run"), "read-only file system", "choose another store")
	if got, err := s.List(t.Context(), ""); err != nil || len(got) != 0 {
		t.Errorf("list: %v, %v", got, err)
	}
}

func TestForbiddenDirectorySaysWhereAndWhatToDo(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	// Root may write everywhere, but for a thread that is nobody to the file system.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	me, err := unix.SetfsuidRetUid(65534)
	if err != nil {
		t.Fatal(err)
	}
	err = s.(Checker).Check(t.Context())
	_, _ = unix.SetfsuidRetUid(me)
	if !errors.Is(err, fs.ErrPermission) {
		t.Fatal(err)
	}
	wantError(t, err, dir, "permission denied", "make the directory accessible")
}

func TestCheckLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if err := open(t, dir).(Checker).Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Fatalf("left %v, %v", entries, err)
	}
}
