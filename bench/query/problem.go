package query

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a scan.
type Problem struct {
	// Key is the path of the key at fault below the scan's table in the workload file, e.g. `where."geography.code".eq` or "order[1]". In a tree that
	// was built by hand it is the place in the tree, e.g. "where.args[1]".
	Key string
	Msg string // what is wrong and what would be right
}

// Problems is everything that is wrong with a scan, as one error.
type Problems []Problem

// Error returns the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.Key + ": " + problem.Msg
	}
	return strings.Join(lines, "\n")
}

func (p *Problems) add(key, format string, args ...any) {
	*p = append(*p, Problem{Key: key, Msg: fmt.Sprintf(format, args...)})
}

// err returns the problems as an error, nil when there are none.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}
