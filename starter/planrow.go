package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/spec"
)

// planSummary is what all steps of a plan come to.
type planSummary struct {
	Steps      int   `json:"steps"`
	Legs       int   `json:"legs"` // that run
	NotRun     int   `json:"notRun"`
	Operations int64 `json:"operations"` // of the counted legs that run
	Windows    int   `json:"windows"`    // legs that run for a time
	// WindowTime is how long those take together, warm-ups included: at least, as no running operation is cut off.
	WindowTime time.Duration `json:"windowNs"`
}

// summarisePlan adds up a plan.
func summarisePlan(p *plan.Plan) planSummary {
	s := planSummary{Steps: len(p.Steps)}
	for _, step := range p.Timed() {
		switch {
		case step.Skip != "":
			s.NotRun++
			continue
		case step.Timing != nil:
			s.Windows++
			s.WindowTime += time.Duration(step.Timing.Warmup + step.Timing.Window)
		default:
			s.Operations += step.Operations()
		}
		s.Legs++
	}
	return s
}

// String returns the summary in a line.
func (s planSummary) String() string {
	text := fmt.Sprintf("%d steps, %d of them legs: %s operations", s.Steps, s.Legs+s.NotRun, count(s.Operations))
	if s.Windows > 0 {
		text += fmt.Sprintf(", and %d windows that take %s or more with their warm-ups", s.Windows, s.WindowTime.Round(time.Second))
	}
	if s.NotRun > 0 {
		text += fmt.Sprintf("; %d legs are not run", s.NotRun)
	}
	return text
}

// operationsOf says how many operations a step does, and at which rate.
func operationsOf(step plan.Step) string {
	var text string
	switch t := step.Timing; {
	case t != nil:
		text = fmt.Sprintf("%s after %s, ≥ %s", t.Window, t.Warmup, count(t.MinSamples))
	case step.Batch != nil:
		text = fmt.Sprintf("%s × %s rows", count(step.Samples), count(int64(step.Batch.Size)))
	case step.Samples > 0:
		text = count(step.Samples)
	}
	if r := step.Rate; r != nil {
		arrival := "constant"
		if r.Poisson {
			arrival = "Poisson"
		}
		text += fmt.Sprintf(", %g/s %s", r.PerSecond, arrival)
	}
	return text
}

// dataOf says what a step needs of the dataset and what it leaves.
func dataOf(step plan.Step) string {
	switch {
	case step.Needs == plan.Any && step.Leaves == plan.Any:
		return ""
	case step.Needs == plan.Any:
		return "→ " + string(step.Leaves)
	case step.Leaves == plan.Any:
		return string(step.Needs)
	}
	return string(step.Needs) + " → " + string(step.Leaves)
}

// deeds say what steps do whose kind says it all.
var deeds = map[plan.Kind]string{
	plan.Prepare:   "make the empty table",
	plan.Attach:    "open what a load left and check its row count",
	plan.Calibrate: "the harness alone: reads of no database",
	plan.Create:    "one row at a time",
	plan.Read:      "one row at a time, by key",
	plan.Update:    "one row at a time, replaced by its second version",
	plan.Delete:    "one row at a time, by key",
	plan.Analyze:   "bring the server's statistics up to date",
	plan.Restore:   "write back what the leg before has changed",
}

