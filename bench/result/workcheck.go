package result

import (
	"fmt"
	"math"
)

// checkWork checks what a leg says of its work against what it measured.
func (l *Leg) checkWork(p *problems, path func(string) string) {
	if l.Planned > 0 && l.WindowNs > 0 {
		p.add(path("windowNs"), "is %d, but %d operations were planned: a leg has one or the other", l.WindowNs, l.Planned)
	}
	if s := l.Scan; s != nil && s.Matching != nil && *s.Matching > s.Rows {
		p.add(path("scan/matching"), "is %d, more than the %d rows", *s.Matching, s.Rows)
	}
	if l.Mix != nil && l.Mix.Trial != nil {
		l.Mix.Trial.check(p, path("mix/trial"), l.Verdict)
	}
	l.checkSearch(p, path)
	if l.Churn != nil {
		l.Churn.check(p, path("churn"))
	}
	if x := l.Index; x != nil {
		x.check(p, path("index"), l.Kind == "index-build" && l.Verdict.ended())
	}
	if e := l.Explain; e != nil && e.Uses != nil && !*e.Uses && l.Verdict.ended() {
		p.add(path("explain/uses"), "is false, but the leg is %q", l.Verdict)
	}
	if l.Measured != nil {
		l.checkParts(p, path("measured"))
	}
}

// ended tells whether a leg with this verdict ran to its planned end with answers that are not known to be wrong.
func (v Verdict) ended() bool {
	switch v {
	case Valid, GeneratorLimited, Overloaded, Unverified:
		return true
	}
	return false
}

// check checks the clocks of an index: all have the same start, and neither an answer nor the end was looked for before the call returned.
func (x *Index) check(p *problems, at string, built bool) {
	for _, later := range []struct {
		name string
		ns   *int64
	}{{"correctNs", x.CorrectNs}, {"servingNs", x.ServingNs}} {
		if later.ns != nil && (x.ReturnedNs == nil && !x.Resumed || x.ReturnedNs != nil && *later.ns < *x.ReturnedNs) {
			p.add(at+"/"+later.name, "is there, but the call had not returned by then")
		}
	}
	// Nobody saw the call of a resumed build return.
	if built && (x.ReturnedNs == nil && !x.Resumed || x.ServingNs == nil) {
		p.add(at, "lacks a clock, but the build is said to have ended")
	}
}

func (t *Trial) check(p *problems, at string, verdict Verdict) {
	if t.Lost > t.Modifications {
		p.add(at+"/lost", "is %d, more than the %d modifications", t.Lost, t.Modifications)
	}
	if t.Lost > 0 && verdict.ended() {
		p.add(at+"/lost", "is %d, but the leg is %q", t.Lost, verdict)
	}
}

// checkParts checks the parts of a leg's measurement against the whole.
func (l *Leg) checkParts(p *problems, at string) {
	m := l.Measured
	var ok, failed int64
	for i, kind := range m.Kinds {
		ok, failed = ok+kind.OK, failed+kind.Failed
		at := fmt.Sprintf("%s/kinds/%d", at, i)
		if (kind.Service == nil) != (kind.OK == 0) {
			p.add(at+"/service", "is %s, but %d operations succeeded", presence(kind.Service != nil), kind.OK)
		}
		kind.Service.check(p, at+"/service", kind.OK)
		kind.Response.check(p, at+"/response", kind.OK)
	}
	// Failures of a warm-up are in none of the kinds.
	if len(m.Kinds) > 0 && (ok != m.OK || failed > m.Failed || failed < m.Failed && l.Planned > 0) {
		p.add(at+"/kinds", "sum to %d ok and %d failed, but the leg has %d and %d", ok, failed, m.OK, m.Failed)
	}
	if x := m.Exchanges; x != nil {
		x.check(p, at+"/exchanges", l.Verdict)
	}
	if l.Batch != nil && m.Rows != nil && *m.Rows != m.OK*int64(l.Batch.Size) {
		p.add(at+"/rows", "is %d, but %d batches of %d rows succeeded", *m.Rows, m.OK, l.Batch.Size)
	}
	if m.Requests != nil && *m.Requests < m.OK {
		p.add(at+"/requests", "is %d, fewer than the %d operations", *m.Requests, m.OK)
	}
	if m.Retries != nil && *m.Retries < 0 {
		p.add(at+"/retries", "is %d", *m.Retries)
	}
	if o := m.OpenLoop; o != nil {
		o.check(p, at+"/openLoop", m)
	} else if m.Response != nil {
		p.add(at+"/openLoop", "is missing, but there are response times from intended starts")
	}
}

func (x *Exchanges) check(p *problems, at string, verdict Verdict) {
	if x.Update != nil {
		x.Update.check(p, at+"/update", x.Update.Count)
		if most := 2 * (x.OK + x.Failed); x.Update.Count < 2*x.OK || x.Update.Count > most {
			p.add(at+"/update/count", "is %d, but %d exchanges succeeded and %d failed", x.Update.Count, x.OK, x.Failed)
		}
	} else if x.OK > 0 {
		p.add(at+"/update", "is missing, but %d exchanges succeeded", x.OK)
	}
	if x.Wrong > x.Checked {
		p.add(at+"/wrong", "is %d, more than the %d rows checked", x.Wrong, x.Checked)
	}
	if x.Wrong > 0 && verdict != Invalid {
		p.add(at+"/wrong", "is %d, but the leg is %q and not %q", x.Wrong, verdict, Invalid)
	}
}

func (o *OpenLoop) check(p *problems, at string, m *Measured) {
	if m.OK > 0 && m.Response == nil {
		p.add(at, "is there, but there are no response times from intended starts")
	}
	if m.Throughput != nil && math.Abs(o.Achieved-*m.Throughput) > 1e-6**m.Throughput {
		p.add(at+"/achieved", "is %g, but the throughput is %g", o.Achieved, *m.Throughput)
	}
	if o.Lateness != nil {
		o.Lateness.check(p, at+"/lateness", o.Lateness.Count)
	}
}
