//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Bad input and broken surroundings: a clear error with the class's exit code, in seconds, and nothing left running.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	spec := filepath.Join(w.dir, "bad.toml")
	if err := os.WriteFile(spec, []byte("sampels = 10\nthread = 4\n\n[value]\nname = \"strng:20\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	readOnly := filepath.Join(w.dir, "file")
	if err := os.WriteFile(readOnly, nil, 0o444); err != nil {
		t.Fatal(err)
	}
	closed := freePort(t)
	for _, test := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"unknown engine", []string{"run", "-d", "postgras", "-s", "10"}, 4, []string{"postgras", "postgres"}},
		{"every problem at once", []string{"run", "-d", "map", "--config", spec, "-c", "0"}, 4,
			[]string{"bad.toml:1", "samples", "bad.toml:2", "threads", "bad.toml:5", "string", "clients"}},
		{"no samples", []string{"run", "-d", "map"}, 4, []string{"samples"}},
		{"not available yet", []string{"run", "-d", "map", "-s", "10", "--store-results"}, 4, []string{"--store-results", "not available yet"}},
		{"container of an embedded engine", []string{"run", "-d", "sqlite", "-s", "10", "--image", "sqlite:3"}, 4, []string{"--server", "embedded"}},
		{"image that is not here", []string{"run", "-d", "redis", "-s", "10", "--image", "durabench-test/none:1", "--pull", "never"}, 2, []string{"durabench-test/none:1"}},
		{"unknown flag", []string{"run", "--databse", "map"}, 4, []string{"--databse"}},
		{"unknown command", []string{"rum"}, 4, []string{"rum"}},
		{"durability it cannot give", []string{"run", "-d", "map", "-s", "10", "--sync"}, 4, []string{"map"}},
		{"load on an engine in memory", []string{"run", "-d", "map", "-s", "10", "--mode", "load"}, 4, []string{"memory"}},
		{"query of nothing", []string{"run", "-d", "sqlite", "-s", "10", "--mode", "query"}, 4, []string{"load"}},
		{"format", []string{"list", "--format", "xml"}, 4, []string{"xml", "markdown"}},
		{"remote host with credentials", []string{"run", "-d", "redis", "-s", "10", "--host", "elsewhere", "-e", "redis://u:secretword@10.255.255.1:6379",
			"--corpus-seed", "1"}, 4, []string{"DURABENCH_PASSWORD"}},
		{"server not reachable", []string{"run", "-d", "postgres", "-s", "10", "-e", fmt.Sprintf("postgres://postgres:secretword@127.0.0.1:%d/postgres", closed)}, 2,
			[]string{fmt.Sprintf("127.0.0.1:%d", closed), "refused"}},
		{"data directory not writable", []string{"run", "-d", "sqlite", "-s", "10", "--mode", "load", "--data-dir", filepath.Join(readOnly, "x")}, 2,
			[]string{readOnly}},
		{"store not writable", []string{"run", "-d", "map", "-s", "10", "--store", "dir:" + filepath.Join(readOnly, "x")}, 2, []string{readOnly}},
		{"no result of that name", []string{"show", "nothing"}, 4, []string{"nothing"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			started := time.Now()
			o := w.run(test.args...)
			if o.code != test.code {
				t.Errorf("exit %d, want %d", o.code, test.code)
			}
			for _, want := range test.want {
				if !strings.Contains(o.stderr, want) {
					t.Errorf("stderr lacks %q", want)
				}
			}
			if strings.Contains(o.stdout+o.stderr, "secretword") {
				t.Error("the password is shown")
			}
			if took := time.Since(started); took > time.Minute {
				t.Errorf("took %s", took)
			}
			if t.Failed() {
				t.Logf("stdout:\n%s\nstderr:\n%s", o.stdout, o.stderr)
			}
		})
	}
	w.nothingRuns()
}

func TestTemporalAddressThatDoesNotAnswer(t *testing.T) {
	w := newWorld(t)
	address := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	command := w.command("run", "-d", "map", "-s", "10")
	command.Env = append(command.Env, "TEMPORAL_ADDRESS="+address)
	out, _ := command.CombinedOutput()
	if code := command.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), address) {
		t.Errorf("exit %d, want 2 naming %s:\n%s", code, address, out)
	}
	w.nothingLeft()
}

// Passwords are in no file that stays, no process's arguments and no output.
func TestSecretsStaySecret(t *testing.T) {
	w := newWorld(t)
	o := w.run("run", "-d", "redis", "-s", "10", "-e", fmt.Sprintf("redis://user:secretword@127.0.0.1:%d", freePort(t)), "--format", "json")
	if o.code == 0 {
		t.Fatal("a run without a server succeeded")
	}
	if strings.Contains(o.stdout+o.stderr, "secretword") {
		t.Errorf("the password is in the output:\n%s%s", o.stdout, o.stderr)
	}
	err := filepath.WalkDir(w.home, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(data), "secretword") {
			t.Errorf("the password is in %s", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.nothingRuns()
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
