package spec

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// loadedSpec is what a load was asked for.
func loadedSpec(t *testing.T, args ...string) *Spec {
	t.Helper()
	request, err := buildWith(t, `
seed = 5
[engine]
cache = 1
[value]
city = "string_enum:a,b"
tags = [ "int", "bool" ]
place.code = "string:3"
`, append([]string{"-d", "sqlite", "-s", "100000", "--mode", "load"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return request.Spec
}

func TestManifestSurvivesTheFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	s := loadedSpec(t, "--name", "nightly")
	m, err := NewManifest(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "manifest-sqlite-nightly.json")); err != nil {
		t.Error(err)
	}
	back, err := ReadManifest(dir, "sqlite", "nightly")
	if err != nil {
		t.Fatal(err)
	}
	back.Template = json.RawMessage(m.Template) // indented in the file
	if diff := cmp.Diff(m, back); diff != "" {
		t.Errorf("manifest differs (-want +got):\n%s", diff)
	}
	if d := back.Differences(s, ""); len(d) > 0 {
		t.Errorf("differs from its own spec: %q", d)
	}
	// A second load takes the place of the first and leaves nothing else behind.
	if err := m.Write(dir); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v (%v)", entries, err)
	}
	for range 2 { // removing what is not there is no error
		if err := RemoveManifest(dir, "sqlite", "nightly"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ReadManifest(dir, "sqlite", "nightly"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after removal: %v", err)
	}
}

func TestManifestNamesEachDifference(t *testing.T) {
	m, err := NewManifest(loadedSpec(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(*Spec)
		want   []string
	}{
		{"nothing", func(*Spec) {}, nil},
		{"what does not change the data may differ", func(s *Spec) {
			s.Mode, s.Clients, s.Threads, s.MaxErrorRate, s.ShowSample = ModeQuery, 9, 9, 1, true
		}, nil},
		{"samples", func(s *Spec) { s.Samples = 200000 }, []string{"samples: loaded 100000, asked 200000"}},
		{"each of several", func(s *Spec) { s.Key, s.Random, s.Seed = "uuid", true, 6 }, []string{
			"key: loaded integer, asked uuid", "random: loaded false, asked true", "seed: loaded 5, asked 6",
		}},
		{"another database at another place", func(s *Spec) {
			s.Database, s.Server, s.Endpoint, s.Name = "postgres", "endpoint", "postgres://db", "x"
		}, []string{
			"database: loaded sqlite, asked postgres", "name: loaded none, asked x", "endpoint: loaded none, asked postgres://db",
		}},
		{"the profile", func(s *Spec) { s.Sync, s.Persisted, s.Optimised = true, true, true }, []string{
			"sync: loaded false, asked true", "persisted: loaded false, asked true", "optimised: loaded false, asked true",
		}},
		{"the engine's settings, added and gone", func(s *Spec) { s.Engine = map[string]string{"journal": "wal"} }, []string{
			"engine.cache: loaded 1, asked none", "engine.journal: loaded none, asked wal",
		}},
		{"single fields of the template", func(s *Spec) {
			s.Value = map[string]any{"city": "string_enum:a,c", "tags": []any{"int"}, "place": map[string]any{"code": "string:3"}}
		}, []string{
			"value.city: loaded string_enum:a,b, asked string_enum:a,c", "value.tags[1]: loaded bool, asked none",
		}},
		{"other words for the same template are the same", func(s *Spec) {
			s.Value = map[string]any{"city": "String_Enum:A,B", "tags": []any{"INT", "bool"}, "place": map[string]any{"code": "string:3"}}
		}, nil},
		{"a template that is none", func(s *Spec) { s.Value = nil }, []string{"parse the value template: *"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := loadedSpec(t)
			test.change(s)
			if got := m.Differences(s, ""); !matchAll(got, test.want) {
				t.Errorf("differences differ (-want +got):\n%s", cmp.Diff(test.want, got))
			}
		})
	}
	m.Server = "process"
	s := loadedSpec(t)
	s.Server = "endpoint"
	if got := m.Differences(s, ""); !slices.Equal(got, []string{"server: loaded process, asked endpoint"}) {
		t.Errorf("differences are %q", got)
	}
	m.Server, m.CorpusDigest = "", "of another algorithm"
	if got := m.Differences(loadedSpec(t), ""); len(got) != 1 || !strings.HasPrefix(got[0], "rows: build ") {
		t.Errorf("differences are %q", got)
	}
}

// Rows that were not loaded for searches cannot be searched where the engine keeps the vectors of such rows otherwise; the other way round the query is told.
func TestManifestTellsWhetherItWasLoadedForSearches(t *testing.T) {
	s := loadedSpec(t)
	plain, err := NewManifest(s)
	if err != nil {
		t.Fatal(err)
	}
	searching := loadedSpec(t)
	searching.Searched = true
	searched, err := NewManifest(searching)
	if err != nil {
		t.Fatal(err)
	}
	unknown := *plain
	unknown.Searched = nil
	const kept = "as pgvector's vector(n) where they are searched, as real[] where not"
	for _, test := range []struct {
		name   string
		loaded *Manifest
		asked  *Spec
		kept   string
		want   []string
	}{
		{"loaded without, asked with", plain, searching, kept, []string{"searches for nearest neighbours: loaded without any, asked with them; sqlite keeps vectors " + kept +
			": load again with the same scans as the query (the same file, no --skip-scans or --skip-indexes), or query without searches"}},
		{"not known, asked with", &unknown, searching, kept, []string{"searches for nearest neighbours: loaded by build *"}},
		{"not known, asked without", &unknown, s, kept, nil},
		{"loaded with, asked with", searched, searching, kept, nil},
		{"loaded with, asked without", searched, s, kept, nil},
		{"an engine to which it is the same", plain, searching, "", nil},
	} {
		if got := test.loaded.Differences(test.asked, test.kept); !matchAll(got, test.want) {
			t.Errorf("%s: differences are %q", test.name, got)
		}
	}
	if plain.ForSearches() || unknown.ForSearches() || !searched.ForSearches() {
		t.Error("a manifest does not know what it was loaded for")
	}
}

func TestManifestThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadManifest(dir, "sqlite", "x")
	if err == nil || !strings.Contains(err.Error(), "load first with --mode load -d sqlite --name x") {
		t.Errorf("missing: %v", err)
	}
	for text, want := range map[string]string{"{": "load again", `{"format": 2}`: "it has format 2, this build reads 1; load again"} {
		if err := os.WriteFile(ManifestPath(dir, "sqlite", ""), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadManifest(dir, "sqlite", ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestManifestThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := NewManifest(loadedSpec(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Write(filepath.Join(file, "below")); err == nil || !strings.HasPrefix(err.Error(), "write manifest ") {
		t.Errorf("error %v", err)
	}
	// A failed rename leaves no temporary file.
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(ManifestPath(dir, "sqlite", ""), "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := m.Write(dir); err == nil {
		t.Error("a directory was overwritten")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v (%v)", entries, err)
	}
}

func TestQueryNeedsWhatWasLoaded(t *testing.T) {
	dir := t.TempDir()
	query := func(args ...string) (*Request, error) {
		return build(t, append([]string{"-d", "sqlite", "-s", "100", "--mode", "query", "--data-dir", dir}, args...)...)
	}
	_, err := query()
	if got := problemLines(t, err); len(got) != 1 || !strings.HasPrefix(got[0], "--mode: nothing was loaded: ") {
		t.Errorf("before the load: %q", got)
	}
	loaded, err := build(t, "-d", "sqlite", "-s", "100", "--mode", "load", "--data-dir", dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewManifest(loaded.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Write(dir); err != nil {
		t.Fatal(err)
	}
	// The seed that the load chose is found again.
	request, err := query("-c", "4")
	if err != nil {
		t.Fatal(err)
	}
	if request.Spec.Seed != loaded.Spec.Seed {
		t.Errorf("seed %d, loaded with %d", request.Spec.Seed, loaded.Spec.Seed)
	}
	_, err = query("-s", "200", "--sync")
	want := []string{
		"--mode: query needs what was loaded: samples: loaded 100, asked 200",
		"--mode: query needs what was loaded: sync: loaded false, asked true",
	}
	if got := problemLines(t, err); !cmp.Equal(got, want) {
		t.Errorf("problems are %q", got)
	}
	// Where the manifest cannot be seen from here, the seed has to be given and the worker checks the rest.
	remote := facts
	remote.Remote = true
	args := []string{"-d", "sqlite", "-s", "200", "--mode", "query", "--data-dir", dir}
	_, err = Build(newFlags(t, args...), nil, remote)
	if got := problemLines(t, err); len(got) != 1 || !strings.HasPrefix(got[0], "--corpus-seed: give the seed of the load") {
		t.Errorf("problems are %q", got)
	}
	if _, err := Build(newFlags(t, append(args, "--corpus-seed", "1")...), nil, remote); err != nil {
		t.Error(err)
	}
}
