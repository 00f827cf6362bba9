package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

const (
	// readTries is how often a body is asked for that came cut short or damaged. The SDK tries again only until the body begins.
	readTries = 3
	// readPause is the time before the second try; it doubles.
	readPause = 100 * time.Millisecond
	// readAhead bounds what is set aside for a body before any of it has come.
	readAhead = 64 << 20
)

// cutShortError tells that a body ended before its end.
type cutShortError struct {
	got, want int64 // bytes; want is -1 when the server did not say
	err       error
}

func (e *cutShortError) Error() string {
	if e.want < 0 {
		return fmt.Sprintf("the body was cut short after %d bytes", e.got)
	}
	return fmt.Sprintf("the body was cut short: %d of %d bytes came", e.got, e.want)
}

func (e *cutShortError) Unwrap() error { return e.err }

// damagedError tells that bytes are not those that were written.
type damagedError struct{ why string }

func (e *damagedError) Error() string { return e.why }

// read returns the object's content, whole and verified.
func (b *bucket) read(ctx context.Context, client *s3.Client, object string) ([]byte, error) {
	pause := readPause
	for try := 1; ; try++ {
		data, err := b.readOnce(ctx, client, object)
		switch err.(type) {
		case *cutShortError, *damagedError:
		default:
			return data, err
		}
		if try == readTries {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
		pause *= 2
	}
}

func (b *bucket) readOnce(ctx context.Context, client *s3.Client, object string) ([]byte, error) {
	// Unless the environment says otherwise the SDK asks for the server's checksum, and compares.
	out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: &object})
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	want := int64(-1)
	if out.ContentLength != nil {
		want = *out.ContentLength
	}
	var body bytes.Buffer
	if want > 0 {
		body.Grow(int(min(want, readAhead)) + bytes.MinRead) // with room to see the end without growing
	}
	if got, err := body.ReadFrom(out.Body); err != nil {
		if strings.Contains(err.Error(), "checksum did not match") { // the SDK keeps the type to itself
			return nil, &damagedError{why: "the body does not match the checksum that the server sent with it"}
		}
		return nil, &cutShortError{got: got, want: want, err: err}
	}
	data := body.Bytes()
	if want >= 0 && int64(len(data)) != want {
		return nil, &cutShortError{got: int64(len(data)), want: want}
	}
	if digest, ok := out.Metadata[digestName]; ok {
		if sum := sha256.Sum256(data); !strings.EqualFold(digest, hex.EncodeToString(sum[:])) {
			return nil, &damagedError{why: fmt.Sprintf("the body has the SHA-256 %x, but %.64s was written", sum, digest)}
		}
	}
	return data, nil
}
