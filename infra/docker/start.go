package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

const (
	// startAttempts bounds how often a start that was overtaken looks again.
	startAttempts = 20
	// createdGrace is how long a container that another start made may take to be started, before that start is taken for dead.
	createdGrace = 15 * time.Second
	pollEvery    = 50 * time.Millisecond
)

// errOvertaken tells that another start of the same run came between. What there is has to be looked at again.
var errOvertaken = errors.New("another start of the run came between")

// Start makes sure that the server runs in a container and is ready.
func (c *Client) Start(ctx context.Context, o Options) (*Running, error) {
	running, err := c.start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Engine, err)
	}
	return running, nil
}

func (c *Client) start(ctx context.Context, o Options) (*Running, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if _, err := c.Available(ctx); err != nil {
		return nil, err
	}
	spec, err := o.spec("")
	if err != nil {
		return nil, err
	}
	s := &starting{Client: c, Options: &o, digest: spec.digest(), password: rand.Text()} // 26 letters and digits
	for attempt := 1; ; attempt++ {
		running, err := s.once(ctx)
		if !errors.Is(err, errOvertaken) || attempt == startAttempts {
			return running, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pollEvery):
		}
	}
}

// starting is one call of Start.
type starting struct {
	*Client
	*Options
	digest string
	// password is a new one until a volume is found that has one.
	password string
	// refused is why the engine would not set the limits that the server wants, and warnings is what else it says.
	refused  string
	warnings []string
}

// once looks at what there is of the run, and does what is missing.
func (s *starting) once(ctx context.Context) (*Running, error) {
	all, err := s.containers(ctx, ofRun(s.RunID))
	if err != nil {
		return nil, err
	}
	var usable *container.InspectResponse
	for _, summary := range all {
		info, err := s.api.ContainerInspect(ctx, summary.ID)
		if errdefs.IsNotFound(err) {
			return nil, errOvertaken
		}
		if err != nil {
			return nil, fmt.Errorf("look at container %s: %w", nameOf(summary), err)
		}
		if usable == nil && s.fits(info) {
			usable = &info
			continue
		}
		s.log.Info("replacing a container of the run", "engine", s.Engine, "container", nameOf(summary), "state", info.State.Status)
		if err := s.stopAndRemove(ctx, info.ID, stopGrace); err != nil {
			return nil, err
		}
	}
	switch {
	case usable == nil:
		return s.startAnew(ctx)
	case usable.State.Running:
		return s.adopt(ctx, usable.ID)
	case usable.State.Status == container.StateCreated && usable.State.Error != "":
		// It could not be started, and was kept to be looked at. Nothing can be wrong with what is on its volume.
		return nil, errors.Join(errOvertaken, s.remove(ctx, usable.ID))
	case usable.State.Status == container.StateCreated:
		return nil, s.awaitOther(ctx, usable.ID)
	default:
		return s.restart(ctx, usable.ID)
	}
}

// fits tells whether a container of the run is one that this start would make, and of use.
func (s *starting) fits(info container.InspectResponse) bool {
	if info.Config.Labels[labelDigest] != s.digest {
		return false
	}
	switch info.State.Status {
	case container.StateRunning, container.StateCreated, container.StateExited:
		return true
	}
	return false
}

// adopt takes over a container that runs.
func (s *starting) adopt(ctx context.Context, id string) (*Running, error) {
	password, ready, err := s.footing(ctx, id)
	if err != nil {
		return nil, err
	}
	s.password = password
	running, err := s.running(ctx, id)
	if errdefs.IsNotFound(err) {
		return nil, errOvertaken
	}
	if err != nil {
		return nil, err
	}
	running.Adopted = true
	if err := s.waitReady(ctx, running); errors.Is(err, errEnded) {
		// It had died already when it was found, or dies now: there is another way to go about a dead one.
		return nil, errors.Join(errOvertaken, err)
	} else if err != nil {
		return nil, err
	}
	if !ready {
		if err := s.markReady(ctx, id); err != nil {
			return nil, err
		}
	}
	s.log.Info("container adopted", "engine", s.Engine, "container", running.Name, "endpoint", running.Endpoint)
	return running, nil
}