// workOf says what a step does.
func workOf(step plan.Step, engine string) string {
	switch {
	case step.Kind == plan.IndexBuild:
		return "build " + indexText(*step.Index)
	case step.Kind == plan.IndexDrop:
		return "drop " + indexText(*step.Index)
	case step.Kind == plan.Truth:
		return fmt.Sprintf("of %s scans, worked out from the corpus", count(int64(len(step.Scans))))
	case step.Kind == plan.ExactNeighbours:
		n := step.Neighbours
		return fmt.Sprintf("the %d nearest by %s of %s vectors, among all rows and by %d filters, worked out from the corpus", n.K, n.Metric, count(int64(n.Holdout.Count)),
			len(n.Filters)-1)
	case step.Search != nil:
		return searchText(*step.Search)
	case step.Scan != nil:
		text := queryText(step.Scan.Query, engine)
		if step.Scan.Expect != nil {
			text += fmt.Sprintf(", expect %s", count(*step.Scan.Expect))
		}
		if ratio := step.Scan.WriteRatio; ratio > 0 {
			text += fmt.Sprintf("; after %s %% of them two rows exchanged", spec.Percent(ratio))
		}
		return text
	case step.Mix != nil:
		return mixText(*step.Mix)
	case step.Batch != nil:
		return string(step.Batch.Operation) + " many rows at once"
	}
	return deeds[step.Kind]
}

// searchText describes a search: "the 10 nearest by cosine in embedding, hnsw with ef_search 64, where number ≤ 500".
func searchText(search plan.Search) string {
	q := search.Query
	text := fmt.Sprintf("the %d nearest by %s in %s, ", q.K, q.Metric, q.Field)
	switch {
	case q.Index == nil:
		text += "every row compared"
	case q.Truth:
		text += "every vector compared, in an index"
	case search.Target > 0:
		text += fmt.Sprintf("%s with the smallest %s that reaches a recall of %g", q.Kind(), plan.BudgetName(q.Kind()), search.Target)
	default:
		text += fmt.Sprintf("%s with %s %d", q.Kind(), plan.BudgetName(q.Kind()), q.Budget)
	}
	if q.Where != nil {
		text += ", where " + q.Where.String()
	}
	return text
}

// indexText describes an index: "ordered (state, created_at)".
func indexText(index query.Index) string {
	fields := make([]string, len(index.Paths))
	for i, path := range index.Paths {
		fields[i] = path.String()
	}
	kind := string(index.Kind)
	if index.Vector != nil {
		kind = string(index.Vector.Strategy)
	}
	if index.Raw != "" {
		kind = index.Raw
	}
	if index.Unique {
		kind = "unique " + kind
	}
	if len(fields) == 0 {
		return kind
	}
	return fmt.Sprintf("%s (%s)", kind, strings.Join(fields, ", "))
}

// queryText describes a query; of one in the engines' own words it gives those of this engine, or that there are none.
func queryText(q query.Scan, engine string) string {
	text := q.String()
	if q.Raw == nil {
		return text
	}
	words := func(kind string, texts map[string]string, document map[string]any) string {
		for _, dialect := range []string{engine, "sql"} {
			if texts[dialect] != "" {
				return fmt.Sprintf(" %s %s", kind, texts[dialect])
			}
		}
		if len(document) > 0 {
			return fmt.Sprintf(" %s %v", kind, document)
		}
		return fmt.Sprintf(" %s …", kind)
	}
	tail := ""
	if q.Raw.HasWhere {
		tail += words("where", q.Raw.Where, q.Raw.WhereDocument)
	}
	if q.Raw.HasOrder {
		tail += words("order by", q.Raw.Order, q.Raw.OrderDocument)
	}
	head := "select " + string(q.Project)
	return head + tail + strings.TrimPrefix(text, head) + " (as written, unverified)"
}

// mixText describes a mix: "50 read, 50 update; zipf 0.99".
func mixText(m plan.Mix) string {
	parts := make([]string, len(m.Weights))
	for i, w := range m.Weights {
		parts[i] = fmt.Sprintf("%g %s", w.Weight, w.Operation)
		if w.Length > 0 {
			parts[i] += fmt.Sprintf(" of up to %s rows", count(w.Length))
		}
	}
	d := m.Distribution
	text := strings.Join(parts, ", ") + "; " + d.Name
	switch {
	case d.Theta > 0:
		text += fmt.Sprintf(" %g", d.Theta)
	case d.HotRows > 0:
		text += fmt.Sprintf(", %g of the operations on %g of the rows", d.HotOperations, d.HotRows)
	}
	return text
}
