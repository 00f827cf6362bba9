package docker_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
	"github.com/redis/rueidis"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	_ "github.com/durabench/durabench/drivers/postgres"
	_ "github.com/durabench/durabench/drivers/redis"
	"github.com/durabench/durabench/infra/docker"
)

// runID names the run of a test. Whatever the test leaves of it is removed when it is over.
func runID(t *testing.T, c *docker.Client, api *client.Client) string {
	t.Helper()
	id := prefix + "-" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	t.Cleanup(func() {
		// Not t.Context(), which is over.
		if _, err := c.Reap(context.Background(), func(thing docker.Thing) bool { return thing.RunID != id }, true); err != nil {
			t.Error(err)
		}
	})
	return id
}

// redis are the options of a Redis server without persistence.
func redis(t *testing.T, run string) docker.Options {
	t.Helper()
	return options(t, "redis", run, images.Redis(t), drivers.TierNone)
}

// postgres are the options of a PostgreSQL server.
func postgres(t *testing.T, run string) docker.Options {
	t.Helper()
	return options(t, "postgres", run, images.Postgres(t), drivers.TierOS)
}

func options(t *testing.T, name, run, image string, tier drivers.Tier) docker.Options {
	t.Helper()
	engine, found := drivers.Lookup(name)
	if !found {
		t.Fatalf("%s is not registered", name)
	}
	return docker.Options{
		Engine: engine.Title, Name: name, Server: engine.Server, RunID: run, Step: "server/start", Image: image, Pull: docker.PullNever,
		Tier: tier, Resources: drivers.Resources{MemoryBytes: 1 << 30, CPUs: 2}, Connections: 16, Ready: answers(t, engine, tier),
	}
}

// answers opens the database as the agent does, and asks it something.
func answers(t *testing.T, engine drivers.Engine, tier drivers.Tier) func(context.Context, *docker.Running) error {
	t.Helper()
	template, err := corpus.ParseTemplate(map[string]any{"name": "string:10", "number": "int"})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := corpus.New(1, template, corpus.KeyInteger, false)
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, running *docker.Running) error {
		database, err := engine.Open(ctx, drivers.Config{
			Endpoint: running.Endpoint, Credentials: running.Credentials, Clients: 1, Threads: 1, Tier: tier, Corpus: rows, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return err
		}
		_, err = database.Version(ctx)
		return errors.Join(err, database.Close())
	}
}

func start(t *testing.T, c *docker.Client, o docker.Options) *docker.Running {
	t.Helper()
	running, err := c.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return running
}

func inspect(t *testing.T, api *client.Client, id string) container.InspectResponse {
	t.Helper()
	info, err := api.ContainerInspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// ask sends a command to a Redis server.
func ask(t *testing.T, running *docker.Running, command ...string) string {
	t.Helper()
	option, err := rueidis.ParseURL(running.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	option.Password, option.DisableCache, option.ForceSingleClient = running.Credentials.Password, true, true
	c, err := rueidis.NewClient(option)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answer, err := c.Do(t.Context(), c.B().Arbitrary(command...).Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	return answer
}
