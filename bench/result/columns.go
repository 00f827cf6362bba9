package result

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/dustin/go-humanize"
)

// absent is the cell of what was not measured.
const absent = "–"

// showsRate tells whether a leg's throughput stands in tables. That of operations which failed or answered wrongly is not a speed; the
// document keeps what was counted.
func (v Verdict) showsRate() bool { return v != Failed && v != Invalid }

// showsLatency tells whether a leg's latencies stand in tables: past what a database sustains they only tell how long the leg was.
func (v Verdict) showsLatency() bool { return v.showsRate() && v != Overloaded }

// line is one row of a table: a leg, or a part of one below it.
type line struct {
	leg     *Leg
	title   string
	latency *Latency
	part    string     // what part of the leg the line is of; "" for the leg itself
	kind    *KindCount // of a line that is of one kind of operation
}

// column is one column of a table.
type column struct {
	title string // may have two lines
	cell  func(line) string
}

// section is one table.
type section struct {
	title  string // "" for that of all legs
	lines  []line
	groups [][]column // columns that belong together
}

// layout is the content of a document's tables, for whoever draws them.
type layout struct {
	doc      *Document
	sections []section // that of all legs first; the others have at least one line
}

func newLayout(d *Document) *layout {
	l := &layout{doc: d}
	lines := tableLines(d)
	l.sections = []section{{lines: lines, groups: [][]column{slices.Concat(speed(), recalls(d)), latencies(lines), operations(), l.resources()}}}
	for _, s := range []section{scanSection(d), searchSection(d), mixSection(d), batchSection(d), indexSection(d), churnSection(d), rateSection(d)} {
		if len(s.lines) > 0 {
			l.sections = append(l.sections, s)
		}
	}
	return l
}

// leastLatency returns the least latency that a table of these lines shows, infinity when it shows none.
func leastLatency(lines []line) float64 {
	least := math.Inf(1)
	for _, row := range lines {
		if row.latency == nil {
			continue
		}
		least = min(least, row.latency.Mean)
		for _, q := range row.latency.percentiles() {
			if q.share >= 0.5 { // the lower ones have no column
				least = min(least, float64(q.ns))
			}
		}
	}
	return least
}

// unitOf returns the unit of a table's latencies: one in which the least is at least 1 or, where most of the others would be numbers of many digits, the
// next larger one, in which it is at least 0.001.
func unitOf(lines []line) unit {
	least := leastLatency(lines)
	fine := unitFor(least)
	var medians []float64
	for _, row := range lines {
		if row.latency != nil {
			medians = append(medians, float64(row.latency.P50))
		}
	}
	if len(medians) == 0 || least < fine.ns {
		return fine
	}
	slices.Sort(medians)
	if coarse, ok := fine.larger(); ok && medians[(len(medians)-1)/2] >= 10*coarse.ns {
		return coarse
	}
	return fine
}

func tableLines(d *Document) []line {
	var lines []line
	for i := range d.Legs {
		leg := &d.Legs[i]
		row := line{leg: leg, title: titleOf(leg)}
		if leg.Measured == nil || !leg.Verdict.showsLatency() {
			lines = append(lines, row)
			continue
		}
		row.latency = leg.Measured.Service
		lines = append(lines, row)
		if leg.Measured.Response != nil {
			lines = append(lines, line{leg: leg, title: row.title + ", response time", latency: leg.Measured.Response, part: "response"})
		}
	}
	return lines
}

// titleOf is a leg's name in tables.
func titleOf(leg *Leg) string {
	title := oneLine(leg.Title)
	if leg.Attempts > 1 {
		title += " †"
	}
	return title
}

// single tells whether a leg is one operation, so that it has a time and no rate or percentiles.
func (l *Leg) single() bool { return l.Kind == "index-build" || l.Kind == "index-drop" }

// showsRate tells whether a rate of the leg's operations stands in tables.
func (l *Leg) showsRate() bool { return l.Verdict.showsRate() && !l.single() }

// ofMeasured makes a column of a figure that a leg has once, when it was measured.
func ofMeasured(title string, cell func(*Measured) string) column {
	return column{title, func(row line) string {
		if row.leg.Measured == nil || row.part != "" {
			return absent
		}
		return cell(row.leg.Measured)
	}}
}

