package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/workflows"
)

// viewer collects what a display shows of one run: the plan from the workflow's input, finished legs from its progress query, the leg
// under way from the heartbeat of its activity. It asks about once a second and queries only when the history has grown, so that looking
// costs the measured machine little.
type viewer struct {
	s        *session
	run      client.WorkflowRun
	input    workflows.BenchmarkInput
	progress workflows.Progress
	history  int64 // its length when progress was asked
}

// view shows the run on screen until ctx ends.
func (s *session) view(ctx context.Context, run client.WorkflowRun, screen display) {
	v := &viewer{s: s, run: run}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		if now, err := v.look(ctx); err == nil {
			screen.show(now)
		} else if ctx.Err() == nil {
			s.app.logger().Debug("progress not available", "error", err)
		}
		select {
		case <-ctx.Done():
			// The last look shows the legs as they ended.
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			if now, err := v.look(last); err == nil {
				screen.show(now)
			}
			cancel()
			return
		case <-ticker.C:
		}
	}
}

func (v *viewer) look(ctx context.Context) (runView, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if v.input.RunID == "" {
		input, err := v.s.inputOf(ctx, v.run)
		if err != nil {
			return runView{}, err
		}
		v.input = input
	}
	answer, err := v.s.client.DescribeWorkflow(ctx, v.run.GetID(), v.run.GetRunID())
	if err != nil {
		return runView{}, err
	}
	described := answer.RawResponse
	if length := described.GetWorkflowExecutionInfo().GetHistoryLength(); length != v.history {
		answer, err := v.s.client.QueryWorkflow(ctx, v.run.GetID(), v.run.GetRunID(), workflows.QueryProgress)
		if err != nil {
			return runView{}, err
		}
		if err := answer.Get(&v.progress); err != nil {
			return runView{}, err
		}
		v.history = length
	}
	beat, activity, beating := workflows.PendingHeartbeat(described)
	now := runView{}
	switch {
	case v.progress.Phase == workflows.PhaseWaiting:
		now.Waiting = waitingFor(v.input.Host, v.progress.Queue)
	case beating && beat.Progress == nil:
		now.Waiting = beat.Waiting
	case !beating && activity != "":
		now.Waiting = fmt.Sprintf("waiting for a worker that serves %s (%s)", workflows.HostQueue(v.input.Host), activity)
	}
	for _, step := range v.input.Plan.Timed() {
		now.Legs = append(now.Legs, v.leg(step, beat))
	}
	return now, nil
}

// waitingFor says where a run stands among those that want a host; place is nil until the host's lease has told.
func waitingFor(host string, place *workflows.Place) string {
	text := "waiting for host " + host
	if place == nil {
		return text
	}
	text += ", which " + strings.TrimPrefix(place.Holder, workflows.WorkflowID("")) + " has"
	if between := place.Ahead - 1; between > 0 {
		text += fmt.Sprintf(", %d more before this run", between)
	}
	return text
}

// leg is what is known of one leg.
func (v *viewer) leg(step plan.Step, beat workflows.LegHeartbeat) legView {
	leg := legView{ID: step.ID, Title: step.Title, Total: step.Operations()}
	if step.Timing != nil {
		leg.Window = time.Duration(step.Timing.Window)
	}
	for _, row := range v.progress.Rows {
		if row.Leg == step.ID {
			leg.Finished, leg.Verdict, leg.Why, leg.Done, leg.Failed = true, row.Verdict, row.Why, row.OK+row.Failed, row.Failed
			leg.Headline = headline(row)
			return leg
		}
	}
	if beat.Step == step.ID && beat.Progress != nil {
		p := beat.Progress
		leg.Running, leg.Done, leg.Failed, leg.Rate, leg.P99 = true, p.Done, p.Failed, p.Rate, p.P99
		leg.Warming, leg.Elapsed, leg.Window = p.Warming, p.Elapsed, p.Window
		leg.Left, _ = beat.Remaining()
		if p.Total > 0 {
			leg.Total = p.Total
		}
	}
	return leg
}

// headline is a leg in a few numbers.
func headline(row workflows.Row) string {
	if row.Rate == nil {
		return ""
	}
	text := count(int64(*row.Rate)) + "/s"
	if row.P50 != nil {
		text += "  p50 " + latency(*row.P50)
	}
	if row.P99 != nil {
		text += "  p99 " + latency(*row.P99)
	}
	return text
}

// inputOf reads what a run was started with.
func (s *session) inputOf(ctx context.Context, run client.WorkflowRun) (input workflows.BenchmarkInput, err error) {
	err = s.readInput(ctx, run, &input)
	return input, err
}

// readInput reads what a workflow was started with from the first event of its history.
func (s *session) readInput(ctx context.Context, run client.WorkflowRun, input any) error {
	events := s.client.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	if !events.HasNext() {
		return errors.New("the run has no history")
	}
	event, err := events.Next()
	if err != nil {
		return err
	}
	payloads := event.GetWorkflowExecutionStartedEventAttributes().GetInput()
	if err := converter.GetDefaultDataConverter().FromPayloads(payloads, input); err != nil {
		return fmt.Errorf("read the input of %s: %w", run.GetID(), err)
	}
	return nil
}
