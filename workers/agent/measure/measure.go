// Package measure does the work of an agent: it opens the run's engine once, keeps its clients, and runs the plan's steps on them. Each
// kind of step has a file of its own.
package measure

import (
	"context"
	"errors"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/host"
	"github.com/durabench/durabench/workers/agent"
)

// Serve makes this process the agent of the run in dir. The engines it can open are those that the program has registered.
//
// A process that was started with the host's lock holds it until it ends.
func Serve(ctx context.Context, dir string) (err error) {
	lock, err := host.Inherit() // first of all: whatever is started before holds it, too
	if err != nil {
		return err
	}
	if lock != nil {
		defer func() { err = errors.Join(err, lock.Close()) }()
	}
	tuning := tune()
	return agent.Serve(ctx, dir, func(setup agent.Setup, credentials drivers.Credentials, finished []agent.Outcome, logger *slog.Logger) (agent.Executor, error) {
		logger.Info("memory is set for measuring", "gcPercent", tuning.gcPercent, "memoryLimitBytes", tuning.memoryLimit)
		return newSession(setup, credentials, finished, tuning, logger)
	})
}

// Command returns the hidden command "agent --dir DIR" that every program which launches agents must have, as an agent is the program
// itself started anew.
func Command() *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:    agent.Command,
		Short:  "Measure one run (started by a worker, not by people)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
			defer stop()
			return Serve(ctx, dir)
		},
	}
	command.Flags().StringVar(&dir, "dir", "", "the run's working directory")
	_ = command.MarkFlagRequired("dir") // fails only for a flag that does not exist
	return command
}
