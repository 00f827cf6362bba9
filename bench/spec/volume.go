package spec

import (
	"cmp"
	"math"
)

// How the operations of a rate arrive.
const (
	ArrivalConstant = "constant" // at even distances
	ArrivalPoisson  = "poisson"  // independent of each other: at distances drawn from an exponential distribution
)

// volumeKeys are what a file may say of how much a leg does, at one level: that of a run, or that of the entry around it.
type volumeKeys struct {
	path                string
	samples, iterations *int64
	measure, warmup     *Duration
	least, most         *int64
	rate                *float64
	arrival             string
}

// counted tells whether the level gives a number of operations, windowed whether it gives a window.
func (k volumeKeys) counted() bool { return cmp.Or(k.iterations, k.samples) != nil }
func (k volumeKeys) windowed() bool {
	return k.measure != nil || k.warmup != nil || k.least != nil || k.most != nil
}

// takeTiming checks the window and the rate that legs have which say nothing else.
func (b *builder) takeTiming() {
	if !b.bad["measurement_time"] && b.timing.Window <= 0 {
		b.problem("measurement_time", "must be longer than nothing, is %s", b.timing.Window)
	}
	if !b.bad["warmup_time"] && b.timing.Warmup < 0 {
		b.problem("warmup_time", "must not be negative, is %s", b.timing.Warmup)
	}
	least, most := b.timing.MinSamples, b.timing.MaxSamples
	switch {
	case b.bad["min_iterations"] || b.bad["max_iterations"]:
	case least < 1:
		b.problem("min_iterations", "must be at least 1, is %d", least)
	case most < least && b.given("max_iterations"):
		b.problem("max_iterations", "%d is less than the least, %d", most, least)
	case most < least:
		b.problem("min_iterations", "%d is more than the most, %d (--max-iterations)", least, most)
	}
	if !b.given("rate") {
		if b.given("arrival") && len(b.file.Scans)+len(b.file.Mixes) == 0 {
			b.problem("arrival", "says how the operations of a rate arrive, and there is no rate")
		}
		return
	}
	if b.bad["rate"] {
		return
	}
	if why := wrongRate(b.rate.PerSecond); why != "" {
		b.problem("rate", why, b.rate.PerSecond)
		return
	}
	b.rate.Poisson = b.arrival == ArrivalPoisson
	b.Rate = &b.rate
}

// wrongRate says what is wrong with a rate, as a format for it; "" when nothing is.
func wrongRate(perSecond float64) string {
	switch {
	case !(perSecond > 0):
		return "must be more than 0 operations per second, is %g"
	case perSecond > 1e9:
		return "%g operations per second are more than any clock tells apart"
	}
	return ""
}

// volume resolves how much a leg does and how much of it at once, from the levels that may say so, the nearest first. Without a number of
// operations it has a time window.
func (b *builder) volume(clients, threads *int64, path string, levels ...volumeKeys) Volume {
	v := Volume{Clients: b.inFlight(clients, b.Clients, path+".clients"), Threads: b.inFlight(threads, b.Threads, path+".threads"), Rate: b.rateOf(levels)}
	if clients != nil && b.clients >= 1 && *clients > b.clients {
		b.fileProblem(path+".clients", "%d is more than the %d clients that the run opens (--clients)", *clients, b.clients)
	}
	if clients != nil || threads != nil {
		if v.Clients > 0 && v.Threads > MaxInFlight/v.Clients {
			b.fileProblem(path, "%d clients × %d threads are more than %d operations in flight", v.Clients, v.Threads, MaxInFlight)
		}
	}
	timing := b.timing
	for i := len(levels) - 1; i >= 0; i-- {
		level := levels[i]
		if level.counted() && level.windowed() {
			b.fileProblem(level.path, "has a number of iterations and a time window; give one of them")
		}
		switch {
		case level.counted():
			v.Samples = *cmp.Or(level.iterations, level.samples)
		case level.windowed():
			v.Samples = 0
			b.window(&timing, level)
		}
	}
	if v.Samples == 0 {
		v.Timing = &timing
	}
	return v
}

// inFlight returns a number of clients or threads, the run's own when none is given.
func (b *builder) inFlight(given *int64, usual int, path string) int {
	if given == nil {
		return usual
	}
	if *given < 1 {
		b.fileProblem(path, "must be at least 1, is %d", *given)
	}
	return narrow(*given)
}

// window takes what a level says of the window.
func (b *builder) window(timing *Timing, level volumeKeys) {
	if level.measure != nil {
		if timing.Window = *level.measure; timing.Window <= 0 {
			b.fileProblem(level.path+".measurement_time", "must be longer than nothing, is %s", timing.Window)
		}
	}
	if level.warmup != nil {
		if timing.Warmup = *level.warmup; timing.Warmup < 0 {
			b.fileProblem(level.path+".warmup_time", "must not be negative, is %s", timing.Warmup)
		}
	}
	if level.least != nil {
		if timing.MinSamples = *level.least; timing.MinSamples < 1 {
			b.fileProblem(level.path+".min_iterations", "must be at least 1, is %d", timing.MinSamples)
		}
	}
	if level.most != nil {
		timing.MaxSamples = *level.most
	}
	if (level.most != nil || level.least != nil) && timing.MaxSamples < timing.MinSamples {
		key := ".max_iterations"
		if level.most == nil {
			key = ".min_iterations"
		}
		b.fileProblem(level.path+key, "the least iterations, %d, are more than the most, %d", timing.MinSamples, timing.MaxSamples)
	}
}

// rateOf returns the rate that the nearest level gives, else the run's; nil is the closed loop.
func (b *builder) rateOf(levels []volumeKeys) *Rate {
	var rate *Rate
	if b.Rate != nil {
		rate = new(*b.Rate)
	}
	for i := len(levels) - 1; i >= 0; i-- {
		level := levels[i]
		if level.rate != nil {
			if why := wrongRate(*level.rate); why != "" {
				b.fileProblem(level.path+".rate", why, *level.rate)
			}
			rate = &Rate{PerSecond: *level.rate, Poisson: b.arrival == ArrivalPoisson}
		}
		if level.arrival == "" {
			continue
		}
		arrival, err := oneOf(level.arrival, ArrivalConstant, ArrivalPoisson)
		switch {
		case err != nil:
			b.fileProblem(level.path+".arrival", "%v", err)
		case rate == nil:
			b.fileProblem(level.path+".arrival", "says how the operations of a rate arrive, and there is no rate")
		default:
			rate.Poisson = arrival == ArrivalPoisson
		}
	}
	return rate
}

// share checks a number that must be more than 0 and less than 1.
func (b *builder) share(n float64, path string) float64 {
	if !(n > 0 && n < 1) || math.IsNaN(n) {
		b.fileProblem(path, "must be more than 0 and less than 1, is %g", n)
	}
	return n
}