func speed() []column {
	return []column{{"ops/s", func(row line) string {
		if m := row.leg.Measured; m != nil && m.Throughput != nil && row.leg.showsRate() && row.part == "" {
			return figure(*m.Throughput)
		}
		return absent
	}}}
}

// latencies are the columns of the latencies of these lines, in one unit.
func latencies(lines []line) []column {
	unit := unitOf(lines)
	in := func(title string, ns func(*Latency) float64) column {
		return column{fmt.Sprintf("%s (%s)", title, unit.name), func(row line) string {
			if row.latency == nil || row.leg.single() && title != "mean" {
				return absent
			}
			return unit.show(ns(row.latency))
		}}
	}
	return []column{
		in("mean", func(v *Latency) float64 { return v.Mean }),
		in("p50", func(v *Latency) float64 { return float64(v.P50) }),
		in("p95", func(v *Latency) float64 { return float64(v.P95) }),
		in("p99", func(v *Latency) float64 { return float64(v.P99) }),
		in("p99.9", func(v *Latency) float64 { return float64(v.P999) }),
		in("max", func(v *Latency) float64 { return float64(v.Max) }),
	}
}

func operations() []column {
	return []column{
		ofMeasured("ok\n(ops)", func(m *Measured) string { return comma(m.OK) }),
		ofMeasured("failed\n(ops)", func(m *Measured) string { return comma(m.Failed) }),
		ofMeasured("checked\n(answers)", func(m *Measured) string { return comma(m.Checked) }),
	}
}

// resources are the server's, and the agent's CPU apart from them. An embedded engine has no server: the agent's are the database's.
func (l *layout) resources() []column {
	agent := func(m *Measured) *Usage { return m.Agent }
	owner, usage := "server ", func(m *Measured) *Usage { return m.Server }
	if l.embedded() {
		owner, usage = "", agent
	}
	of := func(title string, usage func(*Measured) *Usage, cell func(*Usage) string) column {
		return ofMeasured(title, func(m *Measured) string {
			if u := usage(m); u != nil {
				return cell(u)
			}
			return absent
		})
	}
	kind := l.memoryKind(usage)
	columns := []column{
		of(owner+"CPU\n(cores)", usage, (*Usage).cores),
		of(owner+"memory\n(peak, "+strings.ToUpper(kind)+")", usage, func(u *Usage) string {
			if u.MemoryPeak != nil && u.MemoryKind != kind {
				return size(u.MemoryPeak) + " " + strings.ToUpper(u.MemoryKind)
			}
			return size(u.MemoryPeak)
		}),
		of("disk\nread", usage, func(u *Usage) string { return size(u.ReadBytes) }),
		of("disk\nwritten", usage, func(u *Usage) string { return size(u.WrittenBytes) }),
	}
	if !l.embedded() {
		columns = append(columns, of("agent CPU\n(cores)", agent, (*Usage).cores))
	}
	return columns
}

func (l *layout) embedded() bool { return l.doc.Engine.Server == "embedded" }

// memoryKind returns what the memory column's figures are; a leg that differs says so in its cell.
func (l *layout) memoryKind(usage func(*Measured) *Usage) string {
	for i := range l.doc.Legs {
		if m := l.doc.Legs[i].Measured; m != nil {
			if u := usage(m); u != nil && u.MemoryKind != "" {
				return u.MemoryKind
			}
		}
	}
	return "pss"
}

func (u *Usage) cores() string {
	if u.CPUCores == nil {
		return absent
	}
	return fmt.Sprintf("%.2f", *u.CPUCores)
}

func size(bytes *int64) string {
	if bytes == nil {
		return absent
	}
	return humanize.IBytes(uint64(*bytes))
}

// show writes a latency in the unit. What was too short for the clock is less than one, not nothing.
func (u unit) show(ns float64) string {
	if ns == 0 {
		return "<1" // and the unit is the nanosecond, since nothing less is needed to show more
	}
	return figure(ns / u.ns)
}

// oneLine makes text of a server's safe for a cell: its line breaks would break the table, its escape sequences the terminal.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == ' ' }), " ")
}
