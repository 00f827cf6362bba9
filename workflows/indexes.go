package workflows

import (
	"fmt"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
)

// indexes is what a workflow knows of the index between its build and its removal; a plan has one at a time.
type indexes struct {
	built string // the index that is there
	left  string // one whose removal failed, so that nothing after it is measured on the heap
	// Of the build that came to nothing: its index, its verdict and why.
	failed  string
	verdict result.Verdict
	why     string
}

// allows tells whether a step finds the index that it is about, or none when it wants none; otherwise what becomes of its leg, and why.
func (x indexes) allows(step plan.Step) (verdict result.Verdict, why string, ok bool) {
	switch {
	case step.Kind == plan.IndexDrop && x.built == step.Index.Name:
		return "", "", true
	case step.Kind == plan.IndexDrop:
		return x.missing(step.Index.Name)
	case step.Scan == nil:
		return "", "", true
	case x.left != "":
		return result.NotRun, fmt.Sprintf("the index %s is still there: it could not be dropped", x.left), false
	case step.Kind == plan.ScanLeg && step.Scan.Indexed != nil && step.Scan.Indexed.Name != x.built:
		return x.missing(step.Scan.Indexed.Name)
	}
	return "", "", true
}

// missing says why an index is not there. One that the engine cannot build leaves its legs as unsupported as its build.
func (x indexes) missing(name string) (result.Verdict, string, bool) {
	if x.failed == name && x.verdict == result.Unsupported {
		return result.Unsupported, x.why, false
	}
	return result.NotRun, fmt.Sprintf("the index %s was not built", name), false
}

// after is what is known of the index after a step that came to the verdict.
func (x indexes) after(step plan.Step, verdict result.Verdict, why string) indexes {
	switch {
	case step.Kind == plan.IndexBuild && holds(verdict):
		return indexes{built: step.Index.Name, left: x.left}
	case step.Kind == plan.IndexBuild:
		return indexes{failed: step.Index.Name, verdict: verdict, why: why, left: x.left}
	case step.Kind == plan.IndexDrop && holds(verdict):
		return indexes{left: x.left}
	case step.Kind == plan.IndexDrop:
		return indexes{left: step.Index.Name}
	}
	return x
}
