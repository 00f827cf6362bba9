package result

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Validate returns every problem of the document at once, each with its place: where it differs from the schema, and where its numbers
// contradict each other. A document with a problem is never written.
func (d *Document) Validate() error {
	if d.Schema != SchemaVersion {
		return fmt.Errorf("schema: format version %d is not the %d that this build writes", d.Schema, SchemaVersion)
	}
	found := append(encodable(compiled().document, d.normal()), d.contradictions()...)
	return errors.Join(found...)
}

// Validate returns every problem of the leg at once, as Document.Validate does.
func (l *Leg) Validate() error {
	return errors.Join(append(encodable(compiled().leg, l.normal()), l.contradictions("")...)...)
}

// problems collects what is wrong.
type problems struct{ found []error }

func (p *problems) add(place, format string, args ...any) {
	p.found = append(p.found, fmt.Errorf(place+": "+format, args...))
}

// contradictions returns what the schema cannot see: values that disagree with each other.
func (d *Document) contradictions() []error {
	var p problems
	checkTimes(&p, d.Run)
	if want, err := SpecDigest(d.Spec); err == nil && want != d.SpecDigest {
		p.add("specDigest", "is %s, but the spec's digest is %s", shorten(d.SpecDigest), shorten(want))
	}
	if want := d.Host.Fingerprint(); want != "" && d.Host.Digest != "" && want != d.Host.Digest {
		p.add("host/digest", "is %s, but the fingerprint's digest is %s", shorten(d.Host.Digest), shorten(want))
	}
	measured := false
	seen := map[string]int{}
	for i := range d.Legs {
		leg := &d.Legs[i]
		at := fmt.Sprintf("legs/%d", i)
		if first, twice := seen[leg.ID]; twice {
			p.add(at+"/id", "%q is also the id of legs/%d", leg.ID, first)
		} else {
			seen[leg.ID] = i
		}
		measured = measured || leg.Measured != nil
		p.found = append(p.found, leg.contradictions(at)...)
	}
	if measured {
		d.checkKnown(&p)
	}
	d.Isolation.check(&p, measured)
	if e := d.Engine; measured && e.Tier != "" && e.Tier != e.TierAsked {
		p.add("engine/tier", "legs were measured at tier %q, but %q was asked for", e.Tier, e.TierAsked)
	}
	worst, _ := Judge(d.Legs)
	switch {
	case d.Run.Verdict.rank() < worst.rank():
		p.add("run/verdict", "is %q, but the worst of the legs is %q", d.Run.Verdict, worst)
	case d.Run.Verdict.rank() > worst.rank() && d.Run.Why == "":
		p.add("run/why", "is missing: the run is %q, worse than its legs (%q)", d.Run.Verdict, worst)
	}
	return p.found
}

// checkKnown checks that what could explain a number is there. A run that ended before anything was measured may lack it.
func (d *Document) checkKnown(p *problems) {
	for _, need := range []struct {
		place   string
		missing bool
	}{
		{"harness/version", d.Harness.Version == ""},
		{"harness/go", d.Harness.Go == ""},
		{"engine/server", d.Engine.Server == ""},
		{"engine/tierAsked", d.Engine.TierAsked == ""},
		{"host/os", d.Host.OS == ""},
		{"host/arch", d.Host.Arch == ""},
		{"host/cpus", d.Host.CPUs == 0},
		{"host/digest", d.Host.Digest == ""},
	} {
		if need.missing {
			p.add(need.place, "is missing, but legs were measured")
		}
	}
}

// check checks that what was refused says why, and that strict isolation kept its word.
func (i *Isolation) check(p *problems, measured bool) {
	if i == nil {
		return
	}
	for n, step := range i.Steps {
		at := fmt.Sprintf("isolation/steps/%d", n)
		if step.State != StepRefused {
			continue
		}
		if strings.TrimSpace(step.Why) == "" {
			p.add(at+"/why", "is missing: %q was refused", step.Name)
		}
		if i.Level == "strict" && measured {
			p.add(at+"/state", "%q was refused, but legs were measured under strict isolation", step.Name)
		}
	}
}

func checkTimes(p *problems, r Run) {
	if r.Started.IsZero() {
		p.add("run/started", "is missing")
	}
	if r.Finished.IsZero() {
		p.add("run/finished", "is missing")
	}
	if r.Finished.Before(r.Started) {
		p.add("run/finished", "%s is before the start, %s", r.Finished.UTC().Format(time.RFC3339), r.Started.UTC().Format(time.RFC3339))
	}
}

