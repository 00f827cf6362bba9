package result

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// MatrixSchemaVersion is the version of the format of a matrix's summary.
const MatrixSchemaVersion = 1

// Matrix is the summary of a night of benchmarks: what every cell came to. Each cell that ran has a result document of its own, which says
// how its numbers came about.
type Matrix struct {
	Schema   int          `json:"schema"`
	ID       string       `json:"id"`
	Name     string       `json:"name"`
	Started  time.Time    `json:"started"`
	Finished time.Time    `json:"finished"`
	Command  []string     `json:"command,omitempty"`
	Cells    []MatrixCell `json:"cells"` // in the order of the matrix, for each host
}

// MatrixCell is one benchmark of a matrix.
type MatrixCell struct {
	Engine   string `json:"engine"`
	Workload string `json:"workload"`
	Variant  string `json:"variant,omitempty"`
	Host     string `json:"host"`
	// Run is the id of the cell's own run; absent when none was started.
	Run string `json:"run,omitempty"`
	// Verdict is the run's, or Skipped for an engine that the host cannot have and NotRun for a cell that was not reached.
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why,omitempty"`

	// What follows is of the run's document, and absent without one.
	Title      string      `json:"title,omitempty"`
	Version    string      `json:"version,omitempty"`
	Server     string      `json:"server,omitempty"`
	Image      string      `json:"image,omitempty"`
	Tier       string      `json:"tier,omitempty"` // read back
	Corpus     string      `json:"corpus,omitempty"`
	Key        string      `json:"key,omitempty"`
	Rows       int64       `json:"rows,omitempty"`
	Clients    int         `json:"clients,omitempty"`
	Threads    int         `json:"threads,omitempty"`
	HostDigest string      `json:"hostDigest,omitempty"`
	Harness    string      `json:"harness,omitempty"` // version of the build that measured
	Legs       []MatrixLeg `json:"legs,omitempty"`
}

// MatrixLeg is one leg of a cell in the few numbers of a headline.
type MatrixLeg struct {
	ID      string  `json:"id"`
	Title   string  `json:"title"`
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why,omitempty"`
	// Rate, P50 and P99 are there when the tables of the leg's own document show them, Took in their place for a leg that is one operation.
	Rate *float64 `json:"rate,omitempty"` // successful operations per second
	P50  *int64   `json:"p50,omitempty"`  // ns
	P99  *int64   `json:"p99,omitempty"`  // ns
	Took *int64   `json:"took,omitempty"` // ns
}

// Take fills in what a cell's own result document says.
func (c *MatrixCell) Take(d *Document) {
	c.Title, c.Version, c.Server, c.Image, c.Tier = d.Engine.Title, d.Engine.Version, d.Engine.Server, d.Engine.Image, d.Engine.Tier
	c.Corpus, c.Key, c.Rows, c.Clients, c.Threads = d.Corpus.Digest, d.Corpus.Key, d.Corpus.Rows, d.Engine.Clients, d.Engine.Threads
	c.HostDigest, c.Harness = d.Host.Digest, d.Harness.Version
	c.Legs = nil
	for _, leg := range d.Legs {
		c.Legs = append(c.Legs, headline(&leg))
	}
}

// headline returns a leg in the numbers that the tables of its document show, and in no other.
func headline(l *Leg) MatrixLeg {
	line := MatrixLeg{ID: l.ID, Title: l.Title, Verdict: l.Verdict, Why: l.Why}
	m := l.Measured
	if m == nil {
		return line
	}
	if l.showsRate() {
		line.Rate = m.Throughput
	}
	if m.Service == nil || !l.Verdict.showsLatency() {
		return line
	}
	if l.single() {
		line.Took = new(m.Service.Max)
	} else {
		line.P50, line.P99 = new(m.Service.P50), new(m.Service.P99)
	}
	return line
}

// class is what must be equal for the numbers of two cells to say something about their engines: the rows, the promise that a write is
// kept, the load, the workload, the machine and the harness. A cell without a document is in none.
type class struct {
	workload, corpus, key, tier, host, hostDigest, harness string
	rows                                                   int64
	clients, threads                                       int
}

func (c MatrixCell) class() (class, bool) {
	return class{
		workload: c.Workload, corpus: c.Corpus, key: c.Key, tier: c.Tier, host: c.Host, hostDigest: c.HostDigest, harness: c.Harness,
		rows: c.Rows, clients: c.Clients, threads: c.Threads,
	}, len(c.Legs) > 0 && c.Tier != ""
}

// Comparable tells whether the numbers of two cells may stand side by side.
func (c MatrixCell) Comparable(other MatrixCell) bool {
	a, measured := c.class()
	b, too := other.class()
	return measured && too && a == b
}

// Counts returns how many cells came to each verdict.
func (m *Matrix) Counts() map[Verdict]int {
	counts := map[Verdict]int{}
	for _, cell := range m.Cells {
		counts[cell.Verdict]++
	}
	return counts
}

// Verdict returns the worst of the cells' verdicts. Skipped cells count only when there is no other.
func (m *Matrix) Verdict() Verdict {
	verdict := Skipped
	for _, cell := range m.Cells {
		if cell.Verdict != Skipped && (verdict == Skipped || cell.Verdict.Worse(verdict)) {
			verdict = cell.Verdict
		}
	}
	return verdict
}

// Encode writes the summary as indented JSON.
func (m *Matrix) Encode(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(m)
}

// DecodeMatrix reads a summary.
func DecodeMatrix(data []byte) (*Matrix, error) {
	var m Matrix
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("decode the summary of a matrix: %w", err)
	}
	if m.Schema != MatrixSchemaVersion {
		return nil, fmt.Errorf("decode the summary of a matrix: it has schema %d, this build reads %d", m.Schema, MatrixSchemaVersion)
	}
	return &m, nil
}
