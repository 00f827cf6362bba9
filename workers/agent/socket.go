package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxSocketPath is the longest path that a socket's address holds everywhere we run; macOS has the smaller limit of 104 with its end.
const maxSocketPath = 100

// socketDirPrefix begins the name of every short directory that holds a socket whose own directory's path is too long.
const socketDirPrefix = "durabench-"

// socketPath chooses where the agent of dir listens, after clearing away what an agent before it left. The function removes it again.
func socketPath(dir string) (path string, remove func(), err error) {
	removeOldSocket(dir)
	path = filepath.Join(dir, socketFile)
	if len(path) <= maxSocketPath {
		return path, func() { _ = os.Remove(path) }, nil
	}
	var problems []error
	for _, base := range []string{os.TempDir(), "/tmp"} {
		if len(base)+len("/")+len(socketDirPrefix)+len("/0123456789")+len(socketFile) > maxSocketPath {
			problems = append(problems, fmt.Errorf("%s is too long for a socket's path", base))
			continue
		}
		short, err := os.MkdirTemp(base, socketDirPrefix) // mode 0700
		if err != nil {
			problems = append(problems, err)
			continue
		}
		return filepath.Join(short, socketFile), func() { _ = os.RemoveAll(short) }, nil
	}
	return "", nil, fmt.Errorf("find a place for the agent's socket: %w", errors.Join(problems...))
}

// removeOldSocket removes what a killed agent of dir left behind. The caller holds the agent's lock, so no agent uses it.
func removeOldSocket(dir string) {
	_ = os.Remove(filepath.Join(dir, socketFile))
	var old identity
	if readJSON(filepath.Join(dir, identityFile), &old) != nil {
		return
	}
	_ = os.Remove(filepath.Join(dir, identityFile))
	// Only a directory that carries our name, and only once it is empty.
	if short := filepath.Dir(old.Socket); filepath.Base(old.Socket) == socketFile && strings.HasPrefix(filepath.Base(short), socketDirPrefix) {
		_ = os.Remove(old.Socket)
		_ = os.Remove(short)
	}
}
