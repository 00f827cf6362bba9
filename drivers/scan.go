package drivers

import (
	"context"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
)

// Scanner is a Client that can run scans. CanScan is also called on the nil pointer Engine.Ability, before there is a server.
type Scanner interface {
	// CanScan returns nil when the engine can run the scan, Unsupported with the reason when it cannot. It is a pure function.
	CanScan(s *query.Scan) error
	// PrepareScan renders the scan and readies it on the client's connections, off the clock. The statement belongs to this client and may
	// be used by all of its threads at once, until the client is closed.
	PrepareScan(ctx context.Context, s *query.Scan) (Statement, error)
	// Scan runs the statement and receives the whole answer: every row, every column, to the last byte.
	Scan(ctx context.Context, statement Statement, answer *Answer) error
	// DecodeScan hands each row that the answer kept to each, off the clock: its key and, of a Full scan, the row. Key and row are only valid
	// during the call.
	DecodeScan(statement Statement, answer *Answer, each func(key corpus.Key, row *corpus.Row) error) error
	// DecodeGroups returns the groups of an answer to a scan with aggregates, off the clock.
	DecodeGroups(statement Statement, answer *Answer) ([]query.Group, error)
}

// Statement is a scan as a driver has readied it.
type Statement any

// Answer takes what a scan returned. A worker owns one and hands it to Scan again and again; a driver resets it first (Reset) and reuses its
// memory, so that a scan allocates nothing of ours in the steady state.
type Answer struct {
	// Keep asks to keep the rows for DecodeScan. Without it a driver receives each row into the same memory and keeps none.
	Keep bool
	// Each, when not nil, is called on the clock after each row, with the row alone in the Answer, which the driver then empties:
	// a whole table is checked so in little memory. Keep is set with it. DecodeScan may be called inside.
	Each func() error

	// Rows is how many rows came; groups count as rows. It is 0 after a Count scan.
	Rows int64
	// Count is the number that a Count scan returned.
	Count int64
	// Size is how many bytes of data were received in all rows, whether kept or not.
	Size int64

	// Bytes is the received data of the rows kept, their cells one after another, and Ends[i] where cell i ends in it; a negative value marks an
	// absent cell. How many cells a row has is the driver's business.
	Bytes []byte
	Ends  []int
	// Held is for engines in the agent's own memory: references to the stored values in place of copies.
	Held []any
}

// Reset empties the answer for another scan; Keep, Each and the memory stay.
func (a *Answer) Reset() {
	a.Rows, a.Count, a.Size = 0, 0, 0
	a.empty()
}

func (a *Answer) empty() {
	a.Bytes, a.Ends = a.Bytes[:0], a.Ends[:0]
	clear(a.Held)
	a.Held = a.Held[:0]
}

// Row is called by a driver after each row that it has received into Bytes, Ends or Held, with the bytes of its data. It counts the row, hands it
// to Each, and forgets it unless it is to be kept.
func (a *Answer) Row(size int64) error {
	a.Rows++
	a.Size += size
	if a.Each != nil {
		err := a.Each()
		a.empty()
		return err
	}
	if !a.Keep {
		a.empty()
	}
	return nil
}

// Chunk is Row for several rows that were received together, with the bytes of all their data. It is not for an answer with Each.
func (a *Answer) Chunk(rows, size int64) {
	a.Rows += rows
	a.Size += size
	if !a.Keep {
		a.empty()
	}
}

// Ranger is a Client that can read a run of rows, as YCSB's scans do.
type Ranger interface {
	// Range receives, with every column, the rows of the keys from the given one on, in the order of the keys, most of them. The first key
	// need not be there. DecodeRange reads the answer as DecodeScan does.
	Range(ctx context.Context, from corpus.Key, most int64, answer *Answer) error
	// DecodeRange hands each row that the answer kept to each, off the clock, with its key.
	DecodeRange(answer *Answer, each func(key corpus.Key, row *corpus.Row) error) error
}

// Explainer is a Client that can say how its server runs a scan.
type Explainer interface {
	// Explain returns the server's own plan for the scan, and whether it uses the index.
	Explain(ctx context.Context, s *query.Scan, index query.Index) (Explanation, error)
}

// Explanation is a server's plan.
type Explanation struct {
	Text string `json:"text"` // in the server's own words, cut by CutPlan
	Uses bool   `json:"uses"` // the index asked for serves the scan
}

// MaxPlan is the longest text of an Explanation, in bytes.
const MaxPlan = 16 << 10

// CutPlan returns the beginning of a server's plan, as much of it as an Explanation holds, in whole characters.
func CutPlan(text string) string { return strings.ToValidUTF8(text[:min(len(text), MaxPlan)], "") }

// Analyzer is a Database that can bring its statistics up to date, after loads and index builds.
type Analyzer interface {
	// Analyze returns when the statistics are up to date.
	Analyze(ctx context.Context) error
}
