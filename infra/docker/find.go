package docker

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/docker/docker/client"
)

// findEngine returns the address of the engine that the docker command would use; empty for what the environment and the library's default say.
func findEngine() (string, error) {
	if os.Getenv(client.EnvOverrideHost) != "" {
		return "", nil
	}
	if address, err := contextAddress(); address != "" || err != nil {
		return address, err
	}
	usual, err := url.Parse(client.DefaultDockerHost)
	if err != nil || exists(usual.Path) {
		return "", err
	}
	for _, socket := range sockets() {
		if exists(socket) {
			return "unix://" + socket, nil
		}
	}
	return "", nil
}

// sockets are where engines listen that belong to a user, not to the machine.
func sockets() []string {
	var paths []string
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		paths = append(paths, filepath.Join(dir, "docker.sock"))
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return paths
	}
	for _, path := range []string{".docker/run/docker.sock", ".docker/desktop/docker.sock", ".colima/default/docker.sock", ".orbstack/run/docker.sock", ".rd/docker.sock"} {
		paths = append(paths, filepath.Join(home, path))
	}
	return paths
}

// contextAddress returns the address in the docker command's current context; empty for its default one. The command keeps a context in a
// directory named after the hash of its name.
func contextAddress() (string, error) {
	dir := os.Getenv("DOCKER_CONFIG")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", nil // no home, no context
		}
		dir = filepath.Join(home, ".docker")
	}
	var config struct{ CurrentContext string }
	if err := readJSON(filepath.Join(dir, "config.json"), &config); err != nil {
		return "", err
	}
	name := cmp.Or(os.Getenv("DOCKER_CONTEXT"), config.CurrentContext)
	if name == "" || name == "default" {
		return "", nil
	}
	hash := sha256.Sum256([]byte(name))
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	if err := readJSON(filepath.Join(dir, "contexts", "meta", hex.EncodeToString(hash[:]), "meta.json"), &meta); err != nil {
		return "", err
	}
	address := meta.Endpoints["docker"].Host
	if address == "" {
		return "", fmt.Errorf("%w: docker's context %q names no engine: choose another with `docker context use`, or set DOCKER_HOST", ErrUnavailable, name)
	}
	return address, nil
}

// readJSON reads a file that need not be there.
func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("%w: read the docker command's settings in %s: %w", ErrUnavailable, path, err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// local refuses an engine on another machine: its ports would be published there, and its processes measured here.
func local(address string) error {
	at, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("%w: address %q: %w", ErrUnavailable, address, err)
	}
	switch at.Scheme {
	case "unix", "npipe":
		return nil
	case "tcp", "http", "https":
		if ip := net.ParseIP(at.Hostname()); at.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
			return nil
		}
	}
	return fmt.Errorf("%w: %s is on another machine; run a worker there, or unset DOCKER_HOST and DOCKER_CONTEXT to use this machine's engine", ErrUnavailable, address)
}
