// Package drivers defines what an engine is to durabench: a registered value (Engine), the database it opens, and the clients that
// carry the measured operations. Abilities beyond the four single-row operations are small optional interfaces, found by type
// assertion on a Client or a Database.
package drivers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/durabench/durabench/bench/corpus"
)

// Table is the name of the table, collection or key space that holds the rows.
const Table = "record"

// Database is an open engine. Its methods are called from one goroutine at a time; its clients are not so bound.
type Database interface {
	// Version returns the server's or library's own version text.
	Version(ctx context.Context) (string, error)
	// Settings reads back, on a connection like the measured ones, the durability tier in force and every setting that could explain a
	// number. It never reports what was asked for.
	Settings(ctx context.Context) (Settings, error)
	// Prepare leaves an empty table that fits the corpus, dropping one of an earlier run of ours. Clients that are open go on working.
	Prepare(ctx context.Context) error
	// Client opens client number i, counted from 0. One client is used by Config.Threads goroutines at once.
	Client(ctx context.Context, i int) (Client, error)
	// Close releases everything; clients are closed before.
	Close() error
}

// Client carries operations, one row each. Every method is safe for Config.Threads callers at once and never makes them wait for each
// other on a lock of the driver's. Keys and rows are only valid until the method returns.
//
// An operation whose context ends returns soon, with an error that ErrorClassOf counts as cancelled or timeout, and leaves the client
// usable; whether a write had its effect is then not known. After Close every operation returns an error, best ErrClosed.
type Client interface {
	// Create adds a row. A key that is there already is ErrExists.
	Create(ctx context.Context, key corpus.Key, row *corpus.Row) error
	// Read fetches the whole row, every column received, into rec. A missing key is ErrNotFound and leaves rec empty.
	Read(ctx context.Context, key corpus.Key, rec *Record) error
	// Update replaces the whole row. A missing key is ErrNotFound.
	Update(ctx context.Context, key corpus.Key, row *corpus.Row) error
	// Delete removes the row. A missing key is ErrNotFound.
	Delete(ctx context.Context, key corpus.Key) error
	// Decode turns what Read left in rec into typed values in row. It is called off the clock, on answers that are checked.
	Decode(rec *Record, row *corpus.Row) error
	// Close releases the client's connections.
	Close() error
}

// Record holds the answer to one Read in the engine's own form, fully received. A worker owns one and hands it to Read again and
// again; a driver reuses its memory so that a read allocates nothing of ours.
type Record struct {
	// Bytes is the received data, the cells of a row one after another.
	Bytes []byte
	// Ends[i] is where cell i ends in Bytes; a negative value marks an absent (NULL) cell. Engines with one value per key leave it empty.
	Ends []int
	// Held is for engines in the agent's own memory: a reference to the stored value in place of a copy.
	Held any
}

// Reset empties the record and keeps its memory.
func (r *Record) Reset() {
	r.Bytes, r.Ends, r.Held = r.Bytes[:0], r.Ends[:0], nil
}

// Counter is a Database that can count the rows it holds.
type Counter interface {
	// Count returns the number of rows in the table.
	Count(ctx context.Context) (int64, error)
}

// Loader is a Client that can add many rows at once. It serves untimed loads, never a timed leg.
type Loader interface {
	// Load writes the rows with indexes from (inclusive) to (exclusive) at the given version. Loading a row twice leaves it as loading it once.
	Load(ctx context.Context, from, to uint64, version uint32) error
}

// Preflighter is a Database that can tell before loading whether it will carry the load.
type Preflighter interface {
	// Preflight returns an error with the numbers when the server cannot carry what Config asks, such as more connections than it allows.
	Preflight(ctx context.Context) error
}

// Socketer is a Database that can tell how many sockets carry the measured load.
type Socketer interface {
	// Sockets returns the number of connections open by all clients together.
	Sockets() int
}

// Retrier is a Database whose clients send a request again, within the operation, when the server refuses its transaction as conflicting with
// another and asks for that. Engines do it whose every program has to; how often is an option of theirs.
type Retrier interface {
	// Retries returns how many requests all clients together have sent again since the database was opened.
	Retries() int64
}

// Describer is a Client or Database that can say in a sentence how it carries `threads` operations in flight per client.
type Describer interface {
	// Carries describes the way, e.g. "one connection per thread".
	Carries() string
}

