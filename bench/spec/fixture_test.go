package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durabench/durabench/infra/ci"
)

// fixtures is where crud-bench's own workload files lie, beside the checkout.
const fixtures = "../../../shared/fixtures/crud-bench"

// fixture returns the path of one of crud-bench's files. Without the folder the test is skipped; in CI it fails.
func fixture(t *testing.T, name string) string {
	t.Helper()
	_, err := os.Stat(fixtures)
	ci.Need(t, err)
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

// The files of crud-bench are taken whole, or in part where asked.
func TestCrudBenchFilesAreTaken(t *testing.T) {
	for _, name := range []string{"bench.toml", "cache.toml", "ci.toml", "memory.toml", "test.toml", "vector.toml", "vector-filtered.toml"} {
		path := fixture(t, name)
		args := []string{"-d", "map", "-s", "10k", "--config", path}
		file, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		request, err := build(t, args...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := request.Spec
		if len(got.Scans) != len(file.Scans) || len(got.Batches) != len(file.Batches) || len(got.Value) != len(file.Value) || len(request.Notes) > 0 {
			t.Errorf("%s: %d scans, %d batches, %d columns, notes %q", name, len(got.Scans), len(got.Batches), len(got.Value), request.Notes)
		}
		request, err = build(t, append(args, "--skip-scans", "--skip-batches")...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := request.Spec; len(got.Scans)+len(got.Batches) > 0 || len(got.Value) != len(file.Value) || len(request.Notes) == 0 {
			t.Errorf("%s without scans and batches: %d and %d of them, %d columns, notes %q",
				name, len(got.Scans), len(got.Batches), len(got.Value), request.Notes)
		}
		request, err = build(t, append(args, "--skip-indexes")...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, scan := range request.Spec.Scans {
			if scan.Index != nil {
				t.Errorf("%s: scan %s keeps its index", name, scan.ID)
			}
		}
	}
}

// A page of all rows that lies beyond them is refused, with the numbers.
func TestPagesBeyondTheRowsAreRefused(t *testing.T) {
	_, err := build(t, "-d", "map", "-s", "5000", "--config", fixture(t, "cache.toml"))
	if got := problemLines(t, err); len(got) != 1 || !strings.HasSuffix(got[0], ":87: scans[2].start: 5000 is beyond the 5000 rows: nothing would be found") {
		t.Errorf("problems %q", got)
	}
	_, err = build(t, "-d", "map", "-s", "5050", "--config", fixture(t, "cache.toml"))
	if got := problemLines(t, err); len(got) != 1 || !strings.HasSuffix(got[0], "scans[2].expect: 100: of the 5050 rows of this run the scan finds 50") {
		t.Errorf("problems %q", got)
	}
}
