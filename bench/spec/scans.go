package spec

import (
	"cmp"
	"errors"
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
	before := len(b.problems)
	asked := b.query(entry, path)
	readable := len(b.problems) == before
	for i, run := range runs {
		at := path
		if len(entry.Runs) > 0 {
			at = fmt.Sprintf("%s.runs[%d]", path, i)
		}
		resolved := b.run(entry, run, asked, path, at)
		if readable && resolved.Search == nil {
			b.bind(&resolved, entry, path)
		}
		if b.skipIndexes && resolved.Search != nil && resolved.Search.Index != nil {
			continue // it is about the index
		}
		scan.Runs = append(scan.Runs, resolved)
	}
	b.checkRaw(asked.Raw, path)
	b.nameRuns(scan.Runs, path)
	nameSearchIndexes(entry.ID, scan.Runs)
	for i, ratio := range entry.Writes {
		scan.Writes = append(scan.Writes, b.ratio(ratio, fmt.Sprintf("%s.writes[%d]", path, i)))
	}
	for i, writes := range entry.WithWrites {
		scan.Writes = append(scan.Writes, b.writes(writes, fmt.Sprintf("%s.with_writes[%d]", path, i)))
	}
	b.exclusive(path, "writes", len(entry.Writes) > 0, "with_writes", len(entry.WithWrites) > 0)
	b.checkWrites(scan, path)
	return scan
}

// exclusive refuses two names of the same thing side by side.
func (b *builder) exclusive(path, name string, given bool, older string, olderGiven bool) {
	if given && olderGiven {
		b.fileProblem(path+"."+older, "is the older name of %s; give one of them", name)
	}
}

// run resolves one run of an entry, which asks for what asked says but for its projection; what it sets goes before what the entry sets.
func (b *builder) run(entry ScanEntry, run RunEntry, asked query.Scan, path, at string) Run {
	resolved := Run{Name: run.Name, Query: asked, Expect: entry.Expect, Search: b.search(entry, run, path, at)}
	place := path
	if run.Projection != "" {
		place = at
	}
	resolved.Query.Project = b.projection(cmp.Or(run.Projection, entry.Projection), asked, place+".projection")
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
	return resolved
}

// query reads what all runs of an entry ask for.
func (b *builder) query(entry ScanEntry, path string) query.Scan {
	start, key := entry.Start, "start"
	if entry.Offset != nil {
		start, key = entry.Offset, "offset"
	}
	b.exclusive(path, "offset", entry.Offset != nil, "start", entry.Start != nil)
	asked := query.Scan{
		ID: identifier(entry.ID), Offset: b.whole(start, path+"."+key), Limit: b.whole(entry.Limit, path+".limit"), Raw: raw(entry),
	}
	if entry.Limit != nil && *entry.Limit == 0 {
		b.fileProblem(path+".limit", "must be at least 1; leave it out for all rows")
	}
	b.whole(entry.Expect, path+".expect")
	if entry.After != nil {
		asked.After = new(uint64(b.whole(entry.After, path+".after")))
	}
	var err error
	if entry.Where != nil {
		asked.Where, err = query.Decode(entry.Where)
		b.queryProblems(err, entry, path)
	}
	if entry.Order != nil {
		asked.Order, err = query.DecodeOrder(entry.Order)
		b.queryProblems(err, entry, path)
	}
	if entry.Aggregates != nil {
		asked.Aggregates, err = query.DecodeAggregates(entry.Aggregates)
		b.queryProblems(err, entry, path)
	}
	if entry.GroupBy != "" {
		if asked.GroupBy, err = query.ParsePath(entry.GroupBy); err != nil {
			b.fileProblem(path+".group_by", "%v", err)
		}
	}
	return asked
}

// queryProblems notes what is wrong with a query, at its place in the file.
func (b *builder) queryProblems(err error, entry ScanEntry, path string) {
	var problems query.Problems
	if !errors.As(err, &problems) {
		return
	}
	for _, problem := range problems {
		key := problem.Key
		if key == "start" && entry.Offset != nil {
			key = "offset"
		}
		b.fileProblem(path+"."+key, "%s", problem.Msg)
	}
}

