package spec

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// expand makes the cells: workloads × variants × sweep × engines, without what is excluded, with what is included, overridden.
func (r *matrixReader) expand() {
	engines := r.engines(r.tables.Engines, "engines")
	if len(r.tables.Engines) == 0 && len(r.tables.Include) == 0 {
		r.file.problem("engines", "which engines? [%q], or names", AllEngines)
	}
	workloads := r.tables.Workloads
	if len(workloads) == 0 {
		workloads = []string{DefaultConfig}
	}
	for i, name := range workloads {
		workloads[i] = r.workload(name, fmt.Sprintf("workloads[%d]", i))
	}
	base := r.layer(r.tables.Settings, nil, "settings")
	variants := r.variants(engines)
	sweeps := r.sweeps()
	for _, workload := range workloads {
		for _, variant := range variants {
			for _, sweep := range sweeps {
				for _, engine := range variant.engines {
					cell := Cell{Engine: engine, Workload: workload, Variant: strings.TrimSpace(variant.name + " " + sweep.name)}
					r.add(cell, base, variant.layer, sweep.layer)
				}
			}
		}
	}
	r.exclude()
	for i, include := range r.tables.Include {
		r.include(include, fmt.Sprintf("include[%d]", i), base, workloads)
	}
	r.override()
	r.checkTwins()
	if len(r.matrix.Cells) == 0 && len(r.file.problems) == 0 {
		r.file.problem("exclude", "every cell is excluded")
	}
	if err := r.matrix.checkSize(); err != nil {
		r.file.problem("", "%v", err)
	}
}

// layer is a set of settings and where they stand.
type layer struct {
	settings, options map[string]string
	origins           origins
}

// layer reads a table of settings, and one of the engine's own.
func (r *matrixReader) layer(settings, options map[string]any, path string) layer {
	l := layer{settings: map[string]string{}, origins: origins{}}
	for _, key := range sortedKeys(settings) {
		at := join(path, key)
		if s, ok := r.setting(key, at); ok {
			if text, ok := r.file.settingText(s, settings[key], at); ok {
				l.settings[key], l.origins[key] = text, at
			}
		}
	}
	parent, _, _ := strings.Cut(path, ".settings")
	l.options = r.file.optionTexts(options, join(parent, "options"))
	for key := range l.options {
		l.origins[optionOrigin+key] = join(join(parent, "options"), key)
	}
	return l
}

// optionOrigin begins the keys of options among origins.
const optionOrigin = "option "

// setting returns the setting of that key, if a matrix may set it.
func (r *matrixReader) setting(key, path string) (setting, bool) {
	if why, outside := outsideMatrix[key]; outside {
		r.file.problem(path, "%s", why)
		return setting{}, false
	}
	s, ok := findSetting(key)
	if !ok {
		r.file.problem(path, "unknown setting%s", didYouMean(key, settingKeys()))
	}
	return s, ok
}

// settingKeys are the keys that a matrix may set.
func settingKeys() []string {
	var keys []string
	for _, s := range settings {
		if _, outside := outsideMatrix[s.key]; !outside {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// engines resolves a list of engines, in which AllEngines stands for every one of the build.
func (r *matrixReader) engines(list []string, path string) []string {
	var known, all []string
	for _, engine := range r.facts.Engines {
		known = append(known, engine.Name)
	}
	slices.Sort(known)
	for i, name := range list {
		switch {
		case name == AllEngines:
			all = append(all, known...)
		case slices.Contains(known, name):
			all = append(all, name)
		default:
			r.file.problem(fmt.Sprintf("%s[%d]", path, i), "%s", UnknownEngine(name, known).Msg)
		}
	}
	return all
}

// workload reads a workload's file and returns the name that cells know it by.
func (r *matrixReader) workload(name, at string) string {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, name)
	}
	shown, data, err := readNamed(name, path, r.facts.Shipped)
	if err != nil {
		r.file.problem(at, "%s: %s", name, fileError(err))
		return name
	}
	file, err := Parse(shown, data)
	if err != nil {
		var problems Problems
		if errors.As(err, &problems) {
			r.file.problems = append(r.file.problems, problems...)
		} else {
			r.file.problem(at, "%v", err)
		}
	}
	short := shortName(shown)
	if text, taken := r.matrix.Workloads[short]; taken && text != string(data) {
		r.file.problem(at, "two workloads are called %s: rename one of the files", short)
	}
	r.matrix.Workloads[short] = string(data)
	if len(file.Datasets) > 0 {
		folder, err := filepath.Abs(filepath.Dir(shown))
		if err != nil {
			r.file.problem(at, "%s: %v", name, err)
			return short
		}
		if other, taken := r.matrix.Folders[short]; taken && other != folder {
			r.file.problem(at, "two workloads are called %s, and their data sets lie in different folders: rename one of the files", short)
		}
		if r.matrix.Folders == nil {
			r.matrix.Folders = map[string]string{}
		}
		r.matrix.Folders[short] = folder
	}
	return short
}

// shortName is what cells call a workload file.
func shortName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".toml") }

