package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/spec"
)

// SearchRunKey is where Abilities.Unsupported says that an engine cannot build the index of a run's searches: the beginning of the ids of their legs.
func SearchRunKey(scan spec.Scan, run spec.Run) string { return "search/" + scan.ID + "/" + run.Word }

// FilterIndexKey is where Abilities.Unsupported says that an engine cannot build an index on a column that a run's searches filter by.
func FilterIndexKey(scan spec.Scan, run spec.Run, index query.Index) string {
	return fmt.Sprintf("index/%s/%s/filter-%s", scan.ID, run.Word, index.Paths[0])
}

// WithExact returns the run with the index that its exact searches need, when the engine does them in an index alone.
func WithExact(scan spec.Scan, run spec.Run, exact query.VectorIndex) spec.Run {
	search := *run.Search
	search.Truth = true
	search.Index = &query.Index{Name: "ix_" + run.Query.ID + "_exact", Kind: query.Nearest, Paths: []query.Path{search.Field}, Vector: &exact}
	run.Search = &search
	return run
}

// asPlanned returns the run as the engine can do it.
func (a Abilities) asPlanned(scan spec.Scan, run spec.Run) spec.Run {
	if exact, needs := a.Exact[SearchRunKey(scan, run)]; needs && run.Search != nil {
		return WithExact(scan, run, exact)
	}
	return run
}

// Searches returns the searches of a run, each with the id of its legs, which is also where Abilities.Unsupported says why an engine cannot do it: all
// budgets without a filter, then with each filter.
func Searches(scan spec.Scan, run spec.Run) []Search {
	asked := run.Search
	if asked == nil {
		return nil
	}
	var searches []Search
	for _, filter := range append([]spec.Filter{{Word: spec.AllRows}}, asked.Filters...) {
		base := Search{
			Key: SearchRunKey(scan, run) + "/" + filter.Word, Filter: filter.Name, TieEpsilon: asked.TieEpsilon, Holdout: asked.Holdout,
			Query: query.Search{
				ID: run.Query.ID, Field: asked.Field, Metric: asked.Metric, K: asked.K, Where: filter.Where, Index: asked.Index, Iterative: asked.Iterative,
				Truth: asked.Truth,
			},
		}
		if asked.Index == nil || asked.Truth {
			searches = append(searches, base)
			continue
		}
		for _, budget := range asked.Budgets {
			search := base
			search.Query.Budget = budget
			search.Key += fmt.Sprintf("/%s-%d", BudgetName(asked.Index.Vector.Strategy), budget)
			searches = append(searches, search)
		}
		for _, target := range asked.Targets {
			search := base
			search.Target = target
			search.Query.Budget = asked.K // where the search for the budget begins
			search.Key += "/recall-" + strings.ReplaceAll(spec.Percent(target), ".", "_")
			searches = append(searches, search)
		}
	}
	return searches
}

// BudgetName is what a strategy calls its budget, as a word.
func BudgetName(strategy query.Strategy) string {
	switch strategy {
	case query.DiskANN:
		return "l_search"
	case query.IVFFlat:
		return "probes"
	default:
		return "ef_search"
	}
}

// Neighbourhoods returns the steps that work out the exact neighbours by which searches are scored: one for all searches of the same query vectors by the
// same metric, whatever they filter by. They need no database, and come before the load: what is wrong with a search shows there.
func Neighbourhoods(s *spec.Spec, a Abilities) []Step {
	var steps []Step
	for _, scan := range s.Scans {
		for _, run := range scan.Runs {
			for _, search := range Searches(scan, a.asPlanned(scan, run)) {
				if a.Unsupported[search.Key] != "" || a.Unsupported[SearchRunKey(scan, run)] != "" {
					continue
				}
				steps = addNeighbours(steps, s, search)
			}
		}
	}
	return steps
}

// addNeighbours has the search's answers worked out by one of the steps, or by another one.
func addNeighbours(steps []Step, s *spec.Spec, search Search) []Step {
	same := func(n *Neighbours) bool {
		return slices.Equal(n.Field, search.Query.Field) && n.Metric == search.Query.Metric && n.Holdout == search.Holdout
	}
	at := slices.IndexFunc(steps, func(step Step) bool { return same(step.Neighbours) })
	if at < 0 {
		at = len(steps)
		name := fmt.Sprintf("%s-%s", search.Query.Field, search.Query.Metric)
		id := "neighbours/" + name
		if slices.ContainsFunc(steps, func(step Step) bool { return step.ID == id }) {
			id = fmt.Sprintf("%s-%d", id, at+1)
		}
		steps = append(steps, Step{
			ID: id, Title: "Exact neighbours of " + search.Query.Field.String() + " by " + string(search.Query.Metric), Kind: ExactNeighbours,
			Needs: Any, Leaves: Any, Effect: ReadOnly, Version: updated, Rows: s.Samples,
			Neighbours: &Neighbours{Field: search.Query.Field, Metric: search.Query.Metric, Holdout: search.Holdout, Filters: []*query.Predicate{nil}},
		})
	}
	n := steps[at].Neighbours
	n.K = max(n.K, search.Query.K)
	if n.Answer(search.Query.Where) < 0 {
		n.Filters = append(n.Filters, search.Query.Where)
	}
	return steps
}

