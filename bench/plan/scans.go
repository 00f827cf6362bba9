package plan

import (
	"encoding/json"
	"fmt"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/spec"
)

// truth is the step that works out what the scans are to answer that this engine runs; ok is false when no answer can be known.
func truth(s *spec.Spec, a Abilities) (step Step, ok bool) {
	step = Step{ID: "truth", Title: "Expected answers", Kind: Truth, Needs: Any, Leaves: Any, Effect: ReadOnly, Version: updated, Rows: s.Samples}
	seen := map[string]bool{}
	for _, scan := range s.Scans {
		for _, run := range scan.Runs {
			if run.Query.Raw != nil || run.Search != nil || a.Unsupported[ScanKey(scan, run)] != "" {
				continue
			}
			// What does not change the answer does not make it another scan.
			asked := run.Query
			asked.ID = ""
			text, err := json.Marshal(asked)
			if err != nil {
				panic(fmt.Sprintf("encode the scan %s: %v", scan.ID, err)) // it is plain data
			}
			if !seen[string(text)] {
				seen[string(text)] = true
				step.Scans = append(step.Scans, run.Query)
			}
		}
	}
	return step, len(step.Scans) > 0
}

// analyze brings the server's statistics up to date.
func analyze(id string) Step {
	return Step{ID: id, Title: "Statistics", Kind: Analyze, Needs: Updated, Leaves: Any, Effect: ReadOnly}
}

// addScans appends the legs of every scan: for each of its runs those on the heap, then the index, those that use it, and its removal.
func (p *Plan) addScans(s *spec.Spec, a Abilities) {
	truths := Neighbourhoods(s, a)
	for _, scan := range s.Scans {
		for _, run := range scan.Runs {
			l := scanLegs{spec: s, abilities: a, scan: scan, run: a.asPlanned(scan, run)}
			if run.Search != nil {
				p.add(l.addSearches(truths)...)
				continue
			}
			p.add(l.contexts(nil)...)
			if scan.Index != nil && s.Mode == spec.ModeAll {
				p.add(l.contexts(scan.Index)...)
			}
		}
	}
}

// scanLegs makes the legs of one run of a scan.
type scanLegs struct {
	spec      *spec.Spec
	abilities Abilities
	scan      spec.Scan
	run       spec.Run
}

// contexts returns the legs of the run on the heap, or on the index between its build and its removal.
func (l scanLegs) contexts(index *query.Index) []Step {
	skip := l.unsupported(index)
	steps := []Step{l.read(index, skip)}
	if l.spec.Mode == spec.ModeAll {
		for _, ratio := range l.scan.Writes {
			steps = append(steps, l.mixed(index, ratio, skip)...)
		}
	}
	if index == nil {
		return steps
	}
	build, drop := l.build(index), l.drop(index)
	before := []Step{build}
	if l.abilities.Analyze && build.Skip == "" {
		before = append(before, analyze(build.ID+"/analyze"))
	}
	return append(append(before, steps...), drop)
}

// unsupported says why the run cannot be done at all, on the heap or on an index.
func (l scanLegs) unsupported(index *query.Index) string {
	keys := []string{ScanKey(l.scan, l.run)}
	if index == nil {
		keys = append(keys, HeapKey(l.scan, l.run))
	} else {
		keys = append(keys, IndexKey(l.scan))
	}
	for _, key := range keys {
		if why := l.abilities.Unsupported[key]; why != "" {
			return why
		}
	}
	return ""
}

// name returns the run's part of titles.
func (l scanLegs) name() string { return l.scan.ID + " " + l.run.Word }

// read is the leg of scans alone.
func (l scanLegs) read(index *query.Index, skip string) Step {
	step := Step{
		ID: ScanKey(l.scan, l.run) + "/" + where(index) + "/read", Title: l.name() + " " + where(index), Kind: ScanLeg, Timed: true,
		Needs: Updated, Leaves: Any, Effect: ReadOnly, Version: updated, Rows: l.spec.Samples, Skip: skip,
		Scan: &Scan{Query: l.run.Query, Indexed: index, Expect: l.run.Expect},
	}
	step.load(l.run.Volume)
	return step
}

// mixed is the leg in which a share of the scans is followed by an exchange, and the step that undoes the exchanges.
func (l scanLegs) mixed(index *query.Index, ratio float64, skip string) []Step {
	step := l.read(index, skip)
	percent := spec.Percent(ratio)
	step.ID = fmt.Sprintf("%s/%s/write-%s", ScanKey(l.scan, l.run), where(index), percent)
	step.Title += " + " + percent + " % writes"
	step.Leaves, step.Effect, step.Scan.WriteRatio = Stirred, Consuming, ratio
	if index != nil && index.Unique && step.Skip == "" {
		step.Skip = "exchanging two rows would break the unique index for a moment"
	}
	if step.Skip != "" {
		return []Step{step}
	}
	return []Step{step, restore(step.ID + "/restore")}
}

// restore makes every row what it was before a leg that stirred them.
func restore(id string) Step {
	return Step{ID: id, Title: "Restore", Kind: Restore, Needs: Stirred, Leaves: Updated, Effect: Repeatable, Version: updated}
}

// where names the context of a leg.
func where(index *query.Index) string {
	if index == nil {
		return "heap"
	}
	return "indexed"
}

// build is the leg that builds the index.
func (l scanLegs) build(index *query.Index) Step {
	step := l.indexStep(index, IndexBuild, "build")
	step.Scan = &Scan{Query: l.run.Query, Indexed: index, Expect: l.run.Expect} // its first correct answer is one of the clocks
	return step
}

// drop is the leg that removes it.
func (l scanLegs) drop(index *query.Index) Step { return l.indexStep(index, IndexDrop, "drop") }

func (l scanLegs) indexStep(index *query.Index, kind Kind, verb string) Step {
	return l.indexLeg(index, kind, verb, l.unsupported(index))
}

// indexLeg is a leg on an index, skipped when there is a reason. It is read-only, as the rows stay as they are: an execution that was cut short leaves
// them to the next, and the build that goes on with them.
func (l scanLegs) indexLeg(index *query.Index, kind Kind, verb, skip string) Step {
	return Step{
		ID: fmt.Sprintf("index/%s/%s/%s", l.scan.ID, l.run.Word, verb), Title: l.name() + " index " + verb, Kind: kind, Timed: true,
		Needs: Updated, Leaves: Any, Effect: ReadOnly, Version: updated, Rows: l.spec.Samples,
		Samples: 1, Clients: 1, Threads: 1, Index: index, Skip: skip,
	}
}

// load says how much the step does and how much of it at once.
func (s *Step) load(v spec.Volume) {
	s.Samples, s.Clients, s.Threads, s.Timing, s.Rate = v.Samples, v.Clients, v.Threads, v.Timing, v.Rate
}
