// Package spec is what a user asks for: a TOML file and flags, strictly decoded into one plain value, validated with every problem
// reported at once.
package spec

import (
	"time"

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
	Samples          int64             `json:"samples"` // rows, and operations of each counted leg
	Clients          int               `json:"clients"`
	Threads          int               `json:"threads"` // operations in flight per client
	Key              corpus.KeyKind    `json:"key"`
	Random           bool              `json:"random"`
	Seed             uint64            `json:"seed"` // always set: given or chosen
	Sync             bool              `json:"sync"`
	Persisted        bool              `json:"persisted"`
	Optimised        bool              `json:"optimised"`
	Mode             Mode              `json:"mode"`
	DataDir          string            `json:"dataDir,omitempty"` // where load keeps and query finds data and manifest; absolute
	OperationTimeout Duration          `json:"operationTimeout"`
	MaxErrorRate     float64           `json:"maxErrorRate"`
	Verify           load.Verify       `json:"verify"`
	ShowSample       bool              `json:"showSample,omitempty"`
	Engine           map[string]string `json:"engine,omitempty"` // the engine's own settings
	Value            map[string]any    `json:"value"`            // the value template as written: strings, arrays, nested tables
}

// Mode says which part of a benchmark runs.
type Mode string

// The modes.
const (
	ModeAll   Mode = "all"   // load, measure, delete
	ModeLoad  Mode = "load"  // create and update, then keep the data
	ModeQuery Mode = "query" // only legs that write nothing, on data that a load left
)

// Duration is a time.Duration that is written as text with a unit, e.g. "30s".
type Duration time.Duration
