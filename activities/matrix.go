package activities

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/docker"
	"github.com/durabench/durabench/infra/process"
	"github.com/durabench/durabench/infra/store"
)

// Matrix makes the cells of a matrix into runs, on the machine that will run them and with its build, and what they came to into one
// document.
type Matrix struct {
	// Logger is told what asking the container engine meets; nil is silence.
	Logger *slog.Logger
}

// PlanCellInput is one cell with what its spec is made of.
type PlanCellInput struct {
	Matrix string    `json:"matrix"` // its name
	Cell   spec.Cell `json:"cell"`
	// Workload is the text of the cell's workload file.
	Workload string `json:"workload"`
	// Folder is where that file lies, when it names files of data sets.
	Folder string `json:"folder,omitempty"`
}

// PlannedCell is a cell that can be run, or why it cannot be run here.
type PlannedCell struct {
	Spec *spec.Spec `json:"spec,omitempty"`
	Plan *plan.Plan `json:"plan,omitempty"`
	Skip string     `json:"skip,omitempty"`
}

// MarshalJSON packs what is large.
func (c PlannedCell) MarshalJSON() ([]byte, error) {
	type plain PlannedCell
	return Pack(plain(c))
}

// UnmarshalJSON reads the packed and the plain form.
func (c *PlannedCell) UnmarshalJSON(text []byte) error {
	type plain PlannedCell
	return Unpack(text, (*plain)(c))
}

// PlanCell makes the spec and the plan of a cell. A cell whose engine cannot be had on this host, or cannot do what the cell asks, is
// skipped with the reason; only a cell that is wrong on any host is an error.
func (m *Matrix) PlanCell(ctx context.Context, in PlanCellInput) (PlannedCell, error) {
	beat := startBeat(ctx, Heartbeat{Waiting: "planning " + in.Cell.String()})
	defer beat.stop()
	made := spec.Matrix{Name: in.Matrix, Workloads: map[string]string{in.Cell.Workload: in.Workload}}
	if in.Folder != "" {
		made.Folders = map[string]string{in.Cell.Workload: in.Folder}
	}
	s, skip, err := made.Build(in.Cell, Facts(false))
	switch {
	case err != nil:
		return PlannedCell{}, permanent(TypeSpec, err)
	case skip != "":
		return PlannedCell{Skip: string(skip)}, nil
	}
	engine, ok := drivers.Lookup(in.Cell.Engine)
	if !ok {
		return PlannedCell{Skip: fmt.Sprintf("engine %q is not in this worker's build", in.Cell.Engine)}, nil
	}
	if err := m.canHave(ctx, engine, *s); err != nil {
		return PlannedCell{Skip: fmt.Sprintf("%s cannot be had on this host: %v", engine.Title, err)}, nil
	}
	planned, err := plan.New(s, engine.PlanAbilities(s))
	var problems spec.Problems
	if errors.As(err, &problems) {
		return PlannedCell{Skip: problems.Error()}, nil
	}
	if err != nil {
		return PlannedCell{}, permanent(TypeSpec, err)
	}
	if err := CheckPlan(s, planned); err != nil {
		return PlannedCell{}, permanent(TypeSpec, err)
	}
	return PlannedCell{Spec: s, Plan: planned}, nil
}

// canHave tells whether any of the ways to have the database that the spec allows is there, without starting anything: nil, or why none
// is.
func (m *Matrix) canHave(ctx context.Context, engine drivers.Engine, s spec.Spec) error {
	var refusals []error
	for _, mode := range wantedModes(engine, Run{Spec: s}) {
		err := m.offered(ctx, engine, mode, s)
		if err == nil {
			return nil
		}
		refusals = append(refusals, &unavailableError{mode: mode, why: err.Error()})
	}
	return errors.Join(refusals...)
}

// offered tells whether one way to have the database is there.
func (m *Matrix) offered(ctx context.Context, engine drivers.Engine, mode drivers.ServerMode, s spec.Spec) error {
	switch mode {
	case drivers.Embedded:
		return nil
	case drivers.Process:
		_, err := process.Installed(engine.Server)
		return err
	case drivers.Docker:
		client, err := docker.New(m.Logger)
		if err != nil {
			return err
		}
		_, err = client.Available(ctx)
		return errors.Join(err, client.Close())
	case drivers.Endpoint:
		if s.Endpoint == "" {
			return errors.New("it needs the address of a server: give the cell an endpoint")
		}
		return nil
	default:
		return fmt.Errorf("there is no server mode %q", mode)
	}
}

