package drivers

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
)

var registry struct {
	sync.RWMutex
	engines map[string]Engine
}

// engineName is what -d takes and what file names and leg ids are built from, so it is kept to what needs no quoting anywhere.
var engineName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Register adds an engine. It is called from the init function of the engine's package and panics when the registration is incomplete
// or its name is taken: both are mistakes of ours that must not survive the first start of a program.
func Register(engine Engine) {
	if err := engine.complete(); err != nil {
		panic(fmt.Sprintf("drivers: registration of engine %q: %v", engine.Name, err))
	}
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.engines[engine.Name]; taken {
		panic(fmt.Sprintf("drivers: engine %q is registered twice", engine.Name))
	}
	if registry.engines == nil {
		registry.engines = make(map[string]Engine)
	}
	registry.engines[engine.Name] = engine
}

// Lookup returns the engine that -d names.
func Lookup(name string) (Engine, bool) {
	registry.RLock()
	defer registry.RUnlock()
	engine, found := registry.engines[name]
	return engine, found
}

// Names returns the names of all registered engines, sorted.
func Names() []string {
	engines := Engines()
	names := make([]string, len(engines))
	for i, engine := range engines {
		names[i] = engine.Name
	}
	return names
}

// Engines returns all registered engines, sorted by name.
func Engines() []Engine {
	registry.RLock()
	defer registry.RUnlock()
	engines := make([]Engine, 0, len(registry.engines))
	for _, engine := range registry.engines {
		engines = append(engines, engine)
	}
	slices.SortFunc(engines, func(a, b Engine) int { return cmp.Compare(a.Name, b.Name) })
	return engines
}

// complete names everything that is missing from a registration.
func (e Engine) complete() error {
	var problems []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	need(engineName.MatchString(e.Name), "the name must be words of lower-case letters and digits joined by dashes")
	need(e.Title != "", "Title is empty")
	need(slices.Contains(families, e.Family), "Family %q is not one of %v", e.Family, families)
	need(len(e.Modes) > 0, "Modes is empty")
	for _, mode := range e.Modes {
		need(slices.Contains(modes, mode), "mode %q is not one of %v", mode, modes)
	}
	need(len(e.Tiers) > 0, "Tiers is empty")
	for _, tier := range e.Tiers {
		need(slices.Contains(tiers, tier), "tier %q is not one of %v", tier, tiers)
	}
	need(e.Tier != nil, "Tier is nil")
	need(e.Ability != nil, "Ability is nil")
	need(e.DatabaseAbility != nil, "DatabaseAbility is nil")
	need(e.Open != nil, "Open is nil")
	if !e.Embedded() {
		need(e.Connections != nil, "Connections is nil, but the engine has a server")
	}
	if slices.Contains(e.Modes, Process) || slices.Contains(e.Modes, Docker) {
		need(e.Server != nil, "Server is nil, but Modes has process or docker")
	}
	if e.Server != nil {
		problems = append(problems, e.Server.complete(e.Modes)...)
	}
	names := make(map[string]bool)
	for _, option := range e.Options {
		need(engineName.MatchString(option.Name), "option name %q", option.Name)
		need(!names[option.Name], "option %q is there twice", option.Name)
		names[option.Name] = true
		need(len(option.Values) > 0, "option %q has no values; the first is its default", option.Name)
		need(option.Help != "", "option %q has no help", option.Name)
		if option.Check != nil && len(option.Values) > 0 {
			err := option.Check(option.Values[0])
			need(err == nil, "option %q refuses its own default %q: %w", option.Name, option.Values[0], err)
		}
	}
	return errors.Join(problems...)
}

// complete names what is missing for the modes the engine offers.
func (s *Server) complete(offered []ServerMode) (problems []error) {
	need := func(ok bool, text string) {
		if !ok {
			problems = append(problems, errors.New(text))
		}
	}
	if slices.Contains(offered, Process) {
		need(len(s.Binaries) > 0, "Server.Binaries is empty, but Modes has process")
		need(s.Install != "", "Server.Install is empty: say what to install when no binary is found")
		need(s.Command != nil, "Server.Command is nil, but Modes has process")
	}
	if slices.Contains(offered, Docker) {
		need(s.Image != "", "Server.Image is empty, but Modes has docker")
		need(s.Port != 0, "Server.Port is 0, but Modes has docker")
	}
	need(s.Endpoint != nil, "Server.Endpoint is nil")
	return problems
}
