// Temporald is a Temporal server for one machine: the services and the Web UI in
// one process, over a SQLite file. Durabench builds and starts it when it finds
// no other Temporal server, so that a run is durable without Docker.
//
//	temporald --db DIR
//	temporald server start-dev [flags of the temporal CLI]
//
// The second form takes the arguments that the Temporal SDKs' test suites give
// to the temporal CLI's development server.
//
// Exit codes: 0 stopped as asked, 1 failed, 2 wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/durabench/durabench/infra/temporald/server"
)

// startLimit bounds a start, which takes a second on a quiet machine.
const startLimit = 2 * time.Minute

// stopLimit bounds a clean stop. The file survives a process that ends without
// one, so waiting longer has no purpose.
const stopLimit = 15 * time.Second

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// settings are what the command line asks for.
type settings struct {
	options server.Options
	// state is where to write the state file; empty for nowhere.
	state string
	level slog.Level
	// scratch is a directory to remove at the end; empty for none.
	scratch string
}

func run(args []string, stdout, stderr io.Writer) int {
	set, err := parse(args, stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp), errors.Is(err, errDone):
		return 0
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "temporald: %v\n", err)
		return 2
	}
	if set.scratch != "" {
		defer func() { _ = os.RemoveAll(set.scratch) }()
	}
	set.options.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: set.level}))

	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := serve(ctx, cancel, set, stdout); err != nil {
		_, _ = fmt.Fprintf(stderr, "temporald: %v\n", err)
		return 1
	}
	return 0
}

// serve runs the server until ctx ends or the server fails. It calls restore
// before it stops, so that a second signal ends the process at once.
func serve(ctx context.Context, restore func(), set settings, stdout io.Writer) error {
	started := time.Now()
	startCtx, cancel := context.WithTimeout(ctx, startLimit)
	s, err := server.Start(startCtx, set.options)
	cancel()
	if err != nil {
		if ctx.Err() != nil {
			return nil // Stopped as asked, before it was ready.
		}
		return err
	}
	stop := func() error {
		restore()
		stopCtx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		return s.Stop(stopCtx)
	}
	state := server.State{
		Address:   s.Address,
		UI:        s.UI,
		PID:       os.Getpid(),
		Namespace: set.options.Namespace,
		Started:   started.UTC(),
		Version:   server.Version,
	}
	if set.state != "" {
		if err := state.Write(set.state); err != nil {
			return errors.Join(err, stop())
		}
		defer state.Remove(set.state)
	}
	_, _ = fmt.Fprintf(stdout, "temporald %s ready: address %s, ui %s, namespace %s, database %s, pid %d\n",
		server.Version, s.Address, orNone(s.UI), state.Namespace, set.options.DB, state.PID)

	select {
	case <-ctx.Done():
		return stop()
	case <-s.Failed():
		return errors.Join(s.Err(), stop())
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// errDone says that the command line was answered and there is nothing to run.
var errDone = errors.New("done")

func parse(args []string, stdout, stderr io.Writer) (settings, error) {
	if len(args) >= 2 && args[0] == "server" && args[1] == "start-dev" {
		return parseStartDev(args[2:], stderr)
	}
	var set settings
	o := &set.options
	fs := newFlags("temporald --db PATH")
	version := fs.Bool("version", false, "print the version of the Temporal server and exit")
	fs.StringVar(&o.DB, "db", "", "SQLite `path`: a file, or a directory in which "+server.DBName()+" is kept")
	fs.StringVar(&o.Host, "host", "127.0.0.1", "IP `address` to listen on")
	fs.IntVar(&o.Port, "port", 7233, "`port` for clients and workers; 0 picks a free one")
	fs.IntVar(&o.UIPort, "ui-port", 8233, "`port` of the Web UI; 0 picks a free one")
	fs.BoolVar(&o.Headless, "headless", false, "serve no Web UI")
	fs.IntVar(&o.MetricsPort, "metrics-port", 0, "`port` of the Prometheus metrics; 0 serves none")
	fs.StringVar(&o.Namespace, "namespace", "durabench", "`namespace` to create when missing")
	fs.DurationVar(&o.Retention, "retention", server.Retention, "how long finished workflows are kept, set when the namespace is created")
	fs.StringVar(&set.state, "state", "", "`file` to describe the running server in (JSON)")
	logLevel(fs, &set.level)
	if err := parseFlags(fs, args, stderr); err != nil {
		return set, err
	}
	if *version {
		_, _ = fmt.Fprintln(stdout, "temporald", server.Version)
		return set, errDone
	}
	if o.DB == "" {
		return set, fmt.Errorf("--db is required: a file, or a directory in which %s is kept", server.DBName())
	}
	o.DB = databaseFile(o.DB)
	return set, nil
}

// databaseFile is the file that a --db path means.
func databaseFile(path string) string {
	info, err := os.Stat(path)
	if (err == nil && info.IsDir()) || os.IsPathSeparator(path[len(path)-1]) {
		return filepath.Join(path, server.DBName())
	}
	return path
}

// newFlags makes a flag set whose errors are one line, without the whole usage.
func newFlags(usage string) *flag.FlagSet {
	fs := flag.NewFlagSet(usage, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs
}

// parseFlags parses the arguments, which are flags only.
func parseFlags(fs *flag.FlagSet, args []string, stderr io.Writer) error {
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, _ = fmt.Fprintf(stderr, "Usage: %s [flags]\n\nRuns Temporal server %s and its Web UI over a SQLite file.\n\n", fs.Name(), server.Version)
		fs.SetOutput(stderr)
		fs.PrintDefaults()
	case err == nil && fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return err
}

func logLevel(fs *flag.FlagSet, level *slog.Level) {
	*level = slog.LevelWarn
	fs.Func("log-level", "least `level` to log: debug, info, warn or error (default warn)", func(s string) error {
		if s == "never" { // the temporal CLI's word for it
			*level = slog.LevelError + 4
			return nil
		}
		return level.UnmarshalText([]byte(s))
	})
}
