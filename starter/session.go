package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/durabench/durabench/infra/temporal"
	"github.com/durabench/durabench/workers/serve"
)

// session is a command's connection to Temporal.
type session struct {
	server     *temporal.Server
	client     client.Client
	attributes bool // the server has our search attributes
	app        *app
	unguard    func() // ends watching over the server
}

// connect finds the Temporal server, starting one of ours if there is none and start is set, and connects to it.
func (a *app) connect(ctx context.Context, start bool) (*session, error) {
	server, err := temporal.Find(ctx, temporal.FindOptions{NoStart: !start, Progress: a.say})
	if err != nil {
		return nil, err
	}
	s := &session{server: server, app: a}
	if err := s.dial(ctx); err != nil {
		s.close()
		return nil, err
	}
	if start {
		s.guard()
	}
	return s, nil
}

// guardInterval is how often a command looks whether the server that it uses still runs.
const guardInterval = 2 * time.Second

// guard starts a server of ours again that is lost while this command uses it. What the command does meanwhile waits.
func (s *session) guard() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.unguard = func() {
		cancel()
		<-done
	}
	go func() {
		defer close(done)
		ticker := time.NewTicker(guardInterval)
		defer ticker.Stop()
		for failed := ""; ; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			_, err := s.server.Revive(ctx, temporal.FindOptions{Progress: s.app.say})
			switch {
			case err == nil:
				failed = ""
			case ctx.Err() == nil && err.Error() != failed: // not the same complaint every two seconds
				failed = err.Error()
				s.app.logger().Error("temporal server not started again", "error", err)
			}
		}
	}()
}

func (s *session) dial(ctx context.Context) error {
	options := temporal.Options{}
	if s.app.verbose {
		options.Logger = s.app.logger() // otherwise errors reach the user through the run's result, once
	}
	c, err := s.server.Dial(ctx, options)
	if err != nil {
		return err
	}
	s.client = c
	if err := temporal.EnsureNamespace(ctx, c, s.server.Namespace); err != nil {
		return err
	}
	report, err := temporal.EnsureSearchAttributes(ctx, c, s.server.Namespace)
	if err != nil {
		return err
	}
	s.attributes = len(report.Missing) == 0
	for name, why := range report.Missing {
		s.app.logger().Warn("search attribute is missing, runs go without", "attribute", name, "reason", why)
	}
	return nil
}

// close disconnects. A server of ours that nobody else uses ends too.
func (s *session) close() {
	if s.unguard != nil {
		s.unguard()
	}
	if s.client != nil {
		s.client.Close()
	}
	// The command may be ending because its context has: stopping needs one of its own.
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	if _, err := s.server.Stop(ctx); err != nil {
		s.app.logger().Warn("temporal server not stopped", "error", err)
	}
}

// url is the page of a run in the Temporal UI, "" when there is none.
func (s *session) url(workflowID, execution string) string {
	return temporal.RunURL(s.server, s.server.Namespace, workflowID, execution)
}

// say tells about a long wait, in a line on stderr.
func (a *app) say(text string) { printf(a.stderr, "%s\n", text) }

// hostName is the name of this machine's queue: what --host or DURABENCH_HOST says, else its own name.
func hostName(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if name := os.Getenv("DURABENCH_HOST"); name != "" {
		return name, nil
	}
	return serve.HostName()
}

func printf(w io.Writer, format string, args ...any) { fmt.Fprintf(w, format, args...) }
