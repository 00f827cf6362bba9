package workflows

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
)

// MatrixID is the id of the workflow of a matrix that was started by hand. Those of a schedule have the schedule's name and a time.
func MatrixID(runID string) string { return "matrix/" + runID }

// MemoRun is the key of the memo in which a Matrix tells its run id: a scheduled one makes it itself.
const MemoRun = "run"

// MatrixInput is a night of benchmarks. It holds no secret, so that it may lie in a schedule: workers take the credentials of endpoints from
// their environment.
type MatrixInput struct {
	// RunID names the matrix everywhere; when it is empty, as in a schedule, it is made of the name and the start.
	RunID  string      `json:"runId,omitempty"`
	Matrix spec.Matrix `json:"matrix"`
	// Hosts each run every cell, one after the other, and all at the same time: numbers of different hosts cannot be compared.
	Hosts []string `json:"hosts"`
	// Store is where results are kept, as store.Open takes it. Several hosts must reach the same.
	Store      string   `json:"store"`
	Command    []string `json:"command,omitempty"` // secrets removed
	Attributes bool     `json:"attributes,omitempty"`
	KeepLogs   bool     `json:"keepLogs,omitempty"`
	// Priority of the cells among those that wait for a host; empty is nightly.
	Priority Priority `json:"priority,omitempty"`

	// MaxEvents is the length of history from which on the matrix goes on as a new execution; 0 leaves that to the server, which suggests it
	// after some thousand events or a few megabytes. It is part of the input because a history must replay with the limit it was made with.
	MaxEvents int `json:"maxEvents,omitempty"`
	// Done is what earlier executions of the same matrix came to.
	Done *MatrixDone `json:"done,omitempty"`
}

// MarshalJSON packs what is large.
func (in MatrixInput) MarshalJSON() ([]byte, error) {
	type plain MatrixInput
	return activities.Pack(plain(in))
}

// UnmarshalJSON reads the packed and the plain form.
func (in *MatrixInput) UnmarshalJSON(text []byte) error {
	type plain MatrixInput
	return activities.Unpack(text, (*plain)(in))
}

// MatrixDone is how far a matrix is when it goes on as a new execution.
type MatrixDone struct {
	Started time.Time             `json:"started"`
	Cells   [][]result.MatrixCell `json:"cells"` // of each host, in order
}

// MatrixProgress is the answer of a Matrix to QueryProgress.
type MatrixProgress struct {
	RunID string `json:"runId"`
	Of    int    `json:"of"` // cells on all hosts
	// Done are the cells that are over, of each host in order.
	Done []result.MatrixCell `json:"done"`
	// Running are the cells under way, at most one on each host.
	Running []result.MatrixCell `json:"running,omitempty"`
}

// MarshalJSON packs what is large.
func (p MatrixProgress) MarshalJSON() ([]byte, error) {
	type plain MatrixProgress
	return activities.Pack(plain(p))
}

// UnmarshalJSON reads the packed and the plain form.
func (p *MatrixProgress) UnmarshalJSON(text []byte) error {
	type plain MatrixProgress
	return activities.Unpack(text, (*plain)(p))
}

// MatrixResult is what a matrix came to, by reference. It is the workflow's result, and the details of its error when it was cancelled or
// its summary could not be stored.
type MatrixResult struct {
	RunID    string                  `json:"runId"`
	Document activities.StoredMatrix `json:"document"`
	Counts   map[result.Verdict]int  `json:"counts"` // cells by verdict
}

// matrices refers to the activities of a matrix.
var matrices *activities.Matrix

// matrix is the state of a Matrix.
type matrix struct {
	in      MatrixInput
	done    MatrixDone
	running []result.MatrixCell // of each host; without a run when none goes on
	stored  activities.StoredMatrix
}

