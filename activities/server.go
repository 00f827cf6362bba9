package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
)

// Server brings a run's database about and takes it away again.
type Server struct {
	// Logger is told what is started, adopted and removed; nil is silence.
	Logger *slog.Logger
	// Owner names this installation on what is started, so that only its own leftovers are ever removed.
	Owner string
}

// StartedServer is a database that can be opened.
type StartedServer struct {
	Mode     drivers.ServerMode `json:"mode"`
	Endpoint string             `json:"endpoint,omitempty"` // address without credentials; empty for embedded engines
	Dir      string             `json:"dir,omitempty"`      // of an embedded engine's files, or of a server of ours
	PID      int                `json:"pid,omitempty"`      // of a server of ours
	Binary   string             `json:"binary,omitempty"`
	// Container is the id of the server's container, and Start when this start of it began: another start is another server.
	Container string    `json:"container,omitempty"`
	Start     time.Time `json:"start,omitzero"`
	// Image is the container's image as it was asked for, ImageDigest what it was.
	Image       string `json:"image,omitempty"`
	ImageDigest string `json:"imageDigest,omitempty"`
	// Direct tells of a container whether clients reach its own address, or a port that a proxy publishes.
	Direct *bool `json:"direct,omitempty"`
	// ContainerEngine is the engine that runs the container.
	ContainerEngine string `json:"containerEngine,omitempty"`

	Warnings []string         `json:"warnings,omitempty"` // what could not be had as it was asked for
	Profile  []result.Setting `json:"profile,omitempty"`  // what we set, and why
}

// StartServer makes the database of a run available, in the way the spec asks for or else the first that works here. A retry finds the
// server that the first attempt started.
func (s *Server) StartServer(ctx context.Context, run Run) (StartedServer, error) {
	return attempt(ctx, "starting the server", maxStarts, maxExits, func(ctx context.Context, beat *beat) (StartedServer, error) {
		return s.startAny(ctx, beat, run)
	})
}

// startAny starts the server in the first way that works here.
func (s *Server) startAny(ctx context.Context, beat *beat, run Run) (StartedServer, error) {
	engine, ok := drivers.Lookup(run.Spec.Database)
	if !ok {
		return StartedServer{}, permanent(TypeSpec, fmt.Errorf("engine %q is not in this worker's build", run.Spec.Database))
	}
	modes := wantedModes(engine, run)
	var refusals []error
	passes := false // what keeps one of them from working
	for _, mode := range modes {
		started, err := s.start(ctx, beat, engine, mode, run)
		var unavailable *unavailableError
		switch {
		case err == nil:
			return started, nil
		case errors.As(err, &unavailable):
			refusals = append(refusals, err)
			passes = passes || unavailable.passes
		default:
			return StartedServer{}, err
		}
	}
	kind := TypeMissingBinary
	if len(refusals) == 0 {
		kind = TypeSpec
		refusals = append(refusals, fmt.Errorf("it offers none of the ways asked for"))
	}
	err := fmt.Errorf("%s cannot be had on this host: %w", engine.Title, errors.Join(refusals...))
	if passes {
		return StartedServer{}, passing(TypeInfrastructure, err)
	}
	return StartedServer{}, permanent(kind, err)
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
	mode   drivers.ServerMode
	why    string
	passes bool // it may work at the next attempt
}

func (e *unavailableError) Error() string { return fmt.Sprintf("--server %s: %s", e.mode, e.why) }

func (s *Server) start(ctx context.Context, beat *beat, engine drivers.Engine, mode drivers.ServerMode, run Run) (StartedServer, error) {
	if !offers(engine, mode) {
		return StartedServer{}, permanent(TypeSpec, fmt.Errorf("%s has no server mode %q; it has %s", engine.Title, mode, modeList(engine)))
	}
	switch mode {
	case drivers.Embedded:
		return StartedServer{Mode: mode, Dir: dataPath(run, engine)}, nil
	case drivers.Endpoint:
		if run.Spec.Endpoint == "" {
			return StartedServer{}, &unavailableError{mode: mode, why: "it needs the address of a server: give one with -e"}
		}
		return StartedServer{Mode: mode, Endpoint: run.Spec.Endpoint}, nil
	case drivers.Process:
		return s.startProcess(ctx, engine, run)
	case drivers.Docker:
		return s.startContainer(ctx, beat, engine, run)
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

// StopServerInput says whose server to stop.
type StopServerInput struct {
	Run Run `json:"run"`
	// Failed tells that the run failed: what it asked to be kept then stays.
	Failed bool `json:"failed,omitempty"`
}

// StopServer takes away the server that StartServer started for the run, also when that attempt did not live to tell of it. Someone else's
// server is left alone: only what lies in the run's directory and what carries its label is known to it.
func (s *Server) StopServer(ctx context.Context, in StopServerInput) error {
	beat := startBeat(ctx, Heartbeat{Waiting: "stopping the server"})
	defer beat.stop()
	if in.Run.Dir == "" {
		return nil
	}
	return errors.Join(s.stopProcess(ctx, in.Run), s.stopContainer(ctx, in))
}