// awaitOther waits for another start to start the container that it has made. When it does not, it has died, and the container is of no use.
func (s *starting) awaitOther(ctx context.Context, id string) error {
	for end := time.Now().Add(s.patience); time.Now().Before(end); {
		info, err := s.api.ContainerInspect(ctx, id)
		if errdefs.IsNotFound(err) || err == nil && info.State.Status != container.StateCreated {
			return errOvertaken
		}
		if err != nil {
			return fmt.Errorf("look at container %s: %w", id, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pollEvery):
		}
	}
	s.log.Info("container was made and never started, removing it", "engine", s.Engine, "container", id)
	return errors.Join(errOvertaken, s.remove(ctx, id))
}

// restart starts a container again that died, on the data that it left.
func (s *starting) restart(ctx context.Context, id string) (*Running, error) {
	password, ready, err := s.footing(ctx, id)
	if err != nil {
		return nil, err
	}
	if !ready {
		return nil, s.discard(ctx, id)
	}
	s.password = password
	if err := s.api.ContainerStart(ctx, id, container.StartOptions{}); err != nil {
		return nil, s.startError(ctx, err, id, false)
	}
	return s.finish(ctx, id, false)
}

// startAnew makes a container and starts it, on data that is there or on a fresh volume.
func (s *starting) startAnew(ctx context.Context) (*Running, error) {
	from, err := s.ensureImage(ctx, s.Options)
	if err != nil {
		return nil, err
	}
	missing, err := s.checkVolume(ctx, s.Options)
	if err != nil {
		return nil, err
	}
	spec, err := s.spec(s.password)
	if err != nil {
		return nil, err
	}
	if s.refused != "" {
		spec.Limits = nil
	}
	id, warnings, err := s.create(ctx, spec, s.Options, s.digest, from)
	if errdefs.IsConflict(err) {
		return nil, s.conflict(ctx, spec.Name, err)
	}
	if err != nil {
		return nil, s.giveUp(ctx, err, "", missing)
	}
	s.warnings = warnings
	fresh, err := s.fill(ctx, id, spec)
	if errors.Is(err, errOvertaken) || errdefs.IsNotFound(err) && s.gone(ctx, id) {
		return nil, errOvertaken
	}
	if err != nil {
		return nil, s.giveUp(ctx, err, id, missing)
	}
	if err := s.api.ContainerStart(ctx, id, container.StartOptions{}); err != nil {
		return nil, s.startError(ctx, err, id, fresh)
	}
	return s.finish(ctx, id, fresh)
}

// fill puts into a container what it needs to start, and tells whether its volume was fresh.
func (s *starting) fill(ctx context.Context, id string, spec Spec) (fresh bool, err error) {
	password, ready, err := s.footing(ctx, id)
	switch {
	case err != nil:
		return false, err
	case password == "" && s.Loaded, password != "" && !ready && s.Loaded:
		return false, fmt.Errorf("%w: nothing was loaded: no server was ever ready on volume %s; load first with --mode load", ErrVolume, s.volume())
	case password == "":
		return true, s.put(ctx, id, append(foundation(s.password), serverFiles(spec.Files)...))
	case !ready:
		return false, s.discard(ctx, id)
	case password != s.password:
		// The data knows this one.
		s.password = password
		known, err := s.spec(password)
		if err != nil {
			return false, err
		}
		if !maps.Equal(known.Env, spec.Env) {
			// An environment cannot be changed any more.
			return false, errors.Join(errOvertaken, s.remove(ctx, id))
		}
		spec = known
	}
	return false, s.put(ctx, id, serverFiles(spec.Files))
}

// discard throws away what an interrupted first start left. There may be half of a data directory.
func (s *starting) discard(ctx context.Context, id string) error {
	s.log.Info("an interrupted start left a container and volume, removing them", "engine", s.Engine, "container", id, "volume", s.volume())
	if err := s.remove(ctx, id); err != nil {
		return err
	}
	return errors.Join(errOvertaken, s.removeVolume(ctx, s.volume()))
}