// Matrix runs every cell of a matrix on every host: one after the other on each, and on all hosts at the same time. A cell is a Benchmark of
// its own, which waits for its host like any other run. What goes wrong in a cell is the cell's result and never the end of the matrix;
// the summary at the end is stored also when it was cancelled.
//
// Specs and plans are made cell by cell when their turn comes, on the host and by the build of its worker: a matrix that was scheduled
// long ago runs with the worker of tonight.
func Matrix(ctx workflow.Context, in MatrixInput) (MatrixResult, error) {
	m := newMatrix(ctx, in)
	if err := workflow.SetQueryHandler(ctx, QueryProgress, func() (MatrixProgress, error) { return m.progress(), nil }); err != nil {
		return MatrixResult{}, err
	}
	m.announce(ctx)
	group := workflow.NewWaitGroup(ctx)
	for h := range m.in.Hosts {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			m.runHost(ctx, h)
		})
	}
	// The cells end by themselves when the matrix is cancelled: waiting for them must not be.
	finish, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	group.Wait(finish)
	if !m.over() && ctx.Err() == nil {
		in := m.in
		in.Done = &m.done
		return MatrixResult{}, workflow.NewContinueAsNewError(ctx, Matrix, in)
	}
	// A host that had left its cells to the next execution when the matrix was cancelled has not noted them.
	for h := range m.in.Hosts {
		for i := len(m.done.Cells[h]); i < len(m.in.Matrix.Cells); i++ {
			m.done.Cells[h] = append(m.done.Cells[h], m.unreached(h, i))
		}
	}
	return m.conclude(finish, ctx.Err() != nil)
}

func newMatrix(ctx workflow.Context, in MatrixInput) *matrix {
	info := workflow.GetInfo(ctx)
	if in.RunID == "" {
		// The end of the id is its random part; its begin is the time.
		in.RunID = fmt.Sprintf("%s-%s-%s", in.Matrix.Name, workflow.Now(ctx).UTC().Format("20060102-150405"), lastOf(info.FirstRunID, 6))
	}
	if in.Priority == "" {
		in.Priority = PriorityNightly
	}
	m := &matrix{in: in, done: MatrixDone{Started: workflow.Now(ctx), Cells: make([][]result.MatrixCell, len(in.Hosts))}}
	if in.Done != nil {
		m.done = *in.Done
	}
	m.running = make([]result.MatrixCell, len(in.Hosts))
	return m
}

// lastOf returns the last n bytes of a text.
func lastOf(text string, n int) string { return text[max(0, len(text)-n):] }

// announce makes the matrix easy to find.
func (m *matrix) announce(ctx workflow.Context) {
	if err := workflow.UpsertMemo(ctx, map[string]any{MemoRun: m.in.RunID}); err != nil {
		workflow.GetLogger(ctx).Warn("memo not set", "error", err)
	}
	m.setAttributes(ctx, SpecAttribute.ValueSet(m.in.Matrix.Name), SuiteAttribute.ValueSet(m.in.Matrix.Name),
		HostAttribute.ValueSet(strings.Join(m.in.Hosts, ",")))
	m.show(ctx)
}

// setAttributes upserts search attributes where the server has them.
func (m *matrix) setAttributes(ctx workflow.Context, updates ...temporal.SearchAttributeUpdate) {
	upsertAttributes(ctx, m.in.Attributes, updates)
}

// runHost runs the cells that are left on one host, until the history has grown so long that a new execution has to go on. Every execution
// runs at least one.
func (m *matrix) runHost(ctx workflow.Context, h int) {
	first := len(m.done.Cells[h])
	for i := first; i < len(m.in.Matrix.Cells); i++ {
		if i > first && m.isLong(ctx) && ctx.Err() == nil {
			return
		}
		outcome := m.unreached(h, i)
		if ctx.Err() == nil {
			outcome.Verdict, outcome.Why = "", ""
			m.runCell(ctx, h, i, &outcome)
		}
		outcome.Why = briefly(outcome.Why, m.in.whyLength())
		m.done.Cells[h] = append(m.done.Cells[h], outcome)
		m.running[h] = result.MatrixCell{}
		m.show(ctx)
	}
}

