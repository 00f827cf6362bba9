package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// DocumentKey returns where a run's result document is kept: "<run>/result.json".
func DocumentKey(runID string) string { return runID + "/result.json" }

// MatrixKey returns where the summary of a matrix is kept: "<run>/matrix.json".
func MatrixKey(runID string) string { return runID + "/matrix.json" }

// LegKey returns where leg number n of a run, counted from 1 in the order of the plan, is kept from the moment it has finished, e.g.
// "<run>/legs/002-read.json". The number keeps listings in the order of the plan and the name unique; the words of stepID are joined
// by "--", and bytes that are not letters, digits, ".", "_" or "-" are written as %XX.
func LegKey(runID string, n int, stepID string) string {
	var name strings.Builder
	for _, b := range []byte(stepID) {
		switch {
		case b == '/':
			name.WriteString("--")
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '.', b == '_', b == '-':
			name.WriteByte(b)
		default:
			fmt.Fprintf(&name, "%%%02X", b)
		}
	}
	return fmt.Sprintf("%s/legs/%03d-%s.json", runID, n, name.String())
}

// RunIDs returns the runs of which the store holds anything, sorted, those without a result document included.
func RunIDs(ctx context.Context, s Store) ([]string, error) {
	keys, err := s.List(ctx, "")
	if err != nil {
		return nil, err
	}
	var runs []string
	for _, key := range keys {
		if run, _, below := strings.Cut(key, "/"); below { // a file beside the runs is not one
			runs = append(runs, run)
		}
	}
	slices.Sort(runs) // "a-b/…" comes before "a/…" among keys, but "a" before "a-b" among runs
	return slices.Compact(runs), nil
}
