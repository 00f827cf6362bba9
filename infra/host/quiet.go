package host

import (
	"context"
	"fmt"
	"time"
)

// load is what the machine has done up to a moment.
type load struct {
	busy    time.Duration // CPU time of all processes, ended ones included
	ours    time.Duration // that of the processes that are ours
	blocked int           // threads that wait for a device now, which a load average counts too
	average float64       // the kernel's load average of one minute
}

// How long a machine is watched. A load average remembers a minute and more, also what we have done ourselves: compiled, started a
// server, dropped caches. So the rule is not to wait until it has forgotten. It looks at what others do now: the CPU time that they
// use per second, and the threads that wait for devices, which together is what a load average is made of. The machine is quiet
//
//   - when that is below the threshold on average over calmLong, or
//   - when it is below the threshold over calmShort and the load average is too: then the last minute is known to have been quiet.
//
// What our own processes use, and what the hypervisor takes away, is not counted.
const (
	watchEvery = time.Second
	calmShort  = 3 // seconds
	calmLong   = 15
)

// quietWait waits for a quiet machine.
type quietWait struct {
	below float64
	most  time.Duration
	read  func() (load, error)
	// blame names who keeps the machine busy; it is asked when waiting was in vain.
	blame    func() string
	progress func(string)
}

// seen is what a wait saw of others' load: threads that ran or waited for a device.
type seen struct{ first, last, average float64 }

// wait returns when the machine is quiet, or an error that says what was still going on.
func (q quietWait) wait(ctx context.Context) (s seen, err error) {
	begun := time.Now()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	previous, err := q.read()
	if err != nil {
		return s, err
	}
	at, told := begun, begun
	var loads []float64 // one per second
	for {
		select {
		case <-ctx.Done():
			return s, context.Cause(ctx)
		case <-tick.C:
		}
		next, err := q.read()
		if err != nil {
			return s, err
		}
		now := time.Now()
		loads = append(loads, others(previous, next, now.Sub(at)))
		previous, at = next, now
		long := mean(loads, calmLong)
		s.last, s.average = long, next.average
		if len(loads) <= calmShort {
			s.first = long
		}
		short := mean(loads, calmShort)
		switch {
		case len(loads) >= calmShort && short < q.below && next.average < q.below:
			s.last = short
			return s, nil
		case len(loads) >= calmLong && long < q.below:
			return s, nil
		case now.Sub(begun) >= q.most:
			return s, q.inVain(s, now.Sub(begun))
		case now.Sub(told) >= 5*time.Second:
			told = now
			q.progress(fmt.Sprintf("waiting for a quiet machine: the load of others is %.2f, to be below %.2f; at most %v more", long, q.below,
				(q.most - now.Sub(begun)).Round(time.Second)))
		}
	}
}

func (q quietWait) inVain(s seen, waited time.Duration) error {
	err := fmt.Errorf("the machine was not quiet within %v: the load of others is %.2f, not below %.2f (load average %.2f)",
		waited.Round(time.Second), s.last, q.below, s.average)
	if q.blame != nil {
		if who := q.blame(); who != "" {
			err = fmt.Errorf("%w; busiest: %s", err, who)
		}
	}
	return err
}

// others returns the load of processes that are not ours between two readings.
func others(from, to load, passed time.Duration) float64 {
	if passed <= 0 {
		return 0
	}
	used := (to.busy - from.busy) - (to.ours - from.ours)
	return max(0, used.Seconds()/passed.Seconds()) + float64(from.blocked+to.blocked)/2
}

// mean returns the mean of the last n values, or of all when there are fewer.
func mean(values []float64, n int) float64 {
	last := values[max(0, len(values)-n):]
	sum := 0.0
	for _, v := range last {
		sum += v
	}
	return sum / float64(max(1, len(last)))
}
