package spec

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
)

// DefaultConfig is the shipped file whose value template is used when none is given.
const DefaultConfig = "crud"

// Facts is what Build needs to know of the rest of the program, as plain data: this package knows no engine and ships no file.
type Facts struct {
	Engines []EngineFacts
	// Shipped holds the files that --config finds by name; DefaultConfig is one of them. Nil: none ship, and a template must be given.
	Shipped fs.FS
	// Remote tells that the data directory is on another machine, so that a query's manifest cannot be looked at from here.
	Remote bool
	// Cache is a directory in which it is remembered what is in the files of data sets; empty: they are looked at each time.
	Cache string
	// CheckIsolation says what is wrong with a spec's isolation, a problem per line; nil when nothing is known of it.
	CheckIsolation func(*Spec) error
}

// EngineFacts is what there is to know of one engine.
type EngineFacts struct {
	Name string
	// Servers are the ways to have it: "embedded", "process", "docker", "endpoint".
	Servers []string
	// Options are the engine's own settings, as the [engine] table takes them.
	Options []EngineOption
	// Dialects are the names under which it finds a condition or an order in its own words, any of them; empty when it has none, and its legs
	// with such words do not run.
	Dialects []string
	// MaxBatch is the most rows that a batch may have, 0 for no bound.
	MaxBatch int
	// SearchedVectors says how it keeps the vectors of rows that are searched otherwise than those of others; empty when it does not.
	SearchedVectors string
	// Check says why the engine cannot run a spec, e.g. a durability that it cannot give; nil when it runs any. Each setting of the spec
	// could be read, but what they come to may still be refused for other reasons.
	Check func(*Spec) error
}

// EngineOption is one of an engine's own settings.
type EngineOption struct {
	Name   string
	Values []string // what it may be; empty: any text
	// Check, when not nil, says why a value cannot be, in place of Values, which are examples then.
	Check func(value string) error
}

// Request is what a user asked for: the spec, and what must not be in it.
type Request struct {
	Spec        *Spec
	Credentials Credentials // those of the endpoint
	File        string      // the spec file as it was named; empty without one
	Notes       []string    // what the user should be told before the run starts, e.g. what is left out
}

// Credentials authenticate at an endpoint. They print and log as "***" and do not travel as JSON.
type Credentials struct{ User, Password string }

// String hides the credentials.
func (Credentials) String() string { return "***" }

// GoString hides the credentials from %#v.
func (Credentials) GoString() string { return "***" }

// LogValue hides the credentials from log/slog.
func (Credentials) LogValue() slog.Value { return slog.StringValue("***") }

// MarshalJSON refuses: a secret in a payload is in a history for ever.
func (Credentials) MarshalJSON() ([]byte, error) {
	return nil, errors.New("encode credentials: they must not leave the process this way")
}

// builder is a spec in the making: where its settings come from, and what is wrong with them.
type builder struct {
	draft
	flags    *Flags
	file     *File
	facts    Facts
	engine   EngineFacts      // of the engine that is asked for; zero when there is none of that name
	template *corpus.Template // nil when it could not be read
	problems Problems
	bad      map[string]bool // settings whose text could not be read: their value means nothing
}

// Build makes the spec that the command line and the file ask for: flags go before the file, the file before the defaults. With a nil
// file it reads the one that the flags or the environment name, if any. The error is Problems: everything that is wrong with flags,
// file and what they come to together.
func Build(flags *Flags, file *File, facts Facts) (*Request, error) {
	b := &builder{flags: flags, facts: facts, bad: map[string]bool{}}
	b.Isolation = &Isolation{}
	b.file = b.open(file)
	b.problems = append(b.problems, b.file.problems...)
	b.problems = append(b.problems, flags.refused()...)
	for _, s := range settings {
		b.apply(s)
	}
	b.Clients, b.Threads = narrow(b.clients), narrow(b.threads)
	b.takeValue()
	b.takeEngine()
	b.takeDataDir()
	b.takeSeed()
	b.checkNumbers()
	b.takeDatasets()
	b.checkServer()
	b.checkIsolation()
	b.takeTiming()
	b.takeScans()
	b.takeMixes()
	b.takeBatches()
	b.Searched = slices.ContainsFunc(b.Scans, func(scan Scan) bool {
		return slices.ContainsFunc(scan.Runs, func(run Run) bool { return run.Search != nil })
	})
	if !b.Searched {
		b.SearchWarmup = 0
	}
	b.checkEngine()
	b.checkSize()
	if err := b.problems.err(); err != nil {
		return nil, err
	}
	return b.request(), nil
}

// open returns the file to build from: the given one, the one that the flags name, or an empty one.
func (b *builder) open(file *File) *File {
	if file != nil {
		return file
	}
	none := &File{}
	config := b.flags.Config()
	if config == "" {
		if b.flags.config.set() {
			b.problems = append(b.problems, Problem{Key: "--config", Msg: "is empty"})
		}
		return none
	}
	file, err := open(config, b.facts.Shipped)
	if file == nil {
		none.Name = config
		none.broken(Problem{File: config, Msg: fileError(err)})
		return none
	}
	return file
}

