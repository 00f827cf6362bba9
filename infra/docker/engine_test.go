package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An engine that is not there, or is of no use, says what to do about it.
func TestUnavailableEnginesSayWhatToDo(t *testing.T) {
	answer := func(api, system string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Api-Version", api)
			w.Header().Set("Ostype", system)
		}))
		t.Cleanup(server.Close)
		return strings.Replace(server.URL, "http", "tcp", 1)
	}
	for _, c := range []struct{ name, host, want string }{
		{"nothing there", "unix://" + filepath.Join(t.TempDir(), "none.sock"), "install Docker Engine"},
		{"nobody listens", "tcp://127.0.0.1:1", "nothing answers at tcp://127.0.0.1:1"},
		{"too old", answer("1.40", "linux"), "1.41 is needed"},
		{"Windows containers", answer("1.45", "windows"), "switch it to Linux containers"},
		{"another machine", "tcp://192.0.2.1:2375", "run a worker there"},
		{"over SSH", "ssh://someone@elsewhere", "run a worker there"},
		{"nonsense", "::", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", c.host)
			client, err := New(nil)
			if err == nil {
				defer client.Close()
				_, err = client.Available(t.Context())
			}
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
		})
	}
}

// The engine is the one that the docker command would use.
func TestEngineOfTheDockerCommand(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DOCKER_HOST", "")
	t.Setenv("DOCKER_CONTEXT", "")
	t.Setenv("DOCKER_CONFIG", dir)
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	meta := func(name, host string) {
		hash := sha256.Sum256([]byte(name))
		write("contexts/meta/"+hex.EncodeToString(hash[:])+"/meta.json", `{"Name":"`+name+`","Endpoints":{"docker":{"Host":"`+host+`"}}}`)
	}
	meta("colima", "unix:///x/colima.sock")
	meta("other", "unix:///x/other.sock")
	check := func(want string) {
		t.Helper()
		if got, err := contextAddress(); err != nil || got != want {
			t.Errorf("address is %q, %v; want %q", got, err, want)
		}
	}
	check("")
	write("config.json", `{"currentContext":"colima"}`)
	check("unix:///x/colima.sock")
	t.Setenv("DOCKER_CONTEXT", "other")
	check("unix:///x/other.sock")
	t.Setenv("DOCKER_CONTEXT", "default")
	check("")
	t.Setenv("DOCKER_CONTEXT", "missing")
	if _, err := contextAddress(); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), `"missing"`) {
		t.Errorf("a context that is not there: %v", err)
	}
	write("config.json", `{`)
	if _, err := contextAddress(); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("a file that is cut short: %v", err)
	}
	t.Setenv("DOCKER_HOST", "unix:///x/y.sock")
	if got, err := findEngine(); got != "" || err != nil {
		t.Errorf("DOCKER_HOST decides, but the address is %q, %v", got, err)
	}
}