// variant is one variant with the engines that it is for.
type variant struct {
	name    string
	engines []string
	layer
}

// variants reads the variants; without any, the matrix is its own only one.
func (r *matrixReader) variants(engines []string) []variant {
	if len(r.tables.Variants) == 0 {
		return []variant{{engines: engines}}
	}
	var all []variant
	for i, v := range r.tables.Variants {
		path := fmt.Sprintf("variants[%d]", i)
		if v.Name == "" && len(r.tables.Variants) > 1 {
			r.file.problem(path, "has no name")
		}
		own := engines
		if len(v.Engines) > 0 {
			own = r.engines(v.Engines, path+".engines")
		}
		all = append(all, variant{v.Name, own, r.layer(v.Settings, v.Options, path+".settings")})
	}
	return all
}

// sweep is one combination of a sweep's values.
type sweep struct {
	name string
	layer
}

// sweeps returns every combination of the sweep's values, the last key of the file changing fastest.
func (r *matrixReader) sweeps() []sweep {
	all := []sweep{{layer: layer{settings: map[string]string{}, origins: origins{}}}}
	keys := sortedKeys(r.tables.Sweep)
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(r.file.lines.of("sweep."+a), r.file.lines.of("sweep."+b)) })
	for _, key := range keys {
		path := join("sweep", key)
		s, ok := r.setting(key, path)
		if !ok {
			continue
		}
		values, ok := r.tables.Sweep[key].([]any)
		if !ok || len(values) == 0 {
			r.file.problem(path, "wants an array of values to try, is %s", kindOf(r.tables.Sweep[key]))
			continue
		}
		var next []sweep
		for _, before := range all {
			for i, value := range values {
				at := fmt.Sprintf("%s[%d]", path, i)
				text, ok := r.file.settingText(s, value, at)
				if !ok {
					continue
				}
				step := sweep{strings.TrimSpace(before.name + " " + key + "=" + text), layer{maps.Clone(before.settings), nil, maps.Clone(before.origins)}}
				step.settings[key], step.origins[key] = text, at
				next = append(next, step)
			}
		}
		all = next
	}
	return all
}

// add appends a cell of these layers, the later ones going before.
func (r *matrixReader) add(cell Cell, layers ...layer) {
	cell.Settings, cell.Options = map[string]string{}, map[string]string{}
	from := origins{"": "engines"}
	for _, l := range layers {
		maps.Copy(cell.Settings, l.settings)
		maps.Copy(cell.Options, l.options)
		maps.Copy(from, l.origins)
	}
	r.matrix.Cells = append(r.matrix.Cells, cell)
	r.origins = append(r.origins, from)
}

// include adds a cell that the product does not have.
func (r *matrixReader) include(in matrixInclude, path string, base layer, workloads []string) {
	if in.Engine == "" {
		r.file.problem(path, "has no engine")
		return
	}
	if len(r.engines([]string{in.Engine}, path+".engine")) == 0 {
		return
	}
	if in.Workload == "" {
		in.Workload = workloads[0]
	} else {
		in.Workload = r.workload(in.Workload, path+".workload")
	}
	r.add(Cell{Engine: in.Engine, Workload: in.Workload, Variant: in.Name}, base, r.layer(in.Settings, in.Options, path+".settings"))
	r.origins[len(r.origins)-1][""] = path
}

// exclude takes out the cells that match.
func (r *matrixReader) exclude() {
	for i, match := range r.tables.Exclude {
		matches := r.matcher(match, fmt.Sprintf("exclude[%d]", i))
		var cells []Cell
		var from []origins
		for j, cell := range r.matrix.Cells {
			if !matches(cell) {
				cells, from = append(cells, cell), append(from, r.origins[j])
			}
		}
		r.matrix.Cells, r.origins = cells, from
	}
}

// override changes the cells that match.
func (r *matrixReader) override() {
	for i, o := range r.tables.Override {
		path := fmt.Sprintf("override[%d]", i)
		if len(o.Settings)+len(o.Options) == 0 {
			r.file.problem(path, "changes nothing: give it settings or options")
		}
		l := r.layer(o.Settings, o.Options, path+".settings")
		matches := r.matcher(o.Match, path+".match")
		for j, cell := range r.matrix.Cells {
			if matches(cell) {
				maps.Copy(cell.Settings, l.settings)
				maps.Copy(cell.Options, l.options)
				maps.Copy(r.origins[j], l.origins)
			}
		}
	}
}

