package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/configs"
	"github.com/durabench/durabench/drivers"
)

// plannedCell is a cell of a matrix as `starter plan --matrix` shows it.
type plannedCell struct {
	Number   int        `json:"number"`
	Engine   string     `json:"engine"`
	Workload string     `json:"workload"`
	Variant  string     `json:"variant,omitempty"`
	Spec     *spec.Spec `json:"spec,omitempty"`
	Cost     *plan.Cost `json:"cost,omitempty"`
	Skip     string     `json:"skip,omitempty"` // why the engine cannot run it on any host
}

// plannedMatrix is a matrix with what it takes.
type plannedMatrix struct {
	Name  string        `json:"name"`
	Cells []plannedCell `json:"cells"`
	Total plan.Cost     `json:"total"`
}

// planMatrix plans every cell of a matrix as this build would.
func planMatrix(name string) (*plannedMatrix, error) {
	m, err := readMatrix(name)
	if err != nil {
		return nil, err
	}
	planned := &plannedMatrix{Name: m.Name}
	facts := activities.Facts(true)
	for i, cell := range m.Cells {
		p := plannedCell{Number: i + 1, Engine: cell.Engine, Workload: cell.Workload, Variant: cell.Variant}
		if p.Spec, p.Cost, p.Skip, err = planCell(m, cell, facts); err != nil {
			return nil, usage(fmt.Errorf("%s: %w", cell, err))
		}
		if p.Cost != nil {
			planned.Total = planned.Total.Add(*p.Cost)
		}
		planned.Cells = append(planned.Cells, p)
	}
	return planned, nil
}

// planCell returns a cell's spec and cost, or why its engine cannot run it.
func planCell(m *spec.Matrix, cell spec.Cell, facts spec.Facts) (*spec.Spec, *plan.Cost, string, error) {
	s, skip, err := m.Build(cell, facts)
	if err != nil || skip != "" {
		return s, nil, string(skip), err
	}
	engine, known := drivers.Lookup(cell.Engine)
	if !known {
		return nil, nil, "", unknownEngine(cell.Engine)
	}
	p, err := plan.New(s, engine.PlanAbilities(s))
	var problems spec.Problems
	switch {
	case errors.As(err, &problems):
		return s, nil, problems.Error(), nil
	case err != nil:
		return s, nil, "", err
	}
	cost := p.Cost(s.Samples)
	return s, &cost, "", nil
}

// showMatrixPlan prints the cells of a matrix and what they take.
func (a *app) showMatrixPlan(cmd *cobra.Command, name string) error {
	if err := onlyMatrix(cmd); err != nil {
		return err
	}
	planned, err := planMatrix(name)
	if err != nil {
		return err
	}
	if a.format == "json" {
		return a.writeJSON(planned)
	}
	t := a.newTable()
	t.Style().Format.Footer = text.FormatDefault
	t.AppendHeader(table.Row{"#", "Engine", "Workload", "Variant", "Rows", "Clients × threads", "Legs", "Operations", "Time", "Skipped because"})
	for _, cell := range planned.Cells {
		row := table.Row{cell.Number, cell.Engine, cell.Workload, cell.Variant, "", "", "", "", "", cell.Skip}
		if cell.Cost != nil {
			row = table.Row{
				cell.Number, cell.Engine, cell.Workload, cell.Variant, count(cell.Cost.Rows), fmt.Sprintf("%d × %d", cell.Spec.Clients, cell.Spec.Threads),
				cell.Cost.Legs, count(cell.Cost.Operations), span(*cell.Cost), "",
			}
		}
		t.AppendRow(row)
	}
	total := planned.Total
	t.AppendFooter(table.Row{"", "", "", "total", count(total.Rows), "", total.Legs, count(total.Operations), span(total), ""})
	a.render(t)
	printf(a.stderr, "The times are guesses: legs that run for a time take exactly that (%s in all); counted legs are taken to do %s to %s operations a\n"+
		"second, indexes and other work on every row %s to %s rows a second, and %s to %s are added for each cell's server. A host may be unable to\n"+
		"have an engine: that shows when its turn comes.\n",
		total.Windows.Round(time.Second), count(plan.SlowRate), count(plan.FastRate), count(plan.SlowBuild), count(plan.FastBuild), plan.LeastAround, plan.MostAround)
	return nil
}

// span writes the least and the most time of a cost.
func span(c plan.Cost) string {
	least, most := roughly(c.Least), roughly(c.Most)
	if least == most {
		return least
	}
	return least + " – " + most
}

// roughly writes a duration without the digits that nobody can know.
func roughly(d time.Duration) string {
	switch {
	case d >= 10*time.Hour:
		return fmt.Sprintf("%d h", int(d.Round(time.Hour).Hours()))
	case d >= 10*time.Minute:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	default:
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	}
}

// completeMatrices completes the names of the matrices that ship, and files.
func completeMatrices(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return configs.MatrixNames(), cobra.ShellCompDirectiveDefault
}
