package result

import (
	"fmt"
	"math"
	"strings"
)

// linesOf returns a line for each leg that is meant.
func linesOf(d *Document, meant func(*Leg) bool) []line {
	var lines []line
	for i := range d.Legs {
		if leg := &d.Legs[i]; meant(leg) {
			lines = append(lines, line{leg: leg, title: titleOf(leg)})
		}
	}
	return lines
}

// ofSpeed makes a column of a figure that is a speed, or means nothing without one.
func ofSpeed(title string, cell func(*Leg, *Measured) string) column {
	return column{title, func(row line) string {
		if row.leg.Measured == nil || !row.leg.Verdict.showsRate() || row.part != "" {
			return absent
		}
		return cell(row.leg, row.leg.Measured)
	}}
}

// perSecond writes how often something happened per second of the leg.
func perSecond(n *int64, m *Measured) string {
	if n == nil || m.WallNs <= 0 || m.OK == 0 {
		return absent
	}
	return figure(float64(*n) / (float64(m.WallNs) / 1e9))
}

// perOperation writes how many there were per operation that succeeded.
func perOperation(n *int64, m *Measured) string {
	if n == nil || m.OK == 0 {
		return absent
	}
	return figure(float64(*n) / float64(m.OK))
}

// maybeComma writes a number that may be absent.
func maybeComma(n *int64) string {
	if n == nil {
		return absent
	}
	return comma(*n)
}

// percent writes a share, 0 to 1.
func percent(share float64) string { return figure(100*share) + " %" }

// scanSection has what scans found, and the writes between them.
func scanSection(d *Document) section {
	s := section{title: "What scans found", lines: linesOf(d, func(l *Leg) bool { return l.Kind == "scan" && l.Scan != nil })}
	s.groups = [][]column{{
		{"matching\n(rows)", func(row line) string { return maybeComma(row.leg.Scan.Matching) }},
		{"of all\nrows", func(row line) string {
			if share, known := row.leg.Scan.Selectivity(); known {
				return percent(share)
			}
			return absent
		}},
		{"answer\n(expected)", func(row line) string { return maybeComma(row.leg.Scan.Expected) }},
		{"index\nused", func(row line) string {
			switch e := row.leg.Explain; {
			case row.leg.Scan.Context != "indexed":
				return absent
			case e == nil || e.Uses == nil:
				return "not known"
			case *e.Uses:
				return "yes"
			}
			return "no"
		}},
	}, {
		ofSpeed("rows/s", func(l *Leg, m *Measured) string {
			if l.Scan.Projection == "count" {
				return absent // it returns a number, however many rows it counts
			}
			return perSecond(m.Rows, m)
		}),
		ofSpeed("received\n(per s)", func(_ *Leg, m *Measured) string {
			if m.Bytes == nil || m.WallNs <= 0 {
				return absent
			}
			return size(new(int64(float64(*m.Bytes) / (float64(m.WallNs) / 1e9))))
		}),
	}}
	exchanged := false
	for _, row := range s.lines {
		exchanged = exchanged || row.leg.Measured != nil && row.leg.Measured.Exchanges != nil
	}
	if !exchanged {
		return s
	}
	of := func(title string, cell func(*Exchanges) string) column {
		return ofMeasured(title, func(m *Measured) string {
			if m.Exchanges == nil {
				return absent
			}
			return cell(m.Exchanges)
		})
	}
	s.groups = append(s.groups, []column{
		of("exchanges\n(ok)", func(x *Exchanges) string { return comma(x.OK) }),
		of("exchanges\n(failed)", func(x *Exchanges) string { return comma(x.Failed) }),
		of("rows checked\nafterwards", func(x *Exchanges) string { return comma(x.Checked) }),
		ofMeasured("rows written\n(distinct)", func(m *Measured) string { return maybeComma(m.Touched) }),
	})
	return s
}

