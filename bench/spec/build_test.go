package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"pgregory.net/rapid"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/load"
)

// facts are three engines as the registry would describe them, and the files that ship.
var facts = Facts{
	Engines: []EngineFacts{
		{Name: "map", Servers: []string{"embedded"}},
		{Name: "sqlite", Servers: []string{"embedded"}, Options: []EngineOption{
			{Name: "journal", Values: []string{"wal", "delete"}}, {Name: "cache"},
		}, Dialects: []string{"sql", "sqlite"}, MaxBatch: 5000},
		{Name: "postgres", Servers: []string{"process", "docker", "endpoint"}, Check: func(s *Spec) error {
			if s.Persisted {
				return errors.New("postgres always writes to disk: --persisted says nothing")
			}
			return nil
		}},
	},
	Shipped: fstest.MapFS{
		"crud.toml":    {Data: []byte("[value]\ntext = \"string:50\"\n")},
		"other.toml":   {Data: []byte("clients = 3\n[value]\nnumber = \"int\"\n")},
		"scans.toml":   {Data: []byte("\n[[scans]]\nid = \"a\"\nname = \"a\"\n")},
		"batches.toml": {Data: []byte("[[batches]]\nname = \"a\"\noperation = \"CREATE\"\nbatch_size = 5\n")},
		"indexes.toml": {Data: []byte("[value]\na = \"int\"\n[[scans]]\nid = \"a\"\nname = \"a\"\nwith_index = { fields = [\"a\"] }\n")},
	},
}

// newFlags parses a command line.
func newFlags(t testing.TB, args ...string) *Flags {
	t.Helper()
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags := NewFlags(set)
	if err := set.Parse(args); err != nil {
		t.Fatalf("parse flags: %v", err)
	}
	return flags
}

// build builds from a command line alone.
func build(t testing.TB, args ...string) (*Request, error) {
	t.Helper()
	return Build(newFlags(t, args...), nil, facts)
}

// buildWith builds from a command line and the text of bench.toml.
func buildWith(t testing.TB, text string, args ...string) (*Request, error) {
	t.Helper()
	file, _ := Parse("bench.toml", []byte(text)) // Build reports the file's problems again, beside its own
	return Build(newFlags(t, args...), file, facts)
}

