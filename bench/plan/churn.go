package plan

import (
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/spec"
)

// Churn is what rows are deleted, or inserted again, for: to wear the indexes that searches go on to use. It belongs to the legs that do it, to the step that
// puts right what they could not, and to the searches that follow.
type Churn struct {
	Index query.Index `json:"index"`
	// FilterIndexes are there beside it.
	FilterIndexes []query.Index `json:"filterIndexes,omitempty"`
	// Of is all that the index goes through.
	Of spec.Churn `json:"of"`
	// Leg is which of its 2 × Of.Rounds legs it is, from 1: those with odd numbers delete. 0 for a step that is none of them.
	Leg int `json:"leg,omitempty"`
}

// Legs returns how many legs all of it takes.
func (c *Churn) Legs() int { return 2 * c.Of.Rounds }

// Round returns which round a leg is of, from 1.
func (c *Churn) Round() int { return (c.Leg + 1) / 2 }

// Indexes returns the indexes that are worn.
func (c *Churn) Indexes() []query.Index { return append([]query.Index{c.Index}, c.FilterIndexes...) }

// churn returns the legs that wear the index, what puts right the rows if one of them fails, and the same searches as before. It is for runs that load their rows
// themselves: a query leaves those that are kept as they are.
func (l scanLegs) churn(truths []Step, unbuilt string) []Step {
	asked := l.run.Search
	if asked.Churn == nil || l.spec.Mode != spec.ModeAll {
		return nil
	}
	base := Churn{Index: *asked.Index, FilterIndexes: l.filterIndexes(), Of: *asked.Churn}
	var steps []Step
	for n := range base.Legs() {
		churn := base
		churn.Leg = n + 1
		steps = append(steps, l.churnLeg(&churn, unbuilt))
	}
	if unbuilt == "" {
		after := restore(l.churnID() + "/restore")
		after.Churn = &base
		steps = append(steps, after)
		if l.abilities.Analyze {
			steps = append(steps, analyze(l.churnID()+"/analyze"))
		}
	}
	for _, search := range Searches(l.scan, l.run) {
		if search.Target > 0 {
			continue
		}
		for _, step := range l.search(search, truths, unbuilt) {
			run := SearchRunKey(l.scan, l.run)
			churned := *step.Search
			churned.Key, churned.Churned = run+"/"+spec.Churned+strings.TrimPrefix(churned.Key, run), &base
			step.ID, step.Title = run+"/"+spec.Churned+strings.TrimPrefix(step.ID, run), step.Title+", "+spec.Churned
			step.Search = &churned
			steps = append(steps, step)
		}
	}
	return steps
}

// churnID begins the ids of the steps that wear the run's index.
func (l scanLegs) churnID() string { return fmt.Sprintf("index/%s/%s/churn", l.scan.ID, l.run.Word) }

// churnLeg is one that deletes or inserts. When the last has inserted, the rows are those of before; that is made sure of before anything relies on it, and put
// right when one of the legs has failed.
func (l scanLegs) churnLeg(churn *Churn, skip string) Step {
	rows, first := churn.Of.Rows(l.spec.Samples), churn.Of.First(churn.Round(), l.spec.Samples)
	var rest spec.RowSet
	for _, r := range []spec.RowRange{{From: 0, To: first, Version: updated}, {From: first + rows, To: l.spec.Samples, Version: updated}} {
		if r.From < r.To {
			rest = append(rest, r)
		}
	}
	step := Step{
		Kind: Delete, Timed: true, Needs: Updated, Leaves: Rows(rest), Effect: Consuming, Version: updated, Rows: l.spec.Samples,
		Samples: rows, Clients: l.run.Clients, Threads: l.run.Threads, Churn: churn, Skip: skip,
	}
	verb := "delete"
	if churn.Leg%2 == 0 {
		verb, step.Kind = "insert", Create
		if step.Needs, step.Leaves = step.Leaves, Updated; churn.Leg == churn.Legs() {
			step.Leaves = Stirred
		}
	}
	step.ID = fmt.Sprintf("%s/%d/%s", l.churnID(), churn.Round(), verb)
	step.Title = fmt.Sprintf("%s churn %d %s", l.name(), churn.Round(), verb)
	return step
}

// FirstRow returns the first row that a churn leg works on, of so many rows.
func (c *Churn) FirstRow(rows int64) int64 { return c.Of.First(c.Round(), rows) }
