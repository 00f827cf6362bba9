package docker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/client"

	"github.com/durabench/durabench/infra/ci"
	"github.com/durabench/durabench/infra/docker"
	"github.com/durabench/durabench/infra/docker/testimage"
)

// prefix is in the run ids of this test binary.
var prefix = fmt.Sprintf("test-%d", os.Getpid())

// images are of the servers that are installed here.
var images testimage.Images

func TestMain(m *testing.M) {
	code := m.Run()
	if err := cleanUp(); err != nil {
		fmt.Fprintln(os.Stderr, "clean up:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// cleanUp removes what the tests made, and complains of what they left.
func cleanUp() error {
	if !images.Used() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := docker.New(nil)
	if err != nil {
		return err
	}
	defer c.Close()
	left, err := c.Reap(ctx, func(thing docker.Thing) bool { return !strings.HasPrefix(thing.RunID, prefix) }, true)
	for _, thing := range left.Removed {
		err = errors.Join(err, fmt.Errorf("the tests left %s %s of run %s", thing.Kind, thing.Name, thing.RunID))
	}
	return errors.Join(err, images.Remove(ctx))
}

// engine is the container engine, seen by this package and by itself. Without one the test is skipped, and fails in CI.
func engine(t *testing.T) (*docker.Client, *client.Client) {
	t.Helper()
	c, err := docker.New(nil)
	if err == nil {
		_, err = c.Available(t.Context())
	}
	ci.Need(t, err)
	t.Cleanup(func() { c.Close() })
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	return c, api
}
