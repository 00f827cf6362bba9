package spec

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Matrix is a night of benchmarks: every cell is one of them. It is plain data that travels through workflow inputs, so its cells are
// what sets them apart and not whole specs: Build makes those, on the worker that will run them and with that worker's build. Workload
// files travel as text: a scheduled matrix measures what it was made of, also when a later build ships another file of the same name.
type Matrix struct {
	Name      string            `json:"name"`
	Workloads map[string]string `json:"workloads"` // the text of workload files, by name
	// Folders are where those of them lie that name files of data sets; paths in them are relative to these.
	Folders map[string]string `json:"folders,omitempty"`
	Cells   []Cell            `json:"cells"`
}

// Cell is one benchmark of a matrix.
type Cell struct {
	Engine   string `json:"engine"`
	Workload string `json:"workload"` // name in Matrix.Workloads
	// Variant says in words what sets the cell apart from others of its engine and workload, e.g. "durable clients=8".
	Variant string `json:"variant,omitempty"`
	// Settings are keys of spec files as text; they go before those of the workload's file.
	Settings map[string]string `json:"settings,omitempty"`
	Options  map[string]string `json:"options,omitempty"` // the engine's own settings
}

// String names the cell for people: "postgres crud durable clients=8".
func (c Cell) String() string {
	return strings.TrimSpace(c.Engine + " " + c.Workload + " " + c.Variant)
}

const (
	// MaxCells is how many cells a matrix may have.
	MaxCells = 500
	// MaxMatrixSize bounds a matrix in bytes of JSON: it travels in a workflow's input.
	MaxMatrixSize = 256 << 10
	// MatrixSeed is the seed of every cell unless the matrix or the workload sets one: only equal rows can be compared, between engines and
	// between nights.
	MatrixSeed = "1"
)

// outsideMatrix are the settings that a matrix cannot set, and why.
var outsideMatrix = map[string]string{
	"database": "the engines of a matrix are its engines, not a setting",
	"name":     "the cells of a matrix are named after it",
	"mode":     "the cells of a matrix load, measure and delete: load and query are runs of their own",
}

// Skip is the reason why an engine cannot run a cell at all, e.g. a durability that it cannot give. Other cells are not concerned.
type Skip string

// Build makes the spec of a cell of the matrix with what this build knows. A cell that its engine cannot run is no error but a Skip; the
// spec is there then too, unless the engine is not.
func (m *Matrix) Build(cell Cell, facts Facts) (*Spec, Skip, error) {
	at := slices.IndexFunc(facts.Engines, func(e EngineFacts) bool { return e.Name == cell.Engine })
	if at < 0 {
		return nil, Skip(fmt.Sprintf("engine %q is not in this worker's build", cell.Engine)), nil
	}
	engine := facts.Engines[at]
	file, err := Parse(cell.Workload, []byte(m.Workloads[cell.Workload]))
	if err != nil {
		return nil, "", err
	}
	file.folder = m.Folders[cell.Workload]
	// What the engine cannot do is asked afterwards: it is no mistake in the matrix.
	lenient := engine
	lenient.Servers, lenient.Check = servers, nil
	facts.Engines = []EngineFacts{lenient}
	built, err := Build(cell.flags(m.Name, file), file, facts)
	if err != nil {
		return nil, "", err
	}
	if built.Credentials != (Credentials{}) {
		return nil, "", Problems{{Key: "--endpoint", Msg: "a matrix holds no user and no password: workers take them from their environment"}}
	}
	s := built.Spec
	if s.Server != "" && !slices.Contains(engine.Servers, s.Server) {
		return s, Skip(fmt.Sprintf("%s cannot be had as %s: it takes %s", engine.Name, s.Server, strings.Join(engine.Servers, ", "))), nil
	}
	if engine.Check != nil {
		if err := engine.Check(s); err != nil {
			return s, Skip(err.Error()), nil
		}
	}
	return s, "", nil
}

// checkSize keeps a matrix small enough to travel.
func (m *Matrix) checkSize() error {
	if len(m.Cells) > MaxCells {
		return fmt.Errorf("it has %d cells, at most %d can be; make two of it", len(m.Cells), MaxCells)
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(text) > MaxMatrixSize {
		return fmt.Errorf("it takes %d bytes as JSON, at most %d travel; make two of it", len(text), MaxMatrixSize)
	}
	return nil
}

// ReadMatrix reads the matrix that name names: a file, or the name of one in shipped. Workload files are looked for beside the matrix's
// file and then among facts.Shipped. The error is Problems: everything that is wrong with the matrix and with every cell of it.
func ReadMatrix(name string, shipped fs.FS, facts Facts) (*Matrix, error) {
	r, err := openMatrix(name, shipped, facts)
	if err != nil {
		return nil, err
	}
	r.expand()
	if err := r.file.problems.err(); err != nil {
		return nil, err
	}
	r.checkCells()
	return &r.matrix, r.file.problems.err()
}
