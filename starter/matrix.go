package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/configs"
	"github.com/durabench/durabench/workflows"
)

// matrixHelp is the help of --matrix.
const matrixHelp = "matrix file (TOML), or the name of one that ships: run every cell of it"

// readMatrix reads the matrix of that name or file.
func readMatrix(name string) (*spec.Matrix, error) {
	if name == "" {
		return nil, usagef("--matrix is empty: name a file, or a matrix that ships, e.g. all-engines")
	}
	m, err := spec.ReadMatrix(name, configs.Matrices(), activities.Facts(true))
	if err != nil {
		return nil, usage(err)
	}
	return m, nil
}

// onlyMatrix refuses flags that say what to measure beside a matrix, which says it in its file.
func onlyMatrix(command *cobra.Command) error {
	own := []string{"matrix", "host", "store", "detach", "keep-logs", "format", "color", "verbose"}
	var problems []error
	command.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(own, f.Name) {
			problems = append(problems, fmt.Errorf("--%s does not go with --matrix: the matrix's file says what to measure", f.Name))
		}
	})
	if len(problems) > 0 {
		return usage(errors.Join(problems...))
	}
	return nil
}

// newMatrixInput reads a matrix and says where it runs.
func (a *app) newMatrixInput(name string, f runFlags) (workflows.MatrixInput, error) {
	m, err := readMatrix(name)
	if err != nil {
		return workflows.MatrixInput{}, err
	}
	hosts, err := hostNames(f.host)
	if err != nil {
		return workflows.MatrixInput{}, err
	}
	where, err := storeName(f.store)
	if err != nil {
		return workflows.MatrixInput{}, err
	}
	if len(hosts) > 1 && !strings.HasPrefix(where, "s3://") {
		return workflows.MatrixInput{}, usagef("hosts %s: the results of several hosts need a store that all of them reach: --store s3://BUCKET/PREFIX",
			strings.Join(hosts, ", "))
	}
	in := workflows.MatrixInput{
		Matrix: *m, Hosts: hosts, Store: where, KeepLogs: f.keep, Command: append([]string{"starter"}, spec.RedactArgs(a.args)...),
	}
	if err := in.Check(); err != nil {
		return in, usage(err)
	}
	return in, nil
}

// hostNames splits --host of a matrix, "bench-1,bench-2"; this machine when it is empty.
func hostNames(flag string) ([]string, error) {
	if flag == "" {
		own, err := hostName("")
		return []string{own}, err
	}
	var hosts []string
	for name := range strings.SplitSeq(flag, ",") {
		name = strings.TrimSpace(name)
		if name == "" || slices.Contains(hosts, name) {
			return nil, usagef("--host %q: names with commas between them, each once", flag)
		}
		hosts = append(hosts, name)
	}
	return hosts, nil
}

// runMatrix runs a matrix now.
func (a *app) runMatrix(ctx context.Context, name string, f runFlags) error {
	in, err := a.newMatrixInput(name, f)
	if err != nil {
		return err
	}
	in.RunID = newRunID(&spec.Spec{Name: in.Matrix.Name})
	own, err := hostName("")
	if err != nil {
		return err
	}
	local := slices.Contains(in.Hosts, own)
	s, err := a.connect(ctx, true)
	if err != nil {
		return err
	}
	defer s.close()
	in.Attributes = s.attributes
	if f.detach {
		return a.detachMatrix(ctx, s, in, own, local)
	}
	if local {
		k, err := s.serveHost(own)
		if err != nil {
			return err
		}
		defer k.stop()
	}
	run, err := s.beginMatrix(ctx, in)
	if err != nil {
		return err
	}
	return a.followMatrix(ctx, s, in.RunID, run, true)
}

// beginMatrix starts the workflow of a matrix.
func (s *session) beginMatrix(ctx context.Context, in workflows.MatrixInput) (client.WorkflowRun, error) {
	run, err := s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: workflows.MatrixID(in.RunID), TaskQueue: workflows.ControlQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL, StaticSummary: matrixSummary(in),
	}, workflows.Matrix, in)
	if err != nil {
		return nil, fmt.Errorf("start matrix %s: %w", in.RunID, err)
	}
	return run, nil
}

// matrixSummary is a matrix in a line.
func matrixSummary(in workflows.MatrixInput) string {
	return fmt.Sprintf("%s, %d cells on %s", in.Matrix.Name, len(in.Matrix.Cells), strings.Join(in.Hosts, ", "))
}

// detachMatrix starts a matrix and leaves it to a worker in the background.
func (a *app) detachMatrix(ctx context.Context, s *session, in workflows.MatrixInput, own string, local bool) error {
	if local {
		served, err := s.served(own)
		if err != nil {
			return err
		}
		if !served {
			if err := serveInBackground(ctx, own); err != nil {
				return err
			}
		}
	}
	run, err := s.beginMatrix(ctx, in)
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
	printf(a.stderr, "%s; starter watch %s shows it, starter cancel %s ends it\n", matrixSummary(in), in.RunID, in.RunID)
	return nil
}
