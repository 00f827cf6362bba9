package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/durabench/durabench/workers/agent/measure"
)

// app is what every command shares.
type app struct {
	args           []string // the command line as given
	stdout, stderr io.Writer
	format         string
	color          string
	verbose        bool
}

// execute runs the command line and returns the exit code.
func execute(args []string, stdout, stderr io.Writer) int {
	a := &app{args: args, stdout: stdout, stderr: stderr}
	// The first interrupt cancels the context, and each command says in its help what it does then; the second ends the program at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // from here on the signal has its usual effect
	}()
	root := a.root()
	root.SetArgs(args)
	return exitCode(root.ExecuteContext(ctx), stderr)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "starter",
		Short: "Benchmark databases as durable workflows, and prove the numbers",
		Long: `starter plans, runs, watches and shows database benchmarks. Each run is a durable Temporal workflow: it survives the loss of any
process, checks the answers it times, and ends in one result document.

` + exitCodesHelp,
		Example: `  starter run -d sqlite -s 100000 -c 4 -t 8
  starter run -d postgres -e postgres://bench@127.0.0.1:5432/bench -s 1M -c 8
  starter plan -d redis -s 100000
  starter engines`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			slog.SetDefault(a.logger()) // for what is said without a logger at hand
			return a.checkGlobal(cmd)
		},
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w\nsee `%s --help`", err, cmd.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.StringVar(&a.format, "format", "table", "output: table, json, csv or markdown")
	flags.StringVar(&a.color, "color", "auto", "colour: auto (a terminal, and NO_COLOR is not set), always or never")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log what is going on to stderr")
	root.AddCommand(
		a.runCommand(), a.upCommand(), a.watchCommand(), a.listCommand(), a.showCommand(), a.cancelCommand(),
		a.pullCommand(), a.hostsCommand(), a.doctorCommand(), a.reapCommand(), a.scheduleCommand(), a.planCommand(), a.enginesCommand(), a.versionCommand(),
		a.serveCommand(), measure.Command(),
	)
	for _, command := range root.Commands() {
		wrapArgs(command)
		for _, sub := range command.Commands() {
			wrapArgs(sub)
		}
	}
	return root
}

// wrapArgs makes a wrong number of arguments a usage error that names the command.
func wrapArgs(command *cobra.Command) {
	check := command.Args
	if check == nil {
		check = cobra.NoArgs
	}
	command.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%w\nsee `%s --help`", err, cmd.CommandPath())
		}
		return nil
	}
}

var formats = []string{"table", "json", "csv", "markdown"}

func (a *app) checkGlobal(*cobra.Command) error {
	var problems []error
	if !slices.Contains(formats, a.format) {
		problems = append(problems, fmt.Errorf("--format %q: one of %s", a.format, strings.Join(formats, ", ")))
	}
	if !slices.Contains([]string{"auto", "always", "never"}, a.color) {
		problems = append(problems, fmt.Errorf("--color %q: one of auto, always, never", a.color))
	}
	if len(problems) > 0 {
		return usage(errors.Join(problems...))
	}
	return nil
}

// colored tells whether w is to get colours.
func (a *app) colored(w io.Writer) bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && isTerminal(w)
}

// isTerminal tells whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is the terminal's width in columns, or 0 when w is none.
func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	return 0
}

// logger logs to stderr: warnings, or everything with --verbose.
func (a *app) logger() *slog.Logger {
	level := slog.LevelWarn
	if a.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
}
