package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
)

// Phase is what a Benchmark is doing.
type Phase string

// The phases, in their order.
const (
	PhaseWaiting   Phase = "waiting"   // for the host, which another run has
	PhasePreparing Phase = "preparing" // the host and the server
	PhaseMeasuring Phase = "measuring" // the steps of the plan
	PhaseFinishing Phase = "finishing" // the result document and clean-up
	PhaseFinished  Phase = "finished"
)

// Progress is the answer to QueryProgress: where a run is between activities. What goes on inside the running one is in its heartbeat,
// see PendingHeartbeat.
type Progress struct {
	Phase Phase `json:"phase"`
	// Queue is where the run stands among those that wait for its host; nil when it has the host, and until the host's lease has told.
	Queue *Place `json:"queue,omitempty"`
	Step  string `json:"step,omitempty"` // id of the running step
	// Number counts the steps of the plan from 1, up to Of; 0 before the first.
	Number int   `json:"number"`
	Of     int   `json:"of"`
	Rows   []Row `json:"rows"` // the legs that are over, in the order of the plan
}

// MarshalJSON packs what is large.
func (p Progress) MarshalJSON() ([]byte, error) {
	type plain Progress
	return activities.Pack(plain(p))
}

// UnmarshalJSON reads the packed and the plain form.
func (p *Progress) UnmarshalJSON(text []byte) error {
	type plain Progress
	return activities.Unpack(text, (*plain)(p))
}

// Row is one leg in the few numbers of a headline.
type Row struct {
	Leg      string         `json:"leg"`
	Title    string         `json:"title"`
	Verdict  result.Verdict `json:"verdict"`
	Why      string         `json:"why,omitempty"`
	OK       int64          `json:"ok"`
	Failed   int64          `json:"failed"`
	Rate     *float64       `json:"rate,omitempty"` // successful operations per second
	P50      *int64         `json:"p50,omitempty"`  // ns
	P99      *int64         `json:"p99,omitempty"`  // ns
	Attempts int            `json:"attempts,omitempty"`
}

// LegHeartbeat is what the running activity tells of itself, as PendingHeartbeat finds it.
type LegHeartbeat = activities.Heartbeat

// PendingHeartbeat returns the last heartbeat of the activity that a run is waiting for, and the name of that activity's type. There is
// none while no activity runs, nor before its first heartbeat; the type is empty when no activity is pending.
func PendingHeartbeat(described *workflowservice.DescribeWorkflowExecutionResponse) (beat LegHeartbeat, activityType string, ok bool) {
	for _, pending := range described.GetPendingActivities() {
		activityType = pending.GetActivityType().GetName()
		details := pending.GetHeartbeatDetails()
		if details == nil {
			continue
		}
		if err := converter.GetDefaultDataConverter().FromPayloads(details, &beat); err == nil {
			return beat, activityType, true
		}
	}
	return LegHeartbeat{}, activityType, false
}

// row makes the headline of a leg that was measured.
func row(step plan.Step, r activities.StepResult) Row {
	return Row{
		Leg: step.ID, Title: step.Title, Verdict: r.Verdict, Why: r.Why, OK: r.OK, Failed: r.Failed, Rate: r.Rate, P50: r.P50, P99: r.P99,
		Attempts: r.Attempts,
	}
}

// show brings the live table in the Temporal UI up to date. It builds text with Sprintf alone: workflowcheck takes every Fprintf for output.
func (b *benchmark) show(ctx workflow.Context) {
	var text strings.Builder
	text.WriteString(fmt.Sprintf("**%s** on %s, %d rows, %d clients × %d threads: %s", b.in.Spec.Database, b.in.Host, b.in.Spec.Samples,
		b.in.Spec.Clients, b.in.Spec.Threads, b.progress.Phase))
	if b.progress.Step != "" {
		text.WriteString(fmt.Sprintf(", step %d of %d, %s", b.progress.Number, b.progress.Of, b.progress.Step))
	}
	if queue := b.progress.Queue; queue != nil {
		text.WriteString(fmt.Sprintf(", %d before it, %s has the host", queue.Ahead, queue.Holder))
	}
	text.WriteString("\n")
	if len(b.progress.Rows) > 0 {
		text.WriteString("\n| leg | verdict | op/s | p50 | p99 |\n|---|---|--:|--:|--:|\n")
	}
	for _, row := range b.progress.Rows {
		rate := "–"
		if row.Rate != nil {
			rate = fmt.Sprintf("%.0f", *row.Rate)
		}
		text.WriteString(fmt.Sprintf("| %s | %s | %s | %s | %s |\n", row.Title, row.Verdict, rate, latency(row.P50), latency(row.P99)))
		if text.Len() > maxDetails {
			text.WriteString("\n…\n")
			break
		}
	}
	if b.document.Path != "" {
		text.WriteString(fmt.Sprintf("\nResult: `%s`\n", b.document.Path))
	}
	workflow.SetCurrentDetails(ctx, text.String())
}

// latency writes nanoseconds with a fitting unit and three digits; what was not measured is a dash.
func latency(ns *int64) string {
	if ns == nil {
		return "–"
	}
	d := time.Duration(*ns)
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}
