// Package testimage makes container images of the servers that are installed on this machine, for tests, since no registry can be counted on. They
// behave like the official ones: an entrypoint runs as root, makes the data directory, drops to an account of its own and becomes the server.
package testimage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"github.com/durabench/durabench/infra/ci"
)

// Images are those that a test binary has made. Each is made once; Remove is for its TestMain.
type Images struct {
	mu   sync.Mutex
	made []string
}

// tag names an image of this test binary.
func tag(name string) string { return fmt.Sprintf("durabench-test/%s:test-%d", name, os.Getpid()) }

// Redis returns the tag of an image of this machine's Redis.
func (i *Images) Redis(t testing.TB) string {
	t.Helper()
	return i.make(t, "redis", func() ([]byte, error) { return RedisFiles("imported") }, `CMD ["redis-server"]`)
}

// Postgres returns the tag of an image of this machine's PostgreSQL. It declares a volume, as the official one does.
func (i *Images) Postgres(t testing.TB) string {
	t.Helper()
	return i.make(t, "postgres", postgresFiles, `CMD ["postgres"]`, "VOLUME /var/lib/postgresql/data")
}

// MariaDB returns the tag of an image of this machine's MariaDB. It declares a volume, as the official one does.
func (i *Images) MariaDB(t testing.TB) string {
	t.Helper()
	return i.make(t, "mariadb", mariaDBFiles, `CMD ["mariadbd"]`, "VOLUME /var/lib/mysql")
}

// make imports an image, the first time that it is asked for.
func (i *Images) make(t testing.TB, name string, files func() ([]byte, error), changes ...string) string {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	if slices.Contains(i.made, tag(name)) {
		return tag(name)
	}
	api, err := connect(t.Context())
	ci.Need(t, err)
	defer api.Close()
	archive, err := files()
	ci.Need(t, err)
	stream, err := api.ImageImport(t.Context(), image.ImportSource{Source: bytes.NewReader(archive), SourceName: "-"}, tag(name), image.ImportOptions{
		Changes: append([]string{`ENTRYPOINT ["/entrypoint"]`, "ENV PATH=/usr/bin:/bin"}, changes...),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if _, err := io.Copy(io.Discard, stream); err != nil {
		t.Fatal(err)
	}
	i.made = append(i.made, tag(name))
	return tag(name)
}

// Add has Remove remove an image that a test has brought to this machine in another way.
func (i *Images) Add(tag string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.made = append(i.made, tag)
}

// Used tells whether there is any image of these.
func (i *Images) Used() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.made) > 0
}

// Remove removes the images.
func (i *Images) Remove(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.made) == 0 {
		return nil
	}
	api, err := connect(ctx)
	if err != nil {
		return err
	}
	defer api.Close()
	for _, tag := range i.made {
		_, removeErr := api.ImageRemove(ctx, tag, image.RemoveOptions{Force: true, PruneChildren: true})
		err = errors.Join(err, removeErr)
	}
	i.made = nil
	return err
}

// connect reaches the container engine, as the docker command does when nothing but the environment tells where it is.
func connect(ctx context.Context) (*client.Client, error) {
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, err
	}
	if _, err := api.Ping(ctx); err != nil {
		return nil, errors.Join(err, api.Close())
	}
	return api, nil
}