// projection reads what is returned of each row; a scan with aggregates returns them instead.
func (b *builder) projection(text string, asked query.Scan, path string) query.Projection {
	switch strings.ToUpper(text) {
	case "":
		if len(asked.Aggregates) > 0 {
			return ""
		}
		return query.Full
	case "ID":
		return query.ID
	case "FULL":
		return query.Full
	case "COUNT":
		return query.Count
	}
	_, err := oneOf(text, "ID", "FULL", "COUNT")
	b.fileProblem(path, "%v", err)
	return query.Full
}

// bind checks the query against the value template and the number of rows, and leaves it bound.
func (b *builder) bind(run *Run, entry ScanEntry, path string) {
	if b.template == nil {
		return
	}
	bound, err := query.Bind(&run.Query, b.template)
	if err != nil {
		b.queryProblems(err, entry, path)
		return
	}
	run.Query = *bound
	if err := bound.CheckPossible(); err != nil {
		b.queryProblems(err, entry, path)
		return
	}
	if b.bad["samples"] || b.Samples < 1 {
		return
	}
	if err := bound.CheckRows(uint64(b.Samples)); err != nil {
		b.queryProblems(err, entry, path)
		return
	}
	b.checkExpect(*run, path)
}

// checkExpect refuses a number of rows that all rows cannot come to. Where a condition decides how many there are, the run finds out.
func (b *builder) checkExpect(run Run, path string) {
	q := run.Query
	if run.Expect == nil || q.Raw != nil || q.Where != nil || q.After != nil || len(q.Aggregates) > 0 {
		return
	}
	found := b.Samples - q.Offset
	if q.Limit > 0 {
		found = min(found, q.Limit)
	}
	if *run.Expect != found {
		b.fileProblem(path+".expect", "%d: of the %d rows of this run the scan finds %d", *run.Expect, b.Samples, found)
	}
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

// checkRaw refuses a scan in the engines' own words that has none for this one, if it is an engine that reads such words.
func (b *builder) checkRaw(raw *query.Raw, path string) {
	if raw == nil || len(b.engine.Dialects) == 0 {
		return
	}
	for _, part := range []struct {
		has   bool
		given []string
		key   string
	}{{raw.HasWhere, raw.WhereDialects(), "condition"}, {raw.HasOrder, raw.OrderDialects(), "order_by"}} {
		lacks := !slices.ContainsFunc(b.engine.Dialects, func(name string) bool { return slices.Contains(part.given, name) })
		misread := slices.ContainsFunc(b.file.problems, func(p Problem) bool { return strings.HasPrefix(p.Key, path+"."+part.key+".") })
		if part.has && lacks && !misread {
			b.fileProblem(path+"."+part.key, "there is none for %s: add %s (there is: %s), or use %s, which every engine reads", b.engine.Name,
				strings.Join(prefixed(part.key+".", b.engine.Dialects), " or "), cmp.Or(strings.Join(part.given, ", "), "nothing"),
				map[string]string{"condition": "where", "order_by": "order"}[part.key])
		}
	}
}

// prefixed puts the prefix before each name.
func prefixed(prefix string, names []string) []string {
	full := make([]string, len(names))
	for i, name := range names {
		full[i] = prefix + name
	}
	return full
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
	return b.ratio(*entry.Ratio, path+".ratio")
}

// ratio checks a share of operations that is followed by a write.
func (b *builder) ratio(ratio float64, path string) float64 {
	if !(ratio > 0 && ratio <= 1) {
		b.fileProblem(path, "must be more than 0 and at most 1, is %g", ratio)
	}
	return ratio
}

// checkWrites refuses shares that would give two legs one id, and writes where there are not two rows.
func (b *builder) checkWrites(scan Scan, path string) {
	seen := map[string]bool{}
	for _, ratio := range scan.Writes {
		word := Percent(ratio)
		if seen[word] {
			b.fileProblem(b.writesKey(path), "a share of %s %% is given twice: the ids of their legs could not be told apart", word)
		}
		seen[word] = true
	}
	if len(scan.Writes) > 0 && b.Samples == 1 && !b.bad["samples"] {
		b.fileProblem(b.writesKey(path), "an exchange needs two rows, and the run has 1")
	}
}

// writesKey returns the path of the shares of writes, by whichever name the file has them.
func (b *builder) writesKey(path string) string {
	if b.file.lines[path+".writes"] > 0 {
		return path + ".writes"
	}
	return path + ".with_writes"
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
