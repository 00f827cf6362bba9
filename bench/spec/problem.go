package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with what was asked.
type Problem struct {
	File string // the spec file, as it was named; empty for flags
	Line int    // counted from 1; 0 when the problem has no line
	Key  string // the key in the file ("value.city") or the flag ("--samples"); empty when the message says it
	Msg  string
}

// String returns the problem on one line: "bench.toml:12: thread: unknown key; did you mean threads?".
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d", p.Line)
		}
		b.WriteString(": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key)
		b.WriteString(": ")
	}
	b.WriteString(p.Msg)
	return b.String()
}

// Problems is every problem found, as one error.
type Problems []Problem

// Error returns the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// sorted returns the problems in reading order, each once: those of files by line, then those of flags as they were found.
func (p Problems) sorted() Problems {
	p = slices.Clone(p)
	slices.SortStableFunc(p, func(a, b Problem) int {
		switch {
		case a.File == "" && b.File == "":
			return 0
		case a.File == "":
			return 1
		case b.File == "":
			return -1
		}
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return slices.CompactFunc(p, func(a, b Problem) bool { return a == b })
}

// err returns the problems as an error, nil when there are none.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p.sorted()
}
