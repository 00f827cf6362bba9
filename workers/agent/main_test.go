package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
)

// TestMain makes this test's binary an agent when it is started as one: what Launch starts in tests is the binary itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		os.Exit(serveScripted(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func serveScripted(args []string) int {
	flags := flag.NewFlagSet(Command, flag.ContinueOnError)
	dir := flags.String("dir", "", "")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := Serve(ctx, *dir, newScripted); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// scripted is an executor that does what the step's title says:
//
//	"done"          finishes at once
//	"wait:NAME"     runs until the file NAME is in the spec's data directory, reporting progress
//	"fail"          is an untimed step's error
//	"panic"         panics
//	"exit"          takes the process with it
//	"refuse"        as an engine name: the executor cannot be made
//
// Every execution adds a line to the file "ran" in the data directory, so that tests see what ran how often.
type scripted struct {
	dir      string
	password string
}

func newScripted(setup Setup, credentials drivers.Credentials, _ []Outcome, logger *slog.Logger) (Executor, error) {
	logger.Info("scripted", "credentials", credentials)
	if setup.Spec.Database == "refuse" {
		return nil, errors.New("engine refuses to be opened")
	}
	return &scripted{dir: setup.Spec.DataDir, password: credentials.Password}, nil
}

func (s *scripted) Run(ctx context.Context, task Task) Outcome {
	file, err := os.OpenFile(filepath.Join(s.dir, "ran"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(file, task.Step.ID)
		file.Close()
	}
	leg := result.Leg{ID: task.Step.ID, Title: task.Step.Title, Verdict: result.Valid}
	action, name, _ := strings.Cut(task.Step.Title, ":")
	switch action {
	case "wait":
		for n := int64(1); ; n++ {
			task.Progress(load.Progress{Done: n, Total: task.Step.Samples})
			if _, err := os.Stat(filepath.Join(s.dir, name)); err == nil {
				break
			}
			select {
			case <-ctx.Done():
				leg.Verdict, leg.Why = result.Interrupted, "cancelled"
				return Outcome{Leg: &leg}
			case <-time.After(5 * time.Millisecond):
			}
		}
	case "fail":
		return Outcome{Error: "it failed", ErrorClass: ErrorPreflight}
	case "panic":
		panic("scripted panic")
	case "exit":
		fmt.Fprintln(os.Stderr, "scripted exit")
		os.Exit(3)
	}
	leg.Why = fmt.Sprintf("password of %d bytes", len(s.password))
	return Outcome{Leg: &leg}
}

func (s *scripted) Close() error { return nil }

// timed returns a leg that does what its title says.
func timed(id, title string) plan.Step {
	return plan.Step{ID: id, Title: title, Kind: plan.Read, Timed: true, Samples: 1000, Clients: 1, Threads: 1}
}
