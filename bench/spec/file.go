package spec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/durabench/durabench/bench/corpus"
)

// maxFileSize bounds a spec file in bytes; a spec travels through workflow inputs, which stay small.
const maxFileSize = 1 << 20

// File is a spec or workload file, decoded. Settings are still text: Build reads them as it reads flags.
type File struct {
	Name     string            // as it was named
	Settings map[string]string // top-level keys as text, e.g. "samples": "100000"
	Engine   map[string]string // the [engine] table; nil when there is none
	Value    map[string]any    // the [value] table; nil when there is none
	Scans    []ScanEntry
	Mixes    []MixEntry
	Batches  []BatchEntry
	Datasets map[string]DatasetEntry

	folder   string // absolute, that paths in the file are relative to; empty when the text lies in none
	lines    lines
	problems Problems
	unread   bool // nothing of the file is known, so that nothing can be said to be missing from it
}

// Load reads and decodes the file at path. The error is Problems when the content is at fault, and the File then holds the rest.
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	file, problems := Parse(path, data)
	if file.folder, err = filepath.Abs(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	return file, problems
}

// Parse decodes a file that is called name in messages. It is strict: unknown keys and wrong types are errors. The error is Problems,
// all of them at once, and the File then holds what could be understood, so that Build can report the rest.
func Parse(name string, data []byte) (*File, error) {
	f := &File{Name: name, Settings: map[string]string{}}
	if len(data) > maxFileSize {
		f.broken(Problem{File: name, Msg: fmt.Sprintf("the file is larger than %d bytes", maxFileSize)})
		return f, f.problems.err()
	}
	var tree map[string]any
	if err := toml.Unmarshal(data, &tree); err != nil {
		f.broken(syntaxProblem(name, err))
		return f, f.problems.err()
	}
	f.lines = indexLines(data)
	f.read(tree)
	return f, f.problems.err()
}

// open reads the file that config names: a path, or the name of a file in shipped, which a folder of that name does not hide.
func open(config string, shipped fs.FS) (*File, error) {
	file, err := Load(config)
	if !absent(err) || shipped == nil {
		return file, err
	}
	name, data, ok := readShipped(config, shipped)
	switch {
	case ok:
		return Parse(name, data)
	case errors.Is(err, fs.ErrNotExist):
		return nil, noneShips(config, shipped)
	default:
		return nil, err
	}
}

// broken marks the file as one of which nothing is known.
func (f *File) broken(p Problem) {
	f.problems = append(f.problems, p)
	f.unread = true
}

// problem notes what is wrong with the key at path.
func (f *File) problem(path, format string, args ...any) {
	f.problems = append(f.problems, f.at(path, fmt.Sprintf(format, args...)))
}

// at returns a problem with the line of path.
func (f *File) at(path, msg string) Problem {
	return Problem{File: f.Name, Line: f.lines.of(path), Key: path, Msg: msg}
}

// syntaxProblem returns what the parser said, with its line.
func syntaxProblem(name string, err error) Problem {
	msg := strings.TrimPrefix(err.Error(), "toml: ")
	p := Problem{File: name, Msg: strings.ReplaceAll(msg, "\n", " ")} // a problem is one line
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		p.Line, _ = decode.Position()
	}
	return p
}

// read takes the settings and tables out of the file's tree.
func (f *File) read(tree map[string]any) {
	known := []string{"engine", "value", "scans", "mixes", "batches", "datasets"}
	for _, s := range settings {
		known = append(known, s.key)
	}
	decoder, before := decoder{file: f}, len(f.problems)
	for _, key := range sortedKeys(tree) {
		value := tree[key]
		switch key {
		case "engine":
			f.readEngine(value)
		case "value":
			f.readValue(value)
		case "scans":
			decoder.into(&f.Scans, value, key)
		case "mixes":
			decoder.into(&f.Mixes, value, key)
		case "batches":
			decoder.into(&f.Batches, value, key)
		case "datasets":
			decoder.into(&f.Datasets, value, key)
		default:
			if s, ok := findSetting(key); ok {
				f.readSetting(s, value)
			} else {
				f.problem(join("", key), "unknown key%s", didYouMean(key, known))
			}
		}
	}
	if len(f.problems) == before {
		// What could not be decoded reads as left out, and would be reported a second time.
		f.checkEntries()
	}
}

