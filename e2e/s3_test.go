//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/durabench/durabench/bench/result"
)

const (
	s3Access = "durabench-e2e"
	s3Secret = "an+e2e/secret-key-that-is-seen-nowhere"
)

// bucketServer is a real S3 server with the bucket "results", which can go away and come back.
type bucketServer struct {
	t       *testing.T
	program string
	address string
	dir     string
	alive   io.Closer
	ended   chan struct{}
}

func startBucketServer(t *testing.T) *bucketServer {
	t.Helper()
	program, err := exec.LookPath("versitygw")
	if named := os.Getenv("DURABENCH_VERSITYGW"); named != "" {
		program, err = named, nil
	}
	if err != nil {
		t.Fatalf("versitygw, the S3 server of the tests, is missing: run `make deps`: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &bucketServer{t: t, program: program, address: listener.Addr().String(), dir: t.TempDir()}
	listener.Close()
	for _, dir := range []string{"data", "meta"} {
		if err := os.Mkdir(filepath.Join(b.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": s3Access, "AWS_SECRET_ACCESS_KEY": s3Secret, "AWS_ENDPOINT_URL": "http://" + b.address, "AWS_REGION": "us-east-1",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", "AWS_SESSION_TOKEN": "",
	} {
		t.Setenv(name, value)
	}
	b.start()
	t.Cleanup(b.stop)
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + b.address), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(s3Access, s3Secret, ""),
	})
	if _, err := client.CreateBucket(context.Background(), &s3.CreateBucketInput{Bucket: aws.String("results")}); err != nil {
		t.Fatal(err)
	}
	return b
}

// start starts the server and waits until it listens. The shell in between kills it when the tests are gone, however they went.
func (b *bucketServer) start() {
	b.t.Helper()
	command := exec.Command("sh", "-c", `"$@" </dev/null >/dev/null 2>&1 & pid=$!; read -r _; kill -9 $pid; wait $pid`, "sh", b.program,
		"--port", b.address, "--quiet", "posix", "--sidecar", filepath.Join(b.dir, "meta"), filepath.Join(b.dir, "data"))
	command.Env = []string{"ROOT_ACCESS_KEY=" + s3Access, "ROOT_SECRET_KEY=" + s3Secret}
	stdin, err := command.StdinPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // it is always killed
	}()
	b.alive, b.ended = stdin, ended
	eventually(b.t, 30*time.Second, "the S3 server listens", func() bool {
		connection, err := net.DialTimeout("tcp", b.address, time.Second)
		if err == nil {
			connection.Close()
		}
		return err == nil
	})
}

func (b *bucketServer) stop() {
	b.alive.Close()
	<-b.ended
}

// Results go to a bucket and come back from it; the store is away while a leg ends, and nothing of the run is lost; and no credential is
// anywhere but in the environment.
func TestResultsInABucket(t *testing.T) {
	bucket := startBucketServer(t)
	w := newWorld(t)
	const where = "s3://results/nightly"

	// What cannot work is refused before anything is measured.
	o := w.run("run", "-d", "map", "-s", "100", "--store", "s3://no-such-bucket/x")
	if o.code != 2 || !strings.Contains(o.stderr, "the bucket does not exist") {
		t.Errorf("missing bucket: exit %d\n%s", o.code, o.stderr)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3Secret+"x")
	o = w.run("run", "-d", "map", "-s", "100", "--store", where)
	if o.code != 2 || !strings.Contains(o.stderr, "the credentials are wrong") || strings.Contains(o.stderr, "valid,") {
		t.Errorf("wrong credentials: exit %d\n%s", o.code, o.stderr)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3Secret)

	r := w.start("run", "-d", "sqlite", "-s", "120k", "-c", "2", "-t", "2", "--store", where, "--format", "json")
	w.inLeg(r, "create")
	bucket.stop()
	eventually(t, time.Minute, "the first leg waits for its store", func() bool {
		_, after, _ := strings.Cut(r.stderr.String(), "create: started")
		return strings.Contains(after, "storing the result")
	})
	bucket.start()
	o = w.finish(r, 2*time.Minute)
	if o.code != 0 {
		t.Fatalf("run: exit %d\n%s", o.code, o.stderr)
	}
	doc := w.document(o)
	valid(t, doc, 120_000, crud...)

	o = w.run("list", "--store", where, "--format", "json")
	if o.code != 0 || !strings.Contains(o.stdout, where+"/"+doc.Run.ID+"/result.json") {
		t.Errorf("list: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := w.run("show", doc.Run.ID, "--store", where); o.code != 0 || !strings.Contains(o.stdout, "Delete") {
		t.Errorf("show: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	to := filepath.Join(w.dir, "pulled")
	if o := w.run("pull", doc.Run.ID, "--store", where, "-o", to); o.code != 0 {
		t.Fatalf("pull: exit %d\n%s", o.code, o.stderr)
	}
	pulled, err := result.ReadFile(filepath.Join(to, doc.Run.ID, "result.json"))
	if err != nil || pulled.Run.ID != doc.Run.ID {
		t.Errorf("pulled: %v", err)
	}
	legs, _ := filepath.Glob(filepath.Join(to, doc.Run.ID, "legs", "*.json"))
	if len(legs) != len(crud) {
		t.Errorf("%d legs were pulled: %q", len(legs), legs)
	}
	if o := w.run("pull", doc.Run.ID, "--store", where, "-o", to); o.code != 0 {
		t.Errorf("pull once more: exit %d\n%s", o.code, o.stderr)
	}
	if err := os.WriteFile(filepath.Join(to, doc.Run.ID, "result.json"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := w.run("pull", doc.Run.ID, "--store", where, "-o", to); o.code != 4 || !strings.Contains(o.stderr, "-o") {
		t.Errorf("pull over a file of somebody: exit %d\n%s", o.code, o.stderr)
	}
	if o := w.run("pull", "no-such-run", "--store", where); o.code != 4 {
		t.Errorf("pull of no run: exit %d\n%s", o.code, o.stderr)
	}
	w.nothingRuns()
	w.nowhere(s3Secret, w.home, bucket.dir, to)
}

// nowhere asserts that no file below the roots holds a secret.
func (w *world) nowhere(secret string, roots ...string) {
	w.t.Helper()
	read := 0
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if read++; bytes.Contains(data, []byte(secret)) {
				w.t.Errorf("the secret is in %s", path)
			}
			return err
		})
		if err != nil {
			w.t.Error(err)
		}
	}
	if read < 5 {
		w.t.Errorf("only %d files were read", read)
	}
}
