package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	commonpb "go.temporal.io/api/common/v1"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workflows"
)

// scheduleRow is one schedule.
type scheduleRow struct {
	Schedule string      `json:"schedule"`
	Cron     string      `json:"cron"`
	TimeZone string      `json:"timeZone,omitempty"`
	Paused   bool        `json:"paused"`
	Note     string      `json:"note,omitempty"`
	Next     []time.Time `json:"next"`
	// Recent are the latest matrices that it started, the latest last.
	Recent []scheduledRun `json:"recent"`

	// What follows is shown of one schedule, not in lists.
	Matrix  string   `json:"matrix,omitempty"`
	Cells   int      `json:"cells,omitempty"`
	Hosts   []string `json:"hosts,omitempty"`
	Store   string   `json:"store,omitempty"`
	Overlap string   `json:"overlap,omitempty"`
	CatchUp string   `json:"catchUp,omitempty"`
	Missed  int      `json:"missed,omitempty"` // that were too late to be made up for
}

// scheduledRun is one start by a schedule.
type scheduledRun struct {
	Due      time.Time `json:"due"`
	Workflow string    `json:"workflow"`
}

func (a *app) scheduleListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the schedules",
		Example: "  starter schedule list\n  starter schedule list --format json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.connect(cmd.Context(), true)
			if err != nil {
				return err
			}
			defer s.close()
			rows, err := s.schedules(cmd.Context())
			if err != nil {
				return err
			}
			return a.showSchedules(rows)
		},
	}
}

// schedules lists what is scheduled.
func (s *session) schedules(ctx context.Context) ([]scheduleRow, error) {
	rows := []scheduleRow{}
	all, err := s.client.ScheduleClient().List(ctx, client.ScheduleListOptions{PageSize: 100})
	if err != nil {
		return nil, fmt.Errorf("list schedules: %w", err)
	}
	for all.HasNext() {
		entry, err := all.Next()
		if err != nil {
			return nil, fmt.Errorf("list schedules: %w", err)
		}
		if entry.WorkflowType.Name != "Matrix" {
			continue // somebody else's
		}
		row := scheduleRow{Schedule: entry.ID, Paused: entry.Paused, Note: entry.Note, Next: entry.NextActionTimes}
		row.Cron, row.TimeZone = cronOf(entry.Spec)
		row.Recent = recentOf(entry.RecentActions)
		rows = append(rows, row)
	}
	return rows, nil
}

// cronOf returns the expression that a schedule was made of, which is the comment of its calendars, and the time zone.
func cronOf(spec *client.ScheduleSpec) (cron, zone string) {
	if spec == nil {
		return "", ""
	}
	var all []string
	for _, calendar := range spec.Calendars {
		all = append(all, calendar.Comment)
	}
	return strings.Join(all, "; "), spec.TimeZoneName
}

func recentOf(actions []client.ScheduleActionResult) []scheduledRun {
	runs := []scheduledRun{}
	for _, action := range actions {
		run := scheduledRun{Due: action.ScheduleTime}
		if started := action.StartWorkflowResult; started != nil {
			run.Workflow = started.WorkflowID
		}
		runs = append(runs, run)
	}
	return runs
}

func (a *app) showSchedules(rows []scheduleRow) error {
	if a.format == "json" {
		return a.writeJSON(rows)
	}
	if len(rows) == 0 && a.format == "table" {
		printf(a.stdout, "nothing is scheduled\n")
		return nil
	}
	t := a.newTable()
	t.AppendHeader(table.Row{"Schedule", "When", "Next", "Latest", "Note"})
	for _, row := range rows {
		next, latest := "", "never"
		if row.Paused {
			next = "paused"
		} else if len(row.Next) > 0 {
			next = row.Next[0].Format(time.RFC3339)
		}
		if n := len(row.Recent); n > 0 {
			latest = row.Recent[n-1].Due.Format(time.RFC3339)
			if a.format == "table" {
				latest = humanize.Time(row.Recent[n-1].Due)
			}
		}
		t.AppendRow(table.Row{row.Schedule, row.Cron + " " + row.TimeZone, next, latest, row.Note})
	}
	a.render(t)
	return nil
}

