package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fixtures is where crud-bench's own workload files lie, beside the checkout.
const fixtures = "../../../shared/fixtures/crud-bench"

// fixture returns the path of one of crud-bench's files. Without the folder the test is skipped; in CI it fails.
func fixture(t *testing.T, name string) string {
	t.Helper()
	if _, err := os.Stat(fixtures); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("the workload files of crud-bench are missing: %v", err)
		}
		t.Skipf("the workload files of crud-bench are not here: %v", err)
	}
	return filepath.Join(fixtures, name)
}

// what a fixture holds, to show that it was read and not only accepted.
type contents struct {
	Scans, Runs, Batches, Columns int
	Seed                          string
}

func TestCrudBenchFilesLoadUnchanged(t *testing.T) {
	for name, want := range map[string]contents{
		"bench.toml":           {Scans: 13, Runs: 18, Batches: 8, Columns: 17},
		"cache.toml":           {Scans: 3, Runs: 4, Batches: 8, Columns: 17},
		"ci.toml":              {Scans: 13, Runs: 18, Batches: 4, Columns: 17},
		"memory.toml":          {Scans: 3, Runs: 4, Batches: 8, Columns: 17},
		"test.toml":            {Scans: 1, Batches: 1, Columns: 2},
		"vector.toml":          {Scans: 1, Runs: 3, Columns: 18, Seed: "20260908"},
		"vector-filtered.toml": {Scans: 1, Runs: 6, Columns: 18, Seed: "20260908"},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := Load(fixture(t, name))
			if err != nil {
				t.Fatal(err)
			}
			got := contents{Scans: len(file.Scans), Batches: len(file.Batches), Columns: len(file.Value), Seed: file.Settings["seed"]}
			for _, scan := range file.Scans {
				got.Runs += len(scan.Runs)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("contents differ (-want +got):\n%s", diff)
			}
		})
	}
}

// Scans and batches are refused once each, where they begin; asked to leave them out, the rest runs.
func TestCrudBenchFilesRunWithoutScansAndBatches(t *testing.T) {
	entries, err := filepath.Glob(filepath.Join(fixtures, "*.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(entries, fixture(t, "test.toml")) {
		args := []string{"-d", "map", "-s", "100", "--config", path}
		_, err := build(t, args...)
		problems := problemLines(t, err)
		file, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{refusal(file, "scans", len(file.Scans))}
		if n := len(file.Batches); n > 0 {
			want = append(want, refusal(file, "batches", n))
			if file.lines.of("batches") < file.lines.of("scans") {
				slices.Reverse(want)
			}
		}
		if diff := cmp.Diff(want, problems); diff != "" {
			t.Errorf("%s: problems differ (-want +got):\n%s", path, diff)
		}
		request, err := build(t, append(args, "--skip-scans", "--skip-batches")...)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if len(request.Spec.Value) != len(file.Value) || len(request.Notes) == 0 {
			t.Errorf("%s: %d columns, notes %q", path, len(request.Spec.Value), request.Notes)
		}
	}
}

// refusal is what Build says of entries that cannot run yet.
func refusal(file *File, key string, n int) string {
	return fmt.Sprintf("%s:%d: %s are not available yet (%s); --skip-%s leaves them out",
		file.Name, file.lines.of(key), key, entries(n, "entry", "entries"), key)
}
