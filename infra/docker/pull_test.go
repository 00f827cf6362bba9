package docker_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/durabench/durabench/infra/ci"
	"github.com/durabench/durabench/infra/docker"
	"github.com/durabench/durabench/infra/docker/testimage"
)

// registry serves one image, as a registry on this machine does: container engines need no certificate of those.
func registry(t *testing.T, files []byte) (server *httptest.Server, name, digest string) {
	t.Helper()
	var layer bytes.Buffer
	w, err := gzip.NewWriterLevel(&layer, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(files); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	config := marshal(t, map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "rootfs": map[string]any{"type": "layers", "diff_ids": []string{sum(files)}},
		"config": map[string]any{"Entrypoint": []string{"/entrypoint"}, "Cmd": []string{"redis-server"}, "Env": []string{"PATH=/usr/bin:/bin"}},
	})
	const kind = "application/vnd.docker.distribution.manifest.v2+json"
	describe := func(kind string, blob []byte) map[string]any {
		return map[string]any{"mediaType": kind, "size": len(blob), "digest": sum(blob)}
	}
	manifest := marshal(t, map[string]any{
		"schemaVersion": 2, "mediaType": kind, "config": describe("application/vnd.docker.container.image.v1+json", config),
		"layers": []any{describe("application/vnd.docker.image.rootfs.diff.tar.gzip", layer.Bytes())},
	})
	blobs := map[string][]byte{sum(config): config, sum(layer.Bytes()): layer.Bytes()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v2/durabench-test/pulled/manifests/{reference}", func(w http.ResponseWriter, r *http.Request) {
		if reference := r.PathValue("reference"); reference != "1.0" && reference != sum(manifest) {
			http.Error(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`, http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Docker-Content-Digest", sum(manifest))
		_, _ = w.Write(manifest)
	})
	mux.HandleFunc("GET /v2/durabench-test/pulled/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		// Not too quick for the engine to tell how it goes on.
		blob := blobs[r.PathValue("digest")]
		w.Header().Set("Content-Length", strconv.Itoa(len(blob)))
		for piece := range slices.Chunk(blob, max(1, len(blob)/8)) {
			_, _ = w.Write(piece)
			if len(blob) > 1<<20 {
				time.Sleep(150 * time.Millisecond)
			}
		}
	})
	server = httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server, strings.TrimPrefix(server.URL, "http://") + "/durabench-test/pulled", sum(manifest)
}

func sum(blob []byte) string {
	hash := sha256.Sum256(blob)
	return "sha256:" + hex.EncodeToString(hash[:])
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestImagesArePulledByThePolicy(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	files, err := testimage.RedisFiles("pulled")
	ci.Need(t, err)
	server, name, digest := registry(t, files)
	o := redis(t, run)
	o.Image = name + ":1.0"
	images.Add(o.Image)

	o.Pull = docker.PullNever
	if _, err := c.Start(t.Context(), o); !errors.Is(err, docker.ErrImage) || !strings.Contains(err.Error(), "--pull never") || !strings.Contains(err.Error(), o.Image) {
		t.Errorf("an image that is missing and must not be pulled: %v", err)
	}

	o.Pull = docker.PullMissing
	var last docker.Progress
	between := 0
	o.Progress = func(p docker.Progress) {
		if p.Percent() > 0 && p.Percent() < 100 {
			between++
		}
		last = p
	}
	running := start(t, c, o)
	if last.Layers != 1 || last.Done != 1 || last.Total == 0 || last.Percent() != 100 {
		t.Errorf("last progress is %+v", last)
	}
	if between == 0 {
		t.Error("nothing was told on the way")
	}
	if running.ImageDigest != name+"@"+digest || running.Image != o.Image {
		t.Errorf("image digest is %q of %q", running.ImageDigest, running.Image)
	}
	if err := c.Stop(t.Context(), run, false); err != nil {
		t.Fatal(err)
	}

	// By its digest, which no one can move.
	byDigest := o
	byDigest.Image = name + "@" + digest
	if running := start(t, c, byDigest); running.ImageDigest != name+"@"+digest {
		t.Errorf("image digest is %q", running.ImageDigest)
	}

	// The same run needs no registry any more, whatever the policy: what runs is adopted.
	server.Close()
	byDigest.Pull = docker.PullAlways
	if again := start(t, c, byDigest); !again.Adopted {
		t.Error("it was not adopted")
	}
	if err := c.Stop(t.Context(), run, false); err != nil {
		t.Fatal(err)
	}
	o.Pull = docker.PullAlways
	c.SetPullPause(time.Millisecond)
	if _, err := c.Start(t.Context(), o); !errors.Is(err, docker.ErrRegistry) || !strings.Contains(err.Error(), "--pull missing") {
		t.Errorf("always, without a registry: %v", err)
	}
	o.Pull = docker.PullMissing
	start(t, c, o)
}

func TestAnImageThatCannotBePulledSaysSo(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	_, name, _ := registry(t, []byte("nothing"))
	c.SetPullPause(time.Millisecond)
	for tag, want := range map[string]struct {
		kind error
		text string
	}{
		name + ":2.0":                      {docker.ErrWrongImage, "manifest"}, // there is no such version
		"127.0.0.1:1/durabench-test/x:1.0": {docker.ErrRegistry, "connect"},    // there is no registry now
		"Not A Name":                       {docker.ErrWrongImage, "is not the name of an image"},
	} {
		o := redis(t, run)
		o.Image, o.Pull = tag, docker.PullMissing
		_, err := c.Start(t.Context(), o)
		if !errors.Is(err, want.kind) || !strings.Contains(err.Error(), want.text) || !strings.Contains(err.Error(), tag) {
			t.Errorf("image %s: %v", tag, err)
		}
		if errors.Is(err, docker.ErrImage) != (want.kind == docker.ErrWrongImage) {
			t.Errorf("image %s: %v is final or not, which it is not to be", tag, err)
		}
	}
	if containers, volumes := left(t, api, run); containers+volumes > 0 {
		t.Errorf("%d containers and %d volumes are left", containers, volumes)
	}
}

// faulty is a registry that answers with a fault so often, and then passes on to another.
func faulty(t *testing.T, to *httptest.Server, status, times int, body string) (address string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	target, err := url.Parse(to.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/manifests/") && asked.Add(1) <= int64(times) {
			http.Error(w, body, status)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), asked
}

func TestOnlyTheRegistrysVerdictIsFinal(t *testing.T) {
	c, api := engine(t)
	c.SetPullPause(time.Millisecond)
	files, err := testimage.RedisFiles("pulled")
	ci.Need(t, err)
	real, _, _ := registry(t, files)
	const often = 1000
	for name, test := range map[string]struct {
		status, times int
		body          string
		kind          error // nil: it is pulled
	}{
		"away for a moment":  {http.StatusServiceUnavailable, 2, "", nil},
		"away":               {http.StatusServiceUnavailable, often, "", docker.ErrRegistry},
		"broken":             {http.StatusInternalServerError, often, `{"errors":[{"code":"UNKNOWN","message":"a bug"}]}`, docker.ErrRegistry},
		"asked too often":    {http.StatusTooManyRequests, often, `{"errors":[{"code":"TOOMANYREQUESTS","message":"pull rate limit"}]}`, docker.ErrRegistry},
		"no such image":      {http.StatusNotFound, often, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`, docker.ErrWrongImage},
		"no such repository": {http.StatusNotFound, often, `{"errors":[{"code":"NAME_UNKNOWN","message":"repository name not known to registry"}]}`, docker.ErrWrongImage},
		"denied":             {http.StatusForbidden, often, `{"errors":[{"code":"DENIED","message":"requested access to the resource is denied"}]}`, docker.ErrWrongImage},
	} {
		t.Run(name, func(t *testing.T) {
			address, asked := faulty(t, real, test.status, test.times, test.body)
			o := redis(t, runID(t, c, api))
			o.Image, o.Pull = address+"/durabench-test/pulled:1.0", docker.PullMissing
			_, err := c.Start(t.Context(), o)
			if test.kind == nil {
				images.Add(o.Image)
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, test.kind) || errors.Is(err, docker.ErrImage) != errors.Is(test.kind, docker.ErrImage) {
				t.Errorf("error is %v", err)
			}
			if test.kind == docker.ErrRegistry && asked.Load() < 3 {
				t.Errorf("the registry was asked %d times", asked.Load())
			}
		})
	}
}
