package result

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"
)

// field is one column of the CSV: a header with its unit, and the cell of a leg.
type field struct {
	title string
	cell  func(*Document, *Leg) string
}

// WriteCSV writes one row per leg: raw numbers with their units in the header, and an empty cell for what was not measured. The columns
// are the same for every document, and each row names its run, so that the rows of many runs can be put under one header. A leg that
// failed or answered wrongly has no speed, as in tables. The format is RFC 4180.
func WriteCSV(w io.Writer, d *Document) error {
	fields := csvFields()
	out := csv.NewWriter(w)
	out.UseCRLF = true
	record := make([]string, len(fields))
	for i, f := range fields {
		record[i] = f.title
	}
	if err := out.Write(record); err != nil {
		return err
	}
	for i := range d.Legs {
		for j, f := range fields {
			record[j] = f.cell(d, &d.Legs[i])
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func csvFields() []field {
	fields := []field{
		{"run", func(d *Document, _ *Leg) string { return d.Run.ID }},
		{"run verdict", func(d *Document, _ *Leg) string { return string(d.Run.Verdict) }},
		{"engine", func(d *Document, _ *Leg) string { return d.Engine.Name }},
		{"engine version", func(d *Document, _ *Leg) string { return d.Engine.Version }},
		{"server mode", func(d *Document, _ *Leg) string { return d.Engine.Server }},
		{"durability tier", func(d *Document, _ *Leg) string { return d.Engine.Tier }},
		{"spec digest", func(d *Document, _ *Leg) string { return d.SpecDigest }},
		{"corpus digest", func(d *Document, _ *Leg) string { return d.Corpus.Digest }},
		{"host digest", func(d *Document, _ *Leg) string { return d.Host.Digest }},
		{"corpus rows", func(d *Document, _ *Leg) string { return integer(d.Corpus.Rows) }},
		{"seed", func(d *Document, _ *Leg) string { return strconv.FormatUint(d.Corpus.Seed, 10) }},
		{"harness cost (ns/operation)", func(d *Document, _ *Leg) string {
			if d.Calibration == nil {
				return ""
			}
			return number(&d.Calibration.NsPerOp)
		}},
		{"leg", func(_ *Document, l *Leg) string { return l.ID }},
		{"title", func(_ *Document, l *Leg) string { return oneLine(l.Title) }},
		{"kind", func(_ *Document, l *Leg) string { return l.Kind }},
		{"verdict", func(_ *Document, l *Leg) string { return string(l.Verdict) }},
		{"why", func(_ *Document, l *Leg) string { return oneLine(l.Why) }},
		{"clients", func(_ *Document, l *Leg) string { return strconv.Itoa(l.Clients) }},
		{"threads per client", func(_ *Document, l *Leg) string { return strconv.Itoa(l.Threads) }},
		{"attempts", func(_ *Document, l *Leg) string { return unlessZero(int64(l.Attempts)) }},
		{"planned (operations)", func(_ *Document, l *Leg) string { return unlessZero(l.Planned) }},
		{"warm-up (ns)", func(_ *Document, l *Leg) string { return unlessZero(l.WarmupNs) }},
		{"window (ns)", func(_ *Document, l *Leg) string { return unlessZero(l.WindowNs) }},
		{"started (UTC)", measured(func(m *Measured) string { return m.Started.UTC().Format(time.RFC3339Nano) })},
		{"wall (ns)", measured(func(m *Measured) string { return integer(m.WallNs) })},
		{"ok (operations)", measured(func(m *Measured) string { return integer(m.OK) })},
		{"failed (operations)", measured(func(m *Measured) string { return integer(m.Failed) })},
		{"throughput (ops/s)", func(_ *Document, l *Leg) string {
			if l.Measured == nil || !l.showsRate() {
				return ""
			}
			return number(l.Measured.Throughput)
		}},
	}
	fields = append(fields, latencyFields("service", func(m *Measured) *Latency { return m.Service })...)
	fields = append(fields, latencyFields("response", func(m *Measured) *Latency { return m.Response })...)
	fields = append(fields,
		field{"checked (answers)", measured(func(m *Measured) string { return integer(m.Checked) })},
		field{"wrong (answers)", measured(func(m *Measured) string { return integer(m.Wrong) })},
		field{"rows after", measured(func(m *Measured) string { return maybe(m.RowsAfter) })},
		field{"rows wanted", measured(func(m *Measured) string { return maybe(m.RowsWanted) })},
	)
	fields = append(fields, workFields()...)
	fields = append(fields, usageFields("server", func(m *Measured) *Usage { return m.Server })...)
	fields = append(fields, usageFields("agent", func(m *Measured) *Usage { return m.Agent })...)
	fields = append(fields, field{"crud-bench test", (&peerNames{}).of})
	return append(fields,
		field{"agent GC (cycles)", measured(func(m *Measured) string { return integer(m.GC.Cycles) })},
		field{"agent GC pause (ns)", measured(func(m *Measured) string { return integer(m.GC.PauseNs) })},
	)
}

// latencyFields takes each title and its percentile from one list, so that a title cannot stand above another percentile.
func latencyFields(name string, of func(*Measured) *Latency) []field {
	in := func(title string, cell func(*Latency) string) field {
		return field{fmt.Sprintf("%s %s (ns)", name, title), func(_ *Document, l *Leg) string {
			if l.Measured == nil || of(l.Measured) == nil || !l.Verdict.showsLatency() {
				return ""
			}
			return cell(of(l.Measured))
		}}
	}
	fields := []field{
		in("mean", func(v *Latency) string { return number(&v.Mean) }),
		in("min", func(v *Latency) string { return integer(v.Min) }),
	}
	for i, q := range new(Latency).percentiles() {
		fields = append(fields, in(q.title, func(v *Latency) string { return integer(v.percentiles()[i].ns) }))
	}
	return append(fields, in("max", func(v *Latency) string { return integer(v.Max) }))
}

func usageFields(name string, of func(*Measured) *Usage) []field {
	in := func(title string, cell func(*Usage) string) field {
		return field{name + " " + title, measured(func(m *Measured) string {
			if of(m) == nil {
				return ""
			}
			return cell(of(m))
		})}
	}
	return []field{
		in("CPU (cores)", func(u *Usage) string { return number(u.CPUCores) }),
		in("CPU (s)", func(u *Usage) string { return number(u.CPUSeconds) }),
		in("memory mean (bytes)", func(u *Usage) string { return maybe(u.MemoryMean) }),
		in("memory peak (bytes)", func(u *Usage) string { return maybe(u.MemoryPeak) }),
		in("memory kind", func(u *Usage) string { return u.MemoryKind }),
		in("disk read (bytes)", func(u *Usage) string { return maybe(u.ReadBytes) }),
		in("disk written (bytes)", func(u *Usage) string { return maybe(u.WrittenBytes) }),
	}
}

func measured(cell func(*Measured) string) func(*Document, *Leg) string {
	return func(_ *Document, l *Leg) string {
		if l.Measured == nil {
			return ""
		}
		return cell(l.Measured)
	}
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

func maybe(n *int64) string {
	if n == nil {
		return ""
	}
	return integer(*n)
}

func number(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'f', -1, 64)
}

// unlessZero writes a number whose zero means that there is none.
func unlessZero(n int64) string {
	if n == 0 {
		return ""
	}
	return integer(n)
}