// PutMatrixInput is what a matrix came to, by reference.
type PutMatrixInput struct {
	ID       string              `json:"id"`
	Name     string              `json:"name"`
	Store    string              `json:"store"`
	Command  []string            `json:"command,omitempty"`
	Started  time.Time           `json:"started"`
	Finished time.Time           `json:"finished"`
	Cells    []result.MatrixCell `json:"cells"` // without what their documents say
}

// MarshalJSON packs what is large.
func (in PutMatrixInput) MarshalJSON() ([]byte, error) {
	type plain PutMatrixInput
	return Pack(plain(in))
}

// UnmarshalJSON reads the packed and the plain form.
func (in *PutMatrixInput) UnmarshalJSON(text []byte) error {
	type plain PutMatrixInput
	return Unpack(text, (*plain)(in))
}

// StoredMatrix is where the summary of a matrix is.
type StoredMatrix struct {
	Store string `json:"store"`
	Key   string `json:"key"`
	Path  string `json:"path,omitempty"` // as a user would type it
}

// PutMatrix reads the documents of the cells that ran, and stores the summary. A document that cannot be read costs its cell the numbers,
// not the others theirs.
func (m *Matrix) PutMatrix(ctx context.Context, in PutMatrixInput) (StoredMatrix, error) {
	beat := startBeat(ctx, Heartbeat{Waiting: "storing the summary"})
	defer beat.stop()
	kept, err := store.Open(in.Store)
	if err != nil {
		return StoredMatrix{}, permanent(TypeSpec, fmt.Errorf("open the store %s: %w", in.Store, err))
	}
	summary := result.Matrix{
		Schema: result.MatrixSchemaVersion, ID: in.ID, Name: in.Name, Started: in.Started, Finished: in.Finished, Command: in.Command, Cells: in.Cells,
	}
	patient := time.Since(activity.GetInfo(ctx).ScheduledTime) < documentGrace
	for i := range summary.Cells {
		if err := takeDocument(ctx, kept, &summary.Cells[i], patient); err != nil {
			return StoredMatrix{}, err
		}
	}
	var text bytes.Buffer
	if err := summary.Encode(&text); err != nil {
		return StoredMatrix{}, permanent(TypeInfrastructure, fmt.Errorf("encode the summary of %s: %w", in.ID, err))
	}
	key := store.MatrixKey(in.ID)
	if err := put(ctx, Run{ID: in.ID, Store: in.Store}, key, text.Bytes()); err != nil {
		return StoredMatrix{}, err
	}
	stored := StoredMatrix{Store: in.Store, Key: key}
	if locator, ok := kept.(store.Locator); ok {
		stored.Path = locator.Path(key)
	}
	return stored, nil
}

// documentGrace is how long the summary waits for the document of a run that has stored one: a store may show it to others only after a while.
const documentGrace = 10 * time.Minute

// takeDocument fills a cell with what its document says. Patient is to wait for one that must be there.
func takeDocument(ctx context.Context, kept store.Store, cell *result.MatrixCell, patient bool) error {
	if cell.Run == "" {
		return nil
	}
	data, err := kept.Get(ctx, store.DocumentKey(cell.Run))
	switch {
	case errors.Is(err, store.ErrNotFound) && !hasDocument(cell.Verdict):
		return nil // the run never had its host, or could not store anything: its reason says so
	case errors.Is(err, store.ErrNotFound) && !patient:
		cell.Why = fmt.Sprintf("its result was stored, and is not in the store any more: %v", err)
		return nil
	case errors.Is(err, store.ErrDamaged):
		cell.Why = fmt.Sprintf("its result cannot be read: %v", err)
		return nil
	case err != nil:
		return passing(TypeInfrastructure, fmt.Errorf("read the result of %s: %w", cell.Run, err))
	}
	document, err := result.Decode(data)
	if err != nil {
		cell.Why = fmt.Sprintf("its result cannot be read: %v", err)
		return nil
	}
	cell.Take(document)
	return nil
}

// hasDocument tells whether a run that came to the verdict has surely stored its document. One that failed or was interrupted may not have got so
// far.
func hasDocument(verdict result.Verdict) bool {
	switch verdict {
	case result.Valid, result.GeneratorLimited, result.Overloaded, result.Unverified, result.Invalid:
		return true
	default:
		return false
	}
}