// unreached is what cell i on host h is when the matrix was cancelled before its turn.
func (m *matrix) unreached(h, i int) result.MatrixCell {
	cell := m.in.Matrix.Cells[i]
	return result.MatrixCell{
		Engine: cell.Engine, Workload: cell.Workload, Variant: cell.Variant, Host: m.in.Hosts[h],
		Verdict: result.NotRun, Why: "the matrix was cancelled before it",
	}
}

// isLong tells that the history has grown so long that a new execution should go on.
func (m *matrix) isLong(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() || m.in.MaxEvents > 0 && info.GetCurrentHistoryLength() >= m.in.MaxEvents
}

// runCell runs cell i on host h and notes what it came to.
func (m *matrix) runCell(ctx workflow.Context, h, i int, outcome *result.MatrixCell) {
	m.running[h] = *outcome
	m.show(ctx)
	cell := m.in.Matrix.Cells[i]
	var planned activities.PlannedCell
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, planOptions(outcome.Host, cell)), matrices.PlanCell, activities.PlanCellInput{
		Matrix: m.in.Matrix.Name, Cell: cell, Workload: m.in.Matrix.Workloads[cell.Workload],
		Folder: m.in.Matrix.Folders[cell.Workload],
	}).Get(ctx, &planned)
	switch {
	case err != nil && ctx.Err() != nil:
		outcome.Verdict, outcome.Why = result.NotRun, "the matrix was cancelled before it"
		return
	case err != nil:
		outcome.Verdict, outcome.Why = result.Failed, message(err)
		return
	case planned.Skip != "":
		outcome.Verdict, outcome.Why = result.Skipped, planned.Skip
		return
	}
	outcome.Run = m.cellID(h, i)
	m.running[h] = *outcome
	m.show(ctx)
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: WorkflowID(outcome.Run), TaskQueue: ControlQueue, ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WaitForCancellation: true, StaticSummary: cell.String(),
	})
	var came BenchmarkResult
	err = workflow.ExecuteChildWorkflow(child, Benchmark, BenchmarkInput{
		RunID: outcome.Run, Host: outcome.Host, Spec: *planned.Spec, Plan: *planned.Plan, Store: m.in.Store, Command: m.in.Command,
		Attributes: m.in.Attributes, Priority: m.in.Priority, KeepLogs: m.in.KeepLogs, Suite: m.in.Matrix.Name,
	}).Get(ctx, &came)
	judgeCell(outcome, came, err)
}

// judgeCell notes what the run of a cell came to. An engine that turned out not to be there after all is skipped.
func judgeCell(outcome *result.MatrixCell, came BenchmarkResult, err error) {
	if err != nil {
		came, _ = ResultOf(err)
	}
	outcome.Verdict, outcome.Why = came.Verdict, came.Why
	var application *temporal.ApplicationError
	switch {
	case errors.As(err, &application) && application.Type() == activities.TypeMissingBinary:
		outcome.Verdict, outcome.Why = result.Skipped, application.Message()
	case temporal.IsCanceledError(err) && outcome.Verdict == "":
		outcome.Verdict, outcome.Why = result.Interrupted, "the run was cancelled"
	case err != nil && outcome.Verdict == "":
		outcome.Verdict, outcome.Why = result.Failed, message(err)
	}
}

// planOptions are the options of planning a cell. It waits for its turn among the activities of the host, however long.
func planOptions(host string, cell spec.Cell) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue: HostQueue(host), StartToCloseTimeout: 2 * time.Minute, HeartbeatTimeout: heartbeatTimeout, Summary: "plan " + cell.String(),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second, MaximumAttempts: 5,
		},
	}
}

// cellID names the run of cell i on host h.
func (m *matrix) cellID(h, i int) string {
	return fmt.Sprintf("%s-%03d-%s", m.in.RunID, h*len(m.in.Matrix.Cells)+i+1, m.in.Matrix.Cells[i].Engine)
}