func (a *app) scheduleShowCommand() *cobra.Command {
	return a.onSchedule("show SCHEDULE", "Show a schedule: when, what, next and latest starts", "  starter schedule show all-engines",
		func(ctx context.Context, _ *session, handle client.ScheduleHandle) error {
			return a.describeSchedule(ctx, handle)
		})
}

// describeSchedule shows one schedule.
func (a *app) describeSchedule(ctx context.Context, handle client.ScheduleHandle) error {
	described, err := handle.Describe(ctx)
	if err != nil {
		return fmt.Errorf("look up schedule %s: %w", handle.GetID(), err)
	}
	row := scheduleRow{
		Schedule: handle.GetID(), Next: described.Info.NextActionTimes, Recent: recentOf(described.Info.RecentActions),
		Missed: described.Info.NumActionsMissedCatchupWindow,
	}
	row.Cron, row.TimeZone = cronOf(described.Schedule.Spec)
	if state := described.Schedule.State; state != nil {
		row.Paused, row.Note = state.Paused, state.Note
	}
	if policy := described.Schedule.Policy; policy != nil {
		row.Overlap, row.CatchUp = policy.Overlap.String(), policy.CatchupWindow.String()
	}
	if in, ok := scheduledInput(described.Schedule.Action); ok {
		row.Matrix, row.Cells, row.Hosts, row.Store = in.Matrix.Name, len(in.Matrix.Cells), in.Hosts, in.Store
	}
	if a.format == "json" {
		return a.writeJSON(row)
	}
	printf(a.stdout, "schedule  %s\nwhen      %s (%s)\nmatrix    %s, %d cells\nhosts     %s\nstore     %s\nnote      %s\noverlap   %s, missed nights begin up to %s late\n",
		row.Schedule, row.Cron, row.TimeZone, row.Matrix, row.Cells, strings.Join(row.Hosts, ", "), row.Store, row.Note, row.Overlap, row.CatchUp)
	if row.Paused {
		printf(a.stdout, "paused    starter schedule resume %s lets it go on\n", row.Schedule)
	}
	for i, next := range row.Next[:min(3, len(row.Next))] {
		printf(a.stdout, "%-9s %s\n", []string{"next", "", ""}[i], next.Format(time.RFC3339))
	}
	for _, run := range row.Recent {
		printf(a.stdout, "started   %s, %s\n", run.Due.Format(time.RFC3339), run.Workflow)
	}
	if row.Missed > 0 {
		printf(a.stdout, "missed    %d that were too late to be made up for\n", row.Missed)
	}
	return nil
}

// scheduledInput reads what a schedule starts matrices with.
func scheduledInput(action client.ScheduleAction) (in workflows.MatrixInput, ok bool) {
	start, ok := action.(*client.ScheduleWorkflowAction)
	if !ok || len(start.Args) != 1 {
		return in, false
	}
	payload, ok := start.Args[0].(*commonpb.Payload)
	return in, ok && converter.GetDefaultDataConverter().FromPayload(payload, &in) == nil
}

func (a *app) schedulePauseCommand() *cobra.Command {
	var why string
	command := a.onSchedule("pause SCHEDULE", "Let a schedule start nothing until it is resumed", "  starter schedule pause all-engines --note \"new disks\"",
		func(ctx context.Context, _ *session, handle client.ScheduleHandle) error {
			return setPaused(ctx, handle, true, why)
		})
	command.Flags().StringVar(&why, "note", "", "why, shown in lists behind the schedule's own note")
	return command
}

func (a *app) scheduleResumeCommand() *cobra.Command {
	return a.onSchedule("resume SCHEDULE", "Let a paused schedule go on", "  starter schedule resume all-engines",
		func(ctx context.Context, _ *session, handle client.ScheduleHandle) error {
			return setPaused(ctx, handle, false, "")
		})
}

// pausedMark is between a schedule's note and the reason why it is paused.
const pausedMark = " – paused: "

