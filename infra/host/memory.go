package host

import (
	"errors"
	"math"
	"time"
)

// memory is the series of what a tree held.
type memory struct {
	samples  int
	peak     int64
	last     int64
	lastAt   time.Time
	area     float64 // bytes × seconds between the samples, with straight lines from one to the next
	span     float64 // seconds
	fallback error   // why proportional sizes cannot be read
	failed   error   // why no sizes can be read
}

// sample takes one sample and returns how long that took. When a proportional size cannot be read, it starts again with resident ones: a
// series of both would be of neither.
func (m *memory) sample(from machine, pids []int) time.Duration {
	at := time.Now()
	if len(pids) == 0 || m.failed != nil {
		return 0 // a tree that has ended holds nothing, which says nothing of what it held
	}
	if m.fallback == nil {
		held, err := from.proportional(pids)
		if err == nil {
			m.add(at, held)
			return time.Since(at)
		}
		*m = memory{fallback: err}
	}
	held, err := from.residentOf(pids)
	if err != nil {
		m.failed = err
		return time.Since(at)
	}
	m.add(at, held)
	return time.Since(at)
}

func (m *memory) add(at time.Time, held int64) {
	if held == 0 {
		return // every process ended while it was looked at
	}
	if m.samples > 0 {
		passed := at.Sub(m.lastAt).Seconds()
		m.area += float64(m.last+held) / 2 * passed
		m.span += passed
	}
	m.samples, m.last, m.lastAt = m.samples+1, held, at
	m.peak = max(m.peak, held)
}

// figures returns the mean over time and the most that was seen, in bytes. A peak between two samples is not seen.
func (m *memory) figures() (mean, peak int64, err error) {
	switch {
	case m.failed != nil:
		return 0, 0, m.failed
	case m.samples == 0:
		return 0, 0, errors.New("no process was there long enough to be looked at")
	case m.span == 0:
		return m.last, m.peak, nil
	}
	return min(int64(math.Round(m.area/m.span)), m.peak), m.peak, nil
}

// kind names what the figures are, as result.Usage does.
func (m *memory) kind() string {
	if m.fallback != nil {
		return "rss"
	}
	return "pss"
}
