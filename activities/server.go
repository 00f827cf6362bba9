package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
)

// Server brings a run's database about and takes it away again.
type Server struct{}

// StartedServer is a database that can be opened.
type StartedServer struct {
	Mode     drivers.ServerMode `json:"mode"`
	Endpoint string             `json:"endpoint,omitempty"` // address without credentials; empty for embedded engines
	Dir      string             `json:"dir,omitempty"`      // of an embedded engine's files, or of a server of ours
	PID      int                `json:"pid,omitempty"`      // of a server of ours
	Binary   string             `json:"binary,omitempty"`
	// ImageDigest identifies the container's image.
	ImageDigest string           `json:"imageDigest,omitempty"`
	Profile     []result.Setting `json:"profile,omitempty"` // what we set, and why
}

// StartServer makes the database of a run available, in the way the spec asks for or else the first that works here. A retry finds the
// server that the first attempt started.
func (s *Server) StartServer(ctx context.Context, run Run) (StartedServer, error) {
	beat := startBeat(ctx, Heartbeat{Waiting: "starting the server"})
	defer beat.stop()
	engine, ok := drivers.Lookup(run.Spec.Database)
	if !ok {
		return StartedServer{}, permanent(TypeSpec, fmt.Errorf("engine %q is not in this worker's build", run.Spec.Database))
	}
	modes := wantedModes(engine, run)
	var refusals []error
	for _, mode := range modes {
		started, err := s.start(ctx, engine, mode, run)
		var unavailable *unavailableError
		switch {
		case err == nil:
			return started, nil
		case errors.As(err, &unavailable):
			refusals = append(refusals, err)
		default:
			return StartedServer{}, err
		}
	}
	kind := TypeMissingBinary
	if len(refusals) == 0 {
		kind = TypeSpec
		refusals = append(refusals, fmt.Errorf("it offers none of the ways asked for"))
	}
	return StartedServer{}, permanent(kind, fmt.Errorf("%s cannot be had on this host: %w", engine.Title, errors.Join(refusals...)))
}

// wantedModes are the ways to have the database that may be tried, in order.
func wantedModes(engine drivers.Engine, run Run) []drivers.ServerMode {
	switch {
	case run.Spec.Server != "":
		return []drivers.ServerMode{drivers.ServerMode(run.Spec.Server)}
	case run.Spec.Endpoint != "":
		return []drivers.ServerMode{drivers.Endpoint}
	default:
		return engine.Modes
	}
}

// unavailableError says why a way to have a database does not work on this host; another one may.
type unavailableError struct {
	mode drivers.ServerMode
	why  string
}

func (e *unavailableError) Error() string { return fmt.Sprintf("--server %s: %s", e.mode, e.why) }

func (s *Server) start(ctx context.Context, engine drivers.Engine, mode drivers.ServerMode, run Run) (StartedServer, error) {
	if !offers(engine, mode) {
		return StartedServer{}, permanent(TypeSpec, fmt.Errorf("%s has no server mode %q; it has %s", engine.Title, mode, modeList(engine)))
	}
	switch mode {
	case drivers.Embedded:
		return StartedServer{Mode: mode, Dir: dataPath(run, engine)}, nil
	case drivers.Endpoint:
		if run.Spec.Endpoint == "" {
			return StartedServer{}, &unavailableError{mode, "it needs the address of a server: give one with -e"}
		}
		return StartedServer{Mode: mode, Endpoint: run.Spec.Endpoint}, nil
	case drivers.Process:
		return s.startProcess(ctx, engine, run)
	case drivers.Docker:
		return StartedServer{}, &unavailableError{mode, "containers are not available yet"}
	default:
		return StartedServer{}, permanent(TypeSpec, fmt.Errorf("there is no server mode %q", mode))
	}
}

func offers(engine drivers.Engine, mode drivers.ServerMode) bool {
	for _, offered := range engine.Modes {
		if offered == mode {
			return true
		}
	}
	return false
}

func modeList(engine drivers.Engine) string {
	var names []string
	for _, mode := range engine.Modes {
		names = append(names, string(mode))
	}
	return strings.Join(names, ", ")
}

// StopServer takes away the server that StartServer started for the run, also when that attempt did not live to tell of it. Someone else's
// server is left alone: only what lies in the run's directory is known to it.
func (s *Server) StopServer(ctx context.Context, run Run) error {
	beat := startBeat(ctx, Heartbeat{Waiting: "stopping the server"})
	defer beat.stop()
	if run.Dir == "" {
		return nil
	}
	return s.stopProcess(ctx, run)
}
