package result

import (
	"slices"
	"strconv"
	"strings"
)

// workFields are the columns of what only legs of some kinds have.
func workFields() []field {
	fields := append(scanFields(), searchFields()...)
	fields = append(fields, batchAndMixFields()...)
	fields = append(fields, indexFields()...)
	fields = append(fields, churnFields()...)
	return append(fields, scheduleFields()...)
}

func scanFields() []field {
	of := func(title string, cell func(*Scan) string) field {
		return field{title, func(_ *Document, l *Leg) string {
			if l.Scan == nil {
				return ""
			}
			return cell(l.Scan)
		}}
	}
	exchanges := func(title string, cell func(*Exchanges) string) field {
		return field{title, measured(func(m *Measured) string {
			if m.Exchanges == nil {
				return ""
			}
			return cell(m.Exchanges)
		})}
	}
	return []field{
		of("projection", func(s *Scan) string { return s.Projection }),
		of("context", func(s *Scan) string { return s.Context }),
		of("matching (rows)", func(s *Scan) string { return maybe(s.Matching) }),
		of("selectivity (share)", func(s *Scan) string {
			share, known := s.Selectivity()
			if !known {
				return ""
			}
			return number(&share)
		}),
		of("expected answer (rows)", func(s *Scan) string { return maybe(s.Expected) }),
		of("raw condition", func(s *Scan) string { return strconv.FormatBool(s.Raw) }),
		of("writes (share of operations)", func(s *Scan) string {
			if s.WriteRatio == 0 {
				return ""
			}
			return number(&s.WriteRatio)
		}),
		{"index used", func(_ *Document, l *Leg) string {
			if l.Explain == nil || l.Explain.Uses == nil {
				return ""
			}
			return strconv.FormatBool(*l.Explain.Uses)
		}},
		exchanges("exchanges ok", func(x *Exchanges) string { return integer(x.OK) }),
		exchanges("exchanges failed", func(x *Exchanges) string { return integer(x.Failed) }),
		exchanges("exchange update mean (ns)", func(x *Exchanges) string { return latencyCell(x.Update, (*Latency).meanCell) }),
		exchanges("exchange update p99 (ns)", func(x *Exchanges) string { return latencyCell(x.Update, (*Latency).p99Cell) }),
		exchanges("exchanged rows checked", func(x *Exchanges) string { return integer(x.Checked) }),
		exchanges("exchanged rows wrong", func(x *Exchanges) string { return integer(x.Wrong) }),
	}
}

// latencyCell writes a figure of a distribution that may be absent.
func latencyCell(v *Latency, cell func(*Latency) string) string {
	if v == nil {
		return ""
	}
	return cell(v)
}

func (v *Latency) meanCell() string { return number(&v.Mean) }
func (v *Latency) p99Cell() string  { return integer(v.P99) }

// mixKinds are the kinds of operations of mixes, in the order of their columns.
var mixKinds = []string{"read", "update", "insert", "scan-range", "modify"}

func batchAndMixFields() []field {
	fields := []field{
		{"batch operation", func(_ *Document, l *Leg) string {
			if l.Batch == nil {
				return ""
			}
			return l.Batch.Operation
		}},
		{"batch size (rows)", func(_ *Document, l *Leg) string {
			if l.Batch == nil {
				return ""
			}
			return strconv.Itoa(l.Batch.Size)
		}},
		{"rows", measured(func(m *Measured) string { return maybe(m.Rows) })},
		{"received (bytes)", measured(func(m *Measured) string { return maybe(m.Bytes) })},
		{"requests", measured(func(m *Measured) string { return maybe(m.Requests) })},
		{"rows touched (distinct)", measured(func(m *Measured) string { return maybe(m.Touched) })},
		{"distribution", func(_ *Document, l *Leg) string {
			if l.Mix == nil {
				return ""
			}
			return l.Mix.Distribution.String()
		}},
	}
	for _, name := range mixKinds {
		of := func(title string, cell func(*KindCount) string) field {
			return field{name + " " + title, measured(func(m *Measured) string {
				for i := range m.Kinds {
					if m.Kinds[i].Operation == name {
						return cell(&m.Kinds[i])
					}
				}
				return ""
			})}
		}
		fields = append(fields,
			of("ok (operations)", func(k *KindCount) string { return integer(k.OK) }),
			of("failed (operations)", func(k *KindCount) string { return integer(k.Failed) }),
			of("service mean (ns)", func(k *KindCount) string { return latencyCell(k.Service, (*Latency).meanCell) }),
			of("service p99 (ns)", func(k *KindCount) string { return latencyCell(k.Service, (*Latency).p99Cell) }),
		)
	}
	return fields
}

