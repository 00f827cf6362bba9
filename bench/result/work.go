package result

// Scan is what a scan leg, or the build of an index, asked of how many rows.
type Scan struct {
	Projection string `json:"projection"` // id, full, count or aggregate
	Context    string `json:"context"`    // heap or indexed
	Rows       int64  `json:"rows"`       // in the table
	// Matching is how many of them the condition matches, counted on the corpus; absent for a condition in the engine's own words.
	Matching *int64 `json:"matching,omitempty"`
	// Expected is how many rows (of a count, the number; of aggregates, the groups) each operation has to return; absent when not known.
	Expected *int64 `json:"expected,omitempty"`
	// Raw tells that the condition or the order is in the engine's own words, so that its answers cannot be known.
	Raw bool `json:"raw,omitempty"`
	// WriteRatio is the share of operations, 0 to 1, that were each to be followed by an exchange of two rows' contents.
	WriteRatio float64 `json:"writeRatio,omitempty"`
}

// Selectivity returns the share of the rows that match, 0 to 1; ok is false when it is not known.
func (s *Scan) Selectivity() (share float64, ok bool) {
	if s == nil || s.Matching == nil || s.Rows == 0 {
		return 0, false
	}
	return float64(*s.Matching) / float64(s.Rows), true
}

// Batch is what a batch leg did at a time.
type Batch struct {
	Operation string `json:"operation"` // create, read, update or delete
	Size      int    `json:"size"`      // rows of one operation
}

// Mix is what the operations of a mixed leg were drawn from.
type Mix struct {
	Weights      []Weight     `json:"weights"`
	Distribution Distribution `json:"distribution"`
	Trial        *Trial       `json:"trial,omitempty"` // of modifications, where several at once may be in the leg; nil when none was made
}

// Trial is what modifications of one row did, all workers at once, before the leg. Two that replaced the same version of it show that the
// engine's transaction let another's write come between: one of the two is lost.
type Trial struct {
	Modifications int64 `json:"modifications"` // that succeeded
	Failed        int64 `json:"failed"`
	Lost          int64 `json:"lost"` // of those that succeeded
}

// Weight is how often one kind of operation was drawn, relative to the others.
type Weight struct {
	Operation string  `json:"operation"` // read, update, insert, scan-range or modify
	Weight    float64 `json:"weight"`
	Length    int64   `json:"length,omitempty"` // the most rows of a scan-range
}

// Distribution is how rows were drawn.
type Distribution struct {
	Name          string  `json:"name"` // uniform, zipf, hotspot or latest
	Theta         float64 `json:"theta,omitempty"`
	HotRows       float64 `json:"hotRows,omitempty"`       // share of the rows, 0 to 1
	HotOperations float64 `json:"hotOperations,omitempty"` // share of the operations that go to them
}

// Index is an index and how its build went by three clocks, all from the start of the call. A clock that was not read is absent.
type Index struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"` // ordered, elements, fulltext or count
	Fields     []string `json:"fields"`
	Unique     bool     `json:"unique,omitempty"`
	ReturnedNs *int64   `json:"returnedNs,omitempty"` // the server's call returned
	CorrectNs  *int64   `json:"correctNs,omitempty"`  // the scan gave its first correct answer
	ServingNs  *int64   `json:"servingNs,omitempty"`  // it serves, and nothing is left to do for it
	// How is how the engine knows that nothing is left to do, e.g. "pg_index.indisvalid"; Polls how often it was asked.
	How   string `json:"how,omitempty"`
	Polls int64  `json:"polls,omitempty"`
	Bytes *int64 `json:"sizeBytes,omitempty"` // on disk or in memory; absent when the server does not tell
	// MemoryBefore is what the server's processes held just before the build began, MemoryAfter when the index served. Where one is absent, or has to be
	// explained, MemoryNote says why.
	MemoryBefore *Memory `json:"memoryBefore,omitempty"`
	MemoryAfter  *Memory `json:"memoryAfter,omitempty"`
	MemoryNote   string  `json:"memoryNote,omitempty"`
	// Resumed tells that the agent was lost in the build and that the clocks run from the start that it had recorded.
	Resumed bool   `json:"resumed,omitempty"`
	Note    string `json:"note,omitempty"`
}

// Memory is what a process tree held at one moment.
type Memory struct {
	Bytes int64  `json:"bytes"`
	Kind  string `json:"kind"` // "pss", or the fallback "rss"
	// Group is what the kernel had on the account of the processes' control group, where they have one of their own: with files that are cached for it.
	Group *int64 `json:"groupBytes,omitempty"`
}

// Explanation is the server's own plan for a scan.
type Explanation struct {
	Text string `json:"text,omitempty"` // in the server's own words
	// Uses tells whether the index serves the scan; absent when the engine cannot say, and Note then says so.
	Uses *bool  `json:"uses,omitempty"`
	Note string `json:"note,omitempty"`
}

// KindCount is the part of one kind of operation in a leg that has several.
type KindCount struct {
	Operation string   `json:"operation"` // read, update, insert, scan-range, modify
	OK        int64    `json:"ok"`
	Failed    int64    `json:"failed"`
	Service   *Latency `json:"service,omitempty"` // of those that succeeded
	Response  *Latency `json:"response,omitempty"`
}

// Exchanges are the writes of a mixed scan leg: each takes two updates, by which two rows change places in content. Of those in the warm-up
// only the failures are counted.
type Exchanges struct {
	OK      int64        `json:"ok"`
	Failed  int64        `json:"failed"`
	Errors  []ErrorCount `json:"errors,omitempty"` // of the updates that failed
	Update  *Latency     `json:"update,omitempty"` // service time of the single updates that succeeded
	Checked int64        `json:"checked"`          // rows that were read after the leg and compared with what the exchanges make of them
	Wrong   int64        `json:"wrong"`
}

// OpenLoop is how a leg's schedule was kept: operations were meant to start at their times, whether or not earlier ones had come back.
type OpenLoop struct {
	Arrival  string  `json:"arrival"`  // constant or poisson
	Offered  float64 `json:"offered"`  // operations per second, as asked
	Achieved float64 `json:"achieved"` // operations that succeeded per second
	// Lateness is how far real starts were behind the intended ones; absent when nothing was started.
	Lateness *Latency `json:"lateness,omitempty"`
	Dropped  int64    `json:"dropped"` // operations whose time came before the end and that were never started
	// Backlog is how many operations were due and not yet begun at the end; Slope how much that grew per second.
	Backlog int64   `json:"backlog"`
	Slope   float64 `json:"backlogSlope"` // operations per second
	// AgentLate is the share of the operations, 0 to 1, that began late although a worker was free for them: the agent is to blame. Absent when
	// it is not known.
	AgentLate *float64 `json:"agentLate,omitempty"`
}

// Steady compares the halves of a window.
type Steady struct {
	First  float64 `json:"first"`  // operations per second in the first half
	Second float64 `json:"second"` // and in the second
	Steady bool    `json:"steady"`
	Note   string  `json:"note,omitempty"` // why it is not called steady
}

// WholeCheck is the check of a scan's whole answer, row by row, before the clock starts.
type WholeCheck struct {
	Rows   int64 `json:"rows"`  // that came; of a count, the number
	Wrong  int64 `json:"wrong"` // things that were wrong, as far as they were looked at
	TookNs int64 `json:"tookNs"`
}