// fileError says why a file could not be opened, without repeating its name.
func fileError(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// apply sets one setting from the flag, else the file, else its default.
func (b *builder) apply(s setting) {
	text, given := b.flags.text(s.key)
	if !given {
		if fromFile, ok := b.file.Settings[s.key]; ok {
			if text = fromFile; b.file.hasProblem(s.key) {
				b.bad[s.key] = true
				return
			}
			given = true
		}
	}
	if !given && s.usual == "" {
		return
	}
	if err := s.set(&b.draft, text); err != nil {
		b.bad[s.key] = true
		b.problem(s.key, "%v", err)
	}
}

// given tells whether a flag or the file sets the key.
func (b *builder) given(key string) bool {
	_, flag := b.flags.text(key)
	_, file := b.file.Settings[key]
	return flag || file
}

// problem notes what is wrong with a setting, at the place that set it.
func (b *builder) problem(key, format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	if _, flag := b.flags.text(key); !flag {
		if _, file := b.file.Settings[key]; file {
			b.problems = append(b.problems, b.file.at(key, msg))
			return
		}
	}
	name := key
	if s, ok := findSetting(key); ok {
		name = "--" + s.name()
	}
	b.problems = append(b.problems, Problem{Key: name, Msg: msg})
}

// takeValue takes the file's value template, or that of the shipped default.
func (b *builder) takeValue() {
	defer func() { b.template, _ = corpus.ParseTemplate(b.Value) }() // its problems were reported where it was read
	b.Value = b.file.Value
	if b.Value != nil || b.file.unread {
		return
	}
	if b.facts.Shipped == nil {
		b.problems = append(b.problems, Problem{File: b.file.Name, Key: "value", Msg: "no value template is given, and none ships"})
		return
	}
	file, err := open(DefaultConfig, b.facts.Shipped)
	if err != nil {
		b.problems = append(b.problems, Problem{Key: "value", Msg: fmt.Sprintf("the shipped template %s: %v", DefaultConfig, err)})
		return
	}
	b.Value = file.Value
}

// takeEngine finds the engine and merges its own settings.
func (b *builder) takeEngine() {
	if at := slices.IndexFunc(b.facts.Engines, func(e EngineFacts) bool { return e.Name == b.Database }); at >= 0 {
		b.engine = b.facts.Engines[at]
	}
	options, problems := b.flags.options()
	b.problems = append(b.problems, problems...)
	merged := map[string]string{}
	maps.Copy(merged, b.file.Engine)
	maps.Copy(merged, options)
	if len(merged) > 0 {
		b.Engine = merged
	}
}

// takeDataDir makes the data directory absolute: the worker runs elsewhere. A run that keeps nothing has its files in its own working
// directory unless it was told where.
func (b *builder) takeDataDir() {
	if b.bad["data_dir"] {
		return
	}
	if b.Mode == ModeAll && !b.given("data_dir") {
		b.DataDir = ""
		return
	}
	dir, err := filepath.Abs(b.DataDir)
	if err != nil {
		b.problem("data_dir", "%v", err)
		return
	}
	b.DataDir = dir
}

// takeSeed chooses a seed when none is given; a query takes that of the data it is about.
func (b *builder) takeSeed() {
	if b.given("seed") {
		return
	}
	if b.Mode != ModeQuery || b.bad["data_dir"] {
		b.Seed = chooseSeed()
		return
	}
	if b.facts.Remote {
		b.problem("seed", "give the seed of the load: its manifest is on another machine")
		return
	}
	if manifest, err := ReadManifest(b.DataDir, b.Database, b.Name); err == nil {
		b.Seed = manifest.Seed
	}
}

// chooseSeed returns a random seed of 53 bits, which any TOML or JSON reader takes back without loss.
func chooseSeed() uint64 {
	var bits [8]byte
	rand.Read(bits[:]) // never fails, by its documentation
	return binary.LittleEndian.Uint64(bits[:]) >> 11
}

// request returns what was built.
func (b *builder) request() *Request {
	r := &Request{Spec: &b.Spec, Credentials: b.credentials, File: b.file.Name}
	if b.skipScans && len(b.file.Scans) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s: %s left out as asked", b.file.Name, entries(len(b.file.Scans), "scan", "scans")))
	}
	if b.skipBatches && len(b.file.Batches) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s: %s left out as asked", b.file.Name, entries(len(b.file.Batches), "batch", "batches")))
	}
	return r
}

// entries counts in words: "1 scan", "14 scans".
func entries(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// UnknownEngine returns the problem of asking for an engine that is not there, with the nearest that is.
func UnknownEngine(name string, known []string) Problem {
	known = slices.Sorted(slices.Values(known))
	msg := fmt.Sprintf("unknown engine %q%s", name, didYouMean(name, known))
	return Problem{Key: "--database", Msg: msg + " (known: " + strings.Join(known, ", ") + ")"}
}
