package process

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
		if err == nil {
			err = otherProduct(server, path)
		}
		if err != nil {
			return "", fmt.Errorf("%w: binary %s: %w", ErrNotInstalled, given, err)
		}
		return path, nil
	}
	candidates, err := candidates(server)
	if err != nil {
		return "", err
	}
	var others []string
	for _, path := range candidates {
		err := otherProduct(server, path)
		if err == nil {
			return path, nil
		}
		others = append(others, path+" "+err.Error())
	}
	places := strings.Join(append([]string{"on PATH"}, server.Folders...), ", ")
	text := fmt.Sprintf("no %s %s", strings.Join(server.Binaries, " or "), places)
	if len(others) > 0 {
		text += " but " + strings.Join(others, ", ")
	}
	return "", fmt.Errorf("%w: %s; %s", ErrNotInstalled, text, server.Install)
}

// candidates are the programs with the names of the server's binaries: those on PATH, and then those in the engine's folders, the newest
// first.
func candidates(server *drivers.Server) ([]string, error) {
	var onPath, found []string
	for _, name := range server.Binaries {
		if path, err := exec.LookPath(name); err == nil {
			if path, err = filepath.Abs(path); err != nil {
				return nil, err
			}
			onPath = append(onPath, path)
		}
	}
	for _, folder := range server.Folders {
		for _, name := range server.Binaries {
			matches, err := filepath.Glob(filepath.Join(folder, name))
			if err != nil {
				return nil, fmt.Errorf("folder %s: %w", folder, err)
			}
			for _, match := range matches {
				if info, err := os.Stat(match); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !slices.Contains(onPath, match) {
					found = append(found, match)
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b string) int { return compareVersions(b, a) })
	return append(onPath, found...), nil
}

// versionTime bounds how long a binary may take to tell its version.
const versionTime = 10 * time.Second

// otherProduct tells that a binary is not the server's but another product's that goes by its name, as MariaDB's mysqld does.
func otherProduct(server *drivers.Server, path string) error {
	if server.Other == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionTime)
	defer cancel()
	version, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("that does not tell its version: %w", err)
	}
	if product := server.Other(string(version)); product != "" {
		return fmt.Errorf("that is %s", product)
	}
	return nil
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
