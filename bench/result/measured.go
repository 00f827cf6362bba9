package result

import (
	"errors"
	"fmt"

	"github.com/durabench/durabench/bench/load"
)

// MeasuredFrom returns what a leg measured in the form of the document. Resources and row counts are the caller's to add.
func MeasuredFrom(r *load.Result) (*Measured, error) {
	service, err := LatencyFrom(r.Service)
	response, responseErr := LatencyFrom(r.Response)
	if err := errors.Join(err, responseErr); err != nil {
		return nil, err
	}
	m := &Measured{
		Started:   r.Started.UTC(),
		WallNs:    r.Wall.Nanoseconds(),
		OK:        r.OK,
		Failed:    r.Failed,
		Warmup:    r.Warmup,
		Service:   service,
		Response:  response,
		Intervals: make([]Interval, len(r.Intervals)),
		Checked:   r.Checked,
		Wrong:     r.Wrong,
		Stopped:   r.Stopped,

		OverBudget: r.OverBudget,
		GC: GC{
			Cycles:    r.GC.Cycles,
			PauseNs:   r.GC.Pause.Nanoseconds(),
			CPUShare:  r.GC.CPUShare,
			HeapBytes: r.GC.HeapBytes,
		},
		SkewNs: r.Skew.Nanoseconds(),
	}
	if r.OK > 0 {
		if r.Wall <= 0 {
			return nil, fmt.Errorf("%d operations took %v: the clock stood still", r.OK, r.Wall)
		}
		rate := float64(r.OK) / r.Wall.Seconds()
		m.Throughput = &rate
	}
	if err := m.partsFrom(r); err != nil {
		return nil, err
	}
	for _, class := range r.Errors {
		m.Errors = append(m.Errors, ErrorCount{Class: class.Class, Count: class.Count, Texts: class.Texts})
	}
	for _, example := range r.Examples {
		m.Examples = append(m.Examples, Mismatch{Whole: example.Whole, Index: example.Index, Column: example.Column, Want: example.Want, Got: example.Got})
	}
	for i, second := range r.Intervals {
		m.Intervals[i] = intervalFrom(second)
	}
	return m, nil
}

func intervalFrom(second load.Interval) Interval {
	v := Interval{Second: second.Second, OK: second.OK, Failed: second.Failed}
	if s := second.Service; s != nil {
		v.P50, v.P99, v.Max = new(s.P50), new(s.P99), new(s.Max)
	}
	return v
}