// over tells whether every cell is.
func (m *matrix) over() bool {
	return !slices.ContainsFunc(m.done.Cells, func(cells []result.MatrixCell) bool { return len(cells) < len(m.in.Matrix.Cells) })
}

// progress is what the matrix has done so far.
func (m *matrix) progress() MatrixProgress {
	p := MatrixProgress{RunID: m.in.RunID, Of: len(m.in.Hosts) * len(m.in.Matrix.Cells), Done: slices.Concat(m.done.Cells...)}
	for _, cell := range m.running {
		if cell.Engine != "" {
			p.Running = append(p.Running, cell)
		}
	}
	return p
}

// conclude has the summary stored.
func (m *matrix) conclude(ctx workflow.Context, cancelled bool) (MatrixResult, error) {
	summary := result.Matrix{Cells: slices.Concat(m.done.Cells...)}
	put := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: HostQueue(m.in.Hosts[0]), StartToCloseTimeout: 10 * time.Minute, ScheduleToCloseTimeout: storeTimeout,
		HeartbeatTimeout: heartbeatTimeout, Summary: "store the summary",
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute},
	})
	err := workflow.ExecuteActivity(put, matrices.PutMatrix, activities.PutMatrixInput{
		ID: m.in.RunID, Name: m.in.Matrix.Name, Store: m.in.Store, Command: m.in.Command, Started: m.done.Started, Finished: workflow.Now(ctx),
		Cells: summary.Cells,
	}).Get(ctx, &m.stored)
	outcome := MatrixResult{RunID: m.in.RunID, Document: m.stored, Counts: summary.Counts()}
	m.setAttributes(ctx, VerdictAttribute.ValueSet(string(summary.Verdict())))
	m.show(ctx)
	switch {
	case cancelled:
		logFailure(ctx, "summary not stored", err)
		return outcome, temporal.NewCanceledError(outcome)
	case err != nil:
		return outcome, temporal.NewApplicationErrorWithOptions("the summary could not be stored: "+message(err), kind(err),
			temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{outcome}})
	}
	return outcome, nil
}

// MatrixResultOf returns what a matrix that failed or was cancelled came to, from the error that waiting for its workflow gave.
func MatrixResultOf(err error) (outcome MatrixResult, ok bool) {
	ok = detailsOf(err, &outcome)
	return outcome, ok && outcome.RunID != ""
}

// show brings the live table in the Temporal UI up to date.
func (m *matrix) show(ctx workflow.Context) {
	p := m.progress()
	var text strings.Builder
	text.WriteString(fmt.Sprintf("**%s**: %d of %d cells done\n\n| cell | host | run | verdict |\n|---|---|---|---|\n", m.in.Matrix.Name, len(p.Done), p.Of))
	for _, cell := range append(p.Running, p.Done...) {
		verdict := string(cell.Verdict)
		if verdict == "" {
			verdict = "going on"
		}
		text.WriteString(fmt.Sprintf("| %s | %s | %s | %s |\n", CellName(cell), cell.Host, cell.Run, verdict))
		if text.Len() > maxDetails {
			text.WriteString("\n…\n")
			break
		}
	}
	if m.stored.Path != "" {
		text.WriteString(fmt.Sprintf("\nSummary: `%s`\n", m.stored.Path))
	}
	workflow.SetCurrentDetails(ctx, text.String())
}

// maxDetails bounds the live table in bytes; the server takes 20,000.
const maxDetails = 16_000

// CellName names a cell for people.
func CellName(c result.MatrixCell) string {
	return spec.Cell{Engine: c.Engine, Workload: c.Workload, Variant: c.Variant}.String()
}

// briefly cuts a reason that travels in histories to so many letters; the run's document has all of it.
func briefly(why string, most int) string {
	why = strings.Join(strings.Fields(why), " ")
	if runes := []rune(why); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return why
}
