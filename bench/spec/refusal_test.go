package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
			"--pid: has no meaning here: the processes of the database*",
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

func TestBuildSaysWhichFileIsMissing(t *testing.T) {
	for _, test := range []struct{ config, want string }{
		{"", "--config: is empty"},
		{"crude", "crude: no such file, and none of that name ships (batches, crud, indexes, other, scans, searches do); did you mean crud?"},
		{"../crud", "../crud: no such file, and none of that name ships (batches, crud, indexes, other, scans, searches do)"},
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

func TestUnknownEngineNamesTheNearest(t *testing.T) {
	p := UnknownEngine("postgers", []string{"sqlite", "postgres", "map"})
	if want := `--database: unknown engine "postgers"; did you mean postgres? (known: map, postgres, sqlite)`; p.String() != want {
		t.Errorf("problem is %s", p)
	}
}
