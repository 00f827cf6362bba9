package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/durabench/durabench/infra/ci"
)

const (
	testAccess = "durabench-test"
	testSecret = "a+very/secret-key-of-the-tests"
)

// versitygw finds the real S3 server that these tests run against.
func versitygw(t *testing.T) string {
	t.Helper()
	path := os.Getenv("DURABENCH_VERSITYGW")
	if path == "" {
		path, _ = exec.LookPath("versitygw")
	}
	if path != "" {
		return path
	}
	const how = "versitygw, the S3 server, is neither at DURABENCH_VERSITYGW nor on PATH; get it by " +
		"`go install github.com/versity/versitygw/cmd/versitygw@v1.8.0`, which takes some minutes"
	ci.Need(t, errors.New(how))
	return ""
}

// server is a versitygw on a port and a directory of its own.
type server struct {
	program string
	dir     string
	address string   // host:port
	flags   []string // beside those of every server
	alive   io.Closer
	ended   chan struct{}
}

// startServer starts a server with the bucket "results", and makes the environment one that could write there if it knew the endpoint.
func startServer(t *testing.T, flags ...string) *server {
	t.Helper()
	s := &server{program: versitygw(t), dir: t.TempDir(), address: freeAddress(t), flags: flags}
	for _, name := range []string{"data", "meta", "iam"} {
		if err := os.Mkdir(filepath.Join(s.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cleanEnvironment(t)
	t.Setenv("AWS_ACCESS_KEY_ID", testAccess)
	t.Setenv("AWS_SECRET_ACCESS_KEY", testSecret)
	s.start(t)
	t.Cleanup(func() { s.stop(t) })
	return s
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// cleanEnvironment hides the credentials and settings of whoever runs the tests.
func cleanEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE",
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_CA_BUNDLE", "AWS_ROLE_ARN",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
		"AWS_REQUEST_CHECKSUM_CALCULATION", "AWS_RESPONSE_CHECKSUM_VALIDATION", "AWS_MAX_ATTEMPTS", "AWS_RETRY_MODE",
	} {
		t.Setenv(name, "") // puts it back in the end
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	t.Setenv("AWS_CONFIG_FILE", nowhere)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", nowhere)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// start starts the server and waits until it has its bucket. The shell in between kills the server when the tests are gone, however they
// went: its standard input then ends.
func (s *server) start(t *testing.T) {
	t.Helper()
	args := []string{"-c", `"$@" </dev/null & pid=$!; read -r _; kill -9 $pid; wait $pid`, "sh", s.program,
		"--port", s.address, "--health", "/health", "--quiet", "--keep-alive", "--iam-dir", filepath.Join(s.dir, "iam")}
	args = append(args, s.flags...)
	args = append(args, "posix", "--sidecar", filepath.Join(s.dir, "meta"), filepath.Join(s.dir, "data"))
	command := exec.Command("sh", args...)
	command.Env = []string{"ROOT_ACCESS_KEY=" + testAccess, "ROOT_SECRET_KEY=" + testSecret}
	var log syncBuffer
	command.Stdout, command.Stderr = &log, &log
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // it is always killed
	}()
	s.alive, s.ended = stdin, ended
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		connection, err := net.DialTimeout("tcp", s.address, time.Second)
		if err == nil {
			connection.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("versitygw does not listen: %v\n%s", err, log.String())
		}
	}
	if s.flags != nil {
		return // the test has its own way to speak to it
	}
	_, err = s.root(t).CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("results")})
	if code, _ := answer(err); err != nil && code != "BucketAlreadyOwnedByYou" {
		t.Fatalf("create the bucket: %v\n%s", err, log.String())
	}
}

// stop kills the server, as a crash would.
func (s *server) stop(t *testing.T) {
	t.Helper()
	s.alive.Close()
	select {
	case <-s.ended:
	case <-time.After(10 * time.Second):
		t.Error("versitygw does not end")
	}
}

func (s *server) endpoint() string { return "http://" + s.address }

// root is a client of the tests' own.
func (s *server) root(t *testing.T) *s3.Client {
	t.Helper()
	client, err := s.open(t, "results", "").connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// open opens a store in a bucket of the server.
func (s *server) open(t *testing.T, bucketName, prefix string) *bucket {
	t.Helper()
	return openAt(t, s.endpoint(), bucketName+"/"+prefix)
}

func openAt(t *testing.T, endpoint, where string) *bucket {
	t.Helper()
	return open(t, "s3://"+where+"?endpoint="+endpoint).(*bucket)
}

// as changes the credentials of stores that are opened from now on.
func as(t *testing.T, access, secret string) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", access)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
}

// syncBuffer is a buffer for more than one goroutine.
type syncBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// captureLogs returns what is logged from now on.
func captureLogs(t *testing.T) *syncBuffer {
	t.Helper()
	var log syncBuffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return &log
}

// wantFailure fails unless err holds every text, is temporary or not as said, and shows no secret.
func wantFailure(t *testing.T, err error, temporary bool, texts ...string) {
	t.Helper()
	wantError(t, err, texts...)
	if err == nil {
		return
	}
	wait, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	if !ok || wait.Temporary() != temporary || errors.Is(err, ErrUnavailable) != temporary {
		t.Errorf("temporary should be %t: %v", temporary, err)
	}
	// The layers below are what a workflow's history would keep.
	for layer := err; layer != nil; layer = errors.Unwrap(layer) {
		wantNoSecret(t, layer.Error())
	}
	wantNoSecret(t, fmt.Sprintf("%+v %#v", err, err))
}

func wantNoSecret(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{testSecret, "hunter2"} {
		if bytes.Contains([]byte(text), []byte(secret)) {
			t.Errorf("shows a secret: %s", text)
		}
	}
}

// soon bounds what should not take long.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// stub is a server that gives every request the same answer.
func stub(t *testing.T, status int, header map[string]string, body string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return "http://" + listener.Addr().String()
}
