//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durabench/durabench/infra/ci"
)

// gate is a real S3 server behind a door of ours: an object on its way there can be stopped, before the server has it or before its sender knows that it has.
type gate struct {
	t     *testing.T
	dir   string // of the objects, as files
	store string // its name for --store
	env   []string

	mu     sync.Mutex
	holds  map[string]*hold // by the end of the object's key
	passed []string         // the paths of objects whose senders know that they are there
}

// point is how far an object has come.
type point int

const (
	onItsWay point = iota // the server has nothing of it
	there                 // the server has it, and the sender waits for the answer
)

// hold is a stop at the gate.
type hold struct {
	at      point
	reached chan struct{} // closed when an object has come there
	open    chan struct{} // closed when it may go on
	once    sync.Once
}

func (h *hold) reach() { h.once.Do(func() { close(h.reached) }) }

const bucket = "results"

// newGate starts the server for one test.
func newGate(t *testing.T) *gate {
	t.Helper()
	program := os.Getenv("DURABENCH_VERSITYGW")
	if program == "" {
		program, _ = exec.LookPath("versitygw")
	}
	if program == "" {
		const how = "versitygw, the S3 server, is neither at DURABENCH_VERSITYGW nor on PATH: scripts/test-deps.sh installs it"
		ci.Need(t, errors.New(how))
	}
	const access, secret = "durabench-test", "a+very/secret-key-of-the-tests"
	root := t.TempDir()
	g := &gate{
		t: t, dir: filepath.Join(root, "data", bucket), holds: map[string]*hold{},
		env: []string{"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + secret, "AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull},
	}
	// A directory among the server's own is a bucket.
	for _, dir := range []string{g.dir, filepath.Join(root, "meta"), filepath.Join(root, "iam")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	address := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	// The shell in between kills the server when this test is gone, however it went: its standard input then ends.
	command := exec.Command("sh", "-c", `"$@" </dev/null & pid=$!; read -r _; kill -9 $pid; wait $pid`, "sh", program,
		"--port", address, "--quiet", "--keep-alive", "--iam-dir", filepath.Join(root, "iam"), "posix", "--sidecar", filepath.Join(root, "meta"), filepath.Join(root, "data"))
	command.Env = []string{"ROOT_ACCESS_KEY=" + access, "ROOT_SECRET_KEY=" + secret}
	said := new(output)
	command.Stdout, command.Stderr = said, said
	alive, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = alive.Close()
		_ = command.Wait() // it is always killed
	})
	eventually(t, time.Minute, "versitygw listens", func() bool {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	})
	// The host stays the one that was asked for: it is signed.
	door := httptest.NewServer(g.handler(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: address})
			r.Out.Host = r.In.Host
		},
		ErrorLog: log.New(io.Discard, "", 0), // senders are killed
	}))
	t.Cleanup(func() {
		g.openAll()
		door.CloseClientConnections()
		door.Close()
	})
	g.store = "s3://" + bucket + "?endpoint=" + url.QueryEscape(door.URL)
	return g
}

// stop has objects whose keys end so stop at a point, from now on. The function lets them go on.
func (g *gate) stop(key string, at point) (reached <-chan struct{}, open func()) {
	h := &hold{at: at, reached: make(chan struct{}), open: make(chan struct{})}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds[key] = h
	return h.reached, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.holds[key] == h {
			delete(g.holds, key)
			close(h.open)
		}
	}
}

func (g *gate) openAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, h := range g.holds {
		delete(g.holds, key)
		close(h.open)
	}
}

func (g *gate) holdOf(r *http.Request) *hold {
	if r.Method != http.MethodPut {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, h := range g.holds {
		if strings.HasSuffix(r.URL.Path, key) {
			return h
		}
	}
	return nil
}

func (g *gate) handler(server http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := g.holdOf(r)
		wait := func() {
			h.reach()
			select {
			case <-h.open:
			case <-r.Context().Done():
			}
		}
		if h != nil && h.at == onItsWay {
			wait()
		}
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, r)
		// A sender that was killed may have brought it there: then the next one is told that it exists.
		put := r.Method == http.MethodPut && (answer.Code/100 == 2 || answer.Code == http.StatusPreconditionFailed)
		if put && h != nil && h.at == there {
			wait()
		}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, err := answer.Body.WriteTo(w)
		if put && err == nil && r.Context().Err() == nil {
			time.AfterFunc(5*time.Millisecond, func() {
				g.mu.Lock()
				defer g.mu.Unlock()
				g.passed = append(g.passed, r.URL.Path)
			})
		}
	})
}

// hasPassed tells whether the sender of an object whose key ends so knows that it is there.
func (g *gate) hasPassed(key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.passed, func(path string) bool { return strings.HasSuffix(path, key) })
}

// objects returns what the store holds of a run's legs, by file.
func (g *gate) objects(run string) map[string][]byte {
	g.t.Helper()
	return readAll(g.t, filepath.Join(g.dir, run, "legs", "*.json"))
}

// readAll reads the files that a pattern names.
func readAll(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		if all[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
