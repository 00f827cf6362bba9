package main

import (
	"encoding/json"

	"github.com/jedib0t/go-pretty/v6/table"
)

// writeJSON prints what a command found as JSON.
func (a *app) writeJSON(found any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(found)
}

// newTable is an empty table that is printed to stdout by render.
func (a *app) newTable() table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(a.stdout)
	t.SetStyle(table.StyleLight)
	return t
}

// render prints a table in the format asked for; json is the caller's.
func (a *app) render(t table.Writer) {
	switch a.format {
	case "csv":
		t.RenderCSV()
	case "markdown":
		t.RenderMarkdown()
	default:
		t.Render()
	}
}
