package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// Limits of what may be asked.
const (
	MaxSamples  = int64(1) << 40
	MaxInFlight = 1_000_000 // clients × threads
	MaxSize     = 32 << 10  // bytes of the spec as JSON: it travels in workflow inputs
)

// names are what file names are made of on every system.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// narrow makes a count an int without wrapping round.
func narrow(n int64) int { return int(min(n, math.MaxInt32)) }

// checkNumbers checks the settings that stand for themselves.
func (b *builder) checkNumbers() {
	if !b.given("samples") {
		if !b.file.unread {
			b.problem("samples", "how many rows? e.g. -s 100000")
		}
	} else if !b.bad["samples"] && (b.Samples < 1 || b.Samples > MaxSamples) {
		b.problem("samples", "must be from 1 to %d, is %d", MaxSamples, b.Samples)
	}
	b.checkInFlight()
	if !b.bad["max_error_rate"] && !(b.MaxErrorRate >= 0 && b.MaxErrorRate <= 1) {
		b.problem("max_error_rate", "must be from 0 to 1, is %g", b.MaxErrorRate)
	}
	if !b.bad["operation_timeout"] && b.OperationTimeout <= 0 {
		b.problem("operation_timeout", "must be longer than nothing, is %s", b.OperationTimeout)
	}
	if b.given("name") && !b.bad["name"] && !names.MatchString(b.Name) {
		b.problem("name", "%q: use letters, digits, dots, dashes and underscores, at most 100, a letter or digit first", b.Name)
	}
}

// checkInFlight checks clients and threads, alone and together.
func (b *builder) checkInFlight() {
	positive := func(key string, n int64) bool {
		if !b.bad[key] && n < 1 {
			b.problem(key, "must be at least 1, is %d", n)
		}
		return n >= 1
	}
	clients, threads := positive("clients", b.clients), positive("threads", b.threads)
	if !clients || !threads || b.clients <= MaxInFlight && b.threads <= MaxInFlight/b.clients {
		return
	}
	blamed := "threads"
	if !b.given(blamed) {
		blamed = "clients"
	}
	b.problem(blamed, "%d clients × %d threads are more than %d operations in flight", b.clients, b.threads, MaxInFlight)
}

// checkServer checks how the database is to be had, apart from what the engine itself allows.
func (b *builder) checkServer() {
	if b.bad["server"] || b.bad["endpoint"] {
		return
	}
	b.checkContainer()
	switch {
	case b.Endpoint != "" && b.Server == "":
		b.Server = "endpoint"
	case b.Endpoint != "" && b.Server != "endpoint":
		b.problem("server", "%s and an endpoint exclude each other: the endpoint's server is already there", b.Server)
	case b.Endpoint == "" && b.Server == "endpoint":
		b.problem("endpoint", "server endpoint: at which address? e.g. -e postgres://user:password@host:5432/database")
	}
}

// containers are the settings of containers, which mean nothing to a server that is had in another way.
var containers = []string{"image", "pull", "cpus", "memory", "keep_on_failure"}

// checkContainer has who asks for something of a container get one, and refuses it beside another way to have the server.
func (b *builder) checkContainer() {
	for _, key := range containers {
		switch {
		case !b.given(key) || b.bad[key]:
		case b.Server == "" && b.Endpoint == "":
			b.Server = "docker"
		case b.Server != "docker":
			way := b.Server
			if way == "" {
				way = "endpoint"
			}
			b.problem(key, "belongs to containers, and server %s has none: ask for --server docker, or leave it out", way)
		}
	}
}

// checkEngine checks the engine's name, and what is asked against what it can.
func (b *builder) checkEngine() {
	var known []string
	for _, engine := range b.facts.Engines {
		known = append(known, engine.Name)
	}
	if !b.given("database") {
		if !b.file.unread {
			b.problem("database", "which engine? one of %s", strings.Join(slices.Sorted(slices.Values(known)), ", "))
		}
		return
	}
	if b.bad["database"] {
		return
	}
	if b.engine.Name == "" {
		b.problem("database", "%s", UnknownEngine(b.Database, known).Msg)
		return
	}
	b.checkWays(b.engine)
	b.checkOptions(b.engine)
	if b.engine.Check != nil && len(b.bad) == 0 {
		if err := b.engine.Check(&b.Spec); err != nil {
			b.problem("database", "%v", err)
		}
	}
	b.checkManifest()
}

// checkWays checks that the engine can be had in the way that is asked.
func (b *builder) checkWays(engine EngineFacts) {
	if b.Server == "" || b.bad["server"] || slices.Contains(engine.Servers, b.Server) {
		return
	}
	key := "server"
	if b.Server == "endpoint" && b.given("endpoint") {
		key = "endpoint"
	}
	b.problem(key, "%s cannot be had this way: it takes %s", engine.Name, strings.Join(engine.Servers, ", "))
}

// checkOptions checks the engine's own settings.
func (b *builder) checkOptions(engine EngineFacts) {
	known := make([]string, len(engine.Options))
	for i, option := range engine.Options {
		known[i] = option.Name
	}
	for _, name := range sortedKeys(b.Engine) {
		at := slices.Index(known, name)
		if at < 0 {
			b.optionProblem(name, fmt.Sprintf("%s has no such setting%s", engine.Name, didYouMean(name, known)))
			continue
		}
		var err error
		if option := engine.Options[at]; option.Check != nil {
			err = option.Check(b.Engine[name])
		} else if len(option.Values) > 0 {
			_, err = oneOf(b.Engine[name], option.Values...)
		}
		if err != nil {
			b.optionProblem(name, err.Error())
		}
	}
}

// optionProblem notes a problem with one of the engine's own settings, at the place that set it.
func (b *builder) optionProblem(name, msg string) {
	if options, _ := b.flags.options(); slices.Contains(sortedKeys(options), name) {
		b.problems = append(b.problems, Problem{Key: "--engine", Msg: name + ": " + msg})
		return
	}
	b.problems = append(b.problems, b.file.at(join("engine", name), msg))
}

// checkManifest checks a query against what was loaded, where that can be seen from here.
func (b *builder) checkManifest() {
	if b.Mode != ModeQuery || b.facts.Remote || len(b.problems) > 0 {
		return
	}
	manifest, err := ReadManifest(b.DataDir, b.Database, b.Name)
	if err != nil {
		b.problem("mode", "%v", err)
		return
	}
	for _, difference := range manifest.Differences(&b.Spec, b.engine.SearchedVectors) {
		b.problem("mode", "query needs what was loaded: %s", difference)
	}
}

// checkSize keeps the spec small enough for a workflow's input.
func (b *builder) checkSize() {
	if len(b.problems) > 0 {
		return
	}
	if text, err := json.Marshal(&b.Spec); err == nil && len(text) > MaxSize {
		p := Problem{Key: "value", Msg: fmt.Sprintf("the spec takes %d bytes as JSON, at most %d travel; shorten the template", len(text), MaxSize)}
		if b.file.Value != nil {
			p.File, p.Line = b.file.Name, b.file.lines.of("value")
		}
		b.problems = append(b.problems, p)
	}
}

// hasProblem tells whether the key at path is known to be wrong.
func (f *File) hasProblem(path string) bool {
	return slices.ContainsFunc(f.problems, func(p Problem) bool { return p.Key == path })
}
