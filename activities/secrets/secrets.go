// Package secrets hands the credentials of a run to the host that needs them without Temporal seeing them: whatever passes through a
// workflow stays in its history for months. The starter writes them to a file that only its user can read, before it starts the
// workflow; the activities on the same machine read it and delete it at the end of the run. A host elsewhere has them in the worker's
// own environment.
package secrets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/home"
)

// Environment variables of a worker with the credentials for every endpoint whose run has none of its own.
const (
	EnvUser     = "DURABENCH_USER"
	EnvPassword = "DURABENCH_PASSWORD"
)

// file is the content of a secret. drivers.Credentials hides itself from printing, so it has a type of its own.
type file struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

// Write keeps the credentials of a run for the activities of this host, in a file of mode 0600.
func Write(runID string, credentials drivers.Credentials) error {
	path, err := pathOf(runID)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keep the credentials of run %s: %w", runID, err)
	}
	data, err := json.Marshal(file{credentials.User, credentials.Password})
	if err != nil {
		return fmt.Errorf("encode the credentials of run %s: %w", runID, err)
	}
	// A file that is there already would keep its mode, so it is made anew.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace the credentials of run %s: %w", runID, err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("keep the credentials of run %s: %w", runID, err)
	}
	return nil
}

// Read returns the credentials of a run: those that were written for it, else those of the environment, which may be empty.
func Read(runID string) (drivers.Credentials, error) {
	path, err := pathOf(runID)
	if err != nil {
		return drivers.Credentials{}, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return drivers.Credentials{User: os.Getenv(EnvUser), Password: os.Getenv(EnvPassword)}, nil
	}
	if err != nil {
		return drivers.Credentials{}, fmt.Errorf("read the credentials of run %s: %w", runID, err)
	}
	var stored file
	if err := json.Unmarshal(data, &stored); err != nil {
		// The decoder's error may quote what it read.
		return drivers.Credentials{}, fmt.Errorf("read the credentials of run %s: %s is damaged", runID, path)
	}
	return drivers.Credentials{User: stored.User, Password: stored.Password}, nil
}

// Delete removes the credentials of a run; having none is fine.
func Delete(runID string) error {
	path, err := pathOf(runID)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete the credentials of run %s: %w", runID, err)
	}
	return nil
}

// Older returns the runs whose credentials have been here for longer than that.
func Older(age time.Duration) ([]string, error) {
	dir, err := home.Secrets()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for credentials: %w", err)
	}
	var ids []string
	for _, entry := range entries {
		id, is := strings.CutSuffix(entry.Name(), ".json")
		info, err := entry.Info()
		if is && err == nil && info.Mode().IsRegular() && plainID.MatchString(id) && time.Since(info.ModTime()) > age {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// plainID is what a run's id may look like where it names a file.
var plainID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func pathOf(runID string) (string, error) {
	if !plainID.MatchString(runID) {
		return "", fmt.Errorf("run id %q cannot name a file: it must be letters, digits, dots, dashes and underscores", runID)
	}
	dir, err := home.Secrets()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, runID+".json"), nil
}
