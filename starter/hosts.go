package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/infra/host"
	"github.com/durabench/durabench/infra/temporal"
	"github.com/durabench/durabench/workflows"
)

// hostRow is one bench host.
type hostRow struct {
	Host    string             `json:"host"`
	Workers []hostWorker       `json:"workers"`
	Holder  *activities.Claim  `json:"holder,omitempty"`
	Waiting []activities.Claim `json:"waiting"`
	// Machine is who holds this machine by its lock file: also a run of another Temporal server. It is absent for other machines.
	Machine *host.Holder `json:"machine,omitempty"`
	Problem string       `json:"problem,omitempty"` // why the holder is not known
}

// hostWorker is a worker that asks for the work of a host.
type hostWorker struct {
	Identity string    `json:"identity"`
	Seen     time.Time `json:"seen"`
}

func (a *app) hostsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "hosts [HOST …]",
		Short: "List the bench hosts: who has each, who waits for it, which workers serve it",
		Long: `List the hosts that runs were made on, and this machine: the run that has each for itself, the runs that wait for it in their order, and
the workers that serve it. One run at a time is measured on a host; gates go before runs that somebody started, and those before the cells
of a matrix. Of this machine, its lock file is read too, which shows a run of another Temporal server. No server is started for it.`,
		Example: `  starter hosts
  starter hosts bench-1 --format json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.hosts(cmd.Context(), args) },
	}
}

func (a *app) hosts(ctx context.Context, names []string) error {
	s, err := a.connect(ctx, false)
	if errors.Is(err, temporal.ErrNotRunning) {
		return a.thisHost(names, err)
	}
	if err != nil {
		return err
	}
	defer s.close()
	if len(names) == 0 {
		if names, err = s.hostNames(ctx); err != nil {
			return err
		}
	}
	rows := []hostRow{}
	for _, name := range names {
		row, err := s.hostRow(ctx, name)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	return a.showHosts(rows)
}

// thisHost shows what can be said without a Temporal server: who holds this machine.
func (a *app) thisHost(names []string, without error) error {
	own, err := hostName("")
	if err != nil {
		return err
	}
	if len(names) > 0 && !slices.Equal(names, []string{own}) {
		return without
	}
	row := hostRow{Host: own, Workers: []hostWorker{}, Waiting: []activities.Claim{}}
	if row.Machine, err = host.Held(host.LockDir()); err != nil {
		return err
	}
	printf(a.stderr, "%v\n", without)
	return a.showHosts([]hostRow{row})
}

// hostNames lists the hosts that ever had a lease, and this machine.
func (s *session) hostNames(ctx context.Context) ([]string, error) {
	own, err := hostName("")
	if err != nil {
		return nil, err
	}
	names := []string{own}
	var page []byte
	for {
		answer, err := s.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: s.server.Namespace, PageSize: 1000, Query: "WorkflowType = 'HostLease'", NextPageToken: page,
		})
		if err != nil {
			return nil, fmt.Errorf("list hosts: %w", err)
		}
		for _, execution := range answer.GetExecutions() {
			names = append(names, strings.TrimPrefix(execution.GetExecution().GetWorkflowId(), workflows.LeaseID("")))
		}
		if page = answer.GetNextPageToken(); len(page) == 0 {
			slices.Sort(names)
			return slices.Compact(names), nil
		}
	}
}

// hostRow asks for one host's workers and lease.
func (s *session) hostRow(ctx context.Context, name string) (hostRow, error) {
	row := hostRow{Host: name, Workers: []hostWorker{}, Waiting: []activities.Claim{}}
	local, err := isThisHost(name)
	if err != nil {
		return row, err
	}
	if local {
		if row.Machine, err = host.Held(host.LockDir()); err != nil {
			return row, err
		}
	}
	queue, err := s.client.DescribeTaskQueue(ctx, workflows.HostQueue(name), enumspb.TASK_QUEUE_TYPE_ACTIVITY)
	if err != nil {
		return row, fmt.Errorf("ask for the workers of %s: %w", name, err)
	}
	for _, poller := range queue.GetPollers() {
		row.Workers = append(row.Workers, hostWorker{poller.GetIdentity(), poller.GetLastAccessTime().AsTime()})
	}
	state, err := s.lease(ctx, name)
	if err != nil {
		row.Problem = err.Error()
		return row, nil
	}
	row.Holder = state.Holder
	if state.Waiting != nil {
		row.Waiting = state.Waiting
	}
	return row, nil
}

// lease asks a host's lease who has the host. A lease that has ended is that of a host that is free.
func (s *session) lease(ctx context.Context, host string) (state activities.LeaseState, err error) {
	described, err := s.client.DescribeWorkflow(ctx, workflows.LeaseID(host), "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) || err == nil && described.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return state, nil
	}
	if err != nil {
		return state, fmt.Errorf("ask for the lease: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	answer, err := s.client.QueryWorkflow(ctx, workflows.LeaseID(host), "", workflows.QueryLease)
	if err != nil {
		return state, fmt.Errorf("somebody has it, but no worker that serves workflows answers who: %w", err)
	}
	return state, answer.Get(&state)
}

func (a *app) showHosts(rows []hostRow) error {
	if a.format == "json" {
		return a.writeJSON(rows)
	}
	t := a.newTable()
	t.AppendHeader(table.Row{"Host", "Held by", "Since", "Waiting", "Workers"})
	for _, row := range rows {
		holder, since := "free", ""
		switch {
		case row.Problem != "":
			holder = row.Problem
		case row.Holder != nil:
			holder, since = claimant(*row.Holder), row.Holder.Since.Format(time.RFC3339)
			if a.format == "table" {
				since = humanize.Time(row.Holder.Since)
			}
		}
		if m := row.Machine; m != nil && (row.Holder == nil || claimant(activities.Claim{Execution: row.Holder.Execution}) != m.RunID) {
			holder += "\nmachine held by " + m.String()
		}
		var waiting, workers []string
		for i, claim := range row.Waiting {
			waiting = append(waiting, fmt.Sprintf("%d. %s", i+1, claimant(claim)))
		}
		for _, worker := range row.Workers {
			workers = append(workers, worker.Identity)
		}
		if len(workers) == 0 {
			workers = []string{"none"}
		}
		t.AppendRow(table.Row{row.Host, holder, since, strings.Join(waiting, "\n"), strings.Join(workers, "\n")})
	}
	a.render(t)
	return nil
}

// claimant names who claims a host, with the priority unless it is the usual one.
func claimant(claim activities.Claim) string {
	name := strings.TrimPrefix(claim.Workflow, workflows.WorkflowID(""))
	if priority := workflows.Priority(claim.Priority); priority != "" && priority != workflows.PriorityInteractive {
		name += " (" + claim.Priority + ")"
	}
	return name
}
