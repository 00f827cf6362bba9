package activities

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
)

const (
	// leastSpace is what logs, results and the smallest database need.
	leastSpace = 64 << 20
	// spacePerByte is how many bytes on disk a byte of a row takes, with log, indexes and the second version of every row: a guess on the
	// low side, as it refuses only what cannot succeed.
	spacePerByte = 2
	// rowOverhead is what an engine keeps for a row beside its content.
	rowOverhead = 32
)

// checkSpace refuses a run whose data does not fit on the disk, before it fills it.
func checkSpace(s spec.Spec, dir string) error {
	need := int64(leastSpace)
	if onDisk(s) {
		rows, err := s.Corpus()
		if err != nil {
			return permanent(TypeSpec, fmt.Errorf("make the corpus: %w", err))
		}
		need += s.Samples * (meanRowSize(rows, s.Samples) + int64(s.Key.Len()) + rowOverhead) * spacePerByte
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return nil // a filesystem that does not tell is found out when it is full
	}
	free := int64(stat.Bavail) * int64(stat.Bsize)
	if free < need {
		return permanent(TypePreflight, fmt.Errorf("no room for the run: %s has %d MiB free and %d rows need about %d MiB; free some, choose another "+
			"--data-dir or fewer --samples", dir, free>>20, s.Samples, need>>20))
	}
	return nil
}

// onDisk tells whether the run's rows come to lie on a disk of this machine.
func onDisk(s spec.Spec) bool {
	engine, ok := drivers.Lookup(s.Database)
	if !ok || s.Server == string(drivers.Endpoint) || s.Endpoint != "" {
		return false
	}
	tier, err := engine.Tier(profileOf(s))
	return err == nil && tier != drivers.TierNone
}
