package drivers

import (
	"errors"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/spec"
)

// IndexNeeder is a Client whose engine runs some scans on an index only, such as a full-text search that its language cannot express otherwise.
type IndexNeeder interface {
	// NeedsIndex says why the scan cannot run without the index that its legs are planned with, "" when it can. It is pure, and also called
	// on the nil pointer Engine.Ability.
	NeedsIndex(s *query.Scan, index query.Index) string
}

// PlanAbilities returns what a plan of the spec needs to know of the engine. No server is needed.
func (e Engine) PlanAbilities(s *spec.Spec) plan.Abilities {
	_, analyze := e.DatabaseAbility.(Analyzer)
	a := plan.Abilities{
		Engine: e.Name, Embedded: e.Embedded(), Durable: e.Durable(), Count: e.Abilities().Count, Analyze: analyze, Unsupported: map[string]string{},
		Exact: map[string]query.VectorIndex{},
	}
	refuse := func(key string, err error) {
		if err != nil {
			a.Unsupported[key] = reason(err)
		}
	}
	for _, scan := range s.Scans {
		if scan.Index != nil {
			refuse(plan.IndexKey(scan), e.canIndex(*scan.Index))
		}
		for _, run := range scan.Runs {
			if run.Search != nil {
				if exact, needs := e.exactIndex(scan, run); needs {
					a.Exact[plan.SearchRunKey(scan, run)] = exact
					run = plan.WithExact(scan, run, exact)
				}
				e.refuseSearches(scan, run, refuse)
				continue
			}
			refuse(plan.ScanKey(scan, run), e.canScan(&run.Query))
			if needer, ok := e.Ability.(IndexNeeder); ok && scan.Index != nil {
				if why := needer.NeedsIndex(&run.Query, *scan.Index); why != "" {
					a.Unsupported[plan.HeapKey(scan, run)] = why
				}
			}
		}
	}
	for _, mix := range s.Mixes {
		refuse(plan.MixKey(mix), e.canMix(mix))
	}
	if _, ok := e.Ability.(Batcher); !ok {
		a.Unsupported[plan.BatchKey] = e.Title + " has no batches here"
	}
	return a
}

// refuseSearches says which searches of a run, and which of their indexes, the engine cannot do.
func (e Engine) refuseSearches(scan spec.Scan, run spec.Run, refuse func(key string, err error)) {
	if index := run.Search.Index; index != nil {
		refuse(plan.SearchRunKey(scan, run), e.canIndex(*index))
	}
	for _, search := range plan.Searches(scan, run) {
		refuse(search.Key, e.canSearch(&search.Query))
	}
	for _, index := range run.Search.FilterIndexes {
		refuse(plan.FilterIndexKey(scan, run, index), e.canIndex(index))
	}
}

// The knobs of a graph of which every vector is compared do not matter, so they are small.
const (
	exactLinks  = 4
	exactEffort = 16
)

// exactIndex returns the index in which the engine compares every vector, for the exact searches of a run that it cannot do without one.
func (e Engine) exactIndex(scan spec.Scan, run spec.Run) (exact query.VectorIndex, needs bool) {
	if run.Search.Index != nil || e.canSearch(&plan.Searches(scan, run)[0].Query) == nil {
		return exact, false
	}
	exact = query.VectorIndex{Metric: run.Search.Metric, Dimensions: run.Search.Dimensions}
	for _, filter := range run.Search.Filters {
		exact.Filters = append(exact.Filters, filter.Where.Paths()...)
	}
	for _, strategy := range []query.Strategy{query.VectorSet, query.BruteForce} {
		exact.Strategy = strategy
		if exact.M, exact.EfConstruction = exactLinks, exactEffort; strategy == query.BruteForce {
			exact.M, exact.EfConstruction = 0, 0
		}
		with := plan.WithExact(scan, run, exact)
		if e.canIndex(*with.Search.Index) == nil && e.canSearch(&plan.Searches(scan, with)[0].Query) == nil {
			return exact, true
		}
	}
	return exact, false
}

// canSearch tells why the engine cannot run a search.
func (e Engine) canSearch(s *query.Search) error {
	searcher, ok := e.Ability.(Searcher)
	if !ok {
		return Unsupported{e.Title + " has no searches for nearest neighbours here"}
	}
	return searcher.CanSearch(s)
}

// Dialects returns the names in query.Raw under which the engine finds its own words, as its CanScan takes them; nil when it has none.
func (e Engine) Dialects() []string {
	var read []string
	for _, name := range query.Dialects {
		raw := &query.Raw{HasWhere: true, Where: map[string]string{name: "true"}}
		if name == query.MongoDB {
			raw = &query.Raw{HasWhere: true, WhereDocument: map[string]any{"a": int64(1)}}
		}
		if e.canScan(&query.Scan{ID: "raw", Project: query.Count, Raw: raw}) == nil {
			read = append(read, name)
		}
	}
	return read
}

// MaxBatch returns the most rows that a batch may have, 0 for no bound.
func (e Engine) MaxBatch() int {
	if batcher, ok := e.Ability.(Batcher); ok {
		return batcher.MaxBatch()
	}
	return 0
}

// canMix tells why the engine cannot run a mix.
func (e Engine) canMix(mix spec.Mix) error {
	for _, weight := range mix.Weights {
		switch weight.Operation {
		case spec.MixModify:
			if _, ok := e.Ability.(Modifier); !ok {
				return Unsupported{e.Title + " cannot read and replace a row in one transaction here"}
			}
		case spec.MixScan:
			if _, ok := e.Ability.(Ranger); !ok {
				return Unsupported{e.Title + " does not read rows in the order of their keys here"}
			}
		}
	}
	return nil
}

// canScan tells why the engine cannot run a scan.
func (e Engine) canScan(s *query.Scan) error {
	scanner, ok := e.Ability.(Scanner)
	if !ok {
		return Unsupported{e.Title + " has no scans here"}
	}
	return scanner.CanScan(s)
}

// canIndex tells why the engine cannot build an index.
func (e Engine) canIndex(index query.Index) error {
	indexer, ok := e.DatabaseAbility.(Indexer)
	if !ok {
		return Unsupported{e.Title + " has no indexes here"}
	}
	return indexer.CanIndex(index)
}

// reason is what an error says of an ability, without the word that it begins with.
func reason(err error) string {
	if unsupported, ok := errors.AsType[Unsupported](err); ok {
		return unsupported.Why
	}
	return err.Error()
}