func TestBuildFillsInEverything(t *testing.T) {
	request, err := build(t, "-d", "sqlite", "-s", "100k")
	if err != nil {
		t.Fatal(err)
	}
	got := *request.Spec
	if got.Seed == 0 || got.Seed >= 1<<53 {
		t.Errorf("the chosen seed is %d", got.Seed)
	}
	got.Seed = 0
	want := Spec{
		Database: "sqlite", Samples: 100_000, Clients: 1, Threads: 1, Key: corpus.KeyInteger, Mode: ModeAll,
		OperationTimeout: Duration(30 * time.Minute), Verify: load.VerifySample, Isolation: &Isolation{Level: "standard"},
		Value: map[string]any{"text": "string:50"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spec differs (-want +got):\n%s", diff)
	}
	dir, err := filepath.Abs(DefaultDataDir)
	if err != nil {
		t.Fatal(err)
	}
	if load, err := build(t, "-d", "sqlite", "-s", "100k", "--mode", "load"); err != nil || load.Spec.DataDir != dir {
		t.Errorf("a load keeps its data elsewhere than in %q: %v", dir, err)
	}
	again, err := build(t, "-d", "sqlite", "-s", "100k")
	if err != nil {
		t.Fatal(err)
	}
	if again.Spec.Seed == request.Spec.Seed {
		t.Errorf("two runs were given the same seed %d", again.Spec.Seed)
	}
}

const everything = `
name = "nightly"
database = "sqlite"
server = "embedded"
samples = 1_000
clients = 2
threads = "1k"
key = "string26"
random = true
seed = "18446744073709551615"
sync = true
persisted = true
optimised = true
mode = "all"
data_dir = "/data"
operation_timeout = "5s"
max_error_rate = 0.25
verify = "all"
show_sample = true
isolation = "strict"
isolation_without = "swap, caches"
isolation_load = 0.25
isolation_wait = "2m"
stop_services = "cron.service"
nice = "-5"
ionice = "best-effort/0"
[engine]
journal = "wal"
cache = 64
[value]
number = "int:1..10"
`

func TestBuildTakesEverySettingOfTheFile(t *testing.T) {
	request, err := buildWith(t, everything)
	if err != nil {
		t.Fatal(err)
	}
	nice := -5
	want := &Spec{
		Name: "nightly", Database: "sqlite", Server: "embedded", Samples: 1000, Clients: 2, Threads: 1000, Key: corpus.KeyString26,
		Random: true, Seed: math.MaxUint64, Sync: true, Persisted: true, Optimised: true, Mode: ModeAll, DataDir: "/data",
		OperationTimeout: Duration(5 * time.Second), MaxErrorRate: 0.25, Verify: load.VerifyAll, ShowSample: true,
		Isolation: &Isolation{
			Level: "strict", Without: []string{"swap", "caches"}, Load: 0.25, Wait: Duration(2 * time.Minute), Services: []string{"cron.service"},
			Nice: &nice, IO: "best-effort/0",
		},
		Engine: map[string]string{"journal": "wal", "cache": "64"}, Value: map[string]any{"number": "int:1..10"},
	}
	if diff := cmp.Diff(want, request.Spec); diff != "" {
		t.Errorf("spec differs (-want +got):\n%s", diff)
	}
}

func TestFlagsGoBeforeTheFile(t *testing.T) {
	request, err := buildWith(t, everything, "-s", "5", "--sync=false", "--verify", "none", "--engine", "journal=delete",
		"--engine", "cache = 8", "-s", "6") // of two, the last counts
	if err != nil {
		t.Fatal(err)
	}
	got := request.Spec
	if got.Samples != 6 || got.Sync || got.Verify != load.VerifyNone || got.Clients != 2 {
		t.Errorf("spec is %+v", got)
	}
	if diff := cmp.Diff(map[string]string{"journal": "delete", "cache": "8"}, got.Engine); diff != "" {
		t.Errorf("engine settings differ (-want +got):\n%s", diff)
	}
}

func TestBuildFindsTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mine.toml")
	if err := os.WriteFile(path, []byte("clients = 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		env     string
		args    []string
		clients int
		value   string
	}{
		{"none: the shipped template", "", nil, 1, "text"},
		{"a path; without a template it borrows the shipped one", "", []string{"--config", path}, 7, "text"},
		{"the name of one that ships", "", []string{"--config", "other"}, 3, "number"},
		{"the same with its ending", "", []string{"--config", "other.toml"}, 3, "number"},
		{"the environment", path, nil, 7, "text"},
		{"the flag goes before the environment", path, []string{"--config", "other"}, 3, "number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(ConfigVariable, test.env)
			request, err := build(t, append([]string{"-d", "map", "-s", "1"}, test.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := request.Spec.Value[test.value]; !ok || request.Spec.Clients != test.clients {
				t.Errorf("clients %d, value %v", request.Spec.Clients, request.Spec.Value)
			}
		})
	}
}

func TestBuildReportsEveryProblemAtOnce(t *testing.T) {
	for _, test := range []struct {
		name string
		file string
		args []string
		want []string
	}{
		{"nothing is given", "", nil, []string{
			"--samples: how many rows? e.g. -s 100000",
			"--database: which engine? one of map, postgres, sqlite",
		}},
		{"file, flags and what they come to together, the file first", `
samples = 0
thread = 2
clients = 2000
database = "sqlit"
[value]
a = "nt"
`, []string{"-t", "1000", "-k", "string", "--operation-timeout", "1800", "--pid", "7", "--workers", "4"}, []string{
			"bench.toml:2: samples: must be from 1 to 1099511627776, is 0",
			"bench.toml:3: thread: unknown key; did you mean threads?",
			`bench.toml:5: database: unknown engine "sqlit"; did you mean sqlite? (known: map, postgres, sqlite)`,
			`bench.toml:7: value.a: "nt": *`,
			"--workers: has no meaning here: Go schedules its own threads*",
			"--pid: not available yet*",
			"--key: \"string\" is not one of integer, string26, string90, string250, string506, uuid; did you mean string250?",
			"--operation-timeout: 1800 needs a unit, e.g. 1800s",
			"--threads: 2000 clients × 1000 threads are more than 1000000 operations in flight",
		}},
		{"every flag that is not a value of its kind", "", []string{
			"-d", "map", "-s", "1.5", "-c", "two", "-t", "-1", "--sync=maybe", "--corpus-seed", "0x5", "--max-error-rate", "5%", "--mode", "lode",
			"--verify", "some", "--server", "proces", "--name", "a/b", "--data-dir", "", "--endpoint", "", "--engine", "journal",
		}, []string{
			`--samples: "1.5" is not a count*`,
			`--clients: "two" is not a count*`,
			`--threads: "-1" is not a count*`,
			`--corpus-seed: "0x5" is not a seed*`,
			`--server: "proces" is not one of embedded, process, docker, endpoint; did you mean process?`,
			"--endpoint: is empty",
			`--sync: "maybe" is neither true nor false`,
			`--mode: "lode" is not one of all, load, query`,
			"--data-dir: is empty",
			`--verify: "some" is not one of all, sample, none`,
			`--max-error-rate: "5%" is not a number from 0 to 1`,
			`--engine: "journal" is not of the form key=value`,
			`--name: "a/b": use letters*`,
		}},
		{"numbers out of bounds", "", []string{
			"-d", "map", "-s", "2000G", "-c", "0", "--max-error-rate", "1.5", "--operation-timeout", "-5s",
		}, []string{
			"--samples: must be from 1 to 1099511627776, is 2000000000000",
			"--clients: must be at least 1, is 0",
			"--max-error-rate: must be from 0 to 1, is 1.5",
			"--operation-timeout: must be longer than nothing, is -5s",
		}},
		{"not a number is no rate", "", []string{"-d", "map", "-s", "1", "--max-error-rate", "NaN"}, []string{
			"--max-error-rate: must be from 0 to 1, is NaN",
		}},
		{"more in flight than there may be, far past 64 bits", "", []string{"-d", "map", "-s", "1", "-c", "9000000000G"}, []string{
			"--clients: 9000000000000000000 clients × 1 threads are more than 1000000 operations in flight",
		}},
		{"one past the limit of operations in flight", "", []string{"-d", "map", "-s", "1", "-c", "1000001"}, []string{
			"--clients: 1000001 clients × 1 threads are more than 1000000 operations in flight",
		}},
		{"containers' settings are of containers", "image = \"x\"\n", []string{"-d", "postgres", "-s", "1", "--server", "process", "--pull", "never", "--memory", "1g"}, []string{
			"bench.toml:1: image: belongs to containers, and server process has none: *",
			"--pull: belongs to containers, *",
			"--memory: belongs to containers, *",
		}},
		{"container's settings that mean nothing", "", []string{"-d", "postgres", "-s", "1", "--pull", "sometimes", "--cpus", "3-1", "--memory", "512"}, []string{
			"--pull: \"sometimes\" *",
			"--cpus: \"3-1\" is no set of CPUs: *",
			"--memory: 512 is less than any container can have*",
		}},
		{"isolation that means nothing", "isolation_load = -1\n", []string{"-d", "postgres", "-s", "1", "--isolation", "total", "--nice", "20", "--isolation-wait", "0s", "--stop-services", "a,,b"}, []string{
			"bench.toml:1: isolation_load: \"-1\" is not a number above 0",
			"--isolation: \"total\" *",
			"--isolation-wait: must be longer than nothing, *",
			"--stop-services: \"a,,b\" has an empty name*",
			"--nice: \"20\" is not *",
		}},
		{"settings of an isolation that is not asked for", "", []string{"-d", "postgres", "-s", "1", "--isolation", "none", "--isolation-without", "swap"}, []string{
			"--isolation-without: belongs to isolation, *",
		}},
		{"an endpoint excludes another server", "server = \"process\"\n", []string{"-d", "postgres", "-s", "1", "-e", "postgres://db"}, []string{
			"bench.toml:1: server: process and an endpoint exclude each other: *",
		}},
		{"an endpoint server needs an address", "server = \"endpoint\"\n", []string{"-d", "postgres", "-s", "1"}, []string{
			"--endpoint: server endpoint: at which address? *",
		}},
		{"an embedded engine has no endpoint", "", []string{"-d", "sqlite", "-s", "1", "-e", "localhost:80"}, []string{
			"--endpoint: sqlite cannot be had this way: it takes embedded",
		}},
		{"nor a process", "", []string{"-d", "sqlite", "-s", "1", "--server", "process"}, []string{
			"--server: sqlite cannot be had this way: it takes embedded",
		}},
		{"an address with a secret that cannot be split off", "", []string{"-d", "postgres", "-s", "1", "-e", "postgres://u:a/b@db"}, []string{
			"--endpoint: an @ or # stands behind the host: *",
		}},
		{"settings that the engine does not have", "[engine]\njournl = \"wal\"\njournal = \"rollback\"\n", []string{
			"-d", "sqlite", "-s", "1", "--engine", "cach=5", "--engine", "cache=5", "--engine", "cache=6",
		}, []string{
			"bench.toml:2: engine.journl: sqlite has no such setting; did you mean journal?",
			`bench.toml:3: engine.journal: "rollback" is not one of wal, delete`,
			"--engine: cache is given twice",
			"--engine: cach: sqlite has no such setting; did you mean cache?",
		}},
		{"what the engine itself refuses", "", []string{"-d", "postgres", "-s", "1", "--persisted"}, []string{
			"--database: postgres always writes to disk: --persisted says nothing",
		}},
		{"a batch of rows that nobody made", workload, []string{"-d", "map", "-s", "1"}, []string{
			"bench.toml:2: batches[0]: b: works on rows that no CREATE batch before it has made",
		}},
		{"broken TOML hides what it may have given, but not what the flags did", "samples = = 1\n", []string{"-t", "0"}, []string{
			"bench.toml:1: *",
			"--threads: must be at least 1, is 0",
		}},
		{"a wrong type is not reported as missing too", "samples = true\ndatabase = 5\n", nil, []string{
			"bench.toml:1: samples: wants a whole number, is true or false",
			"bench.toml:2: database: wants a string, is a whole number",
		}},
		{"a spec that is too large to travel", "[value]\na = \"string_enum:" + strings.Repeat("abcdefgh,", 4000) + "z\"\n",
			[]string{"-d", "map", "-s", "1"}, []string{"bench.toml:1: value: the spec takes *"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := buildWith(t, test.file, test.args...)
			if got := problemLines(t, err); !matchAll(got, test.want) {
				t.Errorf("problems differ (-want +got):\n%s", cmp.Diff(test.want, got))
			}
		})
	}
}

const workload = `
[[batches]]
name = "b"
operation = "READ"
batch_size = 1

[[scans]]
id = "a"
name = "a"
[[scans]]
id = "b"
name = "b"
`

func TestBuildLeavesOutWhatIsSkipped(t *testing.T) {
	want := []string{"bench.toml: 2 scans left out as asked", "bench.toml: 1 batch left out as asked"}
	for name, test := range map[string]struct {
		file string
		args []string
	}{
		"by flags":         {workload, []string{"--skip-scans", "--skip-batches"}},
		"by the file":      {"skip_scans = true\nskip_batches = true\n" + workload, nil},
		"by one of either": {"skip_scans = true\nskip_batches = false\n" + workload, []string{"--skip-batches"}},
	} {
		request, err := buildWith(t, test.file, append(test.args, "-d", "map", "-s", "1")...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, request.Notes); diff != "" {
			t.Errorf("%s: notes differ (-want +got):\n%s", name, diff)
		}
	}
}

func TestBuildSaysWhichFileIsMissing(t *testing.T) {
	for _, test := range []struct{ config, want string }{
		{"", "--config: is empty"},
		{"crude", "crude: no such file, and none of that name ships (batches, crud, indexes, other, scans do); did you mean crud?"},
		{"../crud", "../crud: no such file, and none of that name ships (batches, crud, indexes, other, scans do)"},
		{".", ".: is a directory"},
	} {
		_, err := build(t, "-d", "map", "-s", "1", "--config", test.config)
		if got := problemLines(t, err); len(got) != 1 || got[0] != test.want {
			t.Errorf("problems are %q, want %q", got, test.want)
		}
	}
	_, err := Build(newFlags(t, "-d", "map", "-s", "1"), nil, Facts{Engines: facts.Engines})
	if got := problemLines(t, err); len(got) != 1 || got[0] != "value: no value template is given, and none ships" {
		t.Errorf("problems are %q", got)
	}
}

func TestBuildKeepsCredentialsOutOfTheSpec(t *testing.T) {
	request, err := buildWith(t, `endpoint = "postgres://bench:hunter2@db:5432/x"`, "-d", "postgres", "-s", "1")
	if err != nil {
		t.Fatal(err)
	}
	if request.Spec.Endpoint != "postgres://db:5432/x" || request.Spec.Server != "endpoint" {
		t.Errorf("endpoint %s, server %s", request.Spec.Endpoint, request.Spec.Server)
	}
	if request.Credentials.User != "bench" || request.Credentials.Password != "hunter2" {
		t.Error("the credentials are not those of the endpoint")
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("built", "credentials", request.Credentials)
	spec, err := json.Marshal(request.Spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(request.Credentials), fmt.Sprintf("%+v", request.Credentials), fmt.Sprintf("%#v", request.Credentials),
		fmt.Sprintf("%+v", *request), fmt.Sprintf("%#v", *request), log.String(), string(spec),
	} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("the password shows: %s", text)
		}
	}
	if _, err := json.Marshal(request); err == nil {
		t.Error("credentials were encoded as JSON")
	}
}

func TestUnknownEngineNamesTheNearest(t *testing.T) {
	p := UnknownEngine("postgers", []string{"sqlite", "postgres", "map"})
	if want := `--database: unknown engine "postgers"; did you mean postgres? (known: map, postgres, sqlite)`; p.String() != want {
		t.Errorf("problem is %s", p)
	}
}

func TestCorpusIsThatOfTheSpec(t *testing.T) {
	request, err := build(t, "-d", "map", "-s", "1", "--corpus-seed", "7", "-k", "uuid", "-r")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := request.Spec.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	if rows.Seed() != 7 || rows.KeyKind() != corpus.KeyUUID || !rows.Random() {
		t.Errorf("seed %d, key %s, random %t", rows.Seed(), rows.KeyKind(), rows.Random())
	}
	request.Spec.Value = map[string]any{"a": "nope"}
	if _, err := request.Spec.Corpus(); err == nil {
		t.Error("a broken template made a corpus")
	}
}

// Whatever is asked, a spec that is built lies within its limits, travels as JSON and keeps its digest on the way.
func TestBuiltSpecsAreWithinLimits(t *testing.T) {
	number := rapid.OneOf(rapid.Int64Range(-2, 2000), rapid.Int64())
	count := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprint(number.Draw(t, "n")) + rapid.SampledFrom([]string{"", "", "k", "M", "G"}).Draw(t, "suffix")
	})
	rapid.Check(t, func(rt *rapid.T) {
		var args []string
		add := func(flag string, values *rapid.Generator[string]) {
			if rapid.Bool().Draw(rt, flag) {
				args = append(args, "--"+flag+"="+values.Draw(rt, flag+" value"))
			}
		}
		truths := rapid.SampledFrom([]string{"true", "false"})
		args = append(args, "--database="+rapid.SampledFrom([]string{"map", "sqlite", "postgres"}).Draw(rt, "database"))
		args = append(args, "--samples="+count.Draw(rt, "samples"))
		add("clients", count)
		add("threads", count)
		add("random", truths)
		add("sync", truths)
		add("show-sample", truths)
		add("key", rapid.SampledFrom([]string{"integer", "string26", "string506", "uuid", "string"}))
		add("corpus-seed", rapid.Map(rapid.Uint64(), func(n uint64) string { return fmt.Sprint(n) }))
		add("mode", rapid.SampledFrom([]string{"all", "load"}))
		add("verify", rapid.SampledFrom([]string{"all", "sample", "none"}))
		add("max-error-rate", rapid.Map(rapid.Float64Range(-0.1, 1.1), func(f float64) string { return fmt.Sprint(f) }))
		add("operation-timeout", rapid.Map(rapid.Int64Range(-5, 5000), func(n int64) string { return fmt.Sprint(n, "ms") }))
		add("name", rapid.StringN(0, 8, -1))
		request, err := build(t, args...)
		if err != nil {
			if problems := problemLines(t, err); len(problems) == 0 {
				rt.Fatalf("%q: an error without problems", args)
			}
			return
		}
		s := request.Spec
		if s.Samples < 1 || s.Samples > MaxSamples || s.Clients < 1 || s.Threads < 1 || s.InFlight() > MaxInFlight {
			rt.Fatalf("%q: %+v is out of bounds", args, s)
		}
		if s.MaxErrorRate < 0 || s.MaxErrorRate > 1 || s.OperationTimeout <= 0 || !filepath.IsAbs(s.DataDir) && (s.DataDir != "" || s.Mode != ModeAll) {
			rt.Fatalf("%q: %+v is out of bounds", args, s)
		}
		var back Spec
		text, err := json.Marshal(s)
		if err != nil {
			rt.Fatal(err)
		}
		if err := json.Unmarshal(text, &back); err != nil {
			rt.Fatal(err)
		}
		if back.Digest() != s.Digest() {
			rt.Fatalf("%q: the digest changed on the way:\n%s", args, cmp.Diff(s, &back))
		}
	})
}

func TestDigestTellsSpecsApart(t *testing.T) {
	base, err := buildWith(t, everything)
	if err != nil {
		t.Fatal(err)
	}
	digest := base.Spec.Digest()
	if len(digest) != 64 || digest != base.Spec.Digest() {
		t.Errorf("digest %s", digest)
	}
	other := *base.Spec
	other.Value = map[string]any{"number": "int:1..11"}
	if other.Digest() == digest {
		t.Error("another template has the same digest")
	}
}
