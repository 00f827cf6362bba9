package activities

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/durabench/durabench/activities/secrets"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/build"
	"github.com/durabench/durabench/infra/home"
	"github.com/durabench/durabench/infra/host"
	"github.com/durabench/durabench/infra/store"
	"github.com/durabench/durabench/workers/agent"
)

// Host makes the machine ready for a run and clears it up afterwards.
type Host struct {
	// Name is the host's name, as its task queue has it.
	Name string
	// Work is the directory below which every run has a working directory of its own.
	Work string
	// Machine is had for each run alone; nil has none of it held nor isolated, as in tests.
	Machine *Machine
	// Reaper removes what runs that are over have left; nil removes nothing.
	Reaper *Reaper
}

// PreparedHost is the machine as a run found it.
type PreparedHost struct {
	Dir     string         `json:"dir"` // the run's working directory
	Host    result.Host    `json:"host"`
	Harness result.Harness `json:"harness"`
	// Isolation is what was done so that the machine is the run's alone, and Placed where agent and server belong for it.
	Isolation *result.Isolation `json:"isolation,omitempty"`
	Placed    Placed            `json:"placed,omitzero"`
	// Searched tells that the data was loaded for searches, whose vectors the engine keeps in a way of their own: a query without any finds them so.
	Searched bool `json:"searched,omitempty"`
}

// PrepareHost makes the run's working directory and makes sure, before anything starts, that the run can be measured and kept here: the
// engine is in this build, data and results can be written, there is room for them, and a query run finds what it asks for. Then it has the
// machine for this run alone: what runs that are over have left is removed, the machine's lock taken, and the isolation done.
func (h *Host) PrepareHost(ctx context.Context, run Run) (PreparedHost, error) {
	beat := startBeat(ctx, Heartbeat{Waiting: "preparing the host"})
	defer beat.stop()
	ctx, release := untilStop(ctx)
	defer release()
	prepared, err := h.prepare(ctx, beat, run)
	switch {
	case err != nil && (stopping(ctx) || errors.Is(context.Cause(ctx), errStopping)):
		return prepared, draining("the host is prepared by the next one")
	case err != nil && cancelled(ctx):
		return prepared, temporal.NewCanceledError(err.Error())
	}
	return prepared, err
}

func (h *Host) prepare(ctx context.Context, beat *beat, run Run) (PreparedHost, error) {
	engine, err := known(run.Spec)
	if err := errors.Join(plainID(run.ID), err); err != nil {
		return PreparedHost{}, permanent(TypeSpec, err)
	}
	dir := filepath.Join(h.Work, run.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return PreparedHost{}, permanent(TypePreflight, fmt.Errorf("make the run's working directory: %w", err))
	}
	run.Dir = dir
	if err := writeOwner(dir, Owner{Run: run, Temporal: h.temporal()}); err != nil {
		return PreparedHost{}, permanent(TypePreflight, err)
	}
	data := dataPath(run, engine)
	if err := checkDatasets(run.Spec); err != nil {
		return PreparedHost{}, err
	}
	prepared := PreparedHost{Dir: dir, Harness: build.Harness()}
	if run.Spec.Mode == spec.ModeQuery {
		prepared.Searched, err = checkManifest(run.Spec, engine)
	} else {
		err = checkWritable(run, data)
	}
	if err != nil {
		return PreparedHost{}, err
	}
	if err := checkStore(ctx, beat, run.Store); err != nil {
		return PreparedHost{}, err
	}
	if h.Reaper != nil {
		beat.set(Heartbeat{Waiting: "removing what earlier runs left"})
		h.Reaper.before(ctx, run.ID)
	}
	if h.Machine != nil {
		if err := h.Machine.awaitHold(ctx, beat, run.ID); err != nil {
			return PreparedHost{}, err
		}
		var err error
		if prepared.Placed, prepared.Isolation, err = h.Machine.isolate(ctx, run, beat); err != nil {
			if problem := h.Machine.release(run.ID); problem != nil {
				activity.GetLogger(ctx).Warn("the machine is not let go", "error", problem)
			}
			return prepared, err
		}
	}
	beat.set(Heartbeat{Waiting: "looking at the host"})
	prepared.Host = host.Fingerprint(ctx, data)
	if h.Name != "" {
		prepared.Host.Name = h.Name
	}
	if run.Spec.Isolation != nil { // otherwise nobody asked for a look at the machine that takes its time
		probe, err := host.Probe(ctx, data, probeWindow)
		if err != nil {
			activity.GetLogger(ctx).Warn("the machine is measured in part only", "error", err)
		}
		prepared.Host.Probe = probe
	}
	return prepared, nil
}

// probeWindow is how long is watched what the hypervisor takes: every run waits for it, also the shortest.
const probeWindow = 250 * time.Millisecond

// temporal is the server that this worker's runs are on.
func (h *Host) temporal() string {
	if h.Machine == nil {
		return ""
	}
	return h.Machine.Temporal
}

