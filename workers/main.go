// The worker program serves one bench host: it does the activities of the benchmarks that run there and, by default, their workflows.
//
//	worker --host NAME
//
// The Temporal server is the one that TEMPORAL_ADDRESS and the other variables of Temporal's own tools name.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	_ "github.com/durabench/durabench/drivers/all" // every engine that this build can measure
	"github.com/durabench/durabench/infra/temporal"
	"github.com/durabench/durabench/workers/agent/measure"
	"github.com/durabench/durabench/workers/serve"
)

// The exit codes, as those of the starter.
const (
	exitInfrastructure = 2
	exitUsage          = 4
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "worker:", err)
	var failed *servingError
	if errors.As(err, &failed) {
		os.Exit(exitInfrastructure)
	}
	os.Exit(exitUsage)
}

// servingError is an error of the work itself, apart from those of the command line.
type servingError struct{ err error }

func (e *servingError) Error() string { return e.err.Error() }
func (e *servingError) Unwrap() error { return e.err }

// flags are the command line.
type flags struct {
	options   serve.Options
	dial      time.Duration
	logLevel  slog.Level
	logFormat string
}

func command() *cobra.Command {
	f := flags{options: serve.Options{}}
	root := &cobra.Command{
		Use:   "worker",
		Short: "Serve a bench host",
		Long: "Serve a bench host: do the activities of the benchmarks that run on this machine, one at a time, and, unless --control=false, the\n" +
			"workflows that order them. The Temporal server is the one that TEMPORAL_ADDRESS names, with TEMPORAL_NAMESPACE and the other\n" +
			"variables of Temporal's own tools; credentials for the databases measured here may be in DURABENCH_USER and DURABENCH_PASSWORD.\n\n" +
			"SIGTERM or Ctrl-C stops the worker at once. A leg that is being measured goes on in its agent, and the next worker takes it over.",
		Example: "  worker --host bench-1\n" +
			"  TEMPORAL_ADDRESS=temporal.example:7233 worker --host bench-1 --control=false",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			logger, err := f.logger()
			if err != nil {
				return err
			}
			f.options.Logger = logger
			slog.SetDefault(logger) // for what is said without a logger at hand
			if err := f.serve(cmd.Context()); err != nil {
				return &servingError{err}
			}
			return nil
		},
	}
	set := root.Flags()
	set.StringVar(&f.options.Host, "host", "", "name of this host (default: the machine's own name)")
	set.BoolVar(&f.options.Control, "control", true, "serve the workflows, too; at least one worker must")
	set.StringVar(&f.options.Work, "work-dir", "", "directory for the files of runs (default: work below the data directory)")
	set.DurationVar(&f.options.AgentIdle, "agent-idle", serve.DefaultAgentIdle, "how long a measuring process that no worker asks for lives on")
	set.DurationVar(&f.options.StopTimeout, "stop-timeout", serve.DefaultStopTimeout, "how long activities may take to let go when the worker stops")
	set.DurationVar(&f.dial, "dial-timeout", temporal.DefaultDialTimeout, "how long the Temporal server may take to answer at the start")
	set.TextVar(&f.logLevel, "log-level", slog.LevelInfo, "debug, info, warn or error")
	set.StringVar(&f.logFormat, "log-format", "text", "text or json")
	root.AddCommand(measure.Command())
	return root
}

// logger writes structured logs to standard error.
func (f *flags) logger() (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: f.logLevel}
	switch f.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, options)), nil
	default:
		return nil, fmt.Errorf("--log-format %q is neither text nor json", f.logFormat)
	}
}

// serve connects to Temporal and serves until ctx ends.
func (f *flags) serve(ctx context.Context) error {
	dial := temporal.Options{Logger: f.options.Logger, Timeout: f.dial}
	known, err := temporal.ClientOptions(dial)
	if err != nil {
		return err
	}
	f.options.Temporal, f.options.Namespace = temporal.Name(known.HostPort, known.Namespace), known.Namespace
	c, err := temporal.Dial(ctx, dial)
	if err != nil {
		return err
	}
	defer c.Close()
	return serve.Run(ctx, c, f.options)
}
