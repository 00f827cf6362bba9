package main

import (
	"encoding/json"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/durabench/durabench/bench/spec"
)

func (a *app) planCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "plan",
		Short: "Print the exact steps of a run without running anything",
		Long: `Print the steps that run with the same flags would take, in order: what each needs of the dataset, what it leaves and how many
operations it times. With --matrix, print the cells of a matrix, their operations and roughly how long they take. Nothing is started. Bad input is reported exactly as run would report it.`,
		Example: `  starter plan -d sqlite -s 100000 -c 4 -t 8
  starter plan -d postgres --config bench.toml --format json
  starter plan --matrix all-engines`,
		Args: cobra.NoArgs,
	}
	flags := spec.NewFlags(command.Flags())
	completeFlags(command)
	var matrix string
	command.Flags().StringVar(&matrix, "matrix", "", matrixHelp)
	registerCompletion(command, "matrix", completeMatrices)
	command.RunE = func(cmd *cobra.Command, _ []string) error {
		if matrix != "" {
			return a.showMatrixPlan(cmd, matrix)
		}
		r, err := newRequest(flags, false)
		if err != nil {
			return err
		}
		if a.format == "json" {
			encoder := json.NewEncoder(a.stdout)
			encoder.SetIndent("", "  ")
			return encoder.Encode(struct {
				Spec *spec.Spec `json:"spec"`
				Plan any        `json:"plan"`
			}{r.Spec, r.plan})
		}
		t := table.NewWriter()
		t.SetOutputMirror(a.stdout)
		t.SetStyle(table.StyleLight)
		t.AppendHeader(table.Row{"#", "Step", "Timed", "Operations", "Clients × threads", "Dataset before", "After", "Effect", "Not run because"})
		for i, step := range r.plan.Steps {
			timed, operations, load := "", "", ""
			if step.Timed {
				timed = "timed"
			}
			if step.Operations() > 0 {
				operations = count(step.Operations())
				load = fmt.Sprintf("%d × %d", step.Clients, step.Threads)
			}
			t.AppendRow(table.Row{i + 1, step.ID, timed, operations, load, step.Needs, step.Leaves, step.Effect, step.Skip})
		}
		a.render(t)
		for _, note := range r.Notes {
			fmt.Fprintln(a.stderr, "note:", note)
		}
		return nil
	}
	return command
}

// completeFlags makes the shell complete the values that are known.
func completeFlags(command *cobra.Command) {
	fixed := map[string][]string{
		"mode":   {"all", "load", "query"},
		"verify": {"sample", "all", "none"},
		"server": {"embedded", "process", "docker", "endpoint"},
		"pull":   {"missing", "always", "never"},
		"key":    {"integer", "string26", "string90", "string250", "string506", "uuid"},
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
