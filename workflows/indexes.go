package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/result"
)

// indexes is what a workflow knows of the indexes between their builds and removals. A plan has one at a time, and beside one of vectors those on columns
// that searches filter by.
type indexes struct {
	built  []string // those that are there
	worn   []string // those of them that have gone through all of their churn
	left   string   // one of which something may be there, because it could not be removed: nothing after it is measured without
	failed []unbuilt
}

// unbuilt is a build that came to nothing.
type unbuilt struct {
	name    string
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
	case step.Kind == plan.IndexDrop:
		return x.there(step.Index.Name)
	case step.Kind == plan.ScanLeg && step.Scan.Indexed != nil:
		return x.there(step.Scan.Indexed.Name)
	case step.Kind == plan.SearchLeg:
		if verdict, why, ok := x.allThere(step.Search.Indexes()); !ok {
			return verdict, why, ok
		}
		if churn := step.Search.Churned; churn != nil && !slices.Contains(x.worn, churn.Index.Name) {
			return result.NotRun, fmt.Sprintf("the index %s has not gone through its churn", churn.Index.Name), false
		}
	case step.Churn != nil && step.Timed:
		return x.allThere(step.Churn.Indexes())
	}
	return "", "", true
}

// allThere is there for all of some indexes.
func (x indexes) allThere(all []query.Index) (result.Verdict, string, bool) {
	for _, index := range all {
		if verdict, why, ok := x.there(index.Name); !ok {
			return verdict, why, ok
		}
	}
	return "", "", true
}

// spoils tells whether the index that is left keeps a step from being run. Its own build begins with its removal.
func (x indexes) spoils(step plan.Step, every bool) bool {
	if !every {
		return step.Scan != nil || step.Search != nil || step.Churn != nil
	}
	return step.Timed && (step.Kind != plan.IndexBuild || step.Index.Name != x.left)
}

// there tells whether an index is, and otherwise why not. One that the engine cannot build leaves its legs as unsupported as its build.
func (x indexes) there(name string) (result.Verdict, string, bool) {
	if slices.Contains(x.built, name) {
		return "", "", true
	}
	for _, failed := range x.failed {
		if failed.name == name && failed.verdict == result.Unsupported {
			return result.Unsupported, failed.why, false
		}
	}
	return result.NotRun, fmt.Sprintf("the index %s was not built", name), false
}

// after is what is known of the indexes after a step that came to the verdict; left tells that something of the step's index may be there although it
// should not.
func (x indexes) after(step plan.Step, verdict result.Verdict, why string, left bool) indexes {
	if churn := step.Churn; churn != nil && churn.Leg == churn.Legs() && holds(verdict) {
		x.worn = append(slices.Clone(x.worn), churn.Index.Name)
	}
	if step.Kind != plan.IndexBuild && step.Kind != plan.IndexDrop {
		return x
	}
	name := step.Index.Name
	x.worn = slices.DeleteFunc(slices.Clone(x.worn), func(worn string) bool { return worn == name })
	x.built = slices.DeleteFunc(slices.Clone(x.built), func(built string) bool { return built == name })
	x.failed = slices.DeleteFunc(slices.Clone(x.failed), func(failed unbuilt) bool { return failed.name == name })
	switch {
	case step.Kind == plan.IndexBuild && holds(verdict):
		x.built = append(x.built, name)
	case step.Kind == plan.IndexBuild:
		x.failed = append(x.failed, unbuilt{name: name, verdict: verdict, why: why})
	}
	if x.left = ""; left {
		x.left = name
	}
	return x
}