// conflict tells what it means that the container's name is taken.
func (s *starting) conflict(ctx context.Context, name string, cause error) error {
	info, err := s.api.ContainerInspect(ctx, name)
	if err == nil {
		if run, is := ours(info.Config.Labels); !is || run != s.RunID {
			return fmt.Errorf("%w: there is a container %s that is not of this run: remove or rename it", cause, name)
		}
	}
	return errOvertaken
}

// finish waits until a container that was just started is ready.
func (s *starting) finish(ctx context.Context, id string, fresh bool) (*Running, error) {
	running, err := s.running(ctx, id)
	if err == nil {
		running.Restarted = !fresh
		err = s.waitReady(ctx, running)
	}
	if err == nil && fresh {
		err = s.markReady(ctx, id)
	}
	if err != nil {
		return nil, s.giveUp(ctx, err, id, fresh)
	}
	s.log.Info("container started", "engine", s.Engine, "container", running.Name, "image", running.Image, "endpoint", running.Endpoint, "restarted", running.Restarted)
	return running, nil
}

// running describes the container of this start.
func (s *starting) running(ctx context.Context, id string) (*Running, error) {
	running, err := s.describe(ctx, id, s.Server)
	if err != nil {
		return nil, err
	}
	running.Credentials.Password = s.password
	running.Settings = s.launch("").Settings
	running.Warnings = s.warnings
	if s.refused != "" {
		running.Warnings = append(running.Warnings, s.refused)
	}
	return running, nil
}

// startError says why a container could not be started.
func (s *starting) startError(ctx context.Context, err error, id string, fresh bool) error {
	if errdefs.IsNotFound(err) && s.gone(ctx, id) {
		return errOvertaken
	}
	if strings.Contains(err.Error(), "rlimit") && s.refused == "" {
		// An engine without the privilege to raise limits may still have set high ones. Whether they do, the server knows.
		s.refused = fmt.Sprintf("the container engine may not set the resource limits that the server wants, which are left as the engine has them: %v", err)
		s.log.Warn("container engine may not set resource limits", "engine", s.Engine, "limits", s.limits(), "error", err)
		return errors.Join(errOvertaken, s.remove(ctx, id))
	}
	err = fmt.Errorf("start container %s: %w", objectName(s.Name, s.RunID), err)
	if noProgram(err) {
		err = s.wrongImage(err)
	}
	return s.giveUp(ctx, err, id, fresh)
}

// wrongImage says of an error that the image is to blame.
func (s *starting) wrongImage(err error) error {
	return fmt.Errorf("%w: image %s is not one of %s, name another with --image: %w", ErrWrongImage, s.Image, s.Engine, err)
}

// noProgram tells whether a container was not started because its image lacks the program, or has it for another machine.
func noProgram(err error) bool {
	text := err.Error()
	if strings.Contains(text, "executable file not found") {
		return true
	}
	return strings.Contains(text, "exec: ") && (strings.Contains(text, "no such file or directory") || strings.Contains(text, "permission denied")) ||
		strings.Contains(text, "exec format error")
}

// giveUp takes away what was started for nothing, unless it is to be looked at. Data of an earlier start stays, as it may be of use to the next one.
func (s *starting) giveUp(ctx context.Context, cause error, id string, fresh bool) error {
	// Not bound by the caller's context, which may be why.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpTimeout)
	defer cancel()
	if s.KeepOnFailure && id != "" {
		err := s.halt(ctx, id, giveUpGrace)
		return errors.Join(fmt.Errorf("%w\ncontainer %s and volume %s are kept to be looked at", cause, objectName(s.Name, s.RunID), s.volume()), err)
	}
	if id != "" {
		if err := s.stopAndRemove(ctx, id, giveUpGrace); err != nil {
			return errors.Join(cause, err)
		}
	}
	if fresh {
		return errors.Join(cause, s.removeVolume(ctx, s.volume()))
	}
	return cause
}
