//go:build e2e

package e2e

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/workflows"
)

var upAddress = regexp.MustCompile(`temporal +(\S+), namespace (\S+)`)

// BenchmarkOrchestration runs a benchmark of about a minute and prints where its time goes:
//
//   - s/run: the command, from its start to its end
//   - s/legs: between the first and the last operation of the legs
//   - s/checks: the rest of the legs' own steps: connecting, counting rows, comparing answers
//   - s/overhead: everything else: Temporal, the look at the host, the agent's start and end, the calibration, storing, cleaning up
//   - s/budget: what that may come to, 2 s and 1 % of the legs
//
// The isolation is left out, as it waits for a quiet machine as long as it is told to, and so is the start of the embedded Temporal
// server, which starter up has done.
//
//	make e2e-bench
func BenchmarkOrchestration(b *testing.B) {
	w := newWorld(b)
	up := w.start("up")
	eventually(b, time.Minute, "starter up serves", func() bool { return strings.Contains(up.stdout.String(), "host ") })
	for b.Loop() {
		begun := time.Now()
		o := w.run("run", "-d", "sqlite", "-s", "300k", "-c", "2", "-t", "2", "--isolation", "none", "--format", "json")
		run := time.Since(begun).Seconds()
		if o.code != 0 {
			b.Fatalf("exit %d: %s", o.code, o.stderr)
		}
		var legs float64
		d := w.document(o)
		for _, leg := range d.Legs {
			legs += time.Duration(leg.Measured.WallNs).Seconds()
		}
		steps := w.legSteps(up, d)
		b.ReportMetric(run, "s/run")
		b.ReportMetric(legs, "s/legs")
		b.ReportMetric(steps-legs, "s/checks")
		b.ReportMetric(run-steps, "s/overhead")
		b.ReportMetric(2+legs/100, "s/budget")
	}
}

// legSteps returns how many seconds the steps of a run's legs took as the run's history has it.
func (w *world) legSteps(up *running, d *result.Document) float64 {
	w.t.Helper()
	at := upAddress.FindStringSubmatch(up.stdout.String())
	if at == nil {
		w.t.Fatalf("starter up prints no address:\n%s", up.stdout)
	}
	ctx := context.Background()
	c, err := client.DialContext(ctx, client.Options{HostPort: at[1], Namespace: at[2]})
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	legs := map[string]bool{}
	for _, leg := range d.Legs {
		legs[leg.ID] = true
	}
	names, started := map[int64]string{}, map[int64]time.Time{}
	total := 0.0
	events := c.GetWorkflowHistory(ctx, workflows.WorkflowID(d.Run.ID), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			w.t.Fatal(err)
		}
		if e := event.GetActivityTaskScheduledEventAttributes(); e != nil {
			var input struct{ Step struct{ ID string } }
			if err := converter.GetDefaultDataConverter().FromPayloads(e.GetInput(), &input); err == nil && e.GetActivityType().GetName() == "RunLeg" && legs[input.Step.ID] {
				names[event.GetEventId()] = input.Step.ID
			}
		}
		if e := event.GetActivityTaskStartedEventAttributes(); e != nil {
			started[e.GetScheduledEventId()] = event.GetEventTime().AsTime()
		}
		if e := event.GetActivityTaskCompletedEventAttributes(); e != nil && names[e.GetScheduledEventId()] != "" {
			total += event.GetEventTime().AsTime().Sub(started[e.GetScheduledEventId()]).Seconds()
		}
	}
	if len(names) != len(legs) {
		w.t.Fatalf("the history has the steps of %d legs, not %d", len(names), len(legs))
	}
	return total
}
