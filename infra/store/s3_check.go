package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Check tries everything that a run needs: to list, to write, to be refused a second write, to read back, to remove.
func (b *bucket) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("check store %s: %w", b.Path(""), err)
	}
	client, err := b.connect(ctx)
	if err != nil {
		return b.explain(ctx, "check store", "", err)
	}
	// Without the right to list, S3 says "forbidden" of a key that is not there, and nobody could tell whether it is.
	page, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{
		Bucket: &b.bucket, Prefix: aws.String(b.object("")), MaxKeys: aws.Int32(1),
	})
	if err == nil && page.Name == nil { // the SDK reads nothing from a web page, without complaint
		err = errNotS3
	}
	if err != nil {
		return b.explain(ctx, "list", "", err)
	}
	key := temporary + "check-" + rand.Text() // no key of a store: what a crash leaves of it is never listed
	data := []byte("durabench checks that results can be written here\n")
	if err := b.write(ctx, client, b.object(key), data); err != nil {
		return b.explain(ctx, "write", key, err)
	}
	err = b.checkProbe(ctx, client, key, data)
	if removeErr := b.remove(ctx, client, key); err == nil {
		err = removeErr
	}
	return err
}

// checkProbe tries an object that was just written.
func (b *bucket) checkProbe(ctx context.Context, client *s3.Client, key string, data []byte) error {
	switch err := b.write(ctx, client, b.object(key), append([]byte("not "), data...)); {
	case err == nil:
		return b.explain(ctx, "check store", "", errReplaces)
	case !isTaken(err):
		return b.explain(ctx, "write", key, err)
	}
	there, err := b.read(ctx, client, b.object(key))
	if err == nil && !bytes.Equal(there, data) {
		err = &damagedError{why: fmt.Sprintf("%d bytes were written and %d others came back", len(data), len(there))}
	}
	if err != nil {
		return b.explain(ctx, "read", key, err)
	}
	return nil
}

// remove takes the object of a check away. Who may write but not remove has a store all the same, of which the object stays.
func (b *bucket) remove(ctx context.Context, client *s3.Client, key string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	_, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.bucket, Key: aws.String(b.object(key))})
	if err == nil {
		return nil
	}
	explained := b.explain(ctx, "remove", key, err)
	if code, _ := answer(err); code == codeDenied {
		slog.Warn("the object of a check stays in the bucket", "error", explained)
		return nil
	}
	return explained
}
