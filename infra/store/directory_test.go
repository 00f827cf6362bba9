package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T, spec string) Store {
	t.Helper()
	s, err := Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantError fails unless err holds every text.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q lacks %q", err, text)
		}
	}
}

func TestOpenNamesTheStoreOrSaysWhatToUse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		spec string
		want []string
	}{
		{"", []string{"directory is missing", "dir:PATH"}},
		{"dir:", []string{"directory is missing"}},
		{"gs://bucket", []string{`no store is named "gs"`}},
		{file, []string{file, "is a file"}},
		{"dir:a\x00b", []string{"NUL"}},
	} {
		t.Run(tc.spec, func(t *testing.T) {
			_, err := Open(tc.spec)
			wantError(t, err, tc.want...)
		})
	}
	// A path with a colon or a "//" of its own is only reachable with the prefix.
	dir := filepath.Join(t.TempDir(), "a b: ü")
	for _, spec := range []string{dir, "dir:" + dir} {
		if got := open(t, spec).(Locator).Path("r/result.json"); got != filepath.Join(dir, "r", "result.json") {
			t.Errorf("path is %s", got)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("opening a store created its directory")
	}
}

func TestPutNeverReplaces(t *testing.T) {
	ctx, s := t.Context(), open(t, filepath.Join(t.TempDir(), "deep", "store"))
	for range 2 { // the same bytes again are fine
		if err := s.Put(ctx, "run/result.json", []byte("one")); err != nil {
			t.Fatal(err)
		}
	}
	err := s.Put(ctx, "run/result.json", []byte("other"))
	if !errors.Is(err, ErrExists) {
		t.Fatalf("different bytes: %v", err)
	}
	wantError(t, err, s.(Locator).Path("run/result.json"), "3 bytes", "5 were")
	got, err := s.Get(ctx, "run/result.json")
	if err != nil || string(got) != "one" {
		t.Fatalf("got %q, %v", got, err)
	}
	if _, err := s.Get(ctx, "run/other.json"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("missing key: %v", err)
	}
	if _, err := s.Get(ctx, "run/result.json/below"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("key below a file: %v", err)
	}
	wantError(t, s.Put(ctx, "run/result.json/below", nil), "result.json", "not a directory", "a file stands")
	entries, err := os.ReadDir(filepath.Dir(s.(Locator).Path("run/result.json")))
	if err != nil || len(entries) != 1 {
		t.Fatalf("files beside the result: %v, %v", entries, err)
	}
	info, err := entries[0].Info()
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
}

func TestCancelledContextStopsBeforeAnythingIsWritten(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	s := open(t, dir)
	for name, err := range map[string]error{
		"put":   s.Put(ctx, "a", nil),
		"get":   func() error { _, err := s.Get(ctx, "a"); return err }(),
		"list":  func() error { _, err := s.List(ctx, ""); return err }(),
		"check": s.(Checker).Check(ctx),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("wrote %v", entries)
	}
}

func TestKeysStayInside(t *testing.T) {
	ctx, s := t.Context(), open(t, t.TempDir())
	for _, key := range []string{
		"", "/etc/passwd", "../x", "a/../x", "a/./x", "a//x", "a/", ".", "..", "a\x00b", "a\nb", `a\b`, "\xff", ".put-1",
		"a/.put-x", strings.Repeat("x", 256), strings.Repeat("x/", 600) + "x",
	} {
		if err := s.Put(ctx, key, []byte("x")); err == nil {
			t.Errorf("put took the key %q", key)
		}
		if _, err := s.Get(ctx, key); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("get of %q: %v", key, err)
		}
	}
	keys := []string{"a b/c d.json", "ünï/漢字/🙂.json", "x/..y", "x/y..", "x/.hidden", "-rf", "*", "$HOME"}
	for _, key := range keys {
		if err := s.Put(ctx, key, []byte(key)); err != nil {
			t.Errorf("put %q: %v", key, err)
		}
		if got, err := s.Get(ctx, key); err != nil || string(got) != key {
			t.Errorf("get %q: %q, %v", key, got, err)
		}
	}
	slices.Sort(keys)
	got, err := s.List(ctx, "")
	if diff := cmp.Diff(keys, got); err != nil || diff != "" {
		t.Errorf("list: %v\n%s", err, diff)
	}
}

func TestListIgnoresWhatACrashLeftBehind(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := open(t, dir)
	if err := s.Put(ctx, "run/a.json", []byte("a")); err != nil {
		t.Fatal(err)
	}
	// The writer died between the flush and the link.
	if err := os.WriteFile(filepath.Join(dir, "run", temporary+"123"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, "run-2/a.json", []byte("a")); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string][]string{
		"":            {"notes.txt", "run-2/a.json", "run/a.json"},
		"run":         {"run-2/a.json", "run/a.json"},
		"run/":        {"run/a.json"},
		"run/a":       {"run/a.json"},
		"other/":      nil,
		"notes.txt":   {"notes.txt"},
		"run/a.json/": nil,
	} {
		got, err := s.List(ctx, prefix)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("list %q: %v\n%s", prefix, err, diff)
		}
	}
	runs, err := RunIDs(ctx, s)
	if diff := cmp.Diff([]string{"run", "run-2"}, runs); err != nil || diff != "" {
		t.Errorf("runs: %v\n%s", err, diff)
	}
	if _, err := s.List(ctx, "../"); err == nil {
		t.Error("listed above the store")
	}
	if got, err := open(t, filepath.Join(dir, "missing")).List(ctx, ""); err != nil || len(got) != 0 {
		t.Errorf("missing store: %v, %v", got, err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, link).List(ctx, "run/"); err != nil || len(got) != 1 {
		t.Errorf("store behind a link: %v, %v", got, err)
	}
}

func TestConcurrentWritersOneWins(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	var won, lost atomic.Int64
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			data := fmt.Appendf(nil, "writer %d", i%4) // each content has four writers, who all may succeed
			switch err := open(t, dir).Put(ctx, "run/deep/er/result.json", data); {
			case err == nil:
				won.Add(1)
			case errors.Is(err, ErrExists):
				lost.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if won.Load() != 4 || lost.Load() != 12 {
		t.Errorf("%d won and %d lost, want 4 and 12", won.Load(), lost.Load())
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, "run/deep/er")); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestLayout(t *testing.T) {
	if got := DocumentKey("20270101-sqlite-1"); got != "20270101-sqlite-1/result.json" {
		t.Error(got)
	}
	for stepID, want := range map[string]string{
		"read": "r/legs/007-read.json",
		"scan/where_integer_eq/count/indexed/read": "r/legs/007-scan--where_integer_eq--count--indexed--read.json",
		"../é 1": "r/legs/007-..--%C3%A9%201.json",
	} {
		key := LegKey("r", 7, stepID)
		if key != want || ValidKey(key) != nil {
			t.Errorf("key of %q is %q, %v", stepID, key, ValidKey(key))
		}
	}
}
