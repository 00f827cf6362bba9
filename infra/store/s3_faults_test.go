package store

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

func TestBucketComesBack(t *testing.T) {
	server := startServer(t)
	ctx, s := soon(t), server.open(t, "results", "")
	if err := s.Put(ctx, "run/before", []byte("before")); err != nil {
		t.Fatal(err)
	}
	server.stop(t)
	_, getErr := s.Get(ctx, "run/before")
	_, listErr := s.List(ctx, "")
	for _, err := range []error{s.Put(ctx, "run/meanwhile", []byte("meanwhile")), getErr, listErr, s.Check(ctx)} {
		wantFailure(t, err, true, server.endpoint(), "connection refused", "start it")
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrExists) {
			t.Errorf("a store that is away knows nothing: %v", err)
		}
	}
	// The caller tries until the store is back, as an activity does.
	done := make(chan error, 1)
	refused := 0
	go func() {
		for {
			err := s.Put(ctx, "run/meanwhile", []byte("meanwhile"))
			if !errors.Is(err, ErrUnavailable) {
				done <- err
				return
			}
			refused++
			time.Sleep(50 * time.Millisecond)
		}
	}()
	time.Sleep(time.Second)
	server.start(t)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if refused == 0 {
		t.Error("the store was not away")
	}
	for _, key := range []string{"before", "meanwhile"} {
		if got, err := s.Get(ctx, "run/"+key); err != nil || string(got) != key {
			t.Errorf("get %s: %q, %v", key, got, err)
		}
	}
}

