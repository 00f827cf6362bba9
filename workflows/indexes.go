package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
)

// indexes is what a workflow knows of the index between its build and its removal; a plan has one at a time.
type indexes struct {
	built string // the index that is there
	left  string // one of which something may be there, because it could not be removed: nothing after it is measured without
	// Of the build that came to nothing: its index, its verdict and why.
	failed  string
	verdict result.Verdict
	why     string
}

// changeLeft names the change by which a build that failed may leave its index, what is left keeps all legs from being run, not those of scans
// alone, and the next build of that index removes it.
const changeLeft = "left-index"

// knowsLeft tells whether the run goes by changeLeft. It is asked only where that makes a difference, as most runs have nothing left.
func knowsLeft(ctx workflow.Context) bool {
	return workflow.GetVersion(ctx, changeLeft, workflow.DefaultVersion, 1) >= 1
}

// indexAllows tells whether a step finds the index that it is about, or none when it wants none; otherwise what becomes of its leg, and why.
func (b *benchmark) indexAllows(ctx workflow.Context, step plan.Step) (verdict result.Verdict, why string, ok bool) {
	return b.indexes.allows(step, b.indexes.left != "" && knowsLeft(ctx))
}

// noteIndex takes in what a step has come to for the index.
func (b *benchmark) noteIndex(ctx workflow.Context, step plan.Step, came activities.StepResult) {
	left := (step.Kind == plan.IndexBuild || step.Kind == plan.IndexDrop) && !holds(came.Verdict) && !came.Cleared
	if left && step.Kind == plan.IndexBuild {
		left = knowsLeft(ctx)
	}
	b.indexes = b.indexes.after(step, came.Verdict, came.Why, left)
}

// allows is indexAllows, with every leg kept from being run by an index that is left, or only those that have a scan.
func (x indexes) allows(step plan.Step, every bool) (verdict result.Verdict, why string, ok bool) {
	switch {
	case x.left != "" && x.spoils(step, every):
		return result.NotRun, fmt.Sprintf("the index %s may still be there: it could not be removed", x.left), false
	case step.Kind == plan.IndexDrop && x.built == step.Index.Name:
		return "", "", true
	case step.Kind == plan.IndexDrop:
		return x.missing(step.Index.Name)
	case step.Kind == plan.ScanLeg && step.Scan.Indexed != nil && step.Scan.Indexed.Name != x.built:
		return x.missing(step.Scan.Indexed.Name)
	}
	return "", "", true
}

// spoils tells whether the index that is left keeps a step from being run. Its own build begins with its removal.
func (x indexes) spoils(step plan.Step, every bool) bool {
	if !every {
		return step.Scan != nil
	}
	return step.Timed && (step.Kind != plan.IndexBuild || step.Index.Name != x.left)
}

// missing says why an index is not there. One that the engine cannot build leaves its legs as unsupported as its build.
func (x indexes) missing(name string) (result.Verdict, string, bool) {
	if x.failed == name && x.verdict == result.Unsupported {
		return result.Unsupported, x.why, false
	}
	return result.NotRun, fmt.Sprintf("the index %s was not built", name), false
}

// after is what is known of the index after a step that came to the verdict; left tells that something of the step's index may be there although it
// should not.
func (x indexes) after(step plan.Step, verdict result.Verdict, why string, left bool) indexes {
	var y indexes
	switch {
	case step.Kind == plan.IndexBuild && holds(verdict):
		y.built = step.Index.Name
	case step.Kind == plan.IndexBuild:
		y.failed, y.verdict, y.why = step.Index.Name, verdict, why
	case step.Kind != plan.IndexDrop:
		return x
	}
	if left {
		y.left = step.Index.Name
	}
	return y
}
