package spec

import "fmt"

// checkEntries finds what makes an entry of a workload file useless, whatever else is asked for.
func (f *File) checkEntries() {
	for i, scan := range f.Scans {
		path := fmt.Sprintf("scans[%d]", i)
		if scan.ID == "" {
			f.problem(path, "has no id")
		}
		if (scan.Name == "") == (len(scan.Runs) == 0) {
			f.problem(path, "wants either a name or runs")
		}
		f.checkIterations(path, scan.Samples, scan.Iterations)
		for j, run := range scan.Runs {
			f.checkIterations(fmt.Sprintf("%s.runs[%d]", path, j), run.Samples, run.Iterations)
		}
	}
	for i, mix := range f.Mixes {
		path := fmt.Sprintf("mixes[%d]", i)
		if mix.Name == "" {
			f.problem(path, "has no name")
		}
		f.checkIterations(path, nil, mix.Iterations)
	}
	for i, batch := range f.Batches {
		path := fmt.Sprintf("batches[%d]", i)
		if batch.Name == "" {
			f.problem(path, "has no name")
		}
		if _, err := oneOf(batch.Operation, BatchCreate, BatchRead, BatchUpdate, BatchDelete); err != nil {
			f.problem(path+".operation", "%v", err)
		}
		if batch.BatchSize < 1 {
			f.problem(path+".batch_size", "must be at least 1, is %d", batch.BatchSize)
		}
		f.checkIterations(path, batch.Samples, batch.Iterations)
	}
}

// checkIterations checks a number of operations that has two names.
func (f *File) checkIterations(path string, samples, iterations *int64) {
	if samples != nil && iterations != nil {
		f.problem(path+".samples", "is the older name of iterations; give one of them")
	}
	for _, given := range []struct {
		name string
		n    *int64
	}{{"samples", samples}, {"iterations", iterations}} {
		if given.n != nil && *given.n < 1 {
			f.problem(path+"."+given.name, "must be at least 1, is %d", *given.n)
		}
	}
}