func (l *Leg) contradictions(at string) []error {
	var p problems
	path := func(name string) string { return strings.TrimPrefix(at+"/"+name, "/") }
	if l.Verdict != Valid && strings.TrimSpace(l.Why) == "" {
		p.add(path("why"), "is missing: a leg that is %q says why", l.Verdict)
	}
	switch l.Verdict {
	case Unsupported, Skipped, NotRun:
		if l.Measured != nil {
			p.add(path("measured"), "is there, but the leg is %q", l.Verdict)
		}
	case Valid, GeneratorLimited, Overloaded, Unverified, Invalid:
		if l.Measured == nil {
			p.add(path("measured"), "is missing, but the leg is %q", l.Verdict)
		}
	}
	if l.Attempts > 1 && len(l.Interruptions) == 0 {
		p.add(path("interruptions"), "is empty, but the leg took %d attempts", l.Attempts)
	}
	for i, interruption := range l.Interruptions {
		if interruption.At.IsZero() {
			p.add(fmt.Sprintf("%s/%d/at", path("interruptions"), i), "is missing")
		}
	}
	l.checkWork(&p, path)
	if l.Measured != nil {
		l.checkMeasured(&p, path("measured"))
	}
	return p.found
}

// checkMeasured checks a leg's numbers against each other and against what was planned.
func (l *Leg) checkMeasured(p *problems, at string) {
	m := l.Measured
	done := m.OK + m.Failed
	ended := l.Verdict.ended()
	switch {
	case l.Planned > 0 && done > l.Planned:
		p.add(at, "%d operations are ok and %d failed, more than the %d planned", m.OK, m.Failed, l.Planned)
	case l.Planned > 0 && ended && done < l.Planned:
		p.add(at, "the leg is %q, but only %d of %d operations were done", l.Verdict, done, l.Planned)
	case ended && m.OK == 0:
		p.add(at+"/ok", "is 0, but the leg is %q: nothing was measured", l.Verdict)
	}
	if ended && (m.Stopped != "" || m.OverBudget) {
		p.add(at+"/stopped", "%q, over the error budget: %t, but the leg is %q", m.Stopped, m.OverBudget, l.Verdict)
	}
	if m.Started.IsZero() {
		p.add(at+"/started", "is missing")
	}
	if m.OK > 0 && m.WallNs <= 0 {
		p.add(at+"/wallNs", "is %d, but %d operations succeeded", m.WallNs, m.OK)
	}
	m.checkThroughput(p, at)
	m.checkErrors(p, at)
	m.checkAnswers(p, at, l.Verdict)
	m.checkIntervals(p, at, l.Planned == 0)
	m.checkService(p, at, int64(l.Clients)*int64(l.Threads))
	m.Server.check(p, at+"/server", m.ServerNote)
	m.Agent.check(p, at+"/agent", m.AgentNote)
}

func (m *Measured) checkThroughput(p *problems, at string) {
	switch {
	case m.OK == 0 && m.Throughput != nil:
		p.add(at+"/throughput", "is %g, but no operation succeeded", *m.Throughput)
	case m.OK > 0 && m.Throughput == nil:
		p.add(at+"/throughput", "is missing, but %d operations succeeded", m.OK)
	case m.OK > 0 && m.WallNs > 0:
		want := float64(m.OK) / float64(m.WallNs) * 1e9
		if !(math.Abs(*m.Throughput-want) <= 1e-6*want) {
			p.add(at+"/throughput", "is %g, but %d operations in %d ns are %g per second", *m.Throughput, m.OK, m.WallNs, want)
		}
	}
}

func (m *Measured) checkErrors(p *problems, at string) {
	var sum int64
	seen := map[string]bool{}
	for i, class := range m.Errors {
		sum += class.Count
		if seen[class.Class] {
			p.add(fmt.Sprintf("%s/errors/%d/class", at, i), "%q is there twice", class.Class)
		}
		seen[class.Class] = true
	}
	if sum != m.Failed {
		p.add(at+"/errors", "count %d failed operations, but failed is %d", sum, m.Failed)
	}
}

func (m *Measured) checkAnswers(p *problems, at string, verdict Verdict) {
	done := m.OK + m.Failed + m.Warmup + m.ReadBack
	if m.WholeCheck != nil {
		done++
	}
	if m.Checked > done {
		p.add(at+"/checked", "is %d, more than the %d operations done", m.Checked, done)
	}
	if m.Wrong > m.Checked {
		p.add(at+"/wrong", "is %d, more than the %d answers checked", m.Wrong, m.Checked)
	}
	if m.Wrong > 0 && verdict != Invalid {
		p.add(at+"/wrong", "is %d, but the leg is %q and not %q", m.Wrong, verdict, Invalid)
	}
	// A leg that ended early may well have left other rows than planned.
	if m.miscounted() && verdict != Invalid && verdict != Failed && verdict != Interrupted {
		p.add(at+"/rowsAfter", "is %d where there must be %d, but the leg is %q and not %q", *m.RowsAfter, *m.RowsWanted, verdict, Invalid)
	}
	if m.RowsAfter != nil && m.RowsWanted == nil {
		p.add(at+"/rowsWanted", "is missing: nothing says whether rowsAfter, %d, is right", *m.RowsAfter)
	}
}

// miscounted tells that the rows were counted and are not as many as there must be.
func (m *Measured) miscounted() bool {
	return m.RowsAfter != nil && m.RowsWanted != nil && *m.RowsAfter != *m.RowsWanted
}

