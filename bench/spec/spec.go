// Package spec is what a user asks for: a TOML file and flags, strictly decoded into one plain value, validated with every problem
// reported at once.
//
// Build is the way in: it merges the command line over the file over the defaults. A Spec that came out of it is complete: nothing is
// left to be chosen later but the way to have the server.
package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/load"
)

// Spec is one benchmark of one engine. It is plain data that travels as JSON through workflow inputs and into the result document;
// durations are written as text ("30s"). It never holds a secret.
type Spec struct {
	Name             string            `json:"name,omitempty"`     // names the run; result files and load/query pairs carry it
	Database         string            `json:"database"`           // engine name
	Server           string            `json:"server,omitempty"`   // embedded, process, docker or endpoint; empty: the first that works
	Endpoint         string            `json:"endpoint,omitempty"` // address without credentials
	Image            string            `json:"image,omitempty"`
	Pull             string            `json:"pull,omitempty"`          // of containers: missing, always or never; empty: missing
	CPUs             string            `json:"cpus,omitempty"`          // that the server's container may run on, e.g. "0-3,8"; empty: as the isolation has them
	Memory           int64             `json:"memory,omitempty"`        // bytes that the server's container may use; 0: no limit
	KeepOnFailure    bool              `json:"keepOnFailure,omitempty"` // of a run that fails, the server's container and volume stay
	Samples          int64             `json:"samples"`                 // rows, and operations of each counted leg
	Clients          int               `json:"clients"`
	Threads          int               `json:"threads"` // operations in flight per client
	Key              corpus.KeyKind    `json:"key"`
	Random           bool              `json:"random"`
	Seed             uint64            `json:"seed,string"` // always set: given or chosen; a string because JSON readers lose low bits
	Sync             bool              `json:"sync"`
	Persisted        bool              `json:"persisted"`
	Optimised        bool              `json:"optimised"`
	Mode             Mode              `json:"mode"`
	DataDir          string            `json:"dataDir,omitempty"` // where load keeps and query finds data and manifest; absolute
	OperationTimeout Duration          `json:"operationTimeout"`
	SearchWarmup     Duration          `json:"searchWarmup,omitempty"` // the longest warm-up before a search leg
	MaxErrorRate     float64           `json:"maxErrorRate"`
	Verify           load.Verify       `json:"verify"`
	ShowSample       bool              `json:"showSample,omitempty"`
	Isolation        *Isolation        `json:"isolation,omitempty"` // Build always gives one; nil: none
	Engine           map[string]string `json:"engine,omitempty"`    // the engine's own settings
	Value            map[string]any    `json:"value"`               // the value template as written: strings, arrays, nested tables
	// Datasets are the data sets that vectors are of, by name.
	Datasets map[string]Dataset `json:"datasets,omitempty"`
	// Searched tells that a run of a scan looks for nearest neighbours. A worker also sets it of a query whose data was loaded for searches.
	Searched bool    `json:"searched,omitempty"`
	Scans    []Scan  `json:"scans,omitempty"`
	Mixes    []Mix   `json:"mixes,omitempty"`
	Batches  []Batch `json:"batches,omitempty"`
	Rate     *Rate   `json:"rate,omitempty"` // of the legs of single-row operations; nil: closed loop
}

// Digest returns the SHA-256 of the spec's canonical JSON in hex: fields in the order above, map keys sorted, no white space.
func (s *Spec) Digest() string {
	sum := sha256.Sum256(s.canonical())
	return hex.EncodeToString(sum[:])
}

// canonical returns the JSON that Digest is taken of.
func (s *Spec) canonical() []byte {
	text, err := json.Marshal(s)
	if err != nil {
		// Only a Value with something other than text, arrays and tables gets here, and Build refuses that.
		panic(fmt.Sprintf("encode the spec of %s: %v", s.Database, err))
	}
	return text
}

// Corpus returns the rows and keys that the spec describes. Of data sets it opens the files and does not look at all that is in them, as CheckDatasets does.
func (s *Spec) Corpus() (*corpus.Corpus, error) {
	template, err := corpus.ParseTemplate(s.Value)
	if err != nil {
		return nil, fmt.Errorf("parse the value template: %w", err)
	}
	data, err := s.data()
	if err != nil {
		return nil, err
	}
	return corpus.NewOfData(s.Seed, template, s.Key, s.Random, data)
}

// WithoutWorkload returns the spec without what steps carry themselves: scans, mixes and batches. It is what an activity needs to know,
// and a history would keep the rest once for each of hundreds of steps.
func (s Spec) WithoutWorkload() Spec {
	s.Scans, s.Mixes, s.Batches = nil, nil, nil
	return s
}

// InFlight returns how many operations are in flight at any moment: clients × threads.
func (s *Spec) InFlight() int { return s.Clients * s.Threads }