// readSetting brings a setting to text. A setting of the wrong type counts as given, so that it is not reported as missing too.
func (f *File) readSetting(s setting, value any) {
	f.Settings[s.key], _ = f.settingText(s, value, s.key)
}

// settingText brings the value of a setting, which stands at path, to the text that a flag would be given. It tells whether it could.
func (f *File) settingText(s setting, value any, path string) (string, bool) {
	switch v := value.(type) {
	case string:
		if s.form != formTruth && s.form != formRatio {
			return v, true
		}
	case bool:
		if s.form == formTruth {
			return strconv.FormatBool(v), true
		}
	case int64:
		switch s.form {
		case formDuration:
			f.problem(path, "%d needs a unit, e.g. \"%ds\"", v, v)
			return "", false
		case formCount, formRatio:
			return strconv.FormatInt(v, 10), true
		}
	case float64:
		if s.form == formRatio && !math.IsNaN(v) {
			return strconv.FormatFloat(v, 'g', -1, 64), true
		}
	}
	f.problem(path, "wants %s, is %s", wanted[s.form], kindOf(value))
	return "", false
}

// wanted says what a form wants, in the words of TOML.
var wanted = map[form]string{
	formText: "a string", formCount: "a whole number", formTruth: "true or false", formRatio: "a number",
	formDuration: "a string with a unit, e.g. \"30s\"",
}

// readEngine takes the engine's settings.
func (f *File) readEngine(value any) {
	table, ok := value.(map[string]any)
	if !ok {
		f.problem("engine", "wants a table, is %s", kindOf(value))
		return
	}
	f.Engine = f.optionTexts(table, "engine")
}

// optionTexts takes an engine's own settings, which are text to us; whole numbers and truth values may be written as such.
func (f *File) optionTexts(table map[string]any, path string) map[string]string {
	texts := map[string]string{}
	for _, key := range sortedKeys(table) {
		switch v := table[key].(type) {
		case string:
			texts[key] = v
		case bool:
			texts[key] = strconv.FormatBool(v)
		case int64:
			texts[key] = strconv.FormatInt(v, 10)
		default:
			f.problem(join(path, key), "wants a string, a whole number or true or false, is %s", kindOf(v))
		}
	}
	return texts
}

// readValue takes the value template and reports each of its errors at its own line.
func (f *File) readValue(value any) {
	table, ok := value.(map[string]any)
	if !ok {
		f.problem("value", "wants a table, is %s", kindOf(value))
		f.Value = map[string]any{} // given, if badly: the default must not step in
		return
	}
	f.Value = table
	if _, err := corpus.ParseTemplate(table); err != nil {
		for _, e := range flatten(err) {
			f.problems = append(f.problems, f.templateProblem(e))
		}
	}
}

// templateProblem places one error of the value template.
func (f *File) templateProblem(err error) Problem {
	var field *corpus.FieldError
	if !errors.As(err, &field) {
		return f.at("value", err.Error())
	}
	path := "value"
	if field.Path != "" {
		path += "." + field.Path
	}
	msg := field.Msg
	if field.Expr != "" {
		msg = fmt.Sprintf("%q: %s", field.Expr, field.Msg)
	}
	return f.at(path, msg)
}

// flatten returns the errors that were joined.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}

// sortedKeys returns the table's keys in order, so that messages come in the same order every time.
func sortedKeys[T any](table map[string]T) []string {
	keys := make([]string, 0, len(table))
	for key := range table {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
