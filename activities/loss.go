package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/process"
	"github.com/durabench/durabench/workers/agent"
)

// serverGone tells that a server which we started does not run any more, or not as what we have started; nil when it does, and for servers that
// are not ours to look at.
func serverGone(ctx context.Context, server StartedServer) (*result.Interruption, error) {
	switch server.Mode {
	case drivers.Process:
		return processEnd(server)
	case drivers.Docker:
		return containerEnd(ctx, server)
	default:
		return nil, nil
	}
}

// processEnd tells whether the server's process is gone.
func processEnd(server StartedServer) (*result.Interruption, error) {
	running, err := process.Alive(server.Dir)
	gone := &result.Interruption{At: time.Now().UTC(), Cause: agent.CauseServerLost}
	switch {
	case err != nil:
		return nil, fmt.Errorf("look for the server in %s: %w", server.Dir, err)
	case running == nil:
		gone.Note = fmt.Sprintf("the server, process %d, is gone", server.PID)
	case running.PID != server.PID:
		gone.Cause, gone.Note = agent.CauseServerRestarted, fmt.Sprintf("the server, process %d, is gone, and process %d runs in its place", server.PID, running.PID)
	default:
		return nil, nil
	}
	return gone, nil
}

// lossOf tells whether an execution of a step came to nothing because its server was lost, and when. The server's own process says so, or the
// operations that failed for their connection do: a server may break off all connections and live, and somebody else's can only be told by that.
func lossOf(ctx context.Context, server StartedServer, outcome agent.Outcome, attempt int) (*agent.Loss, error) {
	loss := &agent.Loss{Attempt: attempt, At: time.Now().UTC(), Cause: agent.CauseServerLost}
	var text string
	disconnected := false
	switch leg := outcome.Leg; {
	case leg == nil && outcome.Error == "", leg == nil && outcome.ErrorClass != agent.ErrorInfrastructure:
		return nil, nil
	case leg == nil:
		text = outcome.Error
	case leg.Verdict != result.Failed && leg.Verdict != result.Invalid:
		return nil, nil
	default:
		text = leg.Why
		if m := leg.Measured; m != nil {
			loss.At = m.Started.Add(time.Duration(m.WallNs)).UTC()
			disconnected = leg.Verdict == result.Failed && brokeOff(m)
		}
	}
	gone, err := goneSoon(ctx, server)
	switch {
	case err != nil:
		return nil, err
	case gone != nil:
		loss.Cause, loss.Note = gone.Cause, gone.Note
		if server.Mode == drivers.Docker {
			loss.At = gone.At // as the container engine has it
		}
	case disconnected:
		loss.Note = "the server broke off its connections"
	default:
		return nil, nil
	}
	loss.Note += fmt.Sprintf("; nothing of attempt %d is in the result, which ended so: %s", attempt, shorten(text))
	return loss, nil
}

// lossBefore tells that a server was lost before a step was begun.
func lossBefore(ctx context.Context, server StartedServer, step string) (*agent.Loss, error) {
	gone, err := serverGone(ctx, server)
	if err != nil || gone == nil {
		return nil, err
	}
	return &agent.Loss{At: gone.At, Cause: gone.Cause, Note: fmt.Sprintf("%s; it was seen before step %s began", gone.Note, step)}, nil
}

// dying is how long a server that was killed may take to be gone, after it has closed its connections.
const dying = time.Second

// goneSoon is serverGone for a step that failed: the connections of a server that dies are closed before its process is gone.
func goneSoon(ctx context.Context, server StartedServer) (*result.Interruption, error) {
	for begun := time.Now(); ; {
		gone, err := serverGone(ctx, server)
		if err != nil || gone != nil || server.Mode == drivers.Endpoint || server.Mode == drivers.Embedded || time.Since(begun) >= dying {
			return gone, err
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// brokeOff tells whether a leg failed for its connections more than for anything else.
func brokeOff(m *result.Measured) bool {
	var connection, most int64
	for _, class := range m.Errors {
		switch drivers.ErrorClass(class.Class) {
		case drivers.ClassConnection:
			connection = class.Count
		case drivers.ClassCancelled: // cut off when the leg was given up
		default:
			most = max(most, class.Count)
		}
	}
	return connection > most
}

// RecoverServerInput says which server was lost.
type RecoverServerInput struct {
	Run    Run           `json:"run"`
	Server StartedServer `json:"server"` // as it was
}

// answerLimit is how long somebody else's server may take to answer again.
const answerLimit = 10 * time.Minute

// RecoverServer brings back a server that was lost, in the way that it was had: one of ours is started again on the data that it left, and
// somebody else's is waited for. One that lives is left as it is.
func (s *Server) RecoverServer(ctx context.Context, in RecoverServerInput) (StartedServer, error) {
	return attempt(ctx, "bringing the server back", maxRecoveries, maxRecoveries, func(ctx context.Context, beat *beat) (StartedServer, error) {
		return s.startAgain(ctx, beat, in)
	})
}

// startAgain starts a server again, or waits for it.
func (s *Server) startAgain(ctx context.Context, beat *beat, in RecoverServerInput) (StartedServer, error) {
	engine, ok := drivers.Lookup(in.Run.Spec.Database)
	if !ok {
		return StartedServer{}, permanent(TypeSpec, fmt.Errorf("engine %q is not in this worker's build", in.Run.Spec.Database))
	}
	if in.Server.Mode == drivers.Endpoint {
		return in.Server, waitForEndpoint(ctx, engine, in)
	}
	started, err := s.start(ctx, beat, engine, in.Server.Mode, in.Run)
	var unavailable *unavailableError
	if errors.As(err, &unavailable) {
		return StartedServer{}, passing(TypeInfrastructure, fmt.Errorf("start %s again: %w", engine.Title, err))
	}
	return started, err
}

// waitForEndpoint waits until somebody else's server answers.
func waitForEndpoint(ctx context.Context, engine drivers.Engine, in RecoverServerInput) error {
	credentials, err := credentialsOf(ctx, in.Run, in.Server)
	if err != nil {
		return permanent(TypeCredentials, err)
	}
	config, _, err := configOf(engine, in.Run)
	if err != nil {
		return err
	}
	config.Endpoint, config.Credentials = in.Server.Endpoint, credentials
	for begun := time.Now(); ; {
		err := answers(ctx, engine, config)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return passing(TypeInfrastructure, fmt.Errorf("wait for %s at %s: %w", engine.Title, in.Server.Endpoint, context.Cause(ctx)))
		case time.Since(begun) > answerLimit:
			return passing(TypeInfrastructure, fmt.Errorf("%s at %s was lost and has not answered for %v: %w", engine.Title, in.Server.Endpoint, answerLimit, err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
