package spec

import (
	"cmp"
	"fmt"
	"math"
)

// takeBatches resolves the batches of the file, and refuses one that would work on rows that are not there.
func (b *builder) takeBatches() {
	if b.skipBatches || b.Mode != ModeAll {
		return
	}
	taken := map[string]int{}
	var rows RowSet
	for i, entry := range b.file.Batches {
		path := fmt.Sprintf("batches[%d]", i)
		b.checkName(entry.Name, path, taken)
		batch := Batch{Name: entry.Name, Operation: entry.Operation, Size: narrow(entry.BatchSize), Samples: b.Samples}
		if n := cmp.Or(entry.Iterations, entry.Samples); n != nil {
			batch.Samples = *n
		}
		if batch.Size < 1 || batch.Samples < 1 {
			continue // and known to be a problem
		}
		if batch.Samples > math.MaxInt64/int64(batch.Size) || batch.Rows() > MaxSamples {
			b.fileProblem(path, "%d batches of %d are more than %d rows", batch.Samples, batch.Size, MaxSamples)
			continue
		}
		after, _, err := rows.After(batch)
		if err != nil {
			b.fileProblem(path, "%s: %v", entry.Name, err)
		}
		rows = after
		b.Batches = append(b.Batches, batch)
	}
}