// Config is what Open needs.
type Config struct {
	// Endpoint is a server's address in the engine's own form, without credentials; empty for embedded engines.
	Endpoint string
	// Credentials authenticate at the endpoint. They are never logged or stored.
	Credentials Credentials
	// Dir is a directory for the database files of embedded engines. It exists and is ours.
	Dir string
	// Clients and Threads give the load: Clients × Threads operations are in flight.
	Clients, Threads int
	// Profile is how the database is to be set up.
	Profile Profile
	// Tier is the durability asked for; empty means the one that Engine.Tier gives for Profile.
	Tier Tier
	// Resources is what the host offers, for settings that an optimised embedded engine computes from it; zero fields are not known.
	Resources Resources
	// Corpus gives the schema and the keys.
	Corpus *corpus.Corpus
	// Options are the engine's own settings of the spec's [engine] table, e.g. connections = "thread". Checked by Engine.CheckOptions,
	// read by Engine.Option.
	Options map[string]string
	// Searches tells that the rows will be searched for nearest neighbours: an engine that has a type of its own for vectors, beside others that hold
	// them, uses it for columns of vectors.
	Searches bool
	// Logger is never nil.
	Logger *slog.Logger
}

// Credentials authenticate a user. They print as "***" so that no log line carries them.
type Credentials struct {
	User, Password string
}

// String hides the credentials.
func (Credentials) String() string { return "***" }

// GoString hides the credentials from %#v.
func (Credentials) GoString() string { return "***" }

// LogValue hides the credentials from log/slog.
func (Credentials) LogValue() slog.Value { return slog.StringValue("***") }

// Profile is the set-up of a database: the vendor's defaults, changed by what is true here.
type Profile struct {
	Sync      bool `json:"sync"`      // every acknowledged write survives an operating system crash
	Persisted bool `json:"persisted"` // an in-memory engine also writes to disk
	Optimised bool `json:"optimised"` // tuned for the host
}

// Tier is how much of an acknowledged write survives what.
type Tier string

// The durability tiers, strongest first.
const (
	TierOS      Tier = "os"      // survives an operating system crash: flushed to the device before it is acknowledged
	TierProcess Tier = "process" // survives kill -9 of the server
	TierNone    Tier = "none"    // kept in memory
)

var tiers = []Tier{TierOS, TierProcess, TierNone}

// Settings is what a database said of itself.
type Settings struct {
	// Tier is the tier in force; empty when the server does not let us know.
	Tier   Tier      `json:"tier"`
	Values []Setting `json:"values"`
	// Reason says in a phrase what makes the tier what it is, for the error of a mismatch; optional.
	Reason string `json:"reason,omitempty"`
}

// Setting is one setting as read back, or as asked for in a profile.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Why   string `json:"why,omitempty"` // one line: what the setting does to the numbers
}

// ErrNotFound is the error of a Read, Update or Delete whose key is not there.
var ErrNotFound = errors.New("key not found")

// ErrExists is the error of a Create whose key is there already.
var ErrExists = errors.New("key exists already")

// ErrClosed is the error of an operation on a Client or Database that was closed before; its class is ClassConnection.
var ErrClosed = errors.New("use after close")

// Unsupported says that an engine cannot do what was asked, and why. It becomes the cell's text; it is not a failure.
type Unsupported struct{ Why string }

// Error returns the reason.
func (u Unsupported) Error() string { return "unsupported: " + u.Why }

// ErrorClass is the kind of an operation's error, counted apart in results.
type ErrorClass string

// The classes of operation errors.
const (
	ClassMiss       ErrorClass = "miss"       // ErrNotFound
	ClassExists     ErrorClass = "exists"     // ErrExists
	ClassTimeout    ErrorClass = "timeout"    // the operation timeout passed
	ClassCancelled  ErrorClass = "cancelled"  // the leg was cancelled
	ClassConnection ErrorClass = "connection" // the connection was refused, reset or closed
	ClassConflict   ErrorClass = "conflict"   // the server asks to retry: a conflicting transaction, a locked database
	ClassWrong      ErrorClass = "wrong"      // the answer differs from what was written
	ClassOther      ErrorClass = "other"
)

// Classified is an error that knows its class; drivers wrap server errors with Classify.
type Classified struct {
	Class ErrorClass
	Err   error
}

// Error returns the wrapped error's text.
func (c *Classified) Error() string { return c.Err.Error() }

// Unwrap returns the wrapped error.
func (c *Classified) Unwrap() error { return c.Err }

// Classify wraps err with its class.
func Classify(class ErrorClass, err error) error { return &Classified{class, err} }

// Require returns an error naming every problem when tier was not reached: what was asked and what was read back.
func (s Settings) Require(asked Tier) error {
	if s.Tier == asked {
		return nil
	}
	reason := ""
	if s.Reason != "" {
		reason = ": " + s.Reason
	}
	if s.Tier == "" {
		return fmt.Errorf("durability: asked for tier %q, which the server does not confirm%s", asked, reason)
	}
	return fmt.Errorf("durability: asked for tier %q, the server's settings give %q%s", asked, s.Tier, reason)
}
