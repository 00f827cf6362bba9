package result

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// group is the cells of a matrix whose numbers may stand side by side, in their order.
type group struct {
	class class
	cells []MatrixCell
}

// groups returns the comparable cells together, and the cells that have no numbers to compare.
func (m *Matrix) groups() (all []group, others []MatrixCell) {
	for _, cell := range m.Cells {
		class, measured := cell.class()
		if !measured {
			others = append(others, cell)
			continue
		}
		at := slices.IndexFunc(all, func(g group) bool { return g.class == class })
		if at < 0 {
			at, all = len(all), append(all, group{class: class})
		}
		all[at].cells = append(all[at].cells, cell)
	}
	return all, others
}

// heading says what the cells of a group have in common.
func (g group) heading() string {
	c := g.class
	return fmt.Sprintf("%s, durability tier %s, %s rows of corpus %.8s, %s keys, %d × %d in flight, host %s (fingerprint %.8s)", c.workload, c.tier, comma(c.rows),
		c.corpus, c.key, c.clients, c.threads, c.host, c.hostDigest)
}

// columns names the cells: by their engine, and by their variant too where an engine has several.
func (g group) columns() []string {
	count := map[string]int{}
	for _, cell := range g.cells {
		count[cell.Engine]++
	}
	var names []string
	for _, cell := range g.cells {
		name := cell.Title
		if name == "" {
			name = cell.Engine
		}
		if cell.Version != "" {
			name += " " + release(cell.Version)
		}
		if count[cell.Engine] > 1 && cell.Variant != "" {
			name += "\n" + cell.Variant
		}
		names = append(names, name)
	}
	return names
}

// release is a version without what its packager adds: "15.19" of "15.19 (Debian 15.19-1)", "10.11.19" of "10.11.19-MariaDB-0+deb12u1".
func release(version string) string {
	if end := strings.IndexAny(version, " -+,;("); end > 0 {
		return version[:end]
	}
	return version
}

// legs returns the ids of the legs of any of the cells, in order, with their titles.
func (g group) legs() (ids []string, titles map[string]string) {
	titles = map[string]string{}
	for _, cell := range g.cells {
		at := 0
		for _, leg := range cell.Legs {
			if i := slices.Index(ids, leg.ID); i >= 0 {
				at = i + 1
				continue
			}
			ids = slices.Insert(ids, at, leg.ID)
			titles[leg.ID] = leg.Title
			at++
		}
	}
	return ids, titles
}

// figure is what a table shows of a leg: operations per second and p99, or how long its one operation took, never without the verdict.
func (l MatrixLeg) figure() string {
	switch {
	case l.Took != nil:
		return briefly(*l.Took) + " " + string(l.Verdict)
	case l.Rate == nil:
		return string(l.Verdict)
	}
	text := figure(*l.Rate) + " " + string(l.Verdict)
	if l.P99 != nil {
		text += "\np99 " + briefly(*l.P99)
	}
	return text
}

// briefly writes nanoseconds with a unit that fits them.
func briefly(ns int64) string {
	u := unitFor(float64(max(ns, 1)))
	return figure(float64(ns)/u.ns) + " " + u.name
}

// table draws the group: legs as rows, cells as columns.
func (g group) table() table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault // names of products
	header := table.Row{"ops/s"}
	for _, name := range g.columns() {
		header = append(header, name)
	}
	t.AppendHeader(header)
	servers := table.Row{"server"}
	for _, cell := range g.cells {
		servers = append(servers, cell.Server)
	}
	t.AppendRow(servers)
	ids, titles := g.legs()
	for _, id := range ids {
		row := table.Row{titles[id]}
		for _, cell := range g.cells {
			at := slices.IndexFunc(cell.Legs, func(l MatrixLeg) bool { return l.ID == id })
			if at < 0 {
				row = append(row, "–")
			} else {
				row = append(row, cell.Legs[at].figure())
			}
		}
		t.AppendRow(row)
	}
	return t
}

// summary is a matrix's heading, in pairs.
func (m *Matrix) summary() [][2]string {
	var counts []string
	for _, verdict := range []Verdict{
		Valid, GeneratorLimited, Overloaded, Unverified, Failed, Invalid, Interrupted, Unsupported, Skipped, NotRun,
	} {
		if n := m.Counts()[verdict]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, verdict))
		}
	}
	return [][2]string{
		{"matrix", m.Name},
		{"run", m.ID},
		{"started", m.Started.UTC().Format(time.RFC3339)},
		{"took", m.Finished.Sub(m.Started).Round(time.Second).String()},
		{"cells", fmt.Sprintf("%d: %s", len(m.Cells), strings.Join(counts, ", "))},
	}
}

