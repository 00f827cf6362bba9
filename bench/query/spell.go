package query

import "strings"

// spelling returns the operator as a workload file spells it.
func (op Op) spelling() string { return strings.ReplaceAll(string(op), "-", "_") }