func (m *Measured) checkIntervals(p *problems, at string, windowed bool) {
	var ok, failed, last int64 = 0, 0, -1
	for i, v := range m.Intervals {
		at := fmt.Sprintf("%s/intervals/%d", at, i)
		if v.Second <= last {
			p.add(at+"/second", "%d does not come after %d", v.Second, last)
		}
		last = v.Second
		// One second of grace: an operation ends in a second by its own clock reading, the wall time by the last one's.
		if v.Second > m.WallNs/1e9+1 {
			p.add(at+"/second", "%d is past the end of the leg, %d ns", v.Second, m.WallNs)
		}
		ok, failed = ok+v.OK, failed+v.Failed
		present := v.P50 != nil && v.P99 != nil && v.Max != nil
		absent := v.P50 == nil && v.P99 == nil && v.Max == nil
		switch {
		case v.OK == 0 && !absent:
			p.add(at, "has latencies, but nothing succeeded in it")
		case v.OK > 0 && !present:
			p.add(at, "lacks a latency, but %d operations succeeded in it", v.OK)
		case present && (*v.P50 > *v.P99 || *v.P99 > *v.Max):
			p.add(at, "p50 %d, p99 %d and max %d ns do not rise", *v.P50, *v.P99, *v.Max)
		}
	}
	// Failures of a warm-up, which only a windowed leg has, came before the first interval.
	if ok != m.OK || failed > m.Failed || (failed < m.Failed && !windowed) {
		p.add(at+"/intervals", "sum to %d ok and %d failed, but the leg has %d and %d", ok, failed, m.OK, m.Failed)
	}
}

func (m *Measured) checkService(p *problems, at string, inFlight int64) {
	if (m.Service == nil) != (m.OK == 0) {
		p.add(at+"/service", "is %s, but %d operations succeeded", presence(m.Service != nil), m.OK)
	}
	m.Service.check(p, at+"/service", m.OK)
	if m.Response != nil {
		m.Response.check(p, at+"/response", m.OK)
	}
	// Little's law: inFlight workers cannot have spent more time in operations than passed. The longest one is grace for operations
	// that were under way when a window began.
	if s := m.Service; s != nil && inFlight > 0 {
		spent := s.Mean * float64(s.Count)
		if passed := float64(inFlight) * (float64(m.WallNs) + float64(s.Max)) * 1.01; spent > passed {
			p.add(at+"/service/mean", "%g ns × %d operations is more than %d workers can spend in %d ns", s.Mean, s.Count, inFlight, m.WallNs)
		}
	}
}

func presence(there bool) string {
	if there {
		return "there"
	}
	return "missing"
}

func (u *Usage) check(p *problems, at, note string) {
	if u == nil {
		if note == "" {
			p.add(at, "is missing, and no note says why")
		}
		return
	}
	if (u.CPUCores == nil) != (u.CPUSeconds == nil) {
		p.add(at, "has one of cpuCores and cpuSeconds without the other")
	}
	if (u.MemoryMean == nil) != (u.MemoryPeak == nil) || (u.MemoryMean == nil) != (u.MemoryKind == "") {
		p.add(at, "has only part of memoryMeanBytes, memoryPeakBytes and memoryKind")
	} else if u.MemoryMean != nil && *u.MemoryMean > *u.MemoryPeak {
		p.add(at+"/memoryMeanBytes", "is %d, more than the peak, %d", *u.MemoryMean, *u.MemoryPeak)
	}
	unknown := u.CPUCores == nil || u.MemoryMean == nil || u.ReadBytes == nil || u.WrittenBytes == nil
	if unknown && len(u.Missing) == 0 {
		p.add(at+"/missing", "is empty, but not everything could be read")
	}
}

// shorten keeps enough of a digest to recognise it.
func shorten(digest string) string {
	if len(digest) > 12 {
		return digest[:12] + "…"
	}
	return digest
}

// encodable returns what keeps a value from being written as JSON that satisfies the schema.
func encodable(schema *jsonschema.Schema, value any) []error {
	if found := infinite(reflect.ValueOf(value), nil, nil); len(found) > 0 {
		return found // JSON cannot say NaN, and its encoder does not say where it met one
	}
	text, err := canonical(value)
	if err != nil {
		return []error{err}
	}
	return conform(schema, text)
}

// infinite appends every place below v that holds NaN or an infinity.
func infinite(v reflect.Value, path []string, found []error) []error {
	switch v.Kind() {
	case reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			found = append(found, fmt.Errorf("%s: is %g; what was not measured is absent", place(path), f))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			found = infinite(v.Elem(), path, found)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			break
		}
		for i := range v.Len() {
			found = infinite(v.Index(i), append(path, fmt.Sprint(i)), found)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			break
		}
		for i := range v.NumField() {
			found = infinite(v.Field(i), append(path, jsonName(v.Type().Field(i))), found)
		}
	}
	return found
}

// jsonName returns the property that a field is written as.
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}
