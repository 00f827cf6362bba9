package drivers

import "slices"

// Abilities is what an engine can do beyond the four single-row operations, as found by type assertion on its registration.
type Abilities struct {
	Load      bool `json:"load"`      // Loader: bulk writes for untimed loads
	Count     bool `json:"count"`     // Counter
	Mark      bool `json:"mark"`      // Marker
	Preflight bool `json:"preflight"` // Preflighter
	Sockets   bool `json:"sockets"`   // Socketer
	Carries   bool `json:"carries"`   // Describer, on the client or the database
	Scan      bool `json:"scan"`      // Scanner
	Index     bool `json:"index"`     // Indexer
	Batch     bool `json:"batch"`     // Batcher
	Modify    bool `json:"modify"`    // Modifier
	Range     bool `json:"range"`     // Ranger
	Search    bool `json:"search"`    // Searcher
}

// Abilities looks up the optional interfaces on Ability and DatabaseAbility; no server is needed.
func (e Engine) Abilities() Abilities {
	var a Abilities
	_, a.Load = e.Ability.(Loader)
	_, a.Count = e.DatabaseAbility.(Counter)
	_, a.Mark = e.DatabaseAbility.(Marker)
	_, a.Preflight = e.DatabaseAbility.(Preflighter)
	_, a.Sockets = e.DatabaseAbility.(Socketer)
	_, a.Scan = e.Ability.(Scanner)
	_, a.Index = e.DatabaseAbility.(Indexer)
	_, a.Batch = e.Ability.(Batcher)
	_, a.Modify = e.Ability.(Modifier)
	_, a.Range = e.Ability.(Ranger)
	_, a.Search = e.Ability.(Searcher)
	_, client := e.Ability.(Describer)
	_, database := e.DatabaseAbility.(Describer)
	a.Carries = client || database
	return a
}

// Words names the abilities a user would ask for, in a fixed order: "load", "count", "scan".
func (a Abilities) Words() []string {
	words := []string{}
	for _, ability := range []struct {
		has  bool
		word string
	}{{a.Load, "load"}, {a.Count, "count"}, {a.Scan, "scan"}, {a.Index, "index"}, {a.Batch, "batch"}, {a.Modify, "modify"}, {a.Range, "range"}, {a.Search, "search"}} {
		if ability.has {
			words = append(words, ability.word)
		}
	}
	return words
}

// Embedded tells whether the engine can only run inside the agent.
func (e Engine) Embedded() bool {
	return !slices.ContainsFunc(e.Modes, func(mode ServerMode) bool { return mode != Embedded })
}

// Durable tells whether the rows outlive the agent, so that one run may load them and another query them. Servers keep them as long as
// they run; embedded engines do when they have a tier above none.
func (e Engine) Durable() bool {
	return !e.Embedded() || slices.ContainsFunc(e.Tiers, func(tier Tier) bool { return tier != TierNone })
}
