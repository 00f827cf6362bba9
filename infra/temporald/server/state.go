package server

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// State describes a running server to other processes. Package infra/temporal of
// the root module reads it.
type State struct {
	Address   string    `json:"address"`
	UI        string    `json:"ui,omitempty"`
	PID       int       `json:"pid"`
	Namespace string    `json:"namespace"`
	Started   time.Time `json:"started"`
	Version   string    `json:"version"`
}

// Write puts the state into a file, whole or not at all. Only the user may read
// it: it tells where to find a server without a password.
func (s State) Write(file string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write state file %s: %w", file, err)
	}
	// CreateTemp makes files of mode 0600.
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("write state file %s: %w", file, err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(append(text, '\n'))
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("write state file %s: %w", file, err)
	}
	return nil
}

// Remove deletes the file if it still describes this server.
func (s State) Remove(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	var now State
	if json.Unmarshal(text, &now) == nil && now.PID == s.PID {
		_ = os.Remove(file)
	}
}
