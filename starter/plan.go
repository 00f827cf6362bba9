package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/durabench/durabench/bench/spec"
)

func (a *app) planCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "plan",
		Short: "Print the exact steps of a run without running anything",
		Long: `Print the steps that run with the same flags would take, in order: how many operations each times, what it needs of the dataset
and leaves, and what it asks. Legs that the engine cannot do are there with the reason. Nothing is started. Bad input is reported exactly as run would report it.`,
		Example: `  starter plan -d sqlite -s 100000 -c 4 -t 8
  starter plan -d postgres -s 100k --config bench
  starter plan -d postgres -s 100k --config ../crud-bench/config/bench.toml --format json`,
		Args: cobra.NoArgs,
	}
	flags := spec.NewFlags(command.Flags())
	completeFlags(command)
	command.RunE = func(*cobra.Command, []string) error {
		r, err := newRequest(flags, false)
		if err != nil {
			return err
		}
		if a.format == "json" {
			encoder := json.NewEncoder(a.stdout)
			encoder.SetIndent("", "  ")
			return encoder.Encode(struct {
				Spec    *spec.Spec  `json:"spec"`
				Plan    any         `json:"plan"`
				Summary planSummary `json:"summary"`
			}{r.Spec, r.plan, summarisePlan(r.plan)})
		}
		a.showPlan(r)
		for _, note := range r.Notes {
			fmt.Fprintln(a.stderr, "note:", note)
		}
		return nil
	}
	return command
}

// showPlan prints a plan as a table. Why steps are not run is said below it, once for each reason.
func (a *app) showPlan(r *request) {
	t := table.NewWriter()
	t.SetOutputMirror(a.stdout)
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{"#", "Step", "Operations", "In flight", "Data", "Effect", "Work"})
	var reasons []string
	for i, step := range r.plan.Steps {
		load, effect, work := "", string(step.Effect), workOf(step, r.Spec.Database)
		if step.Clients > 0 && step.Skip == "" {
			load = fmt.Sprintf("%d × %d", step.Clients, step.Threads)
		}
		if step.Skip != "" {
			at := slices.Index(reasons, step.Skip)
			if at < 0 {
				at = len(reasons)
				reasons = append(reasons, step.Skip)
			}
			effect, work = "", fmt.Sprintf("not run [%d]: %s", at+1, work)
		}
		t.AppendRow(table.Row{i + 1, step.ID, operationsOf(step), load, dataOf(step), effect, work})
	}
	if a.format == "" || a.format == "table" {
		t.SetColumnConfigs([]table.ColumnConfig{{Name: "Work", WidthMax: maxWork, WidthMaxEnforcer: text.WrapSoft}})
	}
	a.render(t)
	if a.format == "csv" {
		return
	}
	fmt.Fprintln(a.stdout, summarisePlan(r.plan))
	for i, reason := range reasons {
		fmt.Fprintf(a.stdout, "[%d] %s\n", i+1, reason)
	}
}

// maxWork is the width of the column that says what a step does, so that a plan fits a wide terminal.
const maxWork = 70

// completeFlags makes the shell complete the values that are known.
func completeFlags(command *cobra.Command) {
	fixed := map[string][]string{
		"arrival": {"constant", "poisson"},
		"mode":    {"all", "load", "query"},
		"verify":  {"sample", "all", "none"},
		"server":  {"embedded", "process", "docker", "endpoint"},
		"pull":    {"missing", "always", "never"},
		"key":     {"integer", "string26", "string90", "string250", "string506", "uuid"},
	}
	for name, values := range fixed {
		registerCompletion(command, name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	registerCompletion(command, "database", completeEngines)
}

// registerCompletion panics on a flag that does not exist: a mistake that the first test of the command shows.
func registerCompletion(command *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := command.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err)
	}
}