// mixSection has a line for each kind of operation of each mix.
func mixSection(d *Document) section {
	s := section{title: "Mixes, by operation"}
	for _, row := range linesOf(d, func(l *Leg) bool { return l.Mix != nil }) {
		s.lines = append(s.lines, row)
		if row.leg.Measured == nil {
			continue
		}
		for i := range row.leg.Measured.Kinds {
			kind := &row.leg.Measured.Kinds[i]
			below := line{leg: row.leg, title: row.title + ", " + kind.Operation, part: kind.Operation, kind: kind}
			if row.leg.Verdict.showsLatency() {
				below.latency = kind.Service
			}
			s.lines = append(s.lines, below)
		}
	}
	count := func(title string, cell func(line) string) column {
		return column{title, func(row line) string {
			if row.leg.Measured == nil {
				return absent
			}
			return cell(row)
		}}
	}
	s.groups = [][]column{{
		{"drawn by", func(row line) string {
			if row.kind != nil {
				return ""
			}
			return row.leg.Mix.Distribution.String()
		}},
		ofMeasured("rows touched\n(distinct)", func(m *Measured) string { return maybeComma(m.Touched) }),
		count("ok\n(ops)", func(row line) string {
			if row.kind != nil {
				return comma(row.kind.OK)
			}
			return comma(row.leg.Measured.OK)
		}),
		count("failed\n(ops)", func(row line) string {
			if row.kind != nil {
				return comma(row.kind.Failed)
			}
			return comma(row.leg.Measured.Failed)
		}),
	}, latencies(s.lines)}
	return s
}

// String returns the distribution for people: "zipf 0.99", "hotspot 90 % on 10 %".
func (d Distribution) String() string {
	switch {
	case d.HotRows > 0:
		return fmt.Sprintf("%s %g %% on %g %%", d.Name, math.Round(1e4*d.HotOperations)/100, math.Round(1e4*d.HotRows)/100)
	case d.Theta > 0:
		return fmt.Sprintf("%s %g", d.Name, d.Theta)
	}
	return d.Name
}

// batchSection has what batches come to in rows.
func batchSection(d *Document) section {
	return section{
		title: "Batches, in rows",
		lines: linesOf(d, func(l *Leg) bool { return l.Batch != nil }),
		groups: [][]column{{
			{"operation", func(row line) string { return row.leg.Batch.Operation }},
			{"rows per\nbatch", func(row line) string { return comma(int64(row.leg.Batch.Size)) }},
			ofSpeed("rows/s", func(_ *Leg, m *Measured) string { return perSecond(m.Rows, m) }),
			ofSpeed("requests\nper batch", func(_ *Leg, m *Measured) string { return perOperation(m.Requests, m) }),
			ofMeasured("rows\nafter", func(m *Measured) string { return maybeComma(m.RowsAfter) }),
			ofMeasured("rows\nwanted", func(m *Measured) string { return maybeComma(m.RowsWanted) }),
		}},
	}
}

// indexSection has the clocks of index builds.
func indexSection(d *Document) section {
	s := section{title: "Index builds, each clock from the start of the call", lines: linesOf(d, func(l *Leg) bool { return l.Kind == "index-build" && l.Index != nil })}
	clocks := []struct {
		title string
		ns    func(*Index) *int64
	}{
		{"call\nreturned", func(x *Index) *int64 { return x.ReturnedNs }},
		{"first right\nanswer", func(x *Index) *int64 { return x.CorrectNs }},
		{"serving", func(x *Index) *int64 { return x.ServingNs }},
	}
	least := math.Inf(1)
	for _, row := range s.lines {
		for _, clock := range clocks {
			if ns := clock.ns(row.leg.Index); ns != nil {
				least = min(least, float64(*ns))
			}
		}
	}
	unit := unitFor(least)
	columns := []column{
		{"index", func(row line) string { return row.leg.Index.String() }},
	}
	for _, clock := range clocks {
		columns = append(columns, column{fmt.Sprintf("%s (%s)", clock.title, unit.name), func(row line) string {
			ns := clock.ns(row.leg.Index)
			if ns == nil || !row.leg.Verdict.showsRate() {
				return absent
			}
			return unit.show(float64(*ns))
		}})
	}
	s.groups = [][]column{append(columns,
		column{"asked\n(times)", func(row line) string {
			if row.leg.Index.Polls == 0 {
				return absent
			}
			return comma(row.leg.Index.Polls)
		}},
		column{"size", func(row line) string { return size(row.leg.Index.Bytes) }},
		column{"server memory\n(before)", func(row line) string { return row.leg.Index.MemoryBefore.String() }},
		column{"server memory\n(serving)", func(row line) string { return row.leg.Index.MemoryAfter.String() }},
	)}
	return s
}