// setPaused pauses or resumes a schedule. The server's own way to do so would replace the note, which says what the schedule is for.
func setPaused(ctx context.Context, handle client.ScheduleHandle, paused bool, why string) error {
	return handle.Update(ctx, client.ScheduleUpdateOptions{DoUpdate: func(input client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
		schedule := input.Description.Schedule
		note, _, _ := strings.Cut(schedule.State.Note, pausedMark)
		if paused && why != "" {
			note += pausedMark + why
		}
		schedule.State.Paused, schedule.State.Note = paused, note
		return &client.ScheduleUpdate{Schedule: &schedule}, nil
	}})
}

func (a *app) scheduleTriggerCommand() *cobra.Command {
	return a.onSchedule("trigger SCHEDULE", "Start what a schedule would start, now", "  starter schedule trigger all-engines",
		func(ctx context.Context, _ *session, handle client.ScheduleHandle) error {
			return handle.Trigger(ctx, client.ScheduleTriggerOptions{})
		})
}

func (a *app) scheduleBackfillCommand() *cobra.Command {
	var from, to string
	command := a.onSchedule("backfill SCHEDULE --from TIME --to TIME", "Start what a schedule would have started in a time that is over, one after the other",
		"  starter schedule backfill all-engines --from 2026-11-28T00:00:00Z --to 2026-12-01T00:00:00Z",
		func(ctx context.Context, _ *session, handle client.ScheduleHandle) error {
			begin, err := time.Parse(time.RFC3339, from)
			if err != nil {
				return usagef("--from %q: a time like 2026-11-28T00:00:00Z", from)
			}
			end, err := time.Parse(time.RFC3339, to)
			if err != nil || !end.After(begin) || end.After(time.Now()) {
				return usagef("--to %q: a time like 2026-12-01T00:00:00Z, after --from and not in the future", to)
			}
			described, err := handle.Describe(ctx)
			if err != nil {
				return err
			}
			if state := described.Schedule.State; state != nil && state.Paused {
				return usagef("schedule %s is paused and would not start anything: starter schedule resume %s first", handle.GetID(), handle.GetID())
			}
			return handle.Backfill(ctx, client.ScheduleBackfillOptions{Backfill: []client.ScheduleBackfill{{
				Start: begin, End: end, Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL,
			}}})
		})
	command.Flags().StringVar(&from, "from", "", "begin of the time")
	command.Flags().StringVar(&to, "to", "", "end of the time")
	return command
}

func (a *app) scheduleDeleteCommand() *cobra.Command {
	return a.onSchedule("delete SCHEDULE", "Delete a schedule; what it started goes on", "  starter schedule delete all-engines",
		func(ctx context.Context, _ *session, handle client.ScheduleHandle) error { return handle.Delete(ctx) })
}

// onSchedule is a command that does something to one schedule.
func (a *app) onSchedule(use, short, example string, do func(context.Context, *session, client.ScheduleHandle) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: example, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := a.connect(ctx, true)
			if err != nil {
				return err
			}
			defer s.close()
			err = do(ctx, s, s.client.ScheduleClient().GetHandle(ctx, args[0]))
			var missing *serviceerror.NotFound
			if errors.As(err, &missing) {
				return s.noSuchSchedule(ctx, args[0])
			}
			if err != nil {
				return err
			}
			if cmd.Name() != "show" {
				printf(a.stderr, "schedule %s: %s done\n", args[0], cmd.Name())
			}
			return nil
		},
	}
}

// noSuchSchedule names the schedules that there are.
func (s *session) noSuchSchedule(ctx context.Context, name string) error {
	rows, err := s.schedules(ctx)
	if err != nil || len(rows) == 0 {
		return usagef("there is no schedule %q, nor any other", name)
	}
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = row.Schedule
	}
	if nearest := drivers.Nearest(name, names); nearest != "" {
		return usagef("there is no schedule %q; did you mean %s?", name, nearest)
	}
	return usagef("there is no schedule %q; there are %s", name, strings.Join(names, ", "))
}