func indexFields() []field {
	of := func(title string, cell func(*Index) string) field {
		return field{title, func(_ *Document, l *Leg) string {
			if l.Index == nil {
				return ""
			}
			return cell(l.Index)
		}}
	}
	return []field{
		of("index", func(x *Index) string { return x.Name }),
		of("index kind", func(x *Index) string { return x.Kind }),
		of("index fields", func(x *Index) string { return strings.Join(x.Fields, " ") }),
		of("index call returned (ns)", func(x *Index) string { return maybe(x.ReturnedNs) }),
		of("index first right answer (ns)", func(x *Index) string { return maybe(x.CorrectNs) }),
		of("index serving (ns)", func(x *Index) string { return maybe(x.ServingNs) }),
		of("index size (bytes)", func(x *Index) string { return maybe(x.Bytes) }),
		of("server memory before index build (bytes)", func(x *Index) string { return x.MemoryBefore.bytes() }),
		of("server memory with index (bytes)", func(x *Index) string { return x.MemoryAfter.bytes() }),
		of("server memory kind of index build", func(x *Index) string { return x.memoryKind() }),
		of("server control group before index build (bytes)", func(x *Index) string { return x.MemoryBefore.group() }),
		of("server control group with index (bytes)", func(x *Index) string { return x.MemoryAfter.group() }),
	}
}

func (m *Memory) bytes() string {
	if m == nil {
		return ""
	}
	return integer(m.Bytes)
}

func (m *Memory) group() string {
	if m == nil {
		return ""
	}
	return maybe(m.Group)
}

// memoryKind is what the readings of memory are: of both, when they differ.
func (x *Index) memoryKind() string {
	var kinds []string
	for _, m := range []*Memory{x.MemoryBefore, x.MemoryAfter} {
		if m != nil && !slices.Contains(kinds, m.Kind) {
			kinds = append(kinds, m.Kind)
		}
	}
	return strings.Join(kinds, " ")
}

func scheduleFields() []field {
	of := func(title string, cell func(*OpenLoop) string) field {
		return field{title, measured(func(m *Measured) string {
			if m.OpenLoop == nil {
				return ""
			}
			return cell(m.OpenLoop)
		})}
	}
	steady := func(title string, cell func(*Steady) string) field {
		return field{title, measured(func(m *Measured) string {
			if m.Steady == nil {
				return ""
			}
			return cell(m.Steady)
		})}
	}
	return []field{
		of("arrival", func(o *OpenLoop) string { return o.Arrival }),
		of("offered (ops/s)", func(o *OpenLoop) string { return number(&o.Offered) }),
		of("never started (operations)", func(o *OpenLoop) string { return integer(o.Dropped) }),
		of("backlog at the end (operations)", func(o *OpenLoop) string { return integer(o.Backlog) }),
		of("backlog slope (operations/s)", func(o *OpenLoop) string { return number(&o.Slope) }),
		of("late mean (ns)", func(o *OpenLoop) string { return latencyCell(o.Lateness, (*Latency).meanCell) }),
		of("late p99 (ns)", func(o *OpenLoop) string { return latencyCell(o.Lateness, (*Latency).p99Cell) }),
		of("late by the agent (share)", func(o *OpenLoop) string { return number(o.AgentLate) }),
		steady("first half (ops/s)", func(s *Steady) string { return number(&s.First) }),
		steady("second half (ops/s)", func(s *Steady) string { return number(&s.Second) }),
		steady("steady", func(s *Steady) string { return strconv.FormatBool(s.Steady) }),
	}
}
