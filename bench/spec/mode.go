package spec

import (
	"fmt"
	"strings"
)

// Mode says which part of a benchmark runs.
type Mode string

// The modes.
const (
	ModeAll   Mode = "all"   // load, measure, delete
	ModeLoad  Mode = "load"  // create and update, then keep the data
	ModeQuery Mode = "query" // only legs that write nothing, on data that a load left
)

// ParseMode returns the mode of that name.
func ParseMode(name string) (Mode, error) {
	return oneOf(name, ModeAll, ModeLoad, ModeQuery)
}

// oneOf returns the choice that is written as text, or an error that names them all and the nearest.
func oneOf[T ~string](text string, choices ...T) (T, error) {
	names := make([]string, len(choices))
	for i, choice := range choices {
		if string(choice) == text {
			return choice, nil
		}
		names[i] = string(choice)
	}
	var none T
	return none, fmt.Errorf("%q is not one of %s%s", text, strings.Join(names, ", "), didYouMean(text, names))
}