// Answer returns which of the filters it is, -1 when it is none.
func (n *Neighbours) Answer(where *query.Predicate) int {
	return slices.IndexFunc(n.Filters, func(filter *query.Predicate) bool { return filter.Equal(where) })
}

// addSearches appends the legs of a run that looks for nearest neighbours: the index, the searches of all rows, those with filters, and the removal of the
// index. truths are the steps that have worked out the answers.
func (l scanLegs) addSearches(truths []Step) []Step {
	asked := l.run.Search
	unbuilt := l.abilities.Unsupported[SearchRunKey(l.scan, l.run)]
	var before, legs, after []Step
	if asked.Index != nil {
		if build := l.indexLeg(asked.Index, IndexBuild, "build", unbuilt); build.Skip == "" {
			build.scored(widest(Searches(l.scan, l.run)), truths)
			before = append(before, build)
		} else {
			before = append(before, build)
		}
		after = append(after, l.indexLeg(asked.Index, IndexDrop, "drop", unbuilt))
	}
	for i := range asked.FilterIndexes {
		build, drop := l.filterIndex(&asked.FilterIndexes[i])
		before, after = append(before, build), slices.Insert(after, 0, drop)
	}
	if built := slices.ContainsFunc(before, func(step Step) bool { return step.Skip == "" }); built && l.abilities.Analyze {
		before = append(before, analyze(before[0].ID+"/analyze"))
	}
	for _, search := range Searches(l.scan, l.run) {
		legs = append(legs, l.search(search, truths, unbuilt)...)
	}
	return slices.Concat(before, legs, l.churn(truths, unbuilt), after)
}

// widest returns the search of all rows that looks at the most: what an index that is whole answers best.
func widest(searches []Search) Search {
	best := searches[0]
	for _, search := range searches[1:] {
		if search.Filter == "" && search.Query.Budget > best.Query.Budget {
			best = search
		}
	}
	return best
}

// search returns the legs of one search: with one at a time, and with as many at once as the run asks for.
func (l scanLegs) search(search Search, truths []Step, unbuilt string) []Step {
	skip := unbuilt
	if skip == "" {
		skip = l.abilities.Unsupported[search.Key]
	}
	search.FilterIndexes = l.filterIndexes()
	step := Step{
		ID: search.Key + "/sequential", Title: l.searchTitle(search), Kind: SearchLeg, Timed: true, Needs: Updated, Leaves: Any, Effect: ReadOnly,
		Version: updated, Rows: l.spec.Samples, Skip: skip,
	}
	step.scored(search, truths)
	step.load(l.run.Sequential())
	steps := []Step{step}
	if volume, many := l.run.Concurrent(); many {
		step.ID, step.Title = search.Key+"/concurrent", step.Title+" under load"
		step.load(volume)
		steps = append(steps, step)
	}
	return steps
}

// filterIndexes are the indexes on columns that the run's searches filter by which the engine can build.
func (l scanLegs) filterIndexes() (can []query.Index) {
	for _, index := range l.run.Search.FilterIndexes {
		if l.abilities.Unsupported[FilterIndexKey(l.scan, l.run, index)] == "" {
			can = append(can, index)
		}
	}
	return can
}

// searchTitle names a search for people.
func (l scanLegs) searchTitle(search Search) string {
	title := l.scan.ID + " " + l.run.Word
	switch {
	case search.Target > 0:
		title += fmt.Sprintf(" at recall %.4g", search.Target)
	case search.Query.Index != nil && !search.Query.Truth:
		title += fmt.Sprintf(" %s %d", BudgetName(search.Query.Kind()), search.Query.Budget)
	}
	if search.Filter != "" {
		title += ", " + search.Filter
	}
	return title
}

// scored makes it a step of the search, which is scored by one of the truths; there is none for a search that is not done.
func (s *Step) scored(search Search, truths []Step) {
	s.Search = &search
	for _, truth := range truths {
		n := truth.Neighbours
		if slices.Equal(n.Field, search.Query.Field) && n.Metric == search.Query.Metric && n.Holdout == search.Holdout {
			search.Truth, s.Neighbours = truth.ID, n
		}
	}
}

// filterIndex returns the legs that build and drop an index on a column that is filtered by. The number of rows that match the first filter on it is
// how its first right answer is told.
func (l scanLegs) filterIndex(index *query.Index) (build, drop Step) {
	key := FilterIndexKey(l.scan, l.run, *index)
	verb := "filter-" + index.Paths[0].String()
	skip := l.abilities.Unsupported[key]
	build = l.indexLeg(index, IndexBuild, verb+"/build", skip)
	drop = l.indexLeg(index, IndexDrop, verb+"/drop", skip)
	for _, filter := range l.run.Search.Filters {
		if paths := filter.Where.Paths(); slices.ContainsFunc(paths, func(p query.Path) bool { return slices.Equal(p, index.Paths[0]) }) {
			build.Scan = &Scan{Query: FilterScan(*index, filter), Indexed: index}
			break
		}
	}
	return build, drop
}

// FilterScan is the scan by which the first right answer of an index on a filtered column is told.
func FilterScan(index query.Index, filter spec.Filter) query.Scan {
	return query.Scan{ID: index.Name, Where: filter.Where, Project: query.Count}
}
