package main

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/durabench/durabench/drivers"
)

// engineRow is one engine as `starter engines` shows it: what its registration says, nothing else.
type engineRow struct {
	Name      string             `json:"name"`
	Title     string             `json:"title"`
	Family    string             `json:"family"`
	Servers   []string           `json:"servers"`
	Tiers     []string           `json:"tiers"`
	Abilities []string           `json:"abilities"`
	Options   []drivers.Option   `json:"-"`
	Settings  []engineOptionJSON `json:"options"`
	Image     string             `json:"image,omitempty"`
	Install   string             `json:"install,omitempty"`
}

type engineOptionJSON struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
	Help   string   `json:"help"`
}

func (a *app) enginesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "engines [ENGINE]",
		Short: "List the engines: family, how each server can be had, durability tiers, abilities",
		Long: `List every engine this build knows, from the registrations: its family, the ways to have its server (the preferred first), the
durability tiers it can be set to and what it can do beyond create, read, update and delete. With a name, its own options too.`,
		Example: `  starter engines
  starter engines postgres
  starter engines --format json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeEngines,
		RunE: func(_ *cobra.Command, args []string) error {
			rows := engineRows()
			if len(args) == 1 {
				engine, known := drivers.Lookup(args[0])
				if !known {
					return usage(unknownEngine(args[0]))
				}
				rows = []engineRow{engineRowOf(engine)}
			}
			return a.showEngines(rows, len(args) == 1)
		},
	}
}

func engineRows() []engineRow {
	var rows []engineRow
	for _, engine := range drivers.Engines() {
		rows = append(rows, engineRowOf(engine))
	}
	return rows
}

func engineRowOf(e drivers.Engine) engineRow {
	row := engineRow{
		Name: e.Name, Title: e.Title, Family: string(e.Family), Servers: words(e.Modes), Tiers: words(e.Tiers),
		Abilities: e.Abilities().Words(), Options: e.Options, Settings: []engineOptionJSON{},
	}
	for _, option := range e.Options {
		row.Settings = append(row.Settings, engineOptionJSON{option.Name, option.Values, option.Help})
	}
	if e.Server != nil {
		row.Image, row.Install = e.Server.Image, e.Server.Install
	}
	return row
}

func words[T ~string](list []T) []string {
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = string(item)
	}
	return texts
}

func (a *app) showEngines(rows []engineRow, options bool) error {
	if a.format == "json" {
		return a.writeJSON(rows)
	}
	t := a.newTable()
	t.AppendHeader(table.Row{"Engine", "Title", "Family", "Server", "Durability", "Also"})
	for _, row := range rows {
		t.AppendRow(table.Row{
			row.Name, row.Title, row.Family, strings.Join(row.Servers, ", "), strings.Join(row.Tiers, ", "), strings.Join(row.Abilities, ", "),
		})
	}
	a.render(t)
	if !options || len(rows[0].Options) == 0 {
		return nil
	}
	t = a.newTable()
	t.AppendHeader(table.Row{"--engine", "Values (default first)", "What it does"})
	for _, option := range rows[0].Options {
		t.AppendRow(table.Row{option.Name, strings.Join(option.Values, ", "), option.Help})
	}
	a.render(t)
	return nil
}

func unknownEngine(name string) error {
	known := drivers.Names()
	if nearest := drivers.Nearest(name, known); nearest != "" {
		return usagef("unknown engine %q; did you mean %s?", name, nearest)
	}
	return usagef("unknown engine %q; known are %s", name, strings.Join(known, ", "))
}

func completeEngines(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return drivers.Names(), cobra.ShellCompDirectiveNoFileComp
}
