//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"

	"github.com/durabench/durabench/infra/ci"
	"github.com/durabench/durabench/infra/docker/testimage"
)

// images are of the servers that are installed on this machine.
var images testimage.Images

func TestMain(m *testing.M) {
	code := m.Run()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := images.Remove(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "remove images:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// engineOfContainers is the machine's container engine. Without one the test is skipped, and fails in CI.
func engineOfContainers(t *testing.T) *client.Client {
	t.Helper()
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err == nil {
		_, err = api.Ping(t.Context())
	}
	ci.Need(t, err)
	t.Cleanup(func() { _ = api.Close() })
	return api
}

// labelled lists the containers and volumes that carry our label and belong to this world's runs: those of the image are.
func labelled(t *testing.T, api *client.Client, image string) (containers, volumes []string) {
	t.Helper()
	match := filters.NewArgs(filters.Arg("label", "durabench=1"), filters.Arg("label", "durabench.image="+image))
	all, err := api.ContainerList(t.Context(), container.ListOptions{All: true, Filters: match})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		containers = append(containers, c.ID)
	}
	kept, err := api.VolumeList(t.Context(), volume.ListOptions{Filters: match})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range kept.Volumes {
		volumes = append(volumes, v.Name)
	}
	return containers, volumes
}

func nothingLabelled(t *testing.T, api *client.Client, image string) {
	t.Helper()
	if containers, volumes := labelled(t, api, image); len(containers)+len(volumes) > 0 {
		t.Errorf("containers %v and volumes %v are left", containers, volumes)
	}
}

func TestRunMeasuresAServerInAContainer(t *testing.T) {
	api := engineOfContainers(t)
	w := newWorld(t)
	for _, test := range []struct {
		engine, image string
		args          []string
	}{
		{"postgres", images.Postgres(t), []string{"--server", "docker", "--optimised", "--memory", "1GiB"}},
		{"mariadb", images.MariaDB(t), []string{"--optimised", "--memory", "1GiB"}},
		{"redis", images.Redis(t), []string{"--persisted", "--cpus", "0"}}, // who names an image gets a container
	} {
		t.Run(test.engine, func(t *testing.T) {
			o := w.run(append([]string{"run", "-d", test.engine, "-s", "4000", "-c", "2", "-t", "4", "--verify", "all", "--format", "json",
				"--image", test.image, "--pull", "never"}, test.args...)...)
			if o.code != 0 {
				t.Fatalf("exit %d\nstdout:\n%.3000s\nstderr:\n%s", o.code, o.stdout, o.stderr)
			}
			d := w.document(o)
			valid(t, d, 4000, crud...)
			e := d.Engine
			if e.Server != "docker" || e.Image != test.image || !strings.HasPrefix(e.ImageDigest, "sha256:") || e.Direct == nil || e.Version == "" {
				t.Errorf("engine %+v: want a container of %s, its digest, and the way to it", e, test.image)
			}
			for _, leg := range d.Legs {
				m := leg.Measured
				if m == nil || m.Server == nil || m.Server.MemoryPeak == nil || *m.Server.MemoryPeak == 0 {
					t.Errorf("leg %s: the container's processes were not sampled: %+v", leg.ID, m)
				} else if g := m.Server.Group; g == nil || g.CPUSeconds == nil || *g.CPUSeconds <= 0 || g.MemoryPeak == nil || *g.MemoryPeak < 1<<20 {
					t.Errorf("leg %s: the container's control group was not read: %+v", leg.ID, g)
				}
			}
			if !strings.HasPrefix(d.Host.ContainerEngine, "Docker ") {
				t.Errorf("container engine %q", d.Host.ContainerEngine)
			}
			if table := w.run("show", d.Run.ID); !strings.Contains(table.stdout, "docker "+test.image) {
				t.Errorf("the table does not name the image:\n%s", table.stdout)
			}
			nothingLabelled(t, api, test.image)
		})
	}
	w.nothingLeft()
}

// A load's volume outlives its run and its container, and the query's server runs on it.
func TestLoadInAContainerIsThereForAQuery(t *testing.T) {
	api := engineOfContainers(t)
	w := newWorld(t)
	image := images.Postgres(t)
	args := []string{"-d", "postgres", "-s", "3000", "-t", "4", "--name", "kept-" + fmt.Sprint(os.Getpid()), "--data-dir", w.dir, "--image", image, "--pull", "never", "--format", "json"}
	if o := w.run(append([]string{"run", "--mode", "load"}, args...)...); o.code != 0 {
		t.Fatalf("load: exit %d\n%s", o.code, o.stderr)
	}
	containers, volumes := labelled(t, api, image)
	if len(containers) > 0 || len(volumes) != 1 {
		t.Errorf("after the load: containers %v, volumes %v, want one volume", containers, volumes)
	}
	o := w.run(append([]string{"run", "--mode", "query"}, args...)...)
	if o.code != 0 {
		t.Fatalf("query: exit %d\n%s", o.code, o.stderr)
	}
	valid(t, w.document(o), 3000, "read")
	for _, name := range volumes {
		if err := api.VolumeRemove(t.Context(), name, false); err != nil {
			t.Error(err)
		}
	}
	nothingLabelled(t, api, image)
	w.nothingLeft()
}

// A container that is killed in a leg is seen and dated; another one takes its place, with the rows that it had, and the leg is measured again.
func TestContainerKilledInALegIsReplaced(t *testing.T) {
	api := engineOfContainers(t)
	w := newWorld(t)
	image := images.Redis(t)
	r := w.start("run", "-d", "redis", "-s", "200000", "-t", "2", "--image", image, "--pull", "never", "--format", "json")
	w.inLeg(r, "read")
	before := time.Now().UTC()
	containers, _ := labelled(t, api, image)
	if len(containers) != 1 {
		t.Fatalf("containers %v, want one", containers)
	}
	if err := api.ContainerKill(t.Context(), containers[0], "KILL"); err != nil {
		t.Fatal(err)
	}
	d := w.document(w.finish(r, 5*time.Minute))
	whole(t, d)
	for _, leg := range d.Legs {
		if leg.ID != "read" {
			if leg.Attempts != 1 || len(leg.Interruptions) > 0 {
				t.Errorf("leg %s took %d attempts and nothing happened in it: %+v", leg.ID, leg.Attempts, leg.Interruptions)
			}
			continue
		}
		causes := map[string]int{}
		for _, i := range leg.Interruptions {
			causes[i.Cause]++
			if i.Cause == serverLost && (i.At.Before(before.Add(-time.Second)) || i.At.After(time.Now().Add(time.Second)) || !strings.Contains(i.Note, "killed")) {
				t.Errorf("interruption %+v, want the kill after %s", i, before)
			}
		}
		if leg.Attempts != 2 || !maps.Equal(causes, map[string]int{serverLost: 1, dataLost: 1}) {
			t.Errorf("leg read took %d attempts: %+v", leg.Attempts, leg.Interruptions)
		}
	}
	nothingLabelled(t, api, image)
	w.nothingLeft()
}