// String returns what the index is for people: "unique ordered (state, created_at)".
func (x *Index) String() string {
	kind := x.Kind
	if x.Unique {
		kind = "unique " + kind
	}
	if len(x.Fields) == 0 {
		return kind
	}
	return fmt.Sprintf("%s (%s)", kind, oneLine(strings.Join(x.Fields, ", ")))
}

// String returns it for people: "1.2 GiB PSS"; absent when it is nil.
func (m *Memory) String() string {
	if m == nil {
		return absent
	}
	return size(&m.Bytes) + " " + strings.ToUpper(m.Kind)
}

// rateSection has how the schedules of open loops were kept.
func rateSection(d *Document) section {
	s := section{title: "Open loop: how the schedule was kept", lines: linesOf(d, func(l *Leg) bool { return l.Measured != nil && l.Measured.OpenLoop != nil })}
	for i := range s.lines {
		s.lines[i].latency = s.lines[i].leg.Measured.OpenLoop.Lateness
	}
	of := func(title string, cell func(*OpenLoop) string) column {
		return column{title, func(row line) string { return cell(row.leg.Measured.OpenLoop) }}
	}
	late := latencies(s.lines)
	for i := range late {
		late[i].title = "late\n" + late[i].title
	}
	s.groups = [][]column{{
		of("arrival", func(o *OpenLoop) string { return o.Arrival }),
		of("offered\n(ops/s)", func(o *OpenLoop) string { return figure(o.Offered) }),
		ofSpeed("achieved\n(ops/s)", func(_ *Leg, m *Measured) string { return figure(m.OpenLoop.Achieved) }),
		of("never\nstarted", func(o *OpenLoop) string { return comma(o.Dropped) }),
		of("backlog\nat the end", func(o *OpenLoop) string { return comma(o.Backlog) }),
		of("backlog\n(per s)", func(o *OpenLoop) string { return figure(o.Slope) }),
		of("agent's\nfault", func(o *OpenLoop) string {
			if o.AgentLate == nil {
				return absent
			}
			return percent(*o.AgentLate)
		}),
	}, late}
	return s
}

// workNotes says what the tables leave open of the legs' work: windows that were not steady, indexes whose build was interrupted or whose use cannot be
// known.
func (l *layout) workNotes() []string {
	notes := append(warnings(l.doc.Legs), restless(l.doc.Legs)...)
	for _, leg := range l.doc.Legs {
		if leg.Measured != nil && leg.Measured.Steady != nil && !leg.Measured.Steady.Steady {
			s := leg.Measured.Steady
			note := fmt.Sprintf("%s: not steady: %s ops/s in the first half of the window, %s in the second", leg.Title, figure(s.First), figure(s.Second))
			if s.Note != "" {
				note += ": " + s.Note
			}
			notes = append(notes, note)
		}
		if x := leg.Index; x != nil && leg.Kind == "index-build" {
			if x.Resumed {
				notes = append(notes, leg.Title+": the agent was lost in the build, and the clocks run from the start that it had recorded")
			}
			if x.Note != "" {
				notes = append(notes, leg.Title+": "+x.Note)
			}
			if x.MemoryNote != "" && (leg.Measured == nil || leg.Measured.ServerNote != x.MemoryNote) {
				notes = append(notes, leg.Title+": server memory: "+x.MemoryNote)
			}
		}
		notes = append(notes, searchNotes(&leg)...)
		if e := leg.Explain; e != nil && e.Uses != nil && e.Note != "" {
			notes = append(notes, leg.Title+": "+e.Note)
		}
		if e := leg.Explain; e != nil && e.Uses == nil && e.Note != "" {
			notes = append(notes, leg.Title+": whether the index is used is not known: "+e.Note)
		}
	}
	return notes
}
