// Package plan turns a spec and an engine's abilities into the ordered steps of a benchmark. It is pure: the same input gives the same
// plan, byte for byte, so a plan can be printed before, stored beside and replayed after a run.
package plan

import (
	"fmt"

	"github.com/durabench/durabench/bench/spec"
)

// Plan is the ordered list of steps of one benchmark.
type Plan struct {
	Engine string    `json:"engine"`
	Mode   spec.Mode `json:"mode"`
	Steps  []Step    `json:"steps"`
}

// DryEngine is the name of the engine that stores nothing and answers at once: its legs cost what the harness costs.
const DryEngine = "dry"

// Bounds of the operations of a calibration. It measures the harness, not the database, so a run of a few rows does not make it vague
// and a run of very many does not make it long: at about 100 ns each it takes between 10 and 100 ms per core.
const (
	minCalibration = 100_000
	maxCalibration = 1_000_000
)

// The row versions: create writes the first, update the second.
const (
	created = 0
	updated = 1
)

// New returns the plan of s on an engine with abilities a. What the engine cannot do at all is an error, spec.Problems when the spec is
// to blame.
func New(s *spec.Spec, a Abilities) (*Plan, error) {
	if s.Database != a.Engine {
		return nil, fmt.Errorf("plan %s: the abilities are those of %s", s.Database, a.Engine)
	}
	if s.Mode != spec.ModeAll && !a.Durable {
		keeps := "keeps its rows in memory only"
		if a.Engine == DryEngine {
			keeps = "keeps no rows"
		}
		msg := fmt.Sprintf("%s %s: load and query need an engine whose data outlives the agent", a.Engine, keeps)
		return nil, spec.Problems{{Key: "--mode", Msg: msg}}
	}
	p := &Plan{Engine: a.Engine, Mode: s.Mode}
	if s.Mode != spec.ModeLoad {
		p.add(Neighbourhoods(s, a)...)
	}
	switch s.Mode {
	case spec.ModeAll:
		p.add(prepare(), calibrate(s), leg(s, Create), leg(s, Read), leg(s, Update))
		if err := p.addQueries(s, a); err != nil {
			return nil, err
		}
		p.add(leg(s, Delete))
		if err := p.addBatches(s, a); err != nil {
			return nil, err
		}
	case spec.ModeLoad:
		p.add(prepare(), calibrate(s), leg(s, Create), leg(s, Update))
		if a.Analyze {
			p.add(analyze("analyze"))
		}
	case spec.ModeQuery:
		p.add(attach(), calibrate(s), leg(s, Read))
		if err := p.addQueries(s, a); err != nil {
			return nil, err
		}
	default:
		_, err := spec.ParseMode(string(s.Mode))
		return nil, fmt.Errorf("plan %s: mode %w", s.Database, err)
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	return p, nil
}

// addQueries appends scans and mixes and what they need to be right and ready.
func (p *Plan) addQueries(s *spec.Spec, a Abilities) error {
	if step, ok := truth(s, a); ok {
		p.add(step)
	}
	if len(s.Scans)+len(s.Mixes) > 0 && a.Analyze && s.Mode == spec.ModeAll {
		p.add(analyze("analyze"))
	}
	p.addScans(s, a)
	return p.addMixes(s, a)
}

// add appends steps. The dry engine needs no calibration: its own legs show the same cost, and a second look would only differ by noise.
func (p *Plan) add(steps ...Step) {
	state := p.Before()
	for _, step := range steps {
		if step.Kind == Calibrate && p.Engine == DryEngine {
			continue
		}
		if step.Kind == Read && state == Updated {
			step.Needs, step.Version = Updated, updated
		}
		if step.Leaves != Any {
			state = step.Leaves
		}
		p.Steps = append(p.Steps, step)
	}
}

// Before returns the state in which the plan expects to find the dataset: what a load left for a query, else nothing.
func (p *Plan) Before() State {
	if p.Mode == spec.ModeQuery {
		return Updated
	}
	return Absent
}

// After returns the state in which the plan leaves the dataset.
func (p *Plan) After() State { return p.stateBefore(len(p.Steps)) }

// stateBefore returns the state of the dataset when step i begins.
func (p *Plan) stateBefore(i int) State {
	state := p.Before()
	for _, step := range p.Steps[:i] {
		if step.Skip == "" && step.Leaves != Any {
			state = step.Leaves
		}
	}
	return state
}

// Timed returns the steps that are legs of the result, in order.
func (p *Plan) Timed() []Step {
	var timed []Step
	for _, step := range p.Steps {
		if step.Timed {
			timed = append(timed, step)
		}
	}
	return timed
}

// Step returns the step with that id.
func (p *Plan) Step(id string) (Step, bool) {
	for _, step := range p.Steps {
		if step.ID == id {
			return step, true
		}
	}
	return Step{}, false
}

// Check returns an error when a step would find the dataset in another state than it needs, or cannot be told from another by its id.
// Recovery relies on both.
func (p *Plan) Check() error {
	seen := map[string]bool{}
	for i, step := range p.Steps {
		if step.ID == "" || seen[step.ID] {
			return fmt.Errorf("check plan of %s: step %d has the id %q, which is empty or taken", p.Engine, i, step.ID)
		}
		seen[step.ID] = true
		if step.Skip != "" {
			continue
		}
		if state := p.stateBefore(i); step.Needs != Any && step.Needs != state {
			return fmt.Errorf("check plan of %s: step %s needs the dataset %s, finds it %s", p.Engine, step.ID, step.Needs, state)
		}
		if step.Effect == ReadOnly && step.Leaves != Any {
			return fmt.Errorf("check plan of %s: step %s is read-only and leaves the dataset %s", p.Engine, step.ID, step.Leaves)
		}
		if step.Timed && step.Samples < 1 && step.Timing == nil {
			return fmt.Errorf("check plan of %s: leg %s has no operations", p.Engine, step.ID)
		}
	}
	return nil
}
