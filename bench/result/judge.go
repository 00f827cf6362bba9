package result

import (
	"fmt"
	"strings"
)

// rank orders verdicts by how little a number under them can be used, the best first.
func (v Verdict) rank() int {
	switch v {
	case Valid:
		return 0
	case Skipped:
		return 1
	case Unsupported:
		return 2
	case Unverified:
		return 3
	case GeneratorLimited:
		return 4
	case Overloaded:
		return 5
	case NotRun:
		return 6
	case Interrupted:
		return 7
	case Failed:
		return 8
	}
	return 9 // invalid, and any word that this build does not know
}

// Worse tells whether v is a worse verdict than other. From best to worst: valid, skipped, unsupported, unverified, generator-limited,
// overloaded, not run, interrupted, failed, invalid.
func (v Verdict) Worse(other Verdict) bool { return v.rank() > other.rank() }

// Worst returns the verdict of a run from its legs'. It is the verdict that Judge gives.
func Worst(legs []Leg) Verdict {
	verdict, _ := Judge(legs)
	return verdict
}

// Judge returns the verdict of a run from its legs', and why: the worst of them, with two exceptions. Legs that are unsupported or skipped
// were never meant to run and do not spoil a run in which others are valid. A leg that was not reached leaves a run unfinished, which is
// called interrupted. A run without legs is not run.
//
// A run may be worse than this, for a reason that is not a leg's, such as a server that did not start.
func Judge(legs []Leg) (Verdict, string) {
	worst, valid := NotRun, false
	for i, leg := range legs {
		valid = valid || leg.Verdict == Valid
		if i == 0 || leg.Verdict.Worse(worst) {
			worst = leg.Verdict
		}
	}
	var titles []string
	for _, leg := range legs {
		if leg.Verdict == worst {
			titles = append(titles, leg.Title)
		}
	}
	switch {
	case len(legs) == 0:
		return NotRun, "the plan has no legs"
	case worst == Valid, valid && (worst == Skipped || worst == Unsupported):
		return Valid, ""
	}
	why := fmt.Sprintf("%d of %d legs: %s", len(titles), len(legs), someOf(titles))
	if worst == NotRun {
		return Interrupted, "not run: " + why
	}
	return worst, why
}

// someOf lists titles, of many only the first.
func someOf(titles []string) string {
	const most = 8
	if len(titles) <= most+1 {
		return strings.Join(titles, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(titles[:most], ", "), len(titles)-most)
}
