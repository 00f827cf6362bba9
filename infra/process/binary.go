package process

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/durabench/durabench/drivers"
)

// Installed tells where the server's program is on this machine, without starting it; ErrNotInstalled when it is not.
func Installed(server *drivers.Server) (string, error) { return findBinary(server, "") }

// findBinary returns the absolute path of the server's binary: the one given, else one on PATH, else the newest in the engine's folders.
func findBinary(server *drivers.Server, given string) (string, error) {
	if given != "" {
		path, err := exec.LookPath(given)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return "", fmt.Errorf("%w: binary %s: %w", ErrNotInstalled, given, err)
		}
		return path, nil
	}
	for _, name := range server.Binaries {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	var found []string
	for _, folder := range server.Folders {
		for _, name := range server.Binaries {
			matches, err := filepath.Glob(filepath.Join(folder, name))
			if err != nil {
				return "", fmt.Errorf("folder %s: %w", folder, err)
			}
			for _, match := range matches {
				if info, err := os.Stat(match); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
					found = append(found, match)
				}
			}
		}
	}
	if len(found) == 0 {
		places := strings.Join(append([]string{"on PATH"}, server.Folders...), ", ")
		return "", fmt.Errorf("%w: no %s %s; %s", ErrNotInstalled, strings.Join(server.Binaries, " or "), places, server.Install)
	}
	return slices.MaxFunc(found, compareVersions), nil
}

// compareVersions compares paths with their numbers taken as numbers: …/9.6/… is before …/15/….
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		numberA, restA := leadingNumber(a)
		numberB, restB := leadingNumber(b)
		if numberA == "" || numberB == "" {
			if a[0] != b[0] {
				return cmp.Compare(rank(a[0]), rank(b[0]))
			}
			a, b = a[1:], b[1:]
			continue
		}
		numberA, numberB = strings.TrimLeft(numberA, "0"), strings.TrimLeft(numberB, "0")
		if c := cmp.Or(cmp.Compare(len(numberA), len(numberB)), cmp.Compare(numberA, numberB)); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return cmp.Compare(len(a), len(b))
}

// rank puts the end of a path's element before everything that could go on: …/9/… is before …/9.6/….
func rank(b byte) int {
	if b == filepath.Separator {
		return -1
	}
	return int(b)
}

func leadingNumber(s string) (number, rest string) {
	n := len(s) - len(strings.TrimLeft(s, "0123456789"))
	return s[:n], s[n:]
}
