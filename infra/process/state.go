package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/durabench/durabench/bench/wholefile"
	"github.com/durabench/durabench/drivers"
)

// State is what is known of a server, kept in its directory. It holds no secret.
type State struct {
	RunID  string `json:"runId"`
	Engine string `json:"engine"`
	// PID is the server's main process; 0 when it was stopped. Started tells it from a later process of the same number.
	PID     int    `json:"pid"`
	Started string `json:"started,omitempty"`
	// Account is the account that the server runs as; empty for that of who started it.
	Account string `json:"account,omitempty"`
	Host    string `json:"host"`
	Port    int    `json:"port"`
	// Endpoint is the address for clients, without credentials; User is who they are.
	Endpoint string `json:"endpoint"`
	User     string `json:"user"`
	// Binary and Command are what was started.
	Binary  string   `json:"binary"`
	Command []string `json:"command"`
	// Settings are what the profile set.
	Settings []drivers.Setting `json:"settings"`
	// Digest names all that decides how the server runs.
	Digest string `json:"digest"`
	// Initialised tells that the data directory was made to the end.
	Initialised bool `json:"initialised"`
	// StopSignal asks for a clean stop.
	StopSignal int `json:"stopSignal"`
}

// alive tells whether the server's main process runs.
func (s State) alive() bool {
	if s.PID == 0 {
		return false
	}
	return proc{pid: s.PID, started: s.Started}.alive()
}

// paths are the files of a server's directory.
type paths struct {
	state, lock, password string
	server, data, log     string
}

func pathsOf(dir string) paths {
	server := filepath.Join(dir, "server")
	return paths{
		state: filepath.Join(dir, "state.json"), lock: filepath.Join(dir, "lock"), password: filepath.Join(dir, "password"),
		server: server, data: filepath.Join(server, "data"), log: filepath.Join(server, "server.log"),
	}
}

// readState reads the state; it is empty when there was never a server.
func readState(dir string) (state State, err error) {
	text, err := os.ReadFile(pathsOf(dir).state)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		return State{}, fmt.Errorf("read the state of the server in %s: %w", dir, err)
	}
	return state, nil
}

// write replaces the state in one step, so that a reader finds the old one or the new one.
func (s State) write(dir string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := wholefile.Write(pathsOf(dir).state, append(text, '\n'), 0o600); err != nil {
		return directoryError(dir, err)
	}
	return nil
}
