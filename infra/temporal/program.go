package temporal

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/durabench/durabench/infra/home"
)

// modulePath is the module in whose clone the sources of temporald lie.
const modulePath = "github.com/durabench/durabench"

// choose returns the program to start: what the environment names, temporald built before, the temporal CLI,
// or temporald built now.
func choose(ctx context.Context, o FindOptions) (program, error) {
	if path := os.Getenv(EnvBinary); path != "" {
		if !usable(path) {
			return program{}, fmt.Errorf("%s=%s is no program", EnvBinary, path)
		}
		path, err := filepath.Abs(path)
		return temporald(path), err
	}
	cache := o.Cache
	if cache == "" {
		var err error
		if cache, err = home.Cache(); err != nil {
			return program{}, err
		}
	}
	source, noSource := Source(o.Source)
	binary := ""
	if noSource == nil {
		var err error
		if binary, err = Binary(source, cache); err != nil {
			return program{}, err
		}
		if usable(binary) {
			return temporald(binary), nil
		}
	} else if binary = newest(cache); binary != "" {
		// An installed starter has no sources to compare with; what was built for
		// it once still serves.
		return temporald(binary), nil
	}
	if p, err := temporalCLI(ctx); err == nil {
		return p, nil
	} else if !errors.Is(err, exec.ErrNotFound) {
		o.Progress(err.Error())
	}
	if noSource != nil {
		return program{}, noSource
	}
	if err := Build(ctx, source, binary, o.Progress); err != nil {
		return program{}, err
	}
	return temporald(binary), nil
}

func temporald(path string) program {
	// Prune goes by age, and what is used is young.
	now := time.Now()
	_ = os.Chtimes(path, now, now)
	return program{
		origin: OriginTemporald,
		path:   path,
		args: func(d directory, namespace string, port, uiPort int) []string {
			return []string{
				"--db", string(d) + string(filepath.Separator),
				"--state", d.state(),
				"--namespace", namespace,
				"--port", strconv.Itoa(port),
				"--ui-port", strconv.Itoa(uiPort),
			}
		},
	}
}

var cliVersion = regexp.MustCompile(`\(Server ((\d+\.\d+)[^ ,)]*)`)

// temporalCLI returns the temporal CLI of the PATH. Its development server with a
// database file is as durable as ours.
func temporalCLI(ctx context.Context) (program, error) {
	path, err := exec.LookPath("temporal")
	if err != nil {
		return program{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = environment()
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return program{}, fmt.Errorf("the temporal CLI %s is not usable: `temporal --version`: %w", path, err)
	}
	found := cliVersion.FindSubmatch(out)
	if found == nil {
		return program{}, fmt.Errorf("%s is not the temporal CLI: `temporal --version` says %q", path, strings.TrimSpace(string(out)))
	}
	// As with ours, a file belongs to one minor version of the server.
	database := "temporal-cli-" + string(found[2]) + ".db"
	return program{
		origin:    OriginCLI,
		path:      path,
		version:   string(found[1]),
		stateless: true,
		args: func(d directory, namespace string, port, uiPort int) []string {
			args := []string{
				"server", "start-dev",
				"--ip", "127.0.0.1",
				"--port", strconv.Itoa(port),
				"--ui-port", strconv.Itoa(uiPort),
				"--namespace", namespace,
				"--db-filename", d.file(database),
				"--log-level", "warn",
			}
			types := Attributes()
			for _, name := range slices.Sorted(maps.Keys(types)) {
				args = append(args, "--search-attribute", name+"="+types[name].String())
			}
			return args
		},
	}, nil
}

// waysOut ends the errors of those who have no server and cannot build one.
const waysOut = "install the temporal CLI (its development server is used when `temporal` is on the PATH), " +
	"set " + EnvAddress + " to a running server, or run from a clone of the repository (" + EnvSource + " names one)"

// Source returns the directory of temporald's sources: in the given clone of
// durabench, else in the one that DURABENCH_SOURCE names, else in the one that
// the working directory or the running program lie in.
func Source(clone string) (string, error) {
	if clone == "" {
		clone = os.Getenv(EnvSource)
	}
	if clone != "" {
		if !isClone(clone) {
			return "", fmt.Errorf("%s is no clone of %s with infra/temporald in it (see %s)", clone, modulePath, EnvSource)
		}
		return filepath.Abs(filepath.Join(clone, "infra", "temporald"))
	}
	var starts []string
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir)
	}
	if exe, err := os.Executable(); err == nil {
		if exe, err = filepath.EvalSymlinks(exe); err == nil {
			starts = append(starts, filepath.Dir(exe))
		}
	}
	for _, dir := range starts {
		for {
			if isClone(dir) {
				return filepath.Join(dir, "infra", "temporald"), nil
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	return "", fmt.Errorf("there is no temporal server and no source to build one from: %s", waysOut)
}

// isClone tells whether a directory is the root of a clone with temporald in it.
func isClone(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 2 && fields[0] == "module" {
			_, err := os.Stat(filepath.Join(dir, "infra", "temporald", "go.mod"))
			return fields[1] == modulePath && err == nil
		}
	}
	return false
}

// Binary returns where the temporald built from the sources is kept in a cache
// directory, whether or not it is there. The name carries a digest of all that
// decides what the program is: the sources, the target and the Go version.
func Binary(source, cache string) (string, error) {
	h := sha256.New()
	_, _ = fmt.Fprintln(h, runtime.GOOS, runtime.GOARCH, runtime.Version())
	err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !partOfProgram(entry) {
			return err
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(h, filepath.ToSlash(name), info.Size())
		_, err = io.Copy(h, f)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("digest sources of temporald: %w", err)
	}
	return filepath.Join(binaries(cache), binaryPrefix+hex.EncodeToString(h.Sum(nil))[:16]), nil
}

// partOfProgram tells which files go into the program; tests do not.
func partOfProgram(entry fs.DirEntry) bool {
	name := entry.Name()
	switch {
	case !entry.Type().IsRegular(), strings.HasSuffix(name, "_test.go"):
		return false
	}
	return strings.HasSuffix(name, ".go") || name == "go.mod" || name == "go.sum"
}

const binaryPrefix = "temporald-"

func binaries(cache string) string { return filepath.Join(cache, "temporald") }

// usable tells whether a program is there. Builds are renamed into place, so one
// that is there is whole.
func usable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// newest returns the temporald that was used or built last, or nothing.
func newest(cache string) string {
	if built := byAge(cache); len(built) > 0 {
		return built[0]
	}
	return ""
}

// byAge returns the temporalds of a cache, the youngest first.
func byAge(cache string) []string {
	paths, _ := filepath.Glob(filepath.Join(binaries(cache), binaryPrefix+"*"))
	age := map[string]time.Time{}
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil && usable(p) && !strings.Contains(filepath.Base(p), ".") {
			age[p] = info.ModTime()
		}
	}
	return slices.SortedFunc(maps.Keys(age), func(a, b string) int { return age[b].Compare(age[a]) })
}
