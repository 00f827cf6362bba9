package spec

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parse returns the problems of a file, one string each.
func parse(t *testing.T, text string) []string {
	t.Helper()
	_, err := Parse("bench.toml", []byte(text))
	return problemLines(t, err)
}

// problemLines returns the lines of a Problems error.
func problemLines(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("the error is %T, want Problems: %v", err, err)
	}
	return strings.Split(problems.Error(), "\n")
}

func TestParseNamesEveryProblemWithItsLine(t *testing.T) {
	for _, test := range []struct {
		name string
		text string
		want []string
	}{
		{"a key that is nearly right gets its name", "threads = 2\nthread = 4\n", []string{
			"bench.toml:2: thread: unknown key; did you mean threads?",
		}},
		{"a key from nowhere gets none", "colour = \"red\"\n", []string{"bench.toml:1: colour: unknown key"}},
		{"a crud-bench flag's spelling is understood", "\n\ndata-dir = \"x\"\n", []string{
			"bench.toml:3: data-dir: unknown key; did you mean data_dir?",
		}},
		{"wrong types are named both ways, all at once", `
samples = true
clients = 1.5
sync = "yes"
name = 7
max_error_rate = "0.1"
operation_timeout = 1800
key = ["integer"]
mode = 2026-01-01
engine = "wal"
value = 3
`, []string{
			"bench.toml:2: samples: wants a whole number, is true or false",
			"bench.toml:3: clients: wants a whole number, is a number with a fraction",
			"bench.toml:4: sync: wants true or false, is a string",
			"bench.toml:5: name: wants a string, is a whole number",
			"bench.toml:6: max_error_rate: wants a number, is a string",
			`bench.toml:7: operation_timeout: 1800 needs a unit, e.g. "1800s"`,
			"bench.toml:8: key: wants a string, is an array",
			"bench.toml:9: mode: wants a string, is a date or time",
			"bench.toml:10: engine: wants a table, is a string",
			"bench.toml:11: value: wants a table, is a whole number",
		}},
		{"template errors stand at the line of their key, dotted, nested and in arrays", `
[value]
good = "int:1..5"
bad = "integr"
place.code = "strin:3"
tags = [
    "string_enum:a,b",
    "strng_enum:a,b",
]
[value.deep.inner]
number = 5
"odd name" = "nope"
`, []string{
			`bench.toml:4: value.bad: "integr": *`,
			`bench.toml:5: value.place.code: "strin:3": *`,
			`bench.toml:8: value.tags[1]: "strng_enum:a,b": *`,
			`bench.toml:11: value.deep.inner.number: "5": *`,
			`bench.toml:12: value.deep.inner."odd name": "nope": *`,
		}},
		{"an empty template is one too", "[value]\n", []string{"bench.toml:1: value: *"}},
		{"slips in scans and batches are found although they do not run", `
[[scans]]
id = "a"
name = "x"
limits = 5

[[scans]]
id = "b"
[[scans.runs]]
name = "x"
projekt = "ID"
[[scans.runs]]
nam = "y"
[scans.condition]
sqlserver = "x"
mongodb = { "$or" = [ { a = 1 } ] }
[[batches]]
name = "b"
operation = 5
batch_size = "100"
`, []string{
			"bench.toml:5: scans[0].limits: unknown key; did you mean limit?",
			"bench.toml:11: scans[1].runs[0].projekt: unknown key",
			"bench.toml:13: scans[1].runs[1].nam: unknown key; did you mean name?",
			"bench.toml:15: scans[1].condition.sqlserver: unknown key",
			"bench.toml:19: batches[0].operation: wants a string, is a whole number",
			"bench.toml:20: batches[0].batch_size: wants a whole number, is a string",
		}},
		{"scans and batches that no engine could run", `
[[scans]]
name = "x"
[[scans]]
id = "y"
[[scans]]
id = "z"
name = "z"
samples = 5
iterations = 5
[[batches]]
operation = "UPSERT"
batch_size = 0
`, []string{
			"bench.toml:2: scans[0]: has no id",
			"bench.toml:4: scans[1]: wants either a name or runs",
			"bench.toml:9: scans[2].samples: is the older name of iterations; give one of them",
			"bench.toml:11: batches[0]: has no name",
			`bench.toml:12: batches[0].operation: "UPSERT" is not one of CREATE, READ, UPDATE, DELETE*`,
			"bench.toml:13: batches[0].batch_size: must be at least 1, is 0",
		}},
		{"broken TOML has a line", "samples = 1\nclients = = 2\n", []string{"bench.toml:2: *"}},
		{"so has a key that is given twice", "samples = 1\nclients = 2\nsamples = 3\n", []string{"bench.toml:3: *"}},
		{"and a number of more than 64 bits", "seed = 99999999999999999999\n", []string{"bench.toml:1: *"}},
		{"what the engine's settings may not be", "[engine]\njournal = \"wal\"\npool = 4\ncached = true\nratio = 0.5\n", []string{
			"bench.toml:5: engine.ratio: wants a string, a whole number or true or false, is a number with a fraction",
		}},
		{"windows line ends count as one", "samples = 1\r\nclients = 1\r\nthread = 1\r\n", []string{
			"bench.toml:3: thread: unknown key; did you mean threads?",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := parse(t, test.text)
			if !matchAll(got, test.want) {
				t.Errorf("problems differ (-want +got):\n%s", cmp.Diff(test.want, got))
			}
		})
	}
}