// runID is what a run's id may look like, as it names files and directories.
var runID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func plainID(id string) error {
	if !runID.MatchString(id) || len(id) > 128 {
		return fmt.Errorf("run id %q cannot name a directory: it must be up to 128 letters, digits, dots, dashes and underscores", id)
	}
	return nil
}

// known makes sure that this build can run the spec: it may be another than the one that made the plan.
func known(s spec.Spec) (drivers.Engine, error) {
	engine, ok := drivers.Lookup(s.Database)
	if !ok {
		return engine, fmt.Errorf("engine %q is not in this worker's build; it has %s", s.Database, strings.Join(drivers.Names(), ", "))
	}
	if problems := engine.CheckOptions(s.Engine); len(problems) > 0 {
		return engine, fmt.Errorf("engine %s: %s", s.Database, strings.Join(problems, "; "))
	}
	return engine, nil
}

// checkDatasets makes sure that the files of data sets are here.
func checkDatasets(s spec.Spec) error {
	if len(s.Datasets) == 0 {
		return nil
	}
	cache, err := home.Datasets()
	if err != nil {
		return permanent(TypePreflight, err)
	}
	if err := s.CheckDatasets(cache); err != nil {
		return permanent(TypeSpec, err)
	}
	return nil
}

// checkWritable makes sure that the data can be written, and that there is room for it.
func checkWritable(run Run, data string) error {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return permanent(TypePreflight, fmt.Errorf("make the data directory: %w", err))
	}
	probe, err := os.CreateTemp(data, ".durabench-*")
	if err != nil {
		return permanent(TypePreflight, fmt.Errorf("write to the data directory: %w", err))
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return permanent(TypePreflight, fmt.Errorf("write to the data directory: %w", err))
	}
	return checkSpace(run.Spec, data)
}

// checkManifest compares what a query run asks for with what a load left, and tells whether the vectors there are kept as those of searches.
func checkManifest(s spec.Spec, engine drivers.Engine) (searched bool, err error) {
	manifest, err := spec.ReadManifest(s.DataDir, s.Database, s.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, permanent(TypeSpec, err)
	}
	if err != nil {
		return false, permanent(TypeDataset, err)
	}
	if differences := manifest.Differences(&s, engine.SearchedVectors); len(differences) > 0 {
		problems := make([]error, len(differences))
		for i, difference := range differences {
			problems[i] = errors.New(difference)
		}
		return false, permanent(TypeSpec, fmt.Errorf("the loaded data is not what this run asks for: %w", errors.Join(problems...)))
	}
	return engine.SearchedVectors != "" && manifest.ForSearches(), nil
}

// checkStore makes sure that results can be kept before any is measured.
func checkStore(ctx context.Context, beat *beat, name string) error {
	kept, err := store.Open(name)
	if err != nil {
		return permanent(TypeSpec, fmt.Errorf("open the store %s: %w", name, err))
	}
	checker, ok := kept.(store.Checker)
	if !ok {
		return nil
	}
	for end := time.Now().Add(storePatience); ; {
		err := checker.Check(ctx)
		if err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrUnavailable) || time.Now().After(end) {
			return permanent(TypePreflight, err)
		}
		beat.set(Heartbeat{Waiting: "waiting for the store: " + err.Error()})
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

// storePatience is how long a run that has not begun waits for a store that is away. Once something was measured it waits much longer.
const storePatience = 30 * time.Second

// CleanHostInput says what to clear up.
type CleanHostInput struct {
	Run Run `json:"run"`
	// KeepLogs leaves the logs of agent and server where they are, to find out what went wrong.
	KeepLogs bool `json:"keepLogs,omitempty"`
}

// CleanHost removes what a run needed on this machine: its credentials, its data unless it was loaded to be kept, and its working
// directory unless the logs in it are wanted. Then it puts back what was changed of the machine, and lets go of it.
func (h *Host) CleanHost(ctx context.Context, in CleanHostInput) error {
	beat := startBeat(ctx, Heartbeat{Waiting: "cleaning up"})
	defer beat.stop()
	// Not the directory that the input names: only what lies where this worker puts runs is ours to remove.
	if err := plainID(in.Run.ID); err != nil {
		return permanent(TypeSpec, err)
	}
	run := in.Run
	run.Dir = filepath.Join(h.Work, run.ID)
	problems := []error{secrets.Delete(run.ID), agent.RemoveCredentials(run.Dir)}
	for _, dir := range passingData(run) {
		problems = append(problems, os.RemoveAll(dir))
	}
	if !in.KeepLogs {
		problems = append(problems, os.RemoveAll(run.Dir))
	}
	if h.Machine != nil {
		problems = append(problems, h.Machine.restore(ctx, run.ID))
	}
	if err := errors.Join(problems...); err != nil {
		return passing(TypeInfrastructure, fmt.Errorf("clean up after run %s: %w", in.Run.ID, err))
	}
	return nil
}
