package load

import "time"

// MeasureClock returns what one reading of the clock costs now, as the measuring loop reads it; the loop does it once per operation. It
// takes about a millisecond, and is the least of several rounds, because other work on the machine can only add to it.
func MeasureClock() time.Duration {
	const rounds, readings = 16, 1000
	base := time.Now()
	least := time.Duration(1<<63 - 1)
	for range rounds {
		start := time.Since(base)
		var end time.Duration
		for range readings {
			end = time.Since(base)
		}
		least = min(least, (end-start)/readings)
	}
	return least
}
