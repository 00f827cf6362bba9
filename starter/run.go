package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/durabench/durabench/activities/secrets"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/home"
	"github.com/durabench/durabench/infra/store"
	"github.com/durabench/durabench/workflows"
)

// runFlags are the flags of run that say where and how, not what.
type runFlags struct {
	host   string
	store  string
	detach bool
	keep   bool
	matrix string
}

func (a *app) runCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "run",
		Short: "Run a benchmark and show its result",
		Long: `Run a benchmark as a durable workflow, show it going on, and end with the table of its legs and the path of its result document.

The Temporal server is the one TEMPORAL_ADDRESS names (with TEMPORAL_NAMESPACE and the other TEMPORAL_* variables); else one of ours that
runs; else one is started: our temporald if it was built before, the temporal CLI if it is on PATH, else temporald is built, which takes
minutes, once. A server that this command started ends with it, unless another command uses it.

With --matrix every cell of a matrix file is run, one after the other on each host, and the end is the table across engines.

A worker runs in the same process when no other serves this host. If this process is killed, the measurement goes on in the agent, and
starter watch RUN picks the run up where it is.

Ctrl-C cancels the run: the leg under way stops, what was measured is kept, everything that was started is stopped, and the exit code is 3.
Ctrl-C again ends at once and leaves that to starter watch or the next run.`,
		Example: `  starter run -d sqlite -s 100000 -c 4 -t 8
  starter run -d postgres -s 1M -c 16 -k string26 --random --sync
  starter run -d redis -e redis://user:password@127.0.0.1:6379 -s 100000
  starter run -d sqlite -s 5M --mode load --data-dir /data && starter run -d sqlite -s 5M --mode query --data-dir /data
  starter run -d map -s 1M --format json > result.json
  starter run --matrix all-engines`,
		Args: cobra.NoArgs,
	}
	flags := spec.NewFlags(command.Flags())
	var f runFlags
	command.Flags().StringVar(&f.host, "host", "", "bench host to run on (default: this machine, or DURABENCH_HOST); with --matrix several, with commas between")
	command.Flags().StringVar(&f.store, "store", "", storeHelp)
	command.Flags().BoolVar(&f.detach, "detach", false, "start the run, print its name and return; starter watch shows it")
	command.Flags().BoolVar(&f.keep, "keep-logs", false, "keep the logs of agent and server also after a valid run")
	completeFlags(command)
	command.Flags().StringVar(&f.matrix, "matrix", "", matrixHelp)
	registerCompletion(command, "matrix", completeMatrices)
	command.RunE = func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("matrix") {
			return a.run(cmd.Context(), flags, f)
		}
		if err := onlyMatrix(cmd); err != nil {
			return err
		}
		return a.runMatrix(cmd.Context(), f.matrix, f)
	}
	return command
}

func (a *app) run(ctx context.Context, flags *spec.Flags, f runFlags) error {
	host, err := hostName(f.host)
	if err != nil {
		return err
	}
	local, err := isThisHost(host)
	if err != nil {
		return err
	}
	r, err := newRequest(flags, !local)
	if err != nil {
		return err
	}
	for _, note := range r.Notes {
		printf(a.stderr, "note: %s\n", note)
	}
	where, err := storeName(f.store)
	if err != nil {
		return err
	}
	if !local && r.Credentials != (spec.Credentials{}) {
		return usagef("host %s is another machine: the endpoint's user and password cannot travel through Temporal\n"+
			"set %s and %s in the environment of the worker there, and leave them out of --endpoint", host, secrets.EnvUser, secrets.EnvPassword)
	}
	s, err := a.connect(ctx, true)
	if err != nil {
		return err
	}
	in := workflows.BenchmarkInput{
		RunID: newRunID(r.Spec), Host: host, Spec: *r.Spec, Plan: *r.plan, Store: where, Attributes: s.attributes, KeepLogs: f.keep,
		Command: append([]string{"starter"}, spec.RedactArgs(a.args)...),
	}
	if f.detach {
		return a.detach(ctx, s, in, r, local)
	}
	defer s.close()
	if local {
		k, err := s.serveHost(host)
		if err != nil {
			return err
		}
		defer k.stop()
	}
	started, err := s.begin(ctx, in, r)
	if err != nil {
		return err
	}
	return a.follow(ctx, s, in.RunID, started, true)
}

// begin starts the workflow of a run.
func (s *session) begin(ctx context.Context, in workflows.BenchmarkInput, r *request) (client.WorkflowRun, error) {
	if r.Credentials != (spec.Credentials{}) {
		if err := secrets.Write(in.RunID, drivers.Credentials(r.Credentials)); err != nil {
			return nil, err
		}
	}
	run, err := s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       workflows.WorkflowID(in.RunID),
		TaskQueue:                workflows.ControlQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		StaticSummary:            fmt.Sprintf("%s, %d rows, %d × %d", in.Spec.Database, in.Spec.Samples, in.Spec.Clients, in.Spec.Threads),
	}, workflows.Benchmark, in)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start run %s: %w", in.RunID, err), secrets.Delete(in.RunID))
	}
	return run, nil
}

// detach starts the run and leaves it to a worker in the background.
func (a *app) detach(ctx context.Context, s *session, in workflows.BenchmarkInput, r *request, local bool) error {
	defer s.close()
	if local {
		served, err := s.served(in.Host)
		if err != nil {
			return err
		}
		if !served {
			if err := serveInBackground(ctx, in.Host); err != nil {
				return err
			}
		}
	}
	run, err := s.begin(ctx, in, r)
	if err != nil {
		return err
	}
	url := s.url(run.GetID(), run.GetRunID())
	if a.format == "json" {
		return json.NewEncoder(a.stdout).Encode(map[string]string{"run": in.RunID, "workflow": run.GetID(), "url": url})
	}
	printf(a.stdout, "%s\n", in.RunID)
	if url != "" {
		printf(a.stderr, "%s\n", url)
	}
	printf(a.stderr, "starter watch %s shows it, starter cancel %s ends it\n", in.RunID, in.RunID)
	return nil
}

// isThisHost tells whether a host's queue is served by this machine: its own name, or what DURABENCH_HOST calls it.
func isThisHost(host string) (bool, error) {
	own, err := hostName("")
	return host == own, err
}

// storeHelp is the help of --store.
const storeHelp = "where results are kept: dir:PATH or s3://BUCKET/PREFIX (default: runs below the data directory)"

// storeName resolves --store; a directory becomes absolute, as the worker runs elsewhere.
func storeName(flag string) (string, error) {
	if flag == "" {
		runs, err := home.Runs()
		if err != nil {
			return "", err
		}
		return "dir:" + runs, nil
	}
	if _, err := store.Open(flag); err != nil {
		return "", usage(err)
	}
	if strings.Contains(flag, "://") {
		return flag, nil
	}
	path, err := filepath.Abs(strings.TrimPrefix(flag, "dir:"))
	if err != nil {
		return "", fmt.Errorf("find the store's directory: %w", err)
	}
	return "dir:" + path, nil
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// newRunID names a run: what it is, when, and a few random digits.
func newRunID(s *spec.Spec) string {
	name := s.Database
	if s.Name != "" {
		name = strings.Trim(notInID.ReplaceAllString(s.Name, "-"), "-._")
	}
	if name == "" {
		name = s.Database
	}
	var salt [3]byte
	_, _ = rand.Read(salt[:]) // never fails, see crypto/rand
	return fmt.Sprintf("%.40s-%s-%s", name, time.Now().UTC().Format("20060102-150405"), hex.EncodeToString(salt[:]))
}
