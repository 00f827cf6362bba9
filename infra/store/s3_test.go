package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
)

// content returns n bytes that cannot be compressed or mistaken.
func content(seed uint64, n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(data)
	return data
}

func TestBucketKeepsWhatWasPut(t *testing.T) {
	server := startServer(t)
	ctx, s := soon(t), server.open(t, "results", "nightly/ü 1")
	if err := s.Check(ctx); err != nil {
		t.Fatal(err)
	}
	for key, data := range map[string][]byte{
		"run/result.json":                  []byte(`{"schema":1}`),
		"run/empty":                        {},
		"run/legs/001-read.json":           content(1, 1<<20),
		"run/legs/007-..--%C3%A9%201.json": []byte("percent signs are not decoded"),
		"a b/ünï/漢字/🙂+&?#.json":            []byte("letters of every script"),
	} {
		for range 2 { // the same bytes again are fine
			if err := s.Put(ctx, key, data); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Get(ctx, key)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("get %s: %d bytes, %v", key, len(got), err)
		}
		err = s.Put(ctx, key, []byte("other"))
		if !errors.Is(err, ErrExists) {
			t.Errorf("different bytes: %v", err)
		}
		wantError(t, err, "s3://results/nightly/ü 1/"+key, fmt.Sprint(len(data), " bytes"), "5 were", "another run id")
		if got, err := s.Get(ctx, key); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s was replaced: %v", key, err)
		}
	}
	for _, key := range []string{"run/other.json", "run", "run/result.json/below"} {
		if _, err := s.Get(ctx, key); !errors.Is(err, ErrNotFound) {
			t.Errorf("get %s: %v", key, err)
		}
	}
	head, err := server.root(t).HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String("nightly/ü 1/run/result.json"), ChecksumMode: "ENABLED"})
	if err != nil || aws.ToString(head.ContentType) != "application/json" || head.ChecksumSHA256 == nil {
		t.Errorf("the object's type is %v, its checksum %v; %v", head.ContentType, head.ChecksumSHA256, err)
	}
	runs, err := RunIDs(ctx, s)
	if diff := cmp.Diff([]string{"a b", "run"}, runs); err != nil || diff != "" {
		t.Errorf("runs: %v\n%s", err, diff)
	}
}

func TestBucketKeepsKeysInside(t *testing.T) {
	server := startServer(t)
	ctx, s := soon(t), server.open(t, "results", "")
	for _, key := range []string{"", "/etc/passwd", "../x", "a//x", "a/", "a\x00b", `a\b`, "\xff", ".put-1", strings.Repeat("x", 256)} {
		if err := s.Put(ctx, key, []byte("x")); err == nil {
			t.Errorf("put took the key %q", key)
		}
		if _, err := s.Get(ctx, key); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("get of %q: %v", key, err)
		}
	}
	long := strings.Repeat("x/", 510) + "x"
	wantError(t, server.open(t, "results", "prefix").Put(ctx, long+"/y", nil), "prefix of the store", "1024")
	if _, err := s.List(ctx, "../"); err == nil {
		t.Error("listed above the store")
	}
}

func TestBucketStopsBeforeAnythingIsSent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := openAt(t, "http://127.0.0.1:1", "results")
	for name, err := range map[string]error{
		"put":   s.Put(ctx, "a", nil),
		"get":   func() error { _, err := s.Get(ctx, "a"); return err }(),
		"list":  func() error { _, err := s.List(ctx, ""); return err }(),
		"check": s.Check(ctx),
	} {
		if !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBucketOfManyWritersOneWins(t *testing.T) {
	server := startServer(t)
	for _, size := range []int{100, largeBody + 1} {
		t.Run(fmt.Sprint(size, " bytes"), func(t *testing.T) {
			ctx, key := soon(t), fmt.Sprintf("run/%d.json", size)
			writers, contents := 16, 4 // each content has four writers, who all may succeed
			if size > largeBody {
				writers, contents = 4, 2
			}
			var won, lost atomic.Int64
			var winner atomic.Int64
			var group sync.WaitGroup
			for i := range writers {
				s := server.open(t, "results", "race")
				group.Go(func() {
					switch err := s.Put(ctx, key, content(uint64(i%contents), size)); {
					case err == nil:
						won.Add(1)
						winner.Store(int64(i % contents))
					case errors.Is(err, ErrExists):
						lost.Add(1)
					default:
						t.Error(err)
					}
				})
			}
			group.Wait()
			if each := int64(writers / contents); won.Load() != each || lost.Load() != int64(writers)-each {
				t.Errorf("%d won and %d lost, want %d and %d", won.Load(), lost.Load(), each, int64(writers)-each)
			}
			got, err := server.open(t, "results", "race").Get(ctx, key)
			if err != nil || !bytes.Equal(got, content(uint64(winner.Load()), size)) {
				t.Errorf("not the winner's bytes: %v", err)
			}
			wantNoUploads(t, server)
		})
	}
}

// wantNoUploads fails when parts of an unfinished upload are left.
func wantNoUploads(t *testing.T, server *server) {
	t.Helper()
	uploads, err := server.root(t).ListMultipartUploads(soon(t), &s3.ListMultipartUploadsInput{Bucket: aws.String("results")})
	if err != nil || len(uploads.Uploads) != 0 {
		t.Errorf("%d unfinished uploads are left: %v", len(uploads.Uploads), err)
	}
}

func TestLargeBodyGoesInParts(t *testing.T) {
	server := startServer(t)
	for _, sums := range []string{"when_supported", "when_required"} {
		t.Run(sums, func(t *testing.T) {
			t.Setenv("AWS_REQUEST_CHECKSUM_CALCULATION", sums)
			ctx, s, data := soon(t), server.open(t, "results", sums), content(7, 3*partSize+12345)
			for range 2 {
				if err := s.Put(ctx, "run/large", data); err != nil {
					t.Fatal(err)
				}
			}
			got, err := s.Get(ctx, "run/large")
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			head, err := server.root(t).HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String(s.object("run/large"))})
			if err != nil || !strings.HasSuffix(aws.ToString(head.ETag), `-4"`) || len(head.Metadata[digestName]) != hex.EncodedLen(32) {
				t.Errorf("the object was not written in parts: tag %s, metadata %v, %v", aws.ToString(head.ETag), head.Metadata, err)
			}
			data[len(data)/2] ^= 1
			if err := s.Put(ctx, "run/large", data); !errors.Is(err, ErrExists) {
				t.Errorf("different bytes: %v", err)
			}
			// The look that spares the sending is not what protects the object.
			client, err := s.connect(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.writeParts(ctx, client, s.object("run/large"), data); !isTaken(err) {
				t.Errorf("the last request was not refused: %v", err)
			}
			wantNoUploads(t, server)
		})
	}
}

