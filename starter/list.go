package main

import (
	"context"
	"errors"
	"sort"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/infra/store"
	"github.com/durabench/durabench/infra/temporal"
	"github.com/durabench/durabench/workflows"
)

// runRow is one run in a list.
type runRow struct {
	Run      string         `json:"run"`
	Engine   string         `json:"engine,omitempty"`
	State    string         `json:"state"` // running, completed, failed, canceled …
	Verdict  result.Verdict `json:"verdict,omitempty"`
	Host     string         `json:"host,omitempty"`
	Started  time.Time      `json:"started"`
	Duration string         `json:"duration,omitempty"`
	Document string         `json:"document,omitempty"`
}

func (a *app) listCommand() *cobra.Command {
	var limit int
	var where string
	command := &cobra.Command{
		Use:   "list",
		Short: "List runs and matrices, the latest first",
		Long: `List the runs and matrices that the store holds results of and, when a Temporal server is running, those that it knows: running ones too. No server is
started for it.`,
		Example: `  starter list
  starter list --limit 5 --format json
  starter list --store s3://benchmarks/nightly`,
		Args: cobra.NoArgs,
	}
	command.Flags().IntVar(&limit, "limit", 20, "at most so many runs")
	command.Flags().StringVar(&where, "store", "", storeHelp)
	command.RunE = func(cmd *cobra.Command, _ []string) error {
		if limit < 1 {
			return usagef("--limit %d: at least 1", limit)
		}
		rows, err := a.allRuns(cmd.Context(), where, limit)
		if err != nil {
			return err
		}
		return a.showRuns(rows)
	}
	return command
}

// allRuns joins what the server knows with what the store holds.
func (a *app) allRuns(ctx context.Context, where string, limit int) ([]runRow, error) {
	stored, err := storedRuns(ctx, where, limit)
	if err != nil {
		return nil, err
	}
	byID := map[string]runRow{}
	for _, row := range stored {
		byID[row.Run] = row
	}
	s, err := a.connect(ctx, false)
	switch {
	case errors.Is(err, temporal.ErrNotRunning):
	case err != nil:
		return nil, err
	default:
		defer s.close()
		known, err := s.runs(ctx, limit)
		if err != nil {
			return nil, err
		}
		for _, row := range known {
			row.Document = byID[row.Run].Document
			byID[row.Run] = row
		}
	}
	rows := make([]runRow, 0, len(byID))
	for _, row := range byID {
		rows = append(rows, row)
	}
	sort.Slice(rows, func(i, j int) bool {
		if !rows[i].Started.Equal(rows[j].Started) {
			return rows[i].Started.After(rows[j].Started)
		}
		return rows[i].Run > rows[j].Run
	})
	return rows[:min(limit, len(rows))], nil
}

// storedRuns reads the documents of the store, the latest first by name.
func storedRuns(ctx context.Context, where string, limit int) ([]runRow, error) {
	name, err := storeName(where)
	if err != nil {
		return nil, err
	}
	kept, err := store.Open(name)
	if err != nil {
		return nil, err
	}
	ids, err := store.RunIDs(ctx, kept)
	if err != nil {
		return nil, err
	}
	var rows []runRow
	for _, id := range ids {
		data, err := kept.Get(ctx, store.DocumentKey(id))
		if errors.Is(err, store.ErrNotFound) {
			row, found, err := storedMatrix(ctx, kept, id)
			if err != nil {
				return nil, err
			}
			if found { // else it is still running, or lost with its worker
				rows = append(rows, row)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		document, err := result.Decode(data)
		if err != nil {
			rows = append(rows, runRow{Run: id, State: "unreadable: " + err.Error()})
			continue
		}
		row := runRow{
			Run: id, Engine: document.Engine.Name, State: "completed", Verdict: document.Run.Verdict, Host: document.Host.Name,
			Started: document.Run.Started, Duration: document.Run.Finished.Sub(document.Run.Started).Round(time.Second).String(),
		}
		if locator, ok := kept.(store.Locator); ok {
			row.Document = locator.Path(store.DocumentKey(id))
		}
		rows = append(rows, row)
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Started.After(rows[j].Started) })
	return rows[:min(limit, len(rows))], nil
}

// runs lists the runs that the server knows, the latest first.
func (s *session) runs(ctx context.Context, limit int) ([]runRow, error) {
	answer, err := s.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: s.server.Namespace, PageSize: int32(min(limit, 1000)), Query: "WorkflowType IN ('Benchmark', 'Matrix')",
	})
	if err != nil {
		return nil, err
	}
	var rows []runRow
	for _, execution := range answer.GetExecutions() {
		rows = append(rows, rowOf(execution))
	}
	return rows, nil
}