// matcher returns what tells the cells that a table matches: engine, workload, variant and settings, each a value or an array of which
// one must be it. A table that matches no cell is a problem: it is a slip more likely than a wish.
func (r *matrixReader) matcher(table map[string]any, path string) func(Cell) bool {
	type want struct {
		is    func(cell Cell, text string) bool
		texts []string
	}
	var wants []want
	before := len(r.file.problems)
	for _, key := range sortedKeys(table) {
		at := join(path, key)
		is, s := r.matchKey(key, at)
		if is == nil {
			continue
		}
		values, several := table[key].([]any)
		if !several {
			values = []any{table[key]}
		}
		w := want{is: is}
		for _, value := range values {
			if text, ok := r.file.settingText(s, value, at); ok {
				w.texts = append(w.texts, canonicalText(s, text))
			}
		}
		wants = append(wants, w)
	}
	matches := func(cell Cell) bool {
		return !slices.ContainsFunc(wants, func(w want) bool {
			return !slices.ContainsFunc(w.texts, func(text string) bool { return w.is(cell, text) })
		})
	}
	switch {
	case len(table) == 0:
		r.file.problem(path, "matches every cell: name an engine, a workload, a variant or a setting")
	case len(r.file.problems) == before && !slices.ContainsFunc(r.matrix.Cells, matches):
		r.file.problem(path, "matches no cell%s", r.someCells())
	}
	return matches
}

// someCells names some cells, for those who look for one.
func (r *matrixReader) someCells() string {
	var names []string
	for _, cell := range r.matrix.Cells[:min(3, len(r.matrix.Cells))] {
		names = append(names, fmt.Sprintf("%q", cell))
	}
	if len(names) == 0 {
		return ""
	}
	return "; there are " + strings.Join(names, ", ") + " and so on"
}

// matchKey returns what tells whether a cell has a value of a key of a match, and the setting whose form the values have.
func (r *matrixReader) matchKey(key, path string) (func(Cell, string) bool, setting) {
	text := setting{form: formText}
	switch key {
	case "engine":
		return func(c Cell, engine string) bool { return c.Engine == engine }, text
	case "workload":
		return func(c Cell, workload string) bool { return c.Workload == workload || c.Workload == shortName(workload) }, text
	case "variant":
		// A sweep adds what it sets to the variant's name.
		return func(c Cell, variant string) bool {
			return c.Variant == variant || strings.HasPrefix(c.Variant, variant+" ")
		}, text
	}
	s, ok := r.setting(key, path)
	if !ok {
		return nil, s
	}
	return func(c Cell, value string) bool { return canonicalText(s, c.Settings[key]) == value }, s
}

// canonicalText makes counts that are written differently equal: 100k and 100000.
func canonicalText(s setting, text string) string {
	if s.form == formCount {
		if n, err := ParseCount(text); err == nil {
			return fmt.Sprint(n)
		}
	}
	return text
}

// checkTwins refuses cells that nobody could tell apart.
func (r *matrixReader) checkTwins() {
	seen := map[string]bool{}
	for i, cell := range r.matrix.Cells {
		if seen[cell.String()] {
			r.file.problem(r.origins[i][""], "two cells are called %q: give one a name of its own", cell)
		}
		seen[cell.String()] = true
	}
}

// checkCells builds every cell, and reports what is wrong with one at the place in the matrix that it comes from.
func (r *matrixReader) checkCells() {
	for i, cell := range r.matrix.Cells {
		_, _, err := r.matrix.Build(cell, r.facts)
		var problems Problems
		if errors.As(err, &problems) {
			for _, p := range problems {
				r.file.problems = append(r.file.problems, r.place(p, cell, r.origins[i]))
			}
		} else if err != nil {
			r.file.problem(r.origins[i][""], "%s: %v", cell, err)
		}
	}
}

// place says of a problem of a cell where in the matrix it comes from. Those of the workload's file have their place.
func (r *matrixReader) place(p Problem, cell Cell, from origins) Problem {
	if p.File != "" {
		return p
	}
	name := strings.TrimPrefix(p.Key, "--")
	if option, msg, ok := strings.Cut(p.Msg, ": "); ok && name == "engine" {
		if at, ok := from[optionOrigin+option]; ok {
			return r.file.at(at, msg)
		}
	}
	for _, s := range settings {
		if at, ok := from[s.key]; ok && s.name() == name {
			return r.file.at(at, p.Msg)
		}
	}
	if name == "samples" {
		return r.file.at("settings", "samples: "+p.Msg)
	}
	return r.file.at(from[""], fmt.Sprintf("%s: %s", cell, p.String()))
}