func TestBucketListsEveryPage(t *testing.T) {
	server := startServer(t)
	ctx, s := soon(t), server.open(t, "results", "deep/store")
	const many = 1100
	var want []string
	for i := range many {
		key := fmt.Sprintf("run-%d/legs/%04d.json", i%3, i)
		want = append(want, key)
		if i < 20 {
			if err := s.Put(ctx, key, []byte(key)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		// A file of the server's directory is an object, and quicker made.
		if err := os.WriteFile(filepath.Join(server.dir, "data/results/deep/store", key), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	got, err := s.List(ctx, "")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("list: %v\n%s", err, diff)
	}
	// Neighbours of the prefix, and what is no key of a store, are not listed.
	if err := server.open(t, "results", "deep").Put(ctx, "store-2/run-9/a.json", nil); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(server.dir, "data/results/deep/store/run-1/empty directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(server.dir, "data/results/deep/store/run-1", temporary+"check-1"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]int{"": many, "run-": many, "run-1/": 367, "run-1/legs/0001": 1, "run-1": 367, "run-2": 366, "other/": 0} {
		got, err := s.List(ctx, prefix)
		if err != nil || len(got) != want {
			t.Errorf("list %q: %d keys, %v", prefix, len(got), err)
		}
		for _, key := range got {
			if !strings.HasPrefix(key, prefix) || strings.Contains(key, temporary) {
				t.Errorf("list %q: %s", prefix, key)
			}
		}
	}
	if runs, err := RunIDs(ctx, s); err != nil || len(runs) != 3 {
		t.Errorf("runs: %v, %v", runs, err)
	}
}

func TestCheckOfABucketLeavesNothing(t *testing.T) {
	server := startServer(t)
	if err := server.open(t, "results", "x").Check(soon(t)); err != nil {
		t.Fatal(err)
	}
	objects, err := server.root(t).ListObjectsV2(soon(t), &s3.ListObjectsV2Input{Bucket: aws.String("results")})
	if err != nil || len(objects.Contents) != 0 {
		t.Errorf("left %d objects, %v", len(objects.Contents), err)
	}
}

func TestBucketTakesTheStandardEnvironment(t *testing.T) {
	server := startServer(t)
	ctx := soon(t)
	if err := server.open(t, "results", "").Put(ctx, "run/a", []byte("a")); err != nil {
		t.Fatal(err)
	}
	files := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(files, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, env := range map[string]map[string]string{
		"endpoint of every service": {"AWS_ENDPOINT_URL": server.endpoint()},
		"endpoint of S3":            {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_S3": server.endpoint()},
		"profile": {
			"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "bench",
			"AWS_CONFIG_FILE": write("config", "[profile bench]\nregion = us-east-1\nendpoint_url = "+server.endpoint()+"\n"),
			"AWS_SHARED_CREDENTIALS_FILE": write("credentials",
				"[bench]\naws_access_key_id = "+testAccess+"\naws_secret_access_key = "+testSecret+"\n"),
		},
		"program": {
			"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_ENDPOINT_URL": server.endpoint(),
			"AWS_CONFIG_FILE": write("config-2", "[default]\ncredential_process = cat "+
				write("answer", fmt.Sprintf(`{"Version":1,"AccessKeyId":%q,"SecretAccessKey":%q}`, testAccess, testSecret))+"\n"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			for name, value := range env {
				t.Setenv(name, value)
			}
			s := open(t, "s3://results").(*bucket)
			if got, err := s.Get(ctx, "run/a"); err != nil || string(got) != "a" {
				t.Errorf("%q, %v", got, err)
			}
			if err := s.Check(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBucketKnowsTheRegion(t *testing.T) {
	cleanEnvironment(t)
	for _, tc := range []struct{ name, env, options, region, endpoint string }{
		{"nothing said", "", "", "us-east-1", ""},
		{"environment", "eu-west-3", "", "eu-west-3", ""},
		{"URL before environment", "eu-west-3", "?region=eu-central-1", "eu-central-1", ""},
		{"other server", "", "?endpoint=" + url.QueryEscape("https://s3.example.com:9000/") + "&region=auto", "auto", "https://s3.example.com:9000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("AWS_REGION", tc.env)
			client, err := open(t, "s3://results"+tc.options).(*bucket).connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			options := client.Options()
			if options.Region != tc.region || aws.ToString(options.BaseEndpoint) != tc.endpoint || options.UsePathStyle != (tc.endpoint != "") {
				t.Errorf("region %s, endpoint %s, path style %t", options.Region, aws.ToString(options.BaseEndpoint), options.UsePathStyle)
			}
		})
	}
}
