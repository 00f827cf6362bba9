package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"
)

// VolumeName names the volume that a load leaves for queries; name is the user's and may be empty.
func VolumeName(engine, name string) string {
	if name == "" {
		return objectName(engine)
	}
	return objectName(engine, name)
}

// checkVolume refuses a volume that this start must not use. missing tells that it is not there yet: it is made with the container.
func (c *Client) checkVolume(ctx context.Context, o *Options) (missing bool, err error) {
	name := o.volume()
	found, err := c.api.VolumeInspect(ctx, name)
	switch {
	case err == nil:
		return false, c.usable(ctx, o, found)
	case !errdefs.IsNotFound(err):
		return false, fmt.Errorf("look up volume %s: %w", name, err)
	case o.Loaded:
		return true, fmt.Errorf("%w: nothing was loaded: volume %s is not there; load first with --mode load", ErrVolume, name)
	}
	return true, nil
}

// usable refuses a volume that is not ours, or that another server is at work on: two servers on the same data destroy it.
func (c *Client) usable(ctx context.Context, o *Options, found volume.Volume) error {
	run, is := ours(found.Labels)
	kept := found.Labels[labelKept] == keptData
	switch {
	case !is:
		return fmt.Errorf("%w: there is a volume %s that is not ours: remove or rename it, or choose another --name", ErrVolume, found.Name)
	case o.Volume == "" && run != o.RunID, o.Volume != "" && !kept:
		return fmt.Errorf("%w: volume %s belongs to run %s", ErrVolume, found.Name, run)
	case found.Labels[labelEngine] != o.Name:
		return fmt.Errorf("%w: volume %s holds data of %s", ErrVolume, found.Name, found.Labels[labelEngine])
	}
	users, err := c.api.ContainerList(ctx, container.ListOptions{Filters: filters.NewArgs(filters.Arg("volume", found.Name))}) // of those that run
	if err != nil {
		return fmt.Errorf("look up who uses volume %s: %w", found.Name, err)
	}
	for _, user := range users {
		if run, is := ours(user.Labels); !is || run != o.RunID {
			return fmt.Errorf("%w: container %s is at work on volume %s: stop it, or remove what is left of other runs with `starter reap`", ErrVolume, nameOf(user), found.Name)
		}
	}
	return nil
}

// removeVolume removes a volume. An engine may hold it for a moment after its container is gone.
func (c *Client) removeVolume(ctx context.Context, name string) error {
	for attempt := 1; ; attempt++ {
		err := c.api.VolumeRemove(ctx, name, false)
		if err == nil || errdefs.IsNotFound(err) {
			return nil
		}
		if !errdefs.IsConflict(err) || attempt == 20 {
			return fmt.Errorf("remove volume %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("remove volume %s: %w", name, err), context.Cause(ctx))
		case <-time.After(pollEvery):
		}
	}
}
