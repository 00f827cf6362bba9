package plan

import "time"

// What Plan.Cost assumes of a database that it knows nothing of. The span is wide because engines are: a durable write with few others in
// flight waits for the device, and a read from memory does not.
const (
	// SlowRate and FastRate are the operations per second of a counted leg.
	SlowRate = 1_000
	FastRate = 50_000
	// SlowBuild and FastBuild are the rows per second of building an index, of statistics and of other work on every row.
	SlowBuild = 50_000
	FastBuild = 1_000_000
	// LeastAround and MostAround are the time for starting and stopping the server, preparing and storing.
	LeastAround = 2 * time.Second
	MostAround  = 30 * time.Second
)

// Cost is what a plan takes: counts that are exact, and a time that rests on assumptions.
type Cost struct {
	Legs       int   `json:"legs"`       // timed steps that will run
	Operations int64 `json:"operations"` // of counted legs
	Rows       int64 `json:"rows"`       // in the database
	// Windows is the time of legs that run for a time; it is known exactly, as the others are not.
	Windows time.Duration `json:"windows"` // ns
	Least   time.Duration `json:"least"`   // ns, at FastRate and FastBuild
	Most    time.Duration `json:"most"`    // ns, at SlowRate and SlowBuild
}

// Cost estimates what the plan takes on an engine nothing is known of.
func (p *Plan) Cost(rows int64) Cost {
	cost := Cost{Rows: rows}
	var perRow int64
	for _, step := range p.Steps {
		switch {
		case step.Skip != "":
			continue
		case step.Timing != nil:
			cost.Windows += time.Duration(step.Timing.Warmup) + time.Duration(step.Timing.Window)
		case step.Kind == IndexBuild, step.Kind == Truth, step.Kind == ExactNeighbours, step.Kind == Analyze, step.Kind == Restore:
			perRow += rows
		case step.Timed:
			cost.Operations += step.Operations()
		}
		if step.Timed {
			cost.Legs++
		}
	}
	at := func(n int64, rate float64) time.Duration {
		return time.Duration(float64(n) / rate * float64(time.Second))
	}
	cost.Least = LeastAround + cost.Windows + at(cost.Operations, FastRate) + at(perRow, FastBuild)
	cost.Most = MostAround + cost.Windows + at(cost.Operations, SlowRate) + at(perRow, SlowBuild)
	return cost
}

// Add joins the costs of two plans that run one after the other.
func (c Cost) Add(other Cost) Cost {
	return Cost{
		Legs: c.Legs + other.Legs, Operations: c.Operations + other.Operations, Rows: c.Rows + other.Rows,
		Windows: c.Windows + other.Windows, Least: c.Least + other.Least, Most: c.Most + other.Most,
	}
}
