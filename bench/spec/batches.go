package spec

import (
	"cmp"
	"fmt"
	"math"
)

// maxBatch is the most rows of a batch: they are made before its clock starts and held in memory, for each operation in flight.
const maxBatch = 1_000_000

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
		b.checkBatchSize(entry.BatchSize, path+".batch_size")
		if batch.Samples > math.MaxInt64/int64(batch.Size) || batch.Rows() > MaxSamples {
			b.fileProblem(path, "%d batches of %d are more than %d rows", batch.Samples, batch.Size, MaxSamples)
			continue
		}
		b.checkBatchRows(batch.Rows(), path)
		after, _, err := rows.After(batch)
		if err != nil {
			b.fileProblem(path, "%s: %v", entry.Name, err)
		}
		rows = after
		b.Batches = append(b.Batches, batch)
	}
}

// checkBatchSize refuses a batch of more rows than the engine takes, or than are kept ready.
func (b *builder) checkBatchSize(size int64, path string) {
	if most := int64(b.engine.MaxBatch); most > 0 && size > most {
		b.fileProblem(path, "%d rows are more than the %d that %s takes in a batch", size, most, b.engine.Name)
	} else if size > maxBatch {
		b.fileProblem(path, "%d rows are more than the %d that a batch may have", size, maxBatch)
	}
}
