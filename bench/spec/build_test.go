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
		"crud.toml":     {Data: []byte("[value]\ntext = \"string:50\"\n")},
		"other.toml":    {Data: []byte("clients = 3\n[value]\nnumber = \"int\"\n")},
		"searches.toml": {Data: []byte(vectorFile("field = 'embedding'\ntop_k = 10\n" + hnsw))},
		"scans.toml":    {Data: []byte("\n[[scans]]\nid = \"a\"\nname = \"a\"\n")},
		"batches.toml":  {Data: []byte("[[batches]]\nname = \"a\"\noperation = \"CREATE\"\nbatch_size = 5\n")},
		"indexes.toml":  {Data: []byte("[value]\na = \"int\"\n[[scans]]\nid = \"a\"\nname = \"a\"\nwith_index = { fields = [\"a\"] }\n")},
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