// matchAll compares lines, where a * at the end of a wanted line stands for any rest.
func matchAll(got, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		prefix, open := strings.CutSuffix(want[i], "*")
		if open && !strings.HasPrefix(got[i], prefix) || !open && got[i] != want[i] {
			return false
		}
	}
	return true
}

func TestParseKeepsWhatItUnderstood(t *testing.T) {
	file, err := Parse("bench.toml", []byte("samples = \"100k\"\nclients = 4\nsync = true\nmax_error_rate = 1\nthread = 1\n[engine]\npool = 4\n"))
	if err == nil {
		t.Fatal("the unknown key went unnoticed")
	}
	want := map[string]string{"samples": "100k", "clients": "4", "sync": "true", "max_error_rate": "1"}
	if diff := cmp.Diff(want, file.Settings); diff != "" {
		t.Errorf("settings differ (-want +got):\n%s", diff)
	}
	if file.Engine["pool"] != "4" {
		t.Errorf("engine settings are %v", file.Engine)
	}
}

func TestParseRefusesHugeFiles(t *testing.T) {
	got := parse(t, strings.Repeat("# long\n", maxFileSize/7+1))
	if want := []string{"bench.toml: the file is larger than 1048576 bytes"}; !cmp.Equal(got, want) {
		t.Errorf("problems are %q", got)
	}
}

// A file that is as deep as it is long is refused like any other, and soon.
func TestParseRefusesEndlessNesting(t *testing.T) {
	for name, text := range map[string]string{
		"dotted keys":   "[value]\na" + strings.Repeat(".a", 30_000) + " = \"int\"\n",
		"tables":        "[value" + strings.Repeat(".a", 30_000) + "]\nb = \"int\"\n",
		"arrays":        "[value]\na = " + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000) + "\n",
		"inline tables": "[value]\na = " + strings.Repeat("{a=", 5000) + "1" + strings.Repeat("}", 5000) + "\n",
		"one long key":  strings.Repeat("a", 30_000) + " = 1\n",
	} {
		if got := parse(t, text); len(got) != 1 || !strings.HasPrefix(got[0], "bench.toml:1: ") && !strings.HasPrefix(got[0], "bench.toml:2: ") {
			t.Errorf("%s: %d problems", name, len(got))
		}
	}
}

func TestLoadSaysWhatCouldNotBeRead(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none.toml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	path := filepath.Join(t.TempDir(), "some.toml")
	if err := os.WriteFile(path, []byte("thread = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(path)
	if got := problemLines(t, err); len(got) != 1 || got[0] != path+":1: thread: unknown key; did you mean threads?" {
		t.Errorf("problems are %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "samples = 1\n[value]\na = \"int\"\n", "thread = 1", "a.b.c = [[1, 2], [{x = 1}]]", "[[scans]]\nid = 'x'\n[[scans.runs]]\nname = 'y'\n",
		"[value]\n\"a b\".c = [ \"int\", # comment\n \"uuid\" ]", "[[batches]]\n[[batches]]\n", "[engine]\nx = 1\n", "seed = 1979-05-27T07:32:00Z",
		"[scans.condition]\nsql = 1", "\xef\xbb\xbfsamples = 1", "value = {a = {b = 'int'}}", "[[value]]\na = 1", "\"\\n\" = 1",
	} {
		f.Add(seed)
	}
	known := map[string]bool{"engine": true, "value": true, "scans": true, "batches": true}
	for _, s := range settings {
		known[s.key] = true
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("bench.toml", []byte(text))
		if file == nil {
			t.Fatal("no file came back")
		}
		for key := range file.Settings {
			if !known[key] {
				t.Fatalf("key %q was taken", key)
			}
		}
		if err == nil {
			if _, err := Parse("bench.toml", []byte("nobody_knows_this = 1\n"+text)); err == nil {
				t.Fatal("an unknown key was accepted")
			}
			return
		}
		problems, ok := err.(Problems)
		if !ok || len(problems) == 0 {
			t.Fatalf("the error is %T of %v", err, err)
		}
		for _, p := range problems {
			if p.File != "bench.toml" || p.Line < 0 || p.Msg == "" || strings.Contains(p.String(), "\n") {
				t.Fatalf("problem %#v cannot be shown on a line", p)
			}
			if p.Key != "" && p.Line == 0 {
				t.Fatalf("problem %s has no line", p)
			}
		}
	})
}
