package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/durabench/durabench/infra/home"
)

// serveCommand is the hidden command that serves the host for a detached run.
func (a *app) serveCommand() *cobra.Command {
	var host string
	command := &cobra.Command{
		Use:    "serve",
		Short:  "Serve this host until no run is left (started by run --detach)",
		Hidden: true,
		Args:   cobra.NoArgs,
	}
	command.Flags().StringVar(&host, "host", "", "name of this host")
	command.RunE = func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), host) }
	return command
}

// lull is how long no run must be open before the background worker ends.
const lull = 20 * time.Second

func (a *app) serve(ctx context.Context, host string) error {
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
	printf(a.stdout, "%s\n", servesLine) // the command that started this process waits for it
	quiet := time.Now()
	for ctx.Err() == nil && time.Since(quiet) < lull {
		open, err := s.openRuns(ctx)
		if err != nil || open > 0 {
			quiet = time.Now() // a server that does not answer may come back
		}
		if err := k.failure(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
	return removeServeLog()
}

// removeServeLog removes the log of a background worker that had nothing to complain about.
func removeServeLog() error {
	path, err := serveLog()
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 0 {
		return nil
	}
	return os.Remove(path)
}

// serveLog is where the background worker's errors go.
func serveLog() (string, error) {
	work, err := home.Work()
	return filepath.Join(work, "serve.log"), err
}

// openRuns counts the runs and matrices that are not over.
func (s *session) openRuns(ctx context.Context) (int64, error) {
	answer, err := s.client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: s.server.Namespace, Query: "WorkflowType IN ('Benchmark', 'Matrix') AND ExecutionStatus = 'Running'",
	})
	return answer.GetCount(), err
}

// servesLine is what the background worker prints when it is there.
const servesLine = "serving"

// serveInBackground starts a process that serves the host as long as there are runs, and returns when it is connected: from then on it
// keeps the Temporal server running. One too many is no harm: a lock lets only one serve.
func serveInBackground(ctx context.Context, host string) error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find our own program: %w", err)
	}
	path, err := serveLog()
	if err != nil {
		return err
	}
	work := filepath.Dir(path)
	if err := os.MkdirAll(work, 0o700); err != nil {
		return fmt.Errorf("make the work directory: %w", err)
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("open the background worker's log: %w", err)
	}
	defer log.Close()
	command := exec.Command(executable, "serve", "--host", host)
	command.Stderr = log
	command.Dir = work
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the terminal's Ctrl-C is not for it
	says, err := command.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start the background worker: %w", err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the background worker: %w", err)
	}
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(says).ReadString('\n')
		line <- strings.TrimSpace(text)
	}()
	select {
	case text := <-line:
		if text == servesLine {
			return command.Process.Release()
		}
		err = fmt.Errorf("the background worker ended; its log is %s", log.Name())
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(time.Minute):
		err = fmt.Errorf("the background worker is not ready after a minute; its log is %s", log.Name())
	}
	_ = command.Process.Kill()
	_ = command.Wait()
	return err
}
