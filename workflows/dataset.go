package workflows

import (
	"fmt"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
)

// dataset is what a workflow knows of the state of the data between steps. It decides, with nothing but the plan's declarations, which
// steps can still run after one has failed.
type dataset struct {
	state plan.State // "" when it is not known
	lost  string     // why it is not known
}

// newDataset is the data before the first step.
func newDataset(mode spec.Mode) dataset {
	if mode == spec.ModeQuery {
		return dataset{state: plan.Updated} // as the manifest of the load says
	}
	return dataset{state: plan.Absent}
}

// allows tells whether a step finds what it needs, and otherwise why not.
func (d dataset) allows(step plan.Step) (bool, string) {
	switch {
	case step.Needs == plan.Any || step.Needs == d.state:
		return true, ""
	case d.state == "":
		return false, fmt.Sprintf("it needs the data %s, and %s", step.Needs, d.lost)
	default:
		return false, fmt.Sprintf("it needs the data %s, and it is %s", step.Needs, d.state)
	}
}

// after is the data after a step that came to the verdict; an untimed step that succeeded is valid.
func (d dataset) after(step plan.Step, verdict result.Verdict) dataset {
	switch {
	case holds(verdict):
		if step.Leaves != plan.Any {
			return dataset{state: step.Leaves}
		}
		return d
	case verdict == result.NotRun:
		// The agent refused it: the data was not what the plan says.
		return dataset{lost: fmt.Sprintf("it was lost before the step %q", step.ID)}
	case step.Effect == plan.ReadOnly, step.Leaves == plan.Any:
		return d
	case step.Leaves == plan.Stirred, step.Churn != nil:
		return dataset{state: plan.Stirred} // which says nothing of the rows: what a leg that failed has left is put right likewise
	default:
		return dataset{lost: fmt.Sprintf("the step %q, which was to leave it %s, is %s", step.ID, step.Leaves, verdict)}
	}
}

// holds tells whether a leg with this verdict has left the data as its step says.
func holds(verdict result.Verdict) bool {
	switch verdict {
	case result.Valid, result.GeneratorLimited, result.Overloaded, result.Unverified:
		return true
	default:
		return false
	}
}
