package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) upCommand() *cobra.Command {
	var host string
	command := &cobra.Command{
		Use:   "up",
		Short: "Serve this host: Temporal server, Web UI and worker, until interrupted",
		Long: `Find or start the Temporal server as run does, serve this host with a worker, print the addresses and go on until interrupted. Runs
started meanwhile, here or elsewhere, use both.

Ctrl-C stops the worker and, if nobody else uses it, the server. A leg that is being measured goes on in its agent, and the next starter
up or starter watch takes it over.`,
		Example: `  starter up
  starter up --host bench-1`,
		Args: cobra.NoArgs,
	}
	command.Flags().StringVar(&host, "host", "", "name of this host (default: the machine's own, or DURABENCH_HOST)")
	command.RunE = func(cmd *cobra.Command, _ []string) error { return a.up(cmd.Context(), host) }
	return command
}

func (a *app) up(ctx context.Context, flag string) error {
	host, err := hostName(flag)
	if err != nil {
		return err
	}
	s, err := a.connect(ctx, true)
	if err != nil {
		return err
	}
	defer s.close()
	k, err := s.serveHost(host)
	if err != nil {
		return err
	}
	defer k.stop()
	printf(a.stdout, "temporal  %s, namespace %s (%s)\n", s.server.Address, s.server.Namespace, s.server.Origin)
	if s.server.UI != "" {
		printf(a.stdout, "web ui    %s\n", s.server.UI)
	}
	printf(a.stdout, "host      %s\n", host)
	return k.wait(ctx)
}

// wait returns when ctx ends, or with the reason why the host is not served any more.
func (k *serving) wait(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := k.failure(); err != nil {
				return err
			}
		}
	}
}
