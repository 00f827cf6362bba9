package result

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// TableOptions says how a table is laid out.
type TableOptions struct {
	Width int  // columns of the terminal; 0 means no limit. A table that is wider is cut into several, never a figure
	Color bool // colour verdicts with ANSI escapes
}

// WriteTable writes the document for people: what was run on what, one row per leg, tables of what only legs of one kind have, and a
// footnote for everything that a cell leaves open. What was not measured is "–". The latencies of a table have one unit, in the header; a leg
// that failed or answered wrongly has no speed.
func WriteTable(w io.Writer, d *Document, o TableOptions) error {
	l := newLayout(d)
	var out bytes.Buffer
	for _, pair := range l.heading() {
		value := pair[1]
		if pair[0] == "verdict" && o.Color {
			value = paint(d.Run.Verdict, value)
		}
		fmt.Fprintf(&out, "%-9s %s\n", pair[0], value)
	}
	for _, part := range l.sections {
		if part.title != "" {
			out.WriteString("\n" + part.title + "\n")
		}
		for i, columns := range part.blocks(o.Width) {
			if i > 0 || part.title == "" {
				out.WriteString("\n")
			}
			out.WriteString(part.draw(columns, o.Color).Render() + "\n")
		}
	}
	if notes := l.footnotes(); len(notes) > 0 {
		out.WriteString("\n" + strings.Join(notes, "\n") + "\n")
	}
	_, err := w.Write(out.Bytes())
	return err
}

// WriteMarkdown writes what WriteTable does as GitHub-flavoured Markdown, each table in one piece.
func WriteMarkdown(w io.Writer, d *Document) error {
	l := newLayout(d)
	var out bytes.Buffer
	for _, pair := range l.heading() {
		fmt.Fprintf(&out, "- **%s**: %s\n", pair[0], markdown(pair[1]))
	}
	for _, part := range l.sections {
		columns := part.blocks(0)[0]
		for i := range columns {
			columns[i].title = strings.ReplaceAll(columns[i].title, "\n", " ")
		}
		if part.title != "" {
			fmt.Fprintf(&out, "\n**%s**\n", markdown(part.title))
		}
		out.WriteString("\n" + part.draw(columns, false).RenderMarkdown() + "\n")
	}
	if notes := l.footnotes(); len(notes) > 0 {
		out.WriteString("\n")
		for _, note := range notes {
			fmt.Fprintf(&out, "- %s\n", markdown(note))
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// markdown escapes what would be read as markup.
func markdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`, "|", `\|`).Replace(text)
}

// leading are the columns that every table begins with: no figure stands without the verdict on it.
func leading(color bool) []column {
	return []column{
		{"leg", func(row line) string { return row.title }},
		{"verdict", func(row line) string {
			if row.part != "" {
				return ""
			}
			if color {
				return paint(row.leg.Verdict, string(row.leg.Verdict))
			}
			return string(row.leg.Verdict)
		}},
	}
}

// blocks deals the columns out to as few tables as fit the width. Columns that belong together stay together where they can.
func (s *section) blocks(width int) [][]column {
	room := func(columns []column) bool {
		if width <= 0 {
			return true
		}
		total := 1 // the frame
		for _, c := range slices.Concat(leading(false), columns) {
			total += s.width(c) + 3
		}
		return total <= width
	}
	blocks := [][]column{nil}
	add := func(columns []column) {
		last := &blocks[len(blocks)-1]
		if joined := slices.Concat(*last, columns); len(*last) == 0 || room(joined) {
			*last = joined
			return
		}
		blocks = append(blocks, slices.Clone(columns))
	}
	for _, group := range s.groups {
		if room(group) {
			add(group)
			continue
		}
		for i := range group {
			add(group[i : i+1])
		}
	}
	return blocks
}

// width returns the columns of the terminal that a column's widest cell takes.
func (s *section) width(c column) int {
	width := text.LongestLineLen(c.title)
	for _, row := range s.lines {
		width = max(width, text.StringWidth(c.cell(row)))
	}
	return width
}

func (s *section) draw(columns []column, color bool) table.Writer {
	front := leading(color)
	columns = slices.Concat(front, columns)
	drawn := table.NewWriter()
	drawn.SetStyle(table.StyleLight)
	drawn.Style().Format.Header = text.FormatDefault // "p99 (µs)" in capitals would be another unit
	header := make(table.Row, len(columns))
	configs := make([]table.ColumnConfig, len(columns))
	for i, c := range columns {
		header[i] = c.title
		align := text.AlignRight
		if i < len(front) {
			align = text.AlignLeft
		}
		configs[i] = table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align}
	}
	drawn.AppendHeader(header)
	drawn.SetColumnConfigs(configs)
	for _, row := range s.lines {
		cells := make(table.Row, len(columns))
		for i, c := range columns {
			cells[i] = c.cell(row)
		}
		drawn.AppendRow(cells)
	}
	return drawn
}

// paint colours text by what a verdict means for the figures beside it. go-pretty's own colours depend on the environment, which would
// make the table depend on more than the document.
func paint(v Verdict, text string) string {
	color := "33" // yellow: with care
	switch v {
	case Valid:
		color = "32" // green
	case Failed, Invalid:
		color = "31" // red
	case Unsupported, Skipped, NotRun:
		color = "2" // faint
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}
