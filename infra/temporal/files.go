package temporal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/durabench/durabench/bench/wholefile"
	"github.com/durabench/durabench/infra/home"
)

// directory is where a server of ours keeps its files.
type directory string

func (d directory) file(name string) string { return filepath.Join(string(d), name) }

// state describes the running server. Temporald writes it when it is ready; for
// the temporal CLI, which does not know it, we do.
func (d directory) state() string { return d.file("server.json") }

// last is the state of the server that was started last, also when it does not run any more.
func (d directory) last() string { return d.file("last.json") }

// launch says who started the server. A server without one is not ours to stop.
func (d directory) launch() string { return d.file("launch.json") }

// log is where the server's output goes.
func (d directory) log() string { return d.file("temporal.log") }

// startLock is held exclusively while a server is looked for, started or stopped.
func (d directory) startLock() string { return d.file("start.lock") }

// usersLock is held shared by everybody who uses the server, and exclusively to
// stop it.
func (d directory) usersLock() string { return d.file("users.lock") }

// open creates the directory, which is the user's alone.
func (d directory) open() error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("create temporal directory: %w; set %s to a directory that can be written", err, home.Env)
	}
	probe, err := os.CreateTemp(string(d), ".probe-")
	if err != nil {
		return fmt.Errorf("write to temporal directory: %w; set %s to a directory that can be written", err, home.Env)
	}
	_ = probe.Close()
	return os.Remove(probe.Name())
}

// State is what is known of a running server; the JSON is temporald's.
type State struct {
	// Address is the host:port for clients and workers.
	Address string `json:"address"`
	// UI is the URL of the Web UI, empty without one.
	UI string `json:"ui,omitempty"`
	// PID is the server's process.
	PID int `json:"pid"`
	// Namespace was created with the server.
	Namespace string `json:"namespace"`
	// Started is when the server was started.
	Started time.Time `json:"started"`
	// Version is that of the Temporal server.
	Version string `json:"version"`
}

// RunningPID returns the process of the server of ours that was last started here, whether or not it still runs; 0 when there was none.
func RunningPID() int {
	dir, err := home.Temporal()
	if err != nil {
		return 0
	}
	state, err := readJSON[State](directory(dir).state())
	if err != nil || state == nil {
		return 0
	}
	return state.PID
}

// Name tells one Temporal server and namespace from another, for people and for those who look for runs.
func (s *Server) Name() string {
	if s.Origin == OriginAddress {
		return Name(s.Address, s.Namespace)
	}
	return Name("embedded in "+string(s.dir), s.Namespace) // its address changes from one start to the next
}

// Name tells one Temporal server and namespace from another.
func Name(address, namespace string) string { return address + ", namespace " + namespace }

// launchRecord is how a server of ours came to run.
type launchRecord struct {
	processID
	Origin Origin `json:"origin"`
}

// readJSON reads a file; one that is absent is no error and no value.
func readJSON[T any](file string) (*T, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	value := new(T)
	if err := json.Unmarshal(text, value); err != nil {
		return nil, fmt.Errorf("read %s: %w; remove the file if no temporal server of durabench runs", file, err)
	}
	return value, nil
}

// writeJSON writes a file whole or not at all.
func writeJSON(file string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := wholefile.Write(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// forget removes what describes a server that has ended. The state of another
// one, which somebody may have started by hand since, is left.
func (d directory) forget(pid int) {
	_ = os.Remove(d.launch())
	if state, err := readJSON[State](d.state()); err == nil && state != nil && state.PID == pid {
		_ = os.Remove(d.state())
	}
}
