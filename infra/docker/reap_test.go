package docker_test

import (
	"context"
	"slices"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"

	"github.com/durabench/durabench/infra/docker"
)

// Only what carries our labels, and is of a run that is over, is removed. Everything else survives, whatever it is called.
func TestReapTouchesOnlyOurs(t *testing.T) {
	c, api := engine(t)
	over, goesOn := runID(t, c, api), runID(t, c, api)+"-goes-on"
	t.Cleanup(func() {
		if err := c.Stop(context.Background(), goesOn, false); err != nil {
			t.Error(err)
		}
	})
	tag := images.Redis(t)
	foreign := map[string]map[string]string{
		"durabench-redis-" + over + "-x": nil,                                                   // a name like ours
		over + "-label":                  {"durabench": "1"},                                    // as an image's label might be
		over + "-other":                  {"durabench.run": over},                               // not marked as ours
		over + "-not":                    {"durabench": "0", "durabench.run": over, "app": "1"}, // marked as not ours
	}
	for name, labels := range foreign {
		if _, err := api.VolumeCreate(t.Context(), volume.CreateOptions{Name: name, Labels: labels}); err != nil {
			t.Fatal(err)
		}
		made, err := api.ContainerCreate(t.Context(), &container.Config{Image: tag, Labels: labels}, &container.HostConfig{
			Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: name, Target: "/data"}},
		}, nil, nil, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := api.ContainerStart(t.Context(), made.ID, container.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := api.ContainerRemove(context.Background(), made.ID, container.RemoveOptions{Force: true}); err != nil {
				t.Error(err)
			}
			if err := api.VolumeRemove(context.Background(), name, false); err != nil {
				t.Error(err)
			}
		})
	}
	ours, err := api.NetworkCreate(t.Context(), over, network.CreateOptions{Labels: map[string]string{"durabench": "1", "durabench.run": over}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.NetworkRemove(context.Background(), ours.ID) })

	start(t, c, postgres(t, over)) // with a volume that its image declares
	running := start(t, c, redis(t, goesOn))

	reaped, err := c.Reap(t.Context(), func(thing docker.Thing) bool { return thing.RunID != over }, false)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []docker.Kind
	for _, thing := range reaped.Removed {
		kinds = append(kinds, thing.Kind)
		if thing.RunID != over {
			t.Errorf("removed %s %s of run %s", thing.Kind, thing.Name, thing.RunID)
		}
	}
	if want := []docker.Kind{docker.Container, docker.Volume, docker.Network}; !slices.Equal(kinds, want) {
		t.Errorf("removed %v, want %v", kinds, want)
	}
	for name := range foreign {
		if info := inspect(t, api, name); !info.State.Running {
			t.Errorf("container %s does not run any more", name)
		}
		if _, err := api.VolumeInspect(t.Context(), name); err != nil {
			t.Errorf("volume %s: %v", name, err)
		}
	}
	if end, err := c.Check(t.Context(), running.State); err != nil || end != nil {
		t.Errorf("the server of the run that goes on: %v, %v", end, err)
	}
	if containers, volumes := leftOfOurs(t, c, over); containers+volumes > 0 {
		t.Errorf("%d containers and %d volumes are left", containers, volumes)
	}
}

func leftOfOurs(t *testing.T, c *docker.Client, run string) (containers, volumes int) {
	t.Helper()
	reaped, err := c.Reap(t.Context(), func(thing docker.Thing) bool { return thing.RunID != run }, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, thing := range append(reaped.Removed, reaped.Kept...) {
		switch thing.Kind {
		case docker.Container:
			containers++
		case docker.Volume:
			volumes++
		}
	}
	return containers, volumes
}