// name is what a list calls a cell.
func (c MatrixCell) name() string {
	return strings.TrimSpace(c.Engine + " " + c.Workload + " " + c.Variant)
}

// line says what became of a cell without numbers.
func (c MatrixCell) line() string {
	text := fmt.Sprintf("%s on %s: %s", c.name(), c.Host, c.Verdict)
	if c.Why != "" {
		text += ", " + strings.Join(strings.Fields(c.Why), " ")
	}
	if c.Run != "" {
		text += " (" + c.Run + ")"
	}
	return text
}

const (
	sideBySide = "Only numbers that may be compared stand side by side: same rows, durability tier, load, build, and host as it was set up then."
	noNumbers  = "Without numbers:"
)

// WriteMatrixTable writes the summary for people: one table for each set of comparable cells, legs as rows and engines as columns, the
// verdict beside each number, and then the cells without numbers with the reason.
func WriteMatrixTable(w io.Writer, m *Matrix) error {
	var out bytes.Buffer
	for _, pair := range m.summary() {
		fmt.Fprintf(&out, "%-8s %s\n", pair[0], pair[1])
	}
	groups, others := m.groups()
	for _, g := range groups {
		fmt.Fprintf(&out, "\n%s\n%s\n", g.heading(), g.table().Render())
	}
	if len(groups) > 1 {
		fmt.Fprintf(&out, "\n%s\n", sideBySide)
	}
	if len(others) > 0 {
		fmt.Fprintf(&out, "\n%s\n", noNumbers)
	}
	for _, cell := range others {
		fmt.Fprintf(&out, "  %s\n", cell.line())
	}
	_, err := w.Write(out.Bytes())
	return err
}

// WriteMatrixMarkdown writes what WriteMatrixTable does as GitHub-flavoured Markdown.
func WriteMatrixMarkdown(w io.Writer, m *Matrix) error {
	var out bytes.Buffer
	for _, pair := range m.summary() {
		fmt.Fprintf(&out, "- **%s**: %s\n", pair[0], markdown(pair[1]))
	}
	groups, others := m.groups()
	for _, g := range groups {
		fmt.Fprintf(&out, "\n**%s**\n\n%s\n", markdown(g.heading()), g.table().RenderMarkdown())
	}
	if len(groups) > 1 {
		fmt.Fprintf(&out, "\n%s\n", sideBySide)
	}
	if len(others) > 0 {
		fmt.Fprintf(&out, "\n%s\n\n", noNumbers)
	}
	for _, cell := range others {
		fmt.Fprintf(&out, "- %s\n", markdown(cell.line()))
	}
	_, err := w.Write(out.Bytes())
	return err
}

// matrixColumns are the columns of a summary as CSV; latencies are in nanoseconds.
var matrixColumns = []string{
	"matrix", "cell_engine", "engine", "version", "workload", "variant", "host", "run", "cell_verdict", "comparable", "tier", "corpus", "rows", "clients",
	"threads", "leg", "verdict", "ops_per_second", "p50_ns", "p99_ns", "took_ns", "why",
}

// WriteMatrixCSV writes one line for each leg of each cell, and one for each cell without legs. Cells with the same number in "comparable"
// may be compared.
func WriteMatrixCSV(w io.Writer, m *Matrix) error {
	out := csv.NewWriter(w)
	if err := out.Write(matrixColumns); err != nil {
		return err
	}
	groups, _ := m.groups()
	for _, cell := range m.Cells {
		number, rows, clients, threads := "", "", "", ""
		if class, measured := cell.class(); measured {
			number = strconv.Itoa(1 + slices.IndexFunc(groups, func(g group) bool { return g.class == class }))
		}
		if cell.Clients > 0 {
			rows, clients, threads = strconv.FormatInt(cell.Rows, 10), strconv.Itoa(cell.Clients), strconv.Itoa(cell.Threads)
		}
		fields := []string{
			m.ID, cell.Engine, cell.Title, cell.Version, cell.Workload, cell.Variant, cell.Host, cell.Run, string(cell.Verdict), number, cell.Tier, cell.Corpus,
			rows, clients, threads,
		}
		legs := cell.Legs
		if len(legs) == 0 {
			legs = []MatrixLeg{{Why: cell.Why}}
		}
		for _, leg := range legs {
			rate := ""
			if leg.Rate != nil {
				rate = strconv.FormatFloat(*leg.Rate, 'g', -1, 64)
			}
			if err := out.Write(append(slices.Clone(fields), leg.ID, string(leg.Verdict), rate, optional(leg.P50), optional(leg.P99), optional(leg.Took), leg.Why)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// optional writes a number that may be absent.
func optional(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
