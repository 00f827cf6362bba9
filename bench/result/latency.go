package result

import (
	"fmt"
	"math"

	"github.com/durabench/durabench/bench/load"
)

// percentile is one percentile of a Latency.
type percentile struct {
	name  string // as the document has it
	title string // as headers have it
	share float64
	ns    int64
}

// percentiles lists the percentiles in rising order.
func (l *Latency) percentiles() []percentile {
	return []percentile{
		{"p01", "p1", 0.01, l.P01},
		{"p25", "p25", 0.25, l.P25},
		{"p50", "p50", 0.50, l.P50},
		{"p75", "p75", 0.75, l.P75},
		{"p90", "p90", 0.90, l.P90},
		{"p95", "p95", 0.95, l.P95},
		{"p99", "p99", 0.99, l.P99},
		{"p999", "p99.9", 0.999, l.P999},
		{"p9999", "p99.99", 0.9999, l.P9999},
	}
}

// check checks a distribution of count operations against itself.
func (l *Latency) check(p *problems, at string, count int64) {
	if l == nil {
		return
	}
	if l.Count != count {
		p.add(at+"/count", "is %d, but %d operations succeeded", l.Count, count)
	}
	last := percentile{name: "min", ns: l.Min}
	for _, q := range append(l.percentiles(), percentile{name: "max", ns: l.Max}) {
		if q.ns < last.ns {
			p.add(at+"/"+q.name, "%d ns is less than %s, %d ns", q.ns, last.name, last.ns)
		}
		last = q
	}
	// The mean of equal times may come out a hair beside them: it is a quotient of floating-point numbers.
	if slack := 1e-9 * float64(l.Max); l.Mean < float64(l.Min)-slack || l.Mean > float64(l.Max)+slack {
		p.add(at+"/mean", "%g ns is not between min, %d, and max, %d ns", l.Mean, l.Min, l.Max)
	}
	if l.Histogram != "" {
		l.checkHistogram(p, at)
	}
}

// checkHistogram checks that the percentiles are those of the histogram they are said to come from. The buckets are wide by 0.4 %, and
// so is the agreement that can be asked for.
func (l *Latency) checkHistogram(p *problems, at string) {
	histogram, err := load.DecodeHDR(l.Histogram)
	if err != nil {
		p.add(at+"/histogram", "%v", err)
		return
	}
	if histogram.Count() != l.Count {
		p.add(at+"/histogram", "holds %d times, but count is %d", histogram.Count(), l.Count)
		return
	}
	near := func(name string, ns, kept int64) {
		if math.Abs(float64(ns)-float64(kept)) > 1+float64(ns)/200 {
			p.add(at+"/"+name, "is %d ns, but the histogram says %d", ns, kept)
		}
	}
	for _, q := range l.percentiles() {
		kept, ok := histogram.Quantile(q.share)
		if !ok {
			return // a count of 0 is a problem of its own
		}
		near(q.name, q.ns, kept)
	}
	least, _ := histogram.Min()
	most, _ := histogram.Max()
	near("min", l.Min, least)
	near("max", l.Max, most)
	if mean, _ := histogram.Mean(); math.Abs(mean-l.Mean) > 1+l.Mean/200 {
		p.add(at+"/mean", "is %g ns, but the histogram says %g", l.Mean, mean)
	}
}

// LatencyFrom returns the distribution in a histogram, or nil when nothing was recorded: no samples have no percentiles.
func LatencyFrom(h *load.Histogram) (*Latency, error) {
	if h == nil || h.Count() == 0 {
		return nil, nil
	}
	encoded, err := h.EncodeHDR()
	if err != nil {
		return nil, fmt.Errorf("latency of %d operations: %w", h.Count(), err)
	}
	l := &Latency{Count: h.Count(), Histogram: encoded}
	l.Mean, _ = h.Mean()
	l.Min, _ = h.Min()
	l.Max, _ = h.Max()
	fields := []*int64{&l.P01, &l.P25, &l.P50, &l.P75, &l.P90, &l.P95, &l.P99, &l.P999, &l.P9999}
	for i, q := range l.percentiles() {
		*fields[i], _ = h.Quantile(q.share)
	}
	return l, nil
}
