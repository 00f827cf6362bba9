package drivers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// CheckOptions returns every problem of a spec's [engine] table, each with the nearest valid name or the values that are allowed. It is
// empty when the options are good.
func (e Engine) CheckOptions(options map[string]string) []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		option, known := e.option(name)
		if !known {
			problems = append(problems, e.unknownOption(name))
			continue
		}
		if err := option.allows(options[name]); err != nil {
			problems = append(problems, fmt.Sprintf("engine option %s = %q: %v", name, options[name], err))
		}
	}
	return problems
}

// Option returns the option's value, which is its default when options does not set it. An option the engine does not declare is a
// mistake of the driver and panics.
func (e Engine) Option(options map[string]string, name string) string {
	option, known := e.option(name)
	if !known {
		panic(fmt.Sprintf("drivers: engine %q has no option %q", e.Name, name))
	}
	if value, set := options[name]; set {
		return value
	}
	return option.Values[0]
}

func (e Engine) option(name string) (Option, bool) {
	i := slices.IndexFunc(e.Options, func(o Option) bool { return o.Name == name })
	if i < 0 {
		return Option{}, false
	}
	return e.Options[i], true
}

func (o Option) allows(value string) error {
	if o.Check != nil {
		return o.Check(value)
	}
	if slices.Contains(o.Values, value) {
		return nil
	}
	return fmt.Errorf("allowed are %s", quoted(o.Values))
}

func (e Engine) unknownOption(name string) string {
	if len(e.Options) == 0 {
		return fmt.Sprintf("engine option %s: engine %s has no options", name, e.Name)
	}
	names := make([]string, len(e.Options))
	for i, option := range e.Options {
		names[i] = option.Name
	}
	if nearest := Nearest(name, names); nearest != "" {
		return fmt.Sprintf("engine option %s: engine %s has no such option; did you mean %s?", name, e.Name, nearest)
	}
	return fmt.Sprintf("engine option %s: engine %s has no such option; it has %s", name, e.Name, strings.Join(names, ", "))
}

// Nearest returns the name most like the one given, or "" when none is near enough to be what was meant.
func Nearest(name string, names []string) string {
	if name == "" {
		return ""
	}
	best, bestDistance := "", max(2, len(name)/2)+1
	for _, candidate := range names {
		if distance := levenshtein.Distance(strings.ToLower(name), candidate, nil); distance < bestDistance {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

func quoted(values []string) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = fmt.Sprintf("%q", value)
	}
	return strings.Join(texts, ", ")
}
