// Package conformance is the suite that every driver passes against its real server. A driver's own test calls Run once:
//
//	func TestConformance(t *testing.T) {
//		engine, _ := drivers.Lookup("sqlite")
//		conformance.Run(t, conformance.Harness{Engine: engine})
//	}
//
// A driver with a server starts it, or finds it, in Harness.Configure, which may call t.Skip where no server can be had on a developer's
// machine and must fail in CI. What an engine truly cannot do is declared in the Harness with the reason, and the suite then checks
// that the driver refuses it instead of storing something else.
//
// Everything is checked by content: rows are read back, decoded and compared with what was written, never merely counted.
package conformance

import (
	"log/slog"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// Harness is what the suite needs to know of a driver.
type Harness struct {
	// Engine is the registration under test.
	Engine drivers.Engine
	// Configure makes the database that config asks for reachable: a server set up for config.Profile and config.Tier. It sets Endpoint
	// and Credentials and leaves the rest. One server may serve many calls; what it starts is its own to stop. Nil for embedded engines,
	// whose files go to config.Dir.
	Configure func(t *testing.T, config *drivers.Config)
	// NoNUL is why the engine's text cannot hold the character NUL; empty when it can. The suite then checks that a row with a NUL is
	// refused or stored exactly, but never altered.
	NoNUL string
	// Unconfirmed is why a peer that stands in for the engine's own server does not say how durable it is; empty for a real server. The suite then
	// checks that no tier is confirmed.
	Unconfirmed string
	// Slow is why a peer that stands in for the engine's own server can only be asked for few rows; NoArraysInArrays is why it cannot hold an array
	// as an element of another. Empty for real servers.
	Slow, NoArraysInArrays string
	// LacksOption says why a peer that stands in for the engine's own server cannot be used with a value of an option, "" when it can. Nil for a real
	// server.
	LacksOption func(name, value string) string
	// NoDots is why names inside objects cannot have a dot; empty when they can.
	NoDots string
	// Instant is why operations never wait, so that a context has nothing to interrupt; empty when they may. Only engines in the agent's
	// own memory are instant.
	Instant string
	// Refuses tells which bound scans the engine cannot run while there are no indexes; nil when there are none. A scan that is refused with
	// drivers.Unsupported where this says no fails the suite.
	Refuses func(s *query.Scan) bool
	// RefusesSearch tells which searches the engine refuses, by their metric, their index (its strategy, metric and quantisation), how they go on, and their
	// filter; nil when there are none. Exactly those are refused.
	RefusesSearch func(s *query.Search) bool
	// ShortVectors is why vectors of the engine's own type cannot be so long that the square of their length is no float32; empty when they can. Longer ones
	// are refused then.
	ShortVectors string
	// LacksSearch says why the server under test cannot run a search that other versions of the engine can, "" when it can; the suite wants its index
	// refused. Nil for a server that lacks none.
	LacksSearch func(s *query.Search) string
	// SearchRows is how many rows vector indexes are built on where more would prove no more, 0 for the suite's own number.
	SearchRows uint64
	// Rough says why the order and the number of true neighbours that a search on an index finds say little, "" when they are to be checked. Nil when
	// they always are.
	Rough func(index query.Index) string
	// Lacks says why a peer that stands in for the engine's own server cannot run a scan that the engine can, "" when it can. Such scans are not
	// tried. Nil for a real server.
	Lacks func(s *query.Scan) string
	// OtherWords says why the engine's words of a text are not those of query.Tokens, "" when they are; nil when they always are. The suite leaves
	// such texts out.
	OtherWords func(text string) string
	// Mistakes says why the real engine answers a scan wrongly when there are indexes, "" when it does not; nil for no such scans. A benchmark
	// shows such an answer as invalid; the suite counts them.
	Mistakes func(s *query.Scan) string
	// NoPlans says why a plan proves nothing about an index: that of a peer that stands in for the engine's own server, or one of a kind that the
	// engine's plans do not name. "" or nil when plans are to be believed.
	NoPlans func(index query.Index) string
	// Trees is how many random scans to try where each takes long or proves little, 0 for the suite's own number.
	Trees int
	// NotAtomic is why modifications on a peer that stands in for the engine's own server may lose each other's rows; empty for a real server.
	NotAtomic string
	// Splits is the largest batch of small rows that is one request, by operation (BatchCreate and so on), where the driver splits by number of rows.
	Splits map[string]int
	// Conflicts is why the engine refuses a write, with class conflict, that meets another write of the same row; empty when it makes the one wait
	// for the other. The suite then tries such writes again, where callers work on one row.
	Conflicts string
	// Isolates changes the configuration to a server on which a write never misses another one of the same row, where the engine has servers on which
	// some do; nil when none do. It is used where callers work on one row.
	Isolates func(config *drivers.Config)
	// Stall makes the server keep operations on the open database of config waiting until release is called, e.g. by locking the table from
	// a connection of its own. Optional: with it the suite interrupts operations that are certainly in flight. Release is called
	// exactly once; operations that waited may succeed after it.
	Stall func(t *testing.T, config drivers.Config) (release func())
}

// tweak changes the configuration that a test opens with.
type tweak func(*drivers.Config)

// isolated is for callers that work on one row.
func (h Harness) isolated(config *drivers.Config) {
	if h.Isolates != nil {
		h.Isolates(config)
	}
}

// load sets the number of clients and threads.
func load(clients, threads int) tweak {
	return func(config *drivers.Config) { config.Clients, config.Threads = clients, threads }
}

// profile sets the profile; the tier follows from it.
func profile(p drivers.Profile) tweak {
	return func(config *drivers.Config) { config.Profile = p }
}

// config returns a configuration of one client with one thread in the default profile, changed by the tweaks.
func (h Harness) config(t *testing.T, c *corpus.Corpus, tweaks ...tweak) drivers.Config {
	t.Helper()
	config := drivers.Config{
		Dir: t.TempDir(), Clients: 1, Threads: 1, Corpus: c, Logger: slog.New(slog.DiscardHandler),
	}
	for _, change := range tweaks {
		change(&config)
	}
	tier, err := h.Engine.Tier(config.Profile)
	if err != nil {
		t.Fatalf("tier of profile %+v: %v", config.Profile, err)
	}
	config.Tier = tier
	if h.Configure != nil {
		h.Configure(t, &config)
	}
	return config
}
