package temporal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// packages is about how many packages a build from nothing compiles, for the
	// progress.
	packages = 1800
	// keepBinaries is how many temporalds the cache keeps, of 155 MB each.
	keepBinaries = 2
)

// Build compiles temporald from its sources to a path, unless it is there. It
// takes minutes the first time. Of several processes that build at once, one does
// and the others wait. A cancelled build leaves nothing but Go's own cache, from
// which the next one goes on.
func Build(ctx context.Context, source, binary string, progress func(message string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	if err := build(ctx, source, binary, progress); err != nil {
		return fmt.Errorf("build temporald: %w", err)
	}
	return nil
}

func build(ctx context.Context, source, binary string, progress func(string)) error {
	gotool, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("there is no temporal server, and no go command to build one with: %s", waysOut)
	}
	dir := filepath.Dir(binary)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	lock, err := waitLock(ctx, filepath.Join(dir, "build.lock"), unix.LOCK_EX, func(waited time.Duration) {
		progress(fmt.Sprintf("another durabench process is building the embedded temporal server (%s)", waited.Round(time.Second)))
	})
	if err != nil {
		return err
	}
	defer lock.release()
	if usable(binary) {
		return nil
	}
	// What builders that were killed left behind.
	if stale, _ := filepath.Glob(filepath.Join(dir, binaryPrefix+"*.new")); len(stale) > 0 {
		for _, path := range stale {
			_ = os.Remove(path)
		}
	}
	fresh := binary + ".new"
	defer func() { _ = os.Remove(fresh) }()

	progress("building the embedded temporal server, once: this takes 5 to 15 minutes and up to 2 GB of Go's build cache; " +
		"an installed temporal CLI or " + EnvAddress + " makes it unnecessary")
	started := time.Now()
	if err := compile(ctx, gotool, source, fresh, started, progress); err != nil {
		return err
	}
	if err := os.Rename(fresh, binary); err != nil {
		return err
	}
	progress(fmt.Sprintf("built the embedded temporal server in %s: %s", time.Since(started).Round(time.Second), binary))
	prune(binary)
	return nil
}

// compile runs the Go compiler and reports how far it is.
func compile(ctx context.Context, gotool, source, output string, started time.Time, progress func(string)) error {
	cmd := exec.CommandContext(ctx, gotool, "build", "-v",
		// A program that needs neither a C compiler nor a clean checkout, and is
		// the same wherever it is built.
		"-trimpath", "-mod=readonly", "-buildvcs=false", "-ldflags", "-s -w",
		"-o", output, ".")
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	// The go command and its compilers are one group, ended together. An interrupt
	// lets go remove its work directory.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGINT) }
	cmd.WaitDelay = 5 * time.Second

	watch := &compilation{started: started}
	cmd.Stdout, cmd.Stderr = watch, watch
	if err := cmd.Start(); err != nil {
		return err
	}
	group := cmd.Process.Pid
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			if ctx.Err() != nil {
				_ = unix.Kill(-group, unix.SIGKILL)
				return ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("go build in %s: %w\n%s", source, err, watch.tail())
			}
			return nil
		case <-ticker.C:
			progress(watch.status())
		}
	}
}

// compilation follows what `go build -v` prints: the name of every package when
// its turn comes, modules being downloaded, and errors.
type compilation struct {
	started time.Time

	mu       sync.Mutex
	partial  []byte
	last     []string // lines, for an error
	packages int
	modules  int
	current  string
}

// Write implements io.Writer.
func (c *compilation) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.partial = append(c.partial, p...)
	for {
		line, rest, found := bytes.Cut(c.partial, []byte("\n"))
		if !found {
			return len(p), nil
		}
		c.partial = rest
		c.line(string(line))
	}
}

func (c *compilation) line(line string) {
	if c.last = append(c.last, line); len(c.last) > tailLines {
		c.last = c.last[1:]
	}
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		c.modules++
		c.current = strings.TrimPrefix(line, "go: ")
	case line != "" && !strings.ContainsAny(line, " \t:"):
		c.packages++
		c.current = line
	}
}

// status is one line of progress.
func (c *compilation) status() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := "building the embedded temporal server: " + time.Since(c.started).Round(time.Second).String()
	if c.modules > 0 && c.packages == 0 {
		return fmt.Sprintf("%s, %d modules fetched, %s", text, c.modules, c.current)
	}
	if c.packages > 0 {
		text += fmt.Sprintf(", package %d of at most %d, %s", c.packages, packages, c.current)
	}
	return text
}

func (c *compilation) tail() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.TrimSpace(strings.Join(c.last, "\n") + "\n" + string(c.partial))
}

// prune removes all but the youngest temporalds and the one just built. One that
// runs goes on running.
func prune(built string) {
	for i, path := range byAge(filepath.Dir(filepath.Dir(built))) {
		if i >= keepBinaries && path != built {
			_ = os.Remove(path)
		}
	}
}
