package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/durabench/durabench/infra/temporal"
	"github.com/durabench/durabench/workflows"
)

// scheduleFlags are the flags of schedule.
type scheduleFlags struct {
	runFlags
	cron    string
	zone    string
	note    string
	name    string
	catchUp time.Duration
}

func (a *app) scheduleCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "schedule --matrix NAME [--cron EXPRESSION]",
		Short: "Run a matrix every night, or once now",
		Long: `Make a Temporal Schedule that runs a matrix by a cron expression, or change the schedule that is there: the command may be repeated until it
says what is wanted. Without --cron the matrix is started once, now, and left to the background.

What is scheduled are the cells as the matrix file has them now; specs and plans are made when a cell's turn comes, by the build of the
worker that runs it. After changing a matrix file, or to take in engines of a new build, give the command again.

A night that is still going on when the next one is due is followed by one, not by several. Nights that were missed because nothing ran
are made up for up to --catch-up later. A schedule fires while a Temporal server and a worker run: starter up, or both as services, see
docs/operating.md. Passwords are never part of a schedule: workers take those of endpoints from DURABENCH_USER and DURABENCH_PASSWORD.`,
		Example: `  starter schedule --matrix all-engines --cron "0 1 * * *"
  starter schedule --matrix all-engines --cron "0 1 * * 1-5" --time-zone Europe/Vienna --store s3://benchmarks/nightly
  starter schedule --matrix clients-sweep
  starter schedule list`,
		Args: cobra.NoArgs,
	}
	var f scheduleFlags
	set := command.Flags()
	set.StringVar(&f.matrix, "matrix", "", matrixHelp)
	set.StringVar(&f.cron, "cron", "", "when, as minute, hour, day of month, month, day of week; not given: once, now")
	set.StringVar(&f.zone, "time-zone", "UTC", "time zone of --cron, e.g. Europe/Vienna")
	set.StringVar(&f.note, "note", "", "what the schedule is for, shown in lists")
	set.StringVar(&f.name, "name", "", "name of the schedule (default: that of the matrix)")
	set.DurationVar(&f.catchUp, "catch-up", 12*time.Hour, "how late a missed night may still begin")
	set.StringVar(&f.host, "host", "", "bench hosts to run on, with commas between (default: this machine, or DURABENCH_HOST)")
	set.StringVar(&f.store, "store", "", storeHelp)
	set.BoolVar(&f.keep, "keep-logs", false, "keep the logs of agents and servers also after valid runs")
	registerCompletion(command, "matrix", completeMatrices)
	command.RunE = func(cmd *cobra.Command, _ []string) error { return a.schedule(cmd, f) }
	command.AddCommand(
		a.scheduleListCommand(), a.scheduleShowCommand(), a.schedulePauseCommand(), a.scheduleResumeCommand(), a.scheduleTriggerCommand(),
		a.scheduleBackfillCommand(), a.scheduleDeleteCommand(),
	)
	return command
}

func (a *app) schedule(cmd *cobra.Command, f scheduleFlags) error {
	ctx := cmd.Context()
	if f.matrix == "" {
		return usagef("which matrix? --matrix all-engines, or a file; starter schedule list shows what is scheduled")
	}
	if f.cron == "" && cmd.Flags().Changed("cron") {
		return usagef("--cron is empty, as of a variable that is not set: leave it out to start the matrix once, now")
	}
	if f.cron == "" {
		for _, name := range []string{"time-zone", "note", "name", "catch-up"} {
			if cmd.Flags().Changed(name) {
				return usagef("--%s belongs to a schedule: give --cron too", name)
			}
		}
		f.detach = true
		return a.runMatrix(ctx, f.matrix, f.runFlags)
	}
	in, err := a.newMatrixInput(f.matrix, f.runFlags)
	if err != nil {
		return err
	}
	if f.name == "" {
		f.name = in.Matrix.Name
	}
	if len(strings.Fields(f.cron)) != 5 {
		return usagef("--cron %q: five fields, minute, hour, day of month, month and day of week, e.g. \"0 1 * * *\"", f.cron)
	}
	if f.catchUp < time.Minute {
		return usagef("--catch-up %s: at least a minute", f.catchUp)
	}
	if _, err := time.LoadLocation(f.zone); err != nil {
		return usagef("--time-zone %q: %w", f.zone, err)
	}
	s, err := a.connect(ctx, true)
	if err != nil {
		return err
	}
	defer s.close()
	in.Attributes = s.attributes
	return a.applySchedule(ctx, s, f, in)
}

// applySchedule creates the schedule, or changes the one that is there.
func (a *app) applySchedule(ctx context.Context, s *session, f scheduleFlags, in workflows.MatrixInput) error {
	action := &client.ScheduleWorkflowAction{
		ID: workflows.MatrixID(f.name), Workflow: workflows.Matrix, Args: []any{in}, TaskQueue: workflows.ControlQueue,
	}
	// The expression is also the comment of what the server makes of it: it gives back calendars, not expressions.
	when := client.ScheduleSpec{CronExpressions: []string{f.cron + " # " + f.cron}, TimeZoneName: f.zone}
	note := f.note
	if note == "" {
		note = matrixSummary(in)
	}
	options := client.ScheduleOptions{
		ID: f.name, Spec: when, Action: action, Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE, CatchupWindow: f.catchUp, Note: note,
	}
	if s.attributes {
		options.TypedSearchAttributes = sdk.NewSearchAttributes(workflows.SuiteAttribute.ValueSet(in.Matrix.Name))
	}
	done := "created"
	handle, err := s.client.ScheduleClient().Create(ctx, options)
	if errors.Is(err, sdk.ErrScheduleAlreadyRunning) {
		done = "changed"
		handle = s.client.ScheduleClient().GetHandle(ctx, f.name)
		err = handle.Update(ctx, client.ScheduleUpdateOptions{DoUpdate: func(input client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			schedule := input.Description.Schedule
			// As a whole: calendars that came of the old expression would fire beside the new one.
			schedule.Spec = &when
			schedule.Action = action
			schedule.Policy.Overlap, schedule.Policy.CatchupWindow = options.Overlap, options.CatchupWindow
			schedule.State.Note = note
			return &client.ScheduleUpdate{Schedule: &schedule}, nil
		}})
	}
	var refused *serviceerror.InvalidArgument
	if errors.As(err, &refused) {
		return usagef("schedule %s: %w", f.name, err)
	}
	if err != nil {
		return fmt.Errorf("schedule %s: %w", f.name, err)
	}
	printf(a.stderr, "schedule %s is %s: %s\n", f.name, done, matrixSummary(in))
	if s.server.Origin != temporal.OriginAddress {
		printf(a.stderr, "it fires while a Temporal server and a worker run here: starter up, or services as docs/operating.md says\n")
	}
	return a.describeSchedule(ctx, handle)
}
