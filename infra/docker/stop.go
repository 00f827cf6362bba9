package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"
)

const (
	// stopGrace is how long a server may take to stop by itself: time for a last checkpoint.
	stopGrace = 30 * time.Second
	// giveUpGrace is the same for a server that never became ready, and giveUpTimeout bounds all of giving up.
	giveUpGrace   = 3 * time.Second
	giveUpTimeout = 30 * time.Second
	// killTimeout is how long a killed container may take to be gone.
	killTimeout = 20 * time.Second
)

// Stop stops whatever runs for a run: it is asked, given time until ctx is over but at most half a minute, and then killed. Containers and volumes of the
// run are removed unless keep is set, and then until the next Reap, or for good when they were started with KeepOnFailure. Volumes that a load leaves for
// queries stay in any case. Stopping what does not run is no error.
func (c *Client) Stop(ctx context.Context, runID string, keep bool) error {
	if err := c.stop(ctx, runID, keep); err != nil {
		return fmt.Errorf("stop the containers of run %s: %w", runID, err)
	}
	return nil
}

func (c *Client) stop(ctx context.Context, runID string, keep bool) error {
	all, err := c.containers(ctx, ofRun(runID))
	if err != nil {
		return err
	}
	var problems []error
	for _, summary := range all {
		if keep {
			problems = append(problems, c.halt(ctx, summary.ID, stopGrace))
		} else {
			problems = append(problems, c.stopAndRemove(ctx, summary.ID, stopGrace))
		}
	}
	if keep {
		return errors.Join(problems...)
	}
	// Time may have been up for the server, but not for putting things in order.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	volumes, err := c.volumes(ctx, ofRun(runID))
	if err != nil {
		return errors.Join(append(problems, err)...)
	}
	for _, v := range volumes {
		if v.Labels[labelKept] != keptData {
			problems = append(problems, c.removeVolume(ctx, v.Name))
		}
	}
	return errors.Join(problems...)
}

// stopAndRemove stops a container and removes it with the volumes that have no name.
func (c *Client) stopAndRemove(ctx context.Context, id string, grace time.Duration) error {
	return errors.Join(c.halt(ctx, id, grace), c.remove(ctx, id))
}

// halt stops a container: gently until the grace or ctx is over, then firmly.
func (c *Client) halt(ctx context.Context, id string, grace time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, grace+killTimeout)
	defer cancel()
	seconds := int(grace / time.Second)
	err := c.api.ContainerStop(bounded, id, container.StopOptions{Timeout: &seconds})
	if err == nil || errdefs.IsNotFound(err) {
		return nil
	}
	firm, cancelFirm := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancelFirm()
	killed := c.api.ContainerKill(firm, id, "KILL")
	if killed == nil || errdefs.IsNotFound(killed) || errdefs.IsConflict(killed) { // conflict: it does not run
		select {
		case <-c.exit(firm, id):
			return nil
		case <-firm.Done():
			killed = errors.New("it is still there after it was killed")
		}
	}
	return errors.Join(fmt.Errorf("stop container %s: %w", id, err), killed)
}

// remove removes a container, killing it if it runs, with the volumes that have no name. The removal is not cut off by the end of ctx.
func (c *Client) remove(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	for {
		err := c.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		if err == nil || errdefs.IsNotFound(err) {
			return nil
		}
		// Somebody else may be removing it.
		if !errdefs.IsConflict(err) || ctx.Err() != nil {
			return fmt.Errorf("remove container %s: %w", id, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery):
		}
	}
}

// gone tells whether there is surely no such container any more.
func (c *Client) gone(ctx context.Context, id string) bool {
	_, err := c.api.ContainerInspect(ctx, id)
	return errdefs.IsNotFound(err)
}

// containers lists the containers that are ours and match, running or not.
func (c *Client) containers(ctx context.Context, match filters.Args) ([]container.Summary, error) {
	all, err := c.api.ContainerList(ctx, container.ListOptions{All: true, Filters: match})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	var found []container.Summary
	for _, summary := range all {
		if _, is := ours(summary.Labels); is {
			found = append(found, summary)
		}
	}
	return found, nil
}

// volumes lists the volumes that are ours and match.
func (c *Client) volumes(ctx context.Context, match filters.Args) ([]*volume.Volume, error) {
	all, err := c.api.VolumeList(ctx, volume.ListOptions{Filters: match})
	if err != nil {
		return nil, fmt.Errorf("list volumes: %w", err)
	}
	var found []*volume.Volume
	for _, v := range all.Volumes {
		if _, is := ours(v.Labels); is {
			found = append(found, v)
		}
	}
	return found, nil
}

func nameOf(summary container.Summary) string {
	if len(summary.Names) == 0 {
		return summary.ID
	}
	return strings.TrimPrefix(summary.Names[0], "/")
}
