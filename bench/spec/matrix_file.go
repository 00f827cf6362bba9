package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"
)

// matrixTables is a matrix as its file has it.
type matrixTables struct {
	Name      string           `toml:"name"`
	Engines   []string         `toml:"engines"`
	Workloads []string         `toml:"workloads"`
	Settings  map[string]any   `toml:"settings"`
	Sweep     map[string]any   `toml:"sweep"`
	Variants  []matrixVariant  `toml:"variants"`
	Exclude   []map[string]any `toml:"exclude"`
	Override  []matrixOverride `toml:"override"`
	Include   []matrixInclude  `toml:"include"`
}

// matrixVariant is a set of settings that every cell is made with in turn.
type matrixVariant struct {
	Name     string         `toml:"name"`
	Engines  []string       `toml:"engines"` // empty: all of the matrix
	Settings map[string]any `toml:"settings"`
	Options  map[string]any `toml:"options"`
}

// matrixOverride changes the cells that match.
type matrixOverride struct {
	Match    map[string]any `toml:"match"`
	Settings map[string]any `toml:"settings"`
	Options  map[string]any `toml:"options"`
}

// matrixInclude is one cell more.
type matrixInclude struct {
	Engine   string         `toml:"engine"`
	Workload string         `toml:"workload"` // empty: the first of the matrix
	Name     string         `toml:"name"`
	Settings map[string]any `toml:"settings"`
	Options  map[string]any `toml:"options"`
}

// AllEngines in a matrix's engines stands for every engine of the build.
const AllEngines = "all"

// matrixReader is a matrix in the making.
type matrixReader struct {
	file   *File // for problems and their lines
	dir    string
	facts  Facts
	tables matrixTables
	matrix Matrix
	// origins says of each cell where each of its settings stands, by key, and of its options.
	origins []origins
}

// origins are the places in the file that the settings of a cell come from, by key; "" is the cell itself.
type origins map[string]string

// openMatrix finds and decodes a matrix file.
func openMatrix(name string, shipped fs.FS, facts Facts) (*matrixReader, error) {
	shown, data, err := readNamed(name, name, shipped)
	if err != nil {
		return nil, Problems{{File: name, Msg: fileError(err)}}
	}
	r := &matrixReader{file: &File{Name: shown}, dir: filepath.Dir(name), facts: facts}
	if len(data) > maxFileSize {
		return nil, Problems{{File: shown, Msg: fmt.Sprintf("the file is larger than %d bytes", maxFileSize)}}
	}
	var tree map[string]any
	if err := toml.Unmarshal(data, &tree); err != nil {
		return nil, Problems{syntaxProblem(shown, err)}
	}
	r.file.lines = indexLines(data)
	if single, ok := tree["engines"].(string); ok {
		tree["engines"] = []any{single}
	}
	decoder{r.file}.into(&r.tables, any(tree), "")
	r.matrix = Matrix{Name: r.tables.Name, Workloads: map[string]string{}}
	if r.matrix.Name == "" {
		r.matrix.Name = strings.TrimSuffix(path.Base(filepath.ToSlash(shown)), ".toml")
	}
	if !names.MatchString(r.matrix.Name) || len(r.matrix.Name) > maxMatrixName {
		r.file.problem("name", "%q: use letters, digits, dots, dashes and underscores, at most %d, a letter or digit first", r.matrix.Name, maxMatrixName)
	}
	return r, nil
}

// maxMatrixName leaves room for the rest of a run's id.
const maxMatrixName = 40

// readNamed reads the file at path, or else the shipped file called name. It returns what the file is called in messages.
func readNamed(name, path string, shipped fs.FS) (string, []byte, error) {
	data, err := os.ReadFile(path)
	if !absent(err) || shipped == nil {
		return path, data, err
	}
	if shown, data, ok := readShipped(name, shipped); ok {
		return shown, data, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = noneShips(name, shipped)
	}
	return name, nil, err
}

// absent tells whether reading a file failed because there is none: a folder of its name is not meant.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EISDIR) }

// readShipped reads the shipped file of that name, which may lack its ".toml". It returns the name with it.
func readShipped(name string, shipped fs.FS) (string, []byte, bool) {
	full := strings.TrimSuffix(name, ".toml") + ".toml"
	if !fs.ValidPath(full) {
		return "", nil, false
	}
	data, err := fs.ReadFile(shipped, full)
	return full, data, err == nil
}

// noneShips is the error of a name that is neither a file nor one that ships.
func noneShips(name string, shipped fs.FS) error {
	var names []string
	matches, _ := fs.Glob(shipped, "*.toml") // the pattern is well formed, which is all that Glob complains of
	for _, match := range matches {
		names = append(names, strings.TrimSuffix(match, ".toml"))
	}
	return fmt.Errorf("no such file, and none of that name ships (%s do)%s", strings.Join(names, ", "), didYouMean(strings.TrimSuffix(name, ".toml"), names))
}

// flags are a cell's settings as a command line would give them: they go before the workload's file.
func (c Cell) flags(name string, file *File) *Flags {
	f := NewFlags(pflag.NewFlagSet(name, pflag.ContinueOnError))
	set := func(key, text string) {
		_ = f.given[key].Set(text) // keeps the text, never fails
	}
	if _, inFile := file.Settings["seed"]; !inFile {
		set("seed", MatrixSeed)
	}
	for _, key := range sortedKeys(c.Settings) {
		if _, known := f.given[key]; known { // one that is not was refused when the matrix was read, by this build or a newer one
			set(key, c.Settings[key])
		}
	}
	set("database", c.Engine)
	set("name", name)
	for _, key := range sortedKeys(c.Options) {
		f.engine.texts = append(f.engine.texts, key+"="+c.Options[key])
	}
	return f
}
