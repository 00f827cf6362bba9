package docker_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/docker"
)

func volumeOptions(match filters.Args) volume.ListOptions { return volume.ListOptions{Filters: match} }

func TestVolumeNames(t *testing.T) {
	for _, c := range []struct{ engine, name, want string }{
		{"postgres", "", "durabench-postgres"},
		{"postgres", "nightly", "durabench-postgres-nightly"},
		{"postgres", "Größe 1", "durabench-postgres-Gr--e-1-"},
	} {
		if got := docker.VolumeName(c.engine, c.name); !strings.HasPrefix(got, c.want) || strings.ContainsAny(got, " öß") {
			t.Errorf("volume of %q %q is %q", c.engine, c.name, got)
		}
	}
	if docker.VolumeName("redis", "a b") == docker.VolumeName("redis", "a-b") {
		t.Error("two names have one volume")
	}
}

// A load's data is there for a query, whose container is another one, under the same password.
func TestALoadIsKeptForAQuery(t *testing.T) {
	c, api := engine(t)
	load, query := runID(t, c, api)+"-load", runID(t, c, api)+"-query"
	name := docker.VolumeName("redis", load)
	t.Cleanup(func() {
		if _, err := c.Reap(context.Background(), func(thing docker.Thing) bool { return thing.RunID != load && thing.RunID != query }, true); err != nil {
			t.Error(err)
		}
	})
	onVolume := func(run string) docker.Options {
		o := redis(t, run)
		o.Volume, o.Tier = name, drivers.TierProcess
		o.Ready = answers(t, lookup(t, "redis"), o.Tier)
		return o
	}

	o := onVolume(query)
	o.Loaded = true
	if _, err := c.Start(t.Context(), o); !errors.Is(err, docker.ErrVolume) || !strings.Contains(err.Error(), "--mode load") {
		t.Errorf("query without load: %v", err)
	}

	first := start(t, c, onVolume(load))
	ask(t, first, "SET", "row", "one")
	if _, err := c.Start(t.Context(), o); !errors.Is(err, docker.ErrVolume) || !strings.Contains(err.Error(), "at work on volume") {
		t.Errorf("query while the load's server runs: %v", err)
	}
	if err := c.Stop(t.Context(), load, false); err != nil {
		t.Fatal(err)
	}
	// The end of the load's run does not end its data.
	reaped, err := c.Reap(t.Context(), func(thing docker.Thing) bool { return thing.RunID != load && thing.RunID != query }, false)
	if err != nil || len(reaped.Removed) != 0 || len(reaped.Kept) != 1 || reaped.Kept[0].Name != name {
		t.Errorf("reaped %+v, %v", reaped, err)
	}

	second := start(t, c, o)
	if second.Adopted || !second.Restarted || second.Credentials != first.Credentials {
		t.Errorf("query: adopted %t, restarted %t", second.Adopted, second.Restarted)
	}
	if got := ask(t, second, "GET", "row"); got != "one" {
		t.Errorf("row is %q", got)
	}
	if err := c.Stop(t.Context(), query, false); err != nil {
		t.Fatal(err)
	}

	reaped, err = c.Reap(t.Context(), func(thing docker.Thing) bool { return thing.RunID != load && thing.RunID != query }, true)
	if err != nil || len(reaped.Removed) != 1 || reaped.Removed[0].Name != name {
		t.Errorf("reaped %+v, %v", reaped, err)
	}
}

// A password in the environment has to be the one that the data knows.
func TestAPasswordInTheEnvironmentFitsTheData(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	o := redis(t, run)
	server := *o.Server
	server.Env = func(l drivers.Launch) map[string]string { return map[string]string{"SERVER_PASSWORD": l.Password} }
	o.Server = &server
	first := start(t, c, o)
	o.MemoryBytes = 256 << 20
	second := start(t, c, o)
	if second.Container == first.Container || second.Credentials != first.Credentials {
		t.Error("it was not replaced, or has another password")
	}
	found := false
	for _, variable := range inspect(t, api, second.Container).Config.Env {
		found = found || variable == "SERVER_PASSWORD="+first.Credentials.Password
	}
	if !found {
		t.Error("the environment has another password")
	}
}

// A volume of that name may be somebody's. It is not touched.
func TestAForeignVolumeOfTheNameIsLeftAlone(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	name := docker.VolumeName("redis", run)
	if _, err := api.VolumeCreate(t.Context(), volume.CreateOptions{Name: name}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.VolumeRemove(context.Background(), name, false); err != nil {
			t.Error(err)
		}
	})
	o := redis(t, run)
	o.Volume = name
	if _, err := c.Start(t.Context(), o); !errors.Is(err, docker.ErrVolume) || !strings.Contains(err.Error(), "not ours") {
		t.Errorf("error is %v", err)
	}
}
