package main

import (
	"fmt"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/spec"
)

func (a *app) planCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "plan",
		Short: "Print the exact steps of a run without running anything",
		Long: `Print the steps that run with the same flags would take, in order: how many operations each does, how much of the data its condition finds
(by the first 100,000 rows), what it needs of the dataset and leaves, and what it does. A window is written "30s after 5s, ≥ 10": 30 seconds after
5 of warm-up, at least 10 operations. Legs that the engine cannot do are there with the reason. Nothing is started. Bad input is reported exactly as
run would report it.

With --matrix, print the cells of a matrix, their operations and roughly how long they take.`,
		Example: `  starter plan -d sqlite -s 100000 -c 4 -t 8
  starter plan -d postgres -s 100k --config bench
  starter plan -d postgres -s 100k --config ../crud-bench/config/bench.toml --format json
  starter plan --matrix all-engines`,
		Args: cobra.NoArgs,
	}
	flags := spec.NewFlags(command.Flags())
	completeFlags(command)
	var matrix string
	command.Flags().StringVar(&matrix, "matrix", "", matrixHelp)
	registerCompletion(command, "matrix", completeMatrices)
	command.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("matrix") {
			return a.showMatrixPlan(cmd, matrix)
		}
		r, err := newRequest(flags, false)
		if err != nil {
			return err
		}
		shares, err := sharesOf(cmd.Context(), r.Spec, r.plan)
		if err != nil {
			return err
		}
		if a.format == "json" {
			return a.writeJSON(struct {
				Spec    *spec.Spec       `json:"spec"`
				Plan    *plan.Plan       `json:"plan"`
				Summary planSummary      `json:"summary"`
				Shares  map[string]share `json:"shares"` // of the rows that scans find, by step
			}{r.Spec, r.plan, summarisePlan(r.plan), shares})
		}
		a.showPlan(r, shares)
		for _, note := range r.Notes {
			fmt.Fprintln(a.stderr, "note:", note)
		}
		return nil
	}
	return command
}

// showPlan prints a plan as a table. Why steps are not run is said below it, once for each reason; CSV has it in a column.
func (a *app) showPlan(r *request, shares map[string]share) {
	t := a.newTable()
	t.Style().Format.Header = text.FormatDefault
	csv := a.format == "csv"
	header := table.Row{"#", "Step", "Operations", "In flight", "Finds", "Data", "Work"}
	if csv {
		header = append(header, "Not run because")
	}
	t.AppendHeader(header)
	var reasons []string
	for i, step := range r.plan.Steps {
		row := table.Row{i + 1, step.ID, operationsOf(step), inFlightOf(step), "", dataOf(step), workOf(step, r.Spec.Database)}
		if found, ok := shares[step.ID]; ok {
			row[4] = found.String()
		}
		if step.Skip != "" {
			at := slices.Index(reasons, step.Skip)
			if at < 0 {
				at = len(reasons)
				reasons = append(reasons, step.Skip)
			}
			row[2], row[3], row[5] = fmt.Sprintf("not run [%d]", at+1), "", ""
			if csv {
				row[2] = "not run"
			}
		}
		if csv {
			row = append(row, step.Skip)
		}
		t.AppendRow(row)
	}
	if a.format == "" || a.format == "table" {
		t.SetColumnConfigs([]table.ColumnConfig{{Name: "Work", WidthMax: maxWork, WidthMaxEnforcer: text.WrapSoft}})
	}
	a.render(t)
	if csv {
		return
	}
	if a.format == "markdown" {
		fmt.Fprintln(a.stdout) // ends the table
	}
	fmt.Fprintf(a.stdout, "%s; roughly %s\n", summarisePlan(r.plan), span(r.plan.Cost(r.Spec.Samples)))
	for i, reason := range reasons {
		fmt.Fprintf(a.stdout, "[%d] %s\n", i+1, reason)
	}
}

// inFlightOf says how many clients of how many threads a step has.
func inFlightOf(step plan.Step) string {
	if step.Clients == 0 {
		return ""
	}
	return fmt.Sprintf("%d × %d", step.Clients, step.Threads)
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
