// Package home says where durabench keeps things on this machine. It names
// directories and creates none.
//
//	data   $DURABENCH_HOME, else $XDG_DATA_HOME/durabench, else ~/.local/share/durabench
//	cache  $DURABENCH_HOME/cache, else durabench in the user's cache directory
//
// The rule is the same on Linux and macOS, so that one page of documentation
// serves both.
package home

import (
	"fmt"
	"os"
	"path/filepath"
)

// Env is the environment variable that moves everything durabench keeps into one
// directory.
const Env = "DURABENCH_HOME"

const name = "durabench"

// Data is the directory of what must not be lost: results, histories, secrets.
func Data() (string, error) {
	if dir := os.Getenv(Env); dir != "" {
		return absolute(Env, dir)
	}
	// The XDG specification has relative values ignored.
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, name), nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find a data directory: %w; set %s to a directory of your choice", err, Env)
	}
	return filepath.Join(user, ".local", "share", name), nil
}

// Cache is the directory of what can be made again, such as built programs.
func Cache() (string, error) {
	if dir := os.Getenv(Env); dir != "" {
		dir, err := absolute(Env, dir)
		if err != nil {
			return "", err
		}
		return filepath.Join(dir, "cache"), nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a cache directory: %w; set %s to a directory of your choice", err, Env)
	}
	return filepath.Join(dir, name), nil
}

// Datasets is where it is remembered what is in the files of data sets.
func Datasets() (string, error) {
	dir, err := Cache()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "datasets"), nil
}

// Temporal is where the embedded Temporal server keeps its database, log and
// state.
func Temporal() (string, error) { return data("temporal") }

// Runs is the directory store's default: one directory per run.
func Runs() (string, error) { return data("runs") }

// Work is where runs on this host have their working directories.
func Work() (string, error) { return data("work") }

// Secrets is where passwords and keys that specs refer to are kept.
func Secrets() (string, error) { return data("secrets") }

func data(part string) (string, error) {
	dir, err := Data()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, part), nil
}

// absolute keeps a relative value meaning the same directory for the processes
// that are started elsewhere.
func absolute(variable, dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolve %s=%s: %w", variable, dir, err)
	}
	return path, nil
}
