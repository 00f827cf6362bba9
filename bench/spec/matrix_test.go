package spec

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// readMatrix reads a matrix of that text, with facts as its engines and workloads.
func readMatrix(t *testing.T, text string) (*Matrix, error) {
	t.Helper()
	return ReadMatrix("night", fstest.MapFS{"night.toml": {Data: []byte(text)}}, facts)
}

func cells(m *Matrix) []string {
	var all []string
	for _, cell := range m.Cells {
		all = append(all, cell.String())
	}
	return all
}

func TestMatrixIsTheProductOfItsParts(t *testing.T) {
	m, err := readMatrix(t, `
engines = ["sqlite", "map"]
workloads = ["crud", "other"]
[settings]
samples = "1k"
[sweep]
threads = [1, 2]
key = ["integer"]
[[variants]]
name = "a"
[[variants]]
name = "b"
engines = ["map"]
settings = { clients = 3 }
[[exclude]]
engine = "map"
variant = "a threads=2 key=integer"
[[include]]
engine = "postgres"
name = "one more"
settings = { samples = 10 }
[[override]]
match = { engine = "sqlite", threads = [2, 4] }
settings = { samples = "2k" }
options = { journal = "delete" }
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"sqlite crud a threads=1 key=integer", "map crud a threads=1 key=integer", "sqlite crud a threads=2 key=integer",
		"map crud b threads=1 key=integer", "map crud b threads=2 key=integer",
		"sqlite other a threads=1 key=integer", "map other a threads=1 key=integer", "sqlite other a threads=2 key=integer",
		"map other b threads=1 key=integer", "map other b threads=2 key=integer",
		"postgres crud one more",
	}
	if diff := cmp.Diff(want, cells(m)); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	if m.Name != "night" {
		t.Errorf("name %q, want that of the file", m.Name)
	}
	s, skip, err := m.Build(m.Cells[2], facts)
	if err != nil || skip != "" {
		t.Fatal(skip, err)
	}
	if s.Database != "sqlite" || s.Samples != 2000 || s.Threads != 2 || s.Engine["journal"] != "delete" || s.Name != "night" || s.Seed != 1 {
		t.Errorf("spec %+v is not that of its cell", s)
	}
	// The workload's own settings hold where the matrix sets none.
	if s, _, err := m.Build(m.Cells[5], facts); err != nil || s.Clients != 3 || s.Samples != 1000 {
		t.Errorf("spec %+v, %v; want 3 clients of the workload's file", s, err)
	}
}

func TestAllEnginesAreThoseOfTheBuild(t *testing.T) {
	m, err := readMatrix(t, "engines = \"all\"\n[settings]\nsamples = 10\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"map crud", "postgres crud", "sqlite crud"}, cells(m)); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

func TestWhatAnEngineCannotDoIsSkippedWithTheReason(t *testing.T) {
	m, err := readMatrix(t, "engines = [\"map\", \"postgres\"]\n[settings]\nsamples = 10\npersisted = true\nserver = \"process\"\n")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"map cannot be had as process: it takes embedded", "postgres always writes to disk"} {
		if _, skip, err := m.Build(m.Cells[i], facts); err != nil || !strings.Contains(string(skip), want) {
			t.Errorf("%s: skip %q, error %v, want %q", m.Cells[i], skip, err, want)
		}
	}
	if _, skip, err := m.Build(Cell{Engine: "newer", Workload: "crud"}, facts); err != nil || !strings.Contains(string(skip), "not in this worker's build") {
		t.Errorf("an engine of another build: skip %q, error %v", skip, err)
	}
}

func TestMatrixReportsEveryProblemAtItsPlace(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"unknown things": {
			"engines = [\"map\", \"sqlte\"]\nengine = \"map\"\n[settings]\nsamples = 10\nsampels = 10\n[sweep]\nthread = [1]\n",
			[]string{
				"night.toml:1: engines[1]: unknown engine \"sqlte\"; did you mean sqlite?*",
				"night.toml:2: engine: unknown key; did you mean engines?",
				"night.toml:5: settings.sampels: unknown setting; did you mean samples?",
				"night.toml:7: sweep.thread: unknown setting; did you mean threads?",
			},
		},
		"values that cannot be": {
			"engines = [\"map\"]\n[settings]\nsamples = 10\nsync = 1\n[sweep]\nclients = [1, \"many\", true]\nthreads = 3\n",
			[]string{
				"night.toml:4: settings.sync: wants true or false, is a whole number",
				"night.toml:6: sweep.clients[2]: wants a whole number, is true or false",
				"night.toml:7: sweep.threads: wants an array of values to try, is a whole number",
			},
		},
		"values that a cell cannot have": {
			"engines = [\"map\"]\n[settings]\nsamples = 10\n[sweep]\nclients = [1, \"many\", 0]\n",
			[]string{
				"night.toml:5: sweep.clients[1]: \"many\" is not a count*",
				"night.toml:5: sweep.clients[2]: must be at least 1*",
			},
		},
		"what a matrix cannot set": {
			"engines = [\"map\"]\n[settings]\nsamples = 10\nname = \"x\"\nmode = \"load\"\ndatabase = \"map\"\n",
			[]string{
				"night.toml:4: settings.name: the cells of a matrix are named after it",
				"night.toml:5: settings.mode: *",
				"night.toml:6: settings.database: *",
			},
		},
		"no engines": {"[settings]\nsamples = 10\n", []string{"night.toml: engines: which engines? *"}},
		"no samples": {"engines = [\"map\"]\n[settings]\nclients = 2\n", []string{"night.toml:2: settings: samples: how many rows?*"}},
		"matches nothing": {
			"engines = [\"map\"]\n[settings]\nsamples = 10\n[[exclude]]\nengine = \"sqlite\"\n[[override]]\nmatch = { samples = 20 }\nsettings = { clients = 2 }\n",
			[]string{"night.toml:4: exclude[0]: matches no cell; there are \"map crud\" and so on", "night.toml:7: override[0].match: matches no cell; there are \"map crud\" and so on"},
		},
		"matches everything": {
			"engines = [\"map\"]\n[settings]\nsamples = 10\n[[exclude]]\n",
			[]string{"night.toml:4: exclude[0]: matches every cell*"},
		},
		"everything is excluded": {
			"engines = [\"map\"]\n[settings]\nsamples = 10\n[[exclude]]\nengine = \"map\"\n",
			[]string{"night.toml:4: exclude: every cell is excluded"},
		},
		"twins": {
			"engines = [\"map\"]\n[settings]\nsamples = 10\n[[include]]\nengine = \"map\"\nsettings = { clients = 2 }\n",
			[]string{"night.toml:4: include[0]: two cells are called \"map crud\": give one a name of its own"},
		},
		"a password": {
			"engines = [\"postgres\"]\n[settings]\nsamples = 10\nendpoint = \"postgres://bench:s3cret@db/bench\"\n",
			[]string{"night.toml:4: settings.endpoint: a matrix holds no user and no password*"},
		},
		"an option of no engine": {
			"engines = [\"sqlite\"]\n[settings]\nsamples = 10\n[[variants]]\nname = \"x\"\noptions = { jurnal = \"wal\" }\n",
			[]string{"night.toml:6: variants[0].options.jurnal: sqlite has no such setting; did you mean journal?"},
		},
		"a workload that is not there": {
			"engines = [\"map\"]\nworkloads = [\"crudd\"]\n[settings]\nsamples = 10\n",
			[]string{"night.toml:2: workloads[0]: crudd: no such file, and none of that name ships*did you mean crud?"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readMatrix(t, test.text)
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error %v, want problems", err)
			}
			var got []string
			for _, p := range problems {
				got = append(got, p.String())
			}
			if !slices.EqualFunc(test.want, got, likeText) {
				t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Error("a password is in the problem")
			}
		})
	}
}

// likeText compares with a pattern in which * stands for anything.
func likeText(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, part := range parts[1:] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return text == "" || strings.HasSuffix(pattern, "*")
}

func TestWorkloadIsLookedForBesideTheMatrix(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"m.toml": "engines = [\"map\"]\nworkloads = [\"own.toml\"]\n", "own.toml": "samples = 7\n[value]\nn = \"int\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := ReadMatrix(filepath.Join(dir, "m.toml"), nil, facts)
	if err != nil {
		t.Fatal(err)
	}
	if s, _, err := m.Build(m.Cells[0], facts); err != nil || s.Samples != 7 || m.Cells[0].Workload != "own" {
		t.Errorf("cell %s, spec %+v, %v", m.Cells[0], s, err)
	}
	// What was read travels: the file itself is not needed any more.
	if err := os.Remove(filepath.Join(dir, "own.toml")); err != nil {
		t.Fatal(err)
	}
	if s, _, err := m.Build(m.Cells[0], facts); err != nil || s.Value["n"] != "int" {
		t.Errorf("spec %+v, %v", s, err)
	}
}

func TestMatrixStaysSmallEnoughToTravel(t *testing.T) {
	_, err := readMatrix(t, "engines = [\"map\"]\n[settings]\nsamples = 10\n[sweep]\nclients = ["+strings.Repeat("1,", 501)+"]\n")
	if err == nil || !strings.Contains(err.Error(), "at most 500") {
		t.Errorf("error %v, want one of too many cells", err)
	}
}
