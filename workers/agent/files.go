package agent

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

// The files of an agent in its run's directory.
const (
	setupFile       = "run.json"
	credentialsFile = "credentials.json"
	identityFile    = "agent.json"
	lockFile        = "agent.lock"
	launchLockFile  = "launch.lock"
	socketFile      = "agent.sock"
	logFile         = "agent.log"
	outputFile      = "agent.out" // what the runtime itself prints, such as a panic
	stepsDir        = "steps"
)

// identity is agent.json: who serves the directory and where to reach it.
type identity struct {
	PID int `json:"pid"`
	// StartTime tells this process from a later one with the same number, in the system's own unit.
	StartTime uint64 `json:"startTime"`
	// Space is where the number means something, as pidspace.Here. Agents of earlier builds do not say.
	Space    string `json:"space,omitempty"`
	Socket   string `json:"socket"`
	Protocol int    `json:"protocol"`
	Revision string `json:"revision,omitempty"`
}

// storedCredentials is credentials.json. drivers.Credentials hides itself from printing, so the file has a type of its own.
type storedCredentials struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

// writeSetup leaves run.json and credentials.json for an agent to start with.
func writeSetup(dir string, setup Setup, credentials drivers.Credentials) error {
	if err := writeJSON(filepath.Join(dir, setupFile), setup); err != nil {
		return err
	}
	return writeJSON(filepath.Join(dir, credentialsFile), storedCredentials{credentials.User, credentials.Password})
}

// readSetup reads what writeSetup left. Credentials that are gone are empty ones: embedded engines need none.
func readSetup(dir string) (Setup, drivers.Credentials, error) {
	var setup Setup
	if err := readJSON(filepath.Join(dir, setupFile), &setup); err != nil {
		return Setup{}, drivers.Credentials{}, fmt.Errorf("read the run's set-up: %w", err)
	}
	var stored storedCredentials
	err := readJSON(filepath.Join(dir, credentialsFile), &stored)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Setup{}, drivers.Credentials{}, fmt.Errorf("read the run's credentials: %w", err)
	}
	return setup, drivers.Credentials{User: stored.User, Password: stored.Password}, nil
}

// RemoveCredentials deletes the credentials file of a run's directory, if there is one.
func RemoveCredentials(dir string) error {
	err := os.Remove(filepath.Join(dir, credentialsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// writeJSON replaces the file at path by the value's JSON, so that a reader sees the old content or the new one and a crash of the
// machine loses neither: the content is flushed before the name points to it, and the name before this returns.
func writeJSON(path string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	return wholefile.Write(path, data, 0o600)
}
