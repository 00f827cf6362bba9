package main

import (
	"context"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/workers/serve"
)

func (a *app) reapCommand() *cobra.Command {
	var o activities.ReapOptions
	command := &cobra.Command{
		Use:   "reap",
		Short: "Remove what runs that are over have left on this machine",
		Long: `Remove what runs that are over, terminated ones and such whose machine was switched off, have left on this machine: agents, servers,
containers and their volumes, data, credentials and old logs; and put back what was changed of the machine. Every new run does the same
before it begins.

Only what this installation (DURABENCH_HOME) has started is found: it lies in its directories or carries its label. A run that goes on, or of
which that cannot be found out, keeps everything. What outlives its run on purpose stays too unless --all is given: volumes of --mode load,
containers of --keep-on-failure, and the logs of the last runs that failed.`,
		Example: `  starter reap --dry-run
  starter reap
  starter reap --all`,
		Args: cobra.NoArgs,
	}
	command.Flags().BoolVar(&o.Dry, "dry-run", false, "only print what would be removed")
	command.Flags().BoolVar(&o.All, "all", false, "also remove what outlives its run on purpose")
	command.RunE = func(cmd *cobra.Command, _ []string) error { return a.reap(cmd.Context(), o) }
	return command
}

func (a *app) reap(ctx context.Context, o activities.ReapOptions) error {
	s, err := a.connect(ctx, true) // only the Temporal server knows which runs go on
	if err != nil {
		return err
	}
	defer s.close()
	reaper, err := serve.NewReaper(s.client, serve.Options{Temporal: s.server.Name(), Logger: a.logger()})
	if err != nil {
		return err
	}
	left, problem := reaper.Reap(ctx, o)
	if err := a.showLeftovers(left, o); err != nil {
		return err
	}
	return problem
}

func (a *app) showLeftovers(left []activities.Leftover, o activities.ReapOptions) error {
	if a.format == "json" {
		if left == nil {
			left = []activities.Leftover{}
		}
		return a.writeJSON(left)
	}
	if len(left) == 0 {
		printf(a.stderr, "nothing is left of runs that are over\n")
		return nil
	}
	done := "removed"
	if o.Dry {
		done = "would be removed"
	}
	t := a.newTable()
	t.AppendHeader(table.Row{"", "What", "Name", "Run", "Note"})
	for _, l := range left {
		word := done
		if l.Kept {
			word = "kept"
		}
		t.AppendRow(table.Row{word, l.Kind, l.Name, l.RunID, l.Note})
	}
	a.render(t)
	return nil
}