// storedMatrix reads the summary of a matrix, if the store holds one of that id.
func storedMatrix(ctx context.Context, kept store.Store, id string) (row runRow, found bool, err error) {
	data, err := kept.Get(ctx, store.MatrixKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return row, false, nil
	}
	if err != nil {
		return row, false, err
	}
	summary, err := result.DecodeMatrix(data)
	if err != nil {
		return runRow{Run: id, State: "unreadable: " + err.Error()}, true, nil
	}
	row = runRow{
		Run: id, Engine: matrixEngine(summary.Name), State: "completed", Verdict: summary.Verdict(), Started: summary.Started,
		Duration: summary.Finished.Sub(summary.Started).Round(time.Second).String(),
	}
	if locator, ok := kept.(store.Locator); ok {
		row.Document = locator.Path(store.MatrixKey(id))
	}
	return row, true, nil
}

// matrixEngine is what a list shows as the engine of a matrix.
func matrixEngine(name string) string { return "matrix " + name }

func rowOf(e *workflow.WorkflowExecutionInfo) runRow {
	row := runRow{
		Run:     strings.TrimPrefix(e.GetExecution().GetWorkflowId(), workflows.WorkflowID("")),
		State:   strings.ToLower(strings.TrimPrefix(enumspb.WorkflowExecutionStatus_name[int32(e.GetStatus())], "WORKFLOW_EXECUTION_STATUS_")),
		Engine:  attribute(e, workflows.EngineAttribute.GetName()),
		Host:    attribute(e, workflows.HostAttribute.GetName()),
		Verdict: result.Verdict(attribute(e, workflows.VerdictAttribute.GetName())),
		Started: e.GetStartTime().AsTime(),
	}
	if e.GetType().GetName() == "Matrix" {
		row.Engine = matrixEngine(attribute(e, workflows.SuiteAttribute.GetName()))
		if row.Run = memoRun(e.GetMemo()); row.Run == "" {
			row.Run = strings.TrimPrefix(e.GetExecution().GetWorkflowId(), workflows.MatrixID(""))
		}
	}
	end := time.Now()
	if e.GetCloseTime() != nil {
		end = e.GetCloseTime().AsTime()
	}
	row.Duration = end.Sub(row.Started).Round(time.Second).String()
	return row
}

func (a *app) showRuns(rows []runRow) error {
	if a.format == "json" {
		return a.writeJSON(rows)
	}
	t := a.newTable()
	t.AppendHeader(table.Row{"Run", "Engine", "State", "Verdict", "Host", "Started", "Took"})
	for _, row := range rows {
		started := row.Started.Format(time.RFC3339)
		if a.format == "table" {
			started = humanize.Time(row.Started)
		}
		t.AppendRow(table.Row{row.Run, row.Engine, row.State, row.Verdict, row.Host, started, row.Duration})
	}
	if len(rows) == 0 && a.format == "table" {
		printf(a.stdout, "no runs yet\n")
		return nil
	}
	a.render(t)
	return nil
}

// completeRuns completes the names of stored runs.
func (a *app) completeRuns(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	rows, err := storedRuns(cmd.Context(), "", 50)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.Run
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