func TestSilentServerIsGivenUp(t *testing.T) {
	cleanEnvironment(t)
	as(t, testAccess, testSecret)
	listener, err := net.Listen("tcp", "127.0.0.1:0") // it is never asked to accept
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := openAt(t, "http://"+listener.Addr().String(), "results")
	s.silence = 200 * time.Millisecond
	wantFailure(t, s.Put(soon(t), "run/a", content(1, 1<<20)), true, "cannot be reached")
	s = openAt(t, "http://"+listener.Addr().String(), "results")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err = s.Put(ctx, "run/a", []byte("a"))
	wantFailure(t, err, true, "no answer in the time that was given")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	err = s.Put(ctx, "run/a", []byte("a"))
	wantFailure(t, err, false, "canceled")
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCutBodyIsNoResult(t *testing.T) {
	server := startServer(t)
	ctx, data := soon(t), content(3, 1<<20)
	if err := server.open(t, "results", "").Put(ctx, "run/a", data); err != nil {
		t.Fatal(err)
	}
	line := startProxy(t, server.address, nil)
	line.cutAnswer.Store(500_000)
	line.faults.Store(2) // the third try comes through
	got, err := openAt(t, line.endpoint(), "results").Get(ctx, "run/a")
	if err != nil || !bytes.Equal(got, data) || line.faults.Load() > 0 {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	line.faults.Store(1 << 40)
	got, err = openAt(t, line.endpoint(), "results").Get(ctx, "run/a")
	wantFailure(t, err, true, "cut short", "of 1048576 bytes", "s3://results/run/a")
	if got != nil {
		t.Errorf("%d bytes came with the error", len(got))
	}
	// Whatever is there could not be compared, so a write must not claim to have succeeded.
	wantFailure(t, openAt(t, line.endpoint(), "results").Put(ctx, "run/a", data), true, "read s3://results/run/a", "cut short")
	// In the middle of a listing.
	line.cutAnswer.Store(400)
	_, err = openAt(t, line.endpoint(), "results").List(ctx, "")
	wantFailure(t, err, true, "list")
}

func TestLostAnswerIsNoSecondWriter(t *testing.T) {
	server := startServer(t)
	for name, size := range map[string]int{"small": 1000, "large": largeBody + 1} {
		t.Run(name, func(t *testing.T) {
			ctx, data := soon(t), content(4, size)
			line := startProxy(t, server.address, nil)
			// The answers of the first connections are lost: the write happens, but nobody hears of it.
			line.cutAnswer.Store(1)
			line.faults.Store(2)
			s := openAt(t, line.endpoint(), "results")
			if err := s.Put(ctx, "run/"+name, data); err != nil {
				t.Fatal(err)
			}
			if line.faults.Load() > 0 {
				t.Error("no answer was lost")
			}
			if got, err := s.Get(ctx, "run/"+name); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}

func TestLostAnswerOfTheLastRequest(t *testing.T) {
	server := startServer(t)
	ctx, data := soon(t), content(4, largeBody+1)
	line := startProxy(t, server.address, func(line *proxy, piece []byte) bool {
		if bytes.Contains(piece, []byte("<CompleteMultipartUpload")) {
			line.cutAnswer.Store(1)
		}
		return true
	})
	line.faults.Store(1)
	s := openAt(t, line.endpoint(), "results")
	if err := s.Put(ctx, "run/large", data); err != nil {
		t.Fatal(err)
	}
	if line.faults.Load() > 0 {
		t.Error("no answer was lost")
	}
	if got, err := s.Get(ctx, "run/large"); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	wantNoUploads(t, server)
}

func TestBentBytesAreNoResult(t *testing.T) {
	server := startServer(t)
	ctx, data := soon(t), content(5, 1<<20)
	large := content(6, largeBody+1)
	if err := server.open(t, "results", "").Put(ctx, "run/a", data); err != nil {
		t.Fatal(err)
	}
	if err := server.open(t, "results", "").Put(ctx, "run/large", large); err != nil {
		t.Fatal(err)
	}
	line := startProxy(t, server.address, nil)
	fresh := func() *bucket { return openAt(t, line.endpoint(), "results") } // with connections of its own

	line.flipAnswer.Store(500_000)
	line.faults.Store(1)
	if got, err := fresh().Get(ctx, "run/a"); err != nil || !bytes.Equal(got, data) || line.faults.Load() > 0 {
		t.Errorf("bent once: %v", err)
	}
	// S3's checksum of an object in parts says nothing of the whole; our own digest does.
	for _, key := range []string{"run/a", "run/large"} {
		line.faults.Store(1 << 40)
		got, err := fresh().Get(ctx, key)
		wantFailure(t, err, false, "the body", "s3://results/"+key)
		if got != nil || !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	line.flipAnswer.Store(0)

	line.flipRequest.Store(400_000) // never in a header of these requests
	line.faults.Store(1)
	if err := fresh().Put(ctx, "run/b", data); err != nil || line.faults.Load() > 0 {
		t.Errorf("bent once: %v", err)
	}
	line.faults.Store(1 << 40)
	for key, data := range map[string][]byte{"run/c": data, "run/d": large} {
		err := fresh().Put(ctx, key, data)
		wantFailure(t, err, false, "write s3://results/"+key)
		if !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
		if _, err := server.open(t, "results", "").Get(ctx, key); !errors.Is(err, ErrNotFound) {
			t.Errorf("damaged bytes were stored: %v", err)
		}
	}
	wantNoUploads(t, server)
}

// A server may refuse a write before its body has come, and close the connection; the refusal is then lost.
func TestRefusalThatIsLost(t *testing.T) {
	server := startServer(t)
	for name, size := range map[string]int{"small": 1000, "large": largeBody + 1} {
		t.Run(name, func(t *testing.T) {
			ctx, data, key := soon(t), content(4, size), "run/"+name
			if err := server.open(t, "results", "").Put(ctx, key, data); err != nil {
				t.Fatal(err)
			}
			line := startProxy(t, server.address, func(_ *proxy, piece []byte) bool { return !bytes.HasPrefix(piece, []byte("PUT ")) })
			if err := openAt(t, line.endpoint(), "results").Put(ctx, key, data); err != nil {
				t.Error(err)
			}
			if err := openAt(t, line.endpoint(), "results").Put(ctx, key, content(5, size)); !errors.Is(err, ErrExists) {
				t.Error(err)
			}
			wantFailure(t, openAt(t, line.endpoint(), "results").Put(ctx, "run/other", content(5, 1000)), true, "write s3://results/run/other", "cannot be reached")
		})
	}
}

func TestForeignObjectsAreReadToo(t *testing.T) {
	server := startServer(t)
	ctx, s := soon(t), server.open(t, "results", "")
	if _, err := server.root(t).PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String("results"), Key: aws.String("run/result.json"), Body: bytes.NewReader([]byte("copied")),
	}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(ctx, "run/result.json"); err != nil || string(got) != "copied" {
		t.Errorf("%q, %v", got, err)
	}
	if err := s.Put(ctx, "run/result.json", []byte("copied")); err != nil {
		t.Error(err)
	}
	if err := s.Put(ctx, "run/result.json", []byte("made")); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
}

func TestAbandonedUploadLeavesNoParts(t *testing.T) {
	server := startServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var sent atomic.Int64
	line := startProxy(t, server.address, func(_ *proxy, piece []byte) bool {
		if bytes.HasPrefix(piece, []byte("DELETE ")) {
			return true
		}
		// The large parts are on their way, and none of them arrives: it could do so after the test has looked.
		if sent.Add(int64(len(piece))) < partSize*3/4 {
			return true
		}
		cancel()
		return false
	})
	err := openAt(t, line.endpoint(), "results").Put(ctx, "run/large", content(8, 2*partSize+100))
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := server.open(t, "results", "").Get(soon(t), "run/large"); !errors.Is(err, ErrNotFound) {
		t.Errorf("half an object: %v", err)
	}
	wantNoUploads(t, server)
}
