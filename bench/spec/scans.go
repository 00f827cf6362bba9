package spec

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/durabench/durabench/bench/query"
)

// ids are the names of scans in files, and words the parts of the ids of legs that are made of names.
var (
	ids   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)
	words = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,99}$`)
)

// takeScans resolves the scans of the file.
func (b *builder) takeScans() {
	if b.skipScans {
		return
	}
	taken := map[string]string{}
	for i, entry := range b.file.Scans {
		path := fmt.Sprintf("scans[%d]", i)
		if entry.ID != "" && !ids.MatchString(entry.ID) {
			b.fileProblem(path+".id", "%q: use letters, digits, underscores and dashes, at most 100, a letter or digit first", entry.ID)
		} else if first, twice := taken[identifier(entry.ID)]; twice && entry.ID != "" {
			b.fileProblem(path+".id", "%q is taken by %s: the ids of their legs could not be told apart", entry.ID, first)
		}
		taken[identifier(entry.ID)] = fmt.Sprintf("%s, line %d", path, b.file.lines.of(path))
		b.Scans = append(b.Scans, b.scan(entry, path))
	}
}

// fileProblem notes what is wrong with the key at path of the file.
func (b *builder) fileProblem(path, format string, args ...any) {
	b.problems = append(b.problems, b.file.at(path, fmt.Sprintf(format, args...)))
}

// identifier is a name as databases take it for an index: letters, digits and underscores.
func identifier(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '_'
	}, name))
}

// scan resolves one entry.
func (b *builder) scan(entry ScanEntry, path string) Scan {
	scan := Scan{ID: entry.ID, Index: b.index(entry, path)}
	runs := entry.Runs
	if len(runs) == 0 {
		runs = []RunEntry{{Name: entry.Name}}
	}
	for i, run := range runs {
		at := path
		if len(entry.Runs) > 0 {
			at = fmt.Sprintf("%s.runs[%d]", path, i)
		}
		scan.Runs = append(scan.Runs, b.run(entry, run, path, at))
	}
	b.nameRuns(scan.Runs, path)
	for i, writes := range entry.WithWrites {
		scan.Writes = append(scan.Writes, b.writes(writes, fmt.Sprintf("%s.with_writes[%d]", path, i)))
	}
	b.checkWrites(scan, path+".with_writes")
	return scan
}

// run resolves one run of an entry; what it sets goes before what the entry sets.
func (b *builder) run(entry ScanEntry, run RunEntry, path, at string) Run {
	resolved := Run{
		Name:   run.Name,
		Query:  query.Scan{ID: identifier(entry.ID), Offset: b.whole(entry.Start, path+".start"), Limit: b.whole(entry.Limit, path+".limit")},
		Expect: entry.Expect,
		Vector: entry.VectorQuery != nil || run.VectorQuery != nil,
	}
	if entry.Limit != nil && *entry.Limit == 0 {
		b.fileProblem(path+".limit", "must be at least 1; leave it out for all rows")
	}
	b.whole(entry.Expect, path+".expect")
	projection, place := cmp.Or(run.Projection, entry.Projection, "FULL"), path+".projection"
	if run.Projection != "" {
		place = at + ".projection"
	}
	switch strings.ToUpper(projection) {
	case "ID":
		resolved.Query.Project = query.ID
	case "FULL":
		resolved.Query.Project = query.Full
	case "COUNT":
		resolved.Query.Project = query.Count
	default:
		_, err := oneOf(projection, "ID", "FULL", "COUNT")
		b.fileProblem(place, "%v", err)
	}
	resolved.Query.Raw = raw(entry)
	levels := []volumeKeys{{
		path: path, samples: entry.Samples, iterations: entry.Iterations, measure: entry.Measure, warmup: entry.Warmup, least: entry.Least,
		most: entry.Most, rate: entry.Rate, arrival: entry.Arrival,
	}}
	if at != path {
		levels = append([]volumeKeys{{
			path: at, samples: run.Samples, iterations: run.Iterations, measure: run.Measure, warmup: run.Warmup, least: run.Least,
			most: run.Most, rate: run.Rate, arrival: run.Arrival,
		}}, levels...)
	}
	resolved.Volume = b.volume(entry.Clients, entry.Threads, path, levels...)
	b.checkPage(resolved, path)
	return resolved
}

// whole returns a number that must not be negative, 0 when it is not given.
func (b *builder) whole(n *int64, path string) int64 {
	if n == nil {
		return 0
	}
	if *n < 0 {
		b.fileProblem(path, "must be at least 0, is %d", *n)
		return 0
	}
	return *n
}

// checkPage refuses a page of all rows that lies beyond them. Where a condition decides how many there are, the run finds out.
func (b *builder) checkPage(run Run, path string) {
	if run.Query.Raw != nil || b.bad["samples"] || b.Samples < 1 {
		return
	}
	offset, limit := run.Query.Offset, run.Query.Limit
	if offset > 0 && offset >= b.Samples {
		b.fileProblem(path+".start", "%d is beyond the %d rows of this run; ask for more with --samples", offset, b.Samples)
		return
	}
	found := b.Samples - offset
	if limit > 0 {
		found = min(found, limit)
	}
	if run.Expect != nil && *run.Expect >= 0 && *run.Expect != found {
		b.fileProblem(path+".expect", "%d: of the %d rows of this run the scan finds %d", *run.Expect, b.Samples, found)
	}
}

// raw returns the conditions and orders in the engines' own words, nil when there are none.
func raw(entry ScanEntry) *query.Raw {
	if entry.Condition == nil && entry.OrderBy == nil {
		return nil
	}
	raw := &query.Raw{HasWhere: entry.Condition != nil, HasOrder: entry.OrderBy != nil}
	if c := entry.Condition; c != nil {
		raw.Where, raw.WhereDocument = c.texts(), c.MongoDB
	}
	if o := entry.OrderBy; o != nil {
		raw.Order, raw.OrderDocument = o.texts(), o.MongoDB
	}
	return raw
}

// texts returns what is given in each dialect but MongoDB's, which is no text.
func (d *Dialects) texts() map[string]string {
	texts := map[string]string{}
	for name, text := range map[string]string{
		"sql": d.SQL, "postgres": d.Postgres, "sqlite": d.SQLite, "mysql": d.MySQL, "neo4j": d.Neo4j, "arangodb": d.ArangoDB, "surrealdb": d.SurrealDB,
	} {
		if text != "" {
			texts[name] = text
		}
	}
	return texts
}

// writes resolves one with_writes entry: the share of operations that is followed by a write.
func (b *builder) writes(entry ScanWrites, path string) float64 {
	if entry.Mode != "" {
		if _, err := oneOf(entry.Mode, "interleaved"); err != nil {
			b.fileProblem(path+".mode", "%v", err)
		}
	}
	if entry.Operation != "" {
		if _, err := oneOf(entry.Operation, "UPDATE"); err != nil {
			b.fileProblem(path+".operation", "%v", err)
		}
	}
	if entry.Ratio == nil {
		return 0.1
	}
	if !(*entry.Ratio > 0 && *entry.Ratio <= 1) {
		b.fileProblem(path+".ratio", "must be more than 0 and at most 1, is %g", *entry.Ratio)
	}
	return *entry.Ratio
}

// checkWrites refuses shares that would give two legs one id, and writes where there are not two rows.
func (b *builder) checkWrites(scan Scan, path string) {
	seen := map[string]bool{}
	for i, ratio := range scan.Writes {
		word := Percent(ratio)
		if seen[word] {
			b.fileProblem(fmt.Sprintf("%s[%d].ratio", path, i), "%g is given twice: the ids of their legs could not be told apart", ratio)
		}
		seen[word] = true
	}
	if len(scan.Writes) > 0 && b.Samples == 1 && !b.bad["samples"] {
		b.fileProblem(path, "an exchange needs two rows, and the run has 1")
	}
}

// Percent writes a share as percent, without needless decimals: "15", "0.5".
func Percent(share float64) string {
	text := strings.TrimRight(fmt.Sprintf("%.3f", 100*share), "0")
	return strings.TrimSuffix(text, ".")
}

// nameRuns gives each run its word: its name where all names are words, else its projection where that tells it from the others, else a
// word made of its name.
func (b *builder) nameRuns(runs []Run, path string) {
	projections := map[query.Projection]bool{}
	named := true
	for _, run := range runs {
		projections[run.Query.Project] = true
		named = named && words.MatchString(run.Name)
	}
	taken := map[string]bool{}
	for i := range runs {
		run := &runs[i]
		switch {
		case named:
			run.Word = run.Name
		case len(projections) == len(runs):
			run.Word = string(run.Query.Project)
		default:
			run.Word = slug(run.Name)
		}
		if taken[run.Word] {
			b.fileProblem(fmt.Sprintf("%s.runs[%d].name", path, i), "%q: another run of this scan has the same name, and the ids of their legs could not be told apart", run.Name)
		}
		taken[run.Word] = true
	}
}

// slug makes a word of a name for people.
func slug(name string) string {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' })
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "-")
}
