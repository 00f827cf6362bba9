package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/docker"
	"github.com/durabench/durabench/infra/host"
	"github.com/durabench/durabench/workers/agent"
)

// logLines is how much of a container's log is kept with the run's others.
const logLines = 10_000

// startContainer starts the engine's server in a container, or finds it running.
func (s *Server) startContainer(ctx context.Context, beat *beat, engine drivers.Engine, run Run) (StartedServer, error) {
	config, connections, err := configOf(engine, run)
	if err != nil {
		return StartedServer{}, err
	}
	client, err := docker.New(s.Logger)
	if err != nil {
		return StartedServer{}, s.containerError(run, err)
	}
	defer client.Close()
	ran, err := client.Available(ctx)
	if err != nil {
		return StartedServer{}, s.containerError(run, err)
	}
	options := docker.Options{
		Engine: engine.Title, Name: engine.Name, Server: engine.Server, RunID: run.ID, Step: "server", Owner: s.Owner,
		Image: run.Spec.Image, Pull: docker.PullPolicy(run.Spec.Pull),
		Progress: func(p docker.Progress) { beat.set(Heartbeat{Waiting: pullText(p)}) },
		Profile:  config.Profile, Tier: config.Tier, Resources: resourcesOf(run), Connections: connections,
		CPUs: cmp.Or(run.Spec.CPUs, run.Placed.Server.CPUList()), MemoryBytes: run.Spec.Memory, Loaded: run.Spec.Mode == spec.ModeQuery, KeepOnFailure: run.Spec.KeepOnFailure,
		Ready: func(ctx context.Context, running *docker.Running) error {
			beat.set(Heartbeat{Waiting: "waiting for the server in its container"})
			config.Endpoint, config.Credentials = running.Endpoint, running.Credentials
			return answers(ctx, engine, config)
		},
	}
	if keeps(run.Spec) {
		options.Volume = docker.VolumeName(engine.Name, run.Spec.Name)
	}
	running, err := client.Start(ctx, options)
	if err != nil {
		return StartedServer{}, s.containerError(run, err)
	}
	if err := rank(run, running); err != nil {
		running.Warnings = append(running.Warnings, err.Error())
	}
	return StartedServer{
		Mode: drivers.Docker, Endpoint: running.Endpoint, PID: running.PID, Container: running.Container, Start: running.Started,
		Image: running.Image, ImageDigest: running.ImageDigest, Direct: &running.Direct, ContainerEngine: ran.String(),
		Warnings: running.Warnings, Profile: settingsOf(running.Settings),
	}, nil
}

// rank gives the container's processes the priorities that isolation asks for. CPUs and limits are the container's own.
func rank(run Run, running *docker.Running) error {
	placement := host.Placement{Nice: run.Placed.Server.Nice, IO: run.Placed.Server.IO}
	switch {
	case placement.Nice == nil && placement.IO == "":
		return nil
	case running.PID == 0:
		return errors.New("nice and ionice do not reach the server: the container engine keeps its processes elsewhere")
	}
	if err := placement.Place(running.PID); err != nil {
		return fmt.Errorf("nice and ionice do not reach the server: %w", err)
	}
	return nil
}

// containerError tells what to do about a container that could not be started: try another way, give up, or try again.
func (s *Server) containerError(run Run, err error) error {
	any := run.Spec.Server == "" && run.Spec.Image == "" // who names an image wants no other way to have the database
	switch {
	case errors.Is(err, docker.ErrWrongImage) && run.Spec.Image != "":
		return permanent(TypeSpec, err)
	case errors.Is(err, docker.ErrUnavailable), errors.Is(err, docker.ErrImage) && any:
		return &unavailableError{mode: drivers.Docker, why: err.Error()}
	case errors.Is(err, docker.ErrRegistry) && any:
		return &unavailableError{mode: drivers.Docker, why: err.Error(), passes: true}
	case errors.Is(err, docker.ErrImage):
		return permanent(TypeMissingBinary, err)
	case errors.Is(err, docker.ErrOptions), errors.As(err, new(drivers.Unsupported)):
		return permanent(TypeSpec, err)
	case errors.Is(err, docker.ErrExited):
		return exitedError{passing(TypeInfrastructure, err)}
	case errors.Is(err, docker.ErrVolume):
		return permanent(TypePreflight, err)
	default:
		return passing(TypeInfrastructure, err)
	}
}

// pullText says how far a pull has got.
func pullText(p docker.Progress) string {
	text := "pulling " + p.Image
	if p.Total > 0 {
		text += fmt.Sprintf(": %s of %s", humanize.IBytes(uint64(p.Bytes)), humanize.IBytes(uint64(p.Total)))
	}
	if p.Layers > 0 {
		text += fmt.Sprintf(", %d of %d layers", p.Done, p.Layers)
	}
	return text
}

// stopContainer stops the run's containers and removes them with their volumes, unless the run failed and asked for them to be kept then. The end
// of the log is kept with the run's others.
func (s *Server) stopContainer(ctx context.Context, in StopServerInput) error {
	engine, known := drivers.Lookup(in.Run.Spec.Database)
	if !known || !slices.Contains(wantedModes(engine, in.Run), drivers.Docker) {
		return nil
	}
	client, err := docker.New(s.Logger)
	if err == nil {
		defer client.Close()
		_, err = client.Available(ctx)
	}
	switch {
	case errors.Is(err, docker.ErrUnavailable) && in.Run.Spec.Server == "":
		return nil // what could not be had was not started; should it have been, the next run on this host finds it by its label
	case err != nil:
		return passing(TypeInfrastructure, fmt.Errorf("stop the containers of run %s: %w", in.Run.ID, err))
	}
	err = errors.Join(keepLog(ctx, client, in.Run), client.Stop(ctx, in.Run.ID, in.Failed && in.Run.Spec.KeepOnFailure))
	if err != nil {
		return passing(TypeInfrastructure, err)
	}
	return nil
}

// keepLog writes the end of a container's log where that of a process would be.
func keepLog(ctx context.Context, client *docker.Client, run Run) error {
	text, err := client.Logs(ctx, run.ID, logLines)
	if errors.Is(err, docker.ErrNoContainer) {
		return nil
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(run.Dir, "server.log"), []byte(text+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the server's log: %w", err)
	}
	return nil
}

// containerEnd tells whether the server's container has ended since it was started, and how.
func containerEnd(ctx context.Context, server StartedServer) (*result.Interruption, error) {
	client, err := docker.New(nil)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	end, err := client.Check(ctx, docker.State{Container: server.Container, Started: server.Start})
	if end == nil || err != nil {
		return nil, err
	}
	cause := agent.CauseServerLost
	if !end.Restarted.IsZero() {
		cause = agent.CauseServerRestarted
	}
	return &result.Interruption{At: end.At.UTC(), Cause: cause, Note: "the server's container " + end.String()}, nil
}

// containerCredentials finds what the server in the run's container wants to be shown.
func containerCredentials(ctx context.Context, run Run) (drivers.Credentials, error) {
	engine, known := drivers.Lookup(run.Spec.Database)
	if !known {
		return drivers.Credentials{}, fmt.Errorf("engine %q is not in this worker's build", run.Spec.Database)
	}
	client, err := docker.New(nil)
	if err != nil {
		return drivers.Credentials{}, err
	}
	defer client.Close()
	return client.Credentials(ctx, run.ID, engine.Server)
}
