package activities

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/host"
	"github.com/durabench/durabench/infra/process"
)

// logBytes is how much of a server's log is kept with the run's others.
const logBytes = 1 << 20

// startProcess starts the engine's own server, or finds it running.
func (s *Server) startProcess(ctx context.Context, engine drivers.Engine, run Run) (StartedServer, error) {
	config, connections, err := configOf(engine, run)
	if err != nil {
		return StartedServer{}, err
	}
	running, err := process.Start(ctx, process.Options{
		Engine: engine.Title, Server: engine.Server, RunID: run.ID, Dir: dataPath(run, engine), Logger: s.Logger,
		Profile: config.Profile, Tier: config.Tier, Resources: resourcesOf(run), Connections: connections, Placement: run.Placed.Server,
		Ready: func(ctx context.Context, running *process.Running) error {
			config.Endpoint, config.Credentials = running.Endpoint, running.Credentials
			return answers(ctx, engine, config)
		},
	})
	if err != nil {
		return StartedServer{}, s.processError(run, err)
	}
	started := StartedServer{
		Mode: drivers.Process, Endpoint: running.Endpoint, Dir: running.Dir, PID: running.PID, Binary: running.Binary,
	}
	started.Profile = settingsOf(running.Settings)
	return started, nil
}

// processError tells what to do about a process that could not be started: try another way, give up, or try again.
func (s *Server) processError(run Run, err error) error {
	switch {
	case errors.Is(err, process.ErrNotInstalled), errors.Is(err, process.ErrAccount) && run.Spec.Server == "":
		return &unavailableError{mode: drivers.Process, why: err.Error()}
	case errors.Is(err, process.ErrOptions), errors.As(err, new(drivers.Unsupported)):
		return permanent(TypeSpec, err)
	case errors.Is(err, process.ErrExited):
		return exitedError{passing(TypeInfrastructure, err)}
	case errors.Is(err, process.ErrAccount), errors.Is(err, process.ErrDirectory), errors.Is(err, process.ErrPortTaken):
		return permanent(TypePreflight, err)
	default:
		return passing(TypeInfrastructure, err)
	}
}

// configOf is how the agent will open the database, but for its address, and over how many connections.
func configOf(engine drivers.Engine, run Run) (config drivers.Config, connections int, err error) {
	profile := profileOf(run.Spec)
	tier, err := engine.Tier(profile)
	if err != nil {
		return config, 0, permanent(TypeSpec, fmt.Errorf("durability of %s: %w", engine.Title, err))
	}
	rows, err := run.Spec.Corpus()
	if err != nil {
		return config, 0, permanent(TypeSpec, fmt.Errorf("make the corpus: %w", err))
	}
	config = drivers.Config{
		Clients: run.Spec.Clients, Threads: run.Spec.Threads, Profile: profile, Tier: tier, Corpus: rows, Options: run.Spec.Engine,
		Searches: run.Spec.Searched, Logger: discard,
	}
	if engine.Connections != nil {
		connections = engine.Connections(config)
	}
	return config, connections, nil
}

// resourcesOf is what the server may use of the machine.
func resourcesOf(run Run) drivers.Resources {
	all := drivers.Resources(host.Resources())
	if n := len(run.Placed.Server.CPUs); n > 0 {
		all.CPUs = min(all.CPUs, n)
	}
	return all
}

func settingsOf(settings []drivers.Setting) []result.Setting {
	var all []result.Setting
	for _, setting := range settings {
		all = append(all, result.Setting(setting))
	}
	return all
}

// answers opens the database as the agent will, and asks it something: a port that accepts connections is not yet a database.
func answers(ctx context.Context, engine drivers.Engine, config drivers.Config) error {
	database, err := engine.Open(ctx, config)
	if err != nil {
		return err
	}
	_, err = database.Version(ctx)
	return errors.Join(err, database.Close())
}

// stopProcess stops the run's server, wherever it may be, and keeps the end of its log with the run's.
func (s *Server) stopProcess(ctx context.Context, run Run) error {
	var problems []error
	for _, dir := range serverDirs(run) {
		problems = append(problems, process.Stop(ctx, dir, true))
		if err := copyTail(filepath.Join(run.Dir, "server.log"), serverLog(dir), logBytes); err != nil {
			problems = append(problems, fmt.Errorf("keep the server's log: %w", err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return passing(TypeInfrastructure, fmt.Errorf("stop the server of run %s: %w", run.ID, err))
	}
	return nil
}

// profileOf is how the spec wants the database set up.
func profileOf(s spec.Spec) drivers.Profile {
	return drivers.Profile{Sync: s.Sync, Persisted: s.Persisted, Optimised: s.Optimised}
}
