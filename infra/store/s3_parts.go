package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"
)

const (
	// largeBody is the size in bytes above which a body is sent in parts, so that a fault costs a part and not the whole.
	largeBody = 16 << 20
	// partSize is what one part holds; S3 takes no less than 5 MiB.
	partSize = 8 << 20
	// maxParts is S3's bound of parts.
	maxParts = 10_000
	// partsAtOnce are in flight together.
	partsAtOnce = 4
	// undoTime bounds the clearing up after a failure, which goes on when the caller has given up.
	undoTime = 30 * time.Second
	// undoTries and undoPause are how often, and with how much longer a pause each time, parts are looked for that came late.
	undoTries = 4
	undoPause = 100 * time.Millisecond
)

// writeParts sends a body in parts. Nothing is seen of it before the last request, which carries the condition; after a failure the
// parts are removed.
func (b *bucket) writeParts(ctx context.Context, client *s3.Client, object string, data []byte) (err error) {
	sum := sha256.Sum256(data)
	begin := &s3.CreateMultipartUploadInput{
		Bucket: &b.bucket, Key: &object, ContentType: contentType(object),
		Metadata: map[string]string{digestName: hex.EncodeToString(sum[:])},
	}
	if b.summing {
		begin.ChecksumAlgorithm = types.ChecksumAlgorithmSha256 // checksums of parts are refused unless it was named here
	}
	begun, err := client.CreateMultipartUpload(ctx, begin)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			b.abandon(ctx, client, object, begun.UploadId)
		}
	}()
	parts, err := b.sendParts(ctx, client, object, begun.UploadId, data)
	if err != nil {
		return err
	}
	_, err = client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &b.bucket, Key: &object, UploadId: begun.UploadId, IfNoneMatch: aws.String("*"),
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	return err
}

func (b *bucket) sendParts(ctx context.Context, client *s3.Client, object string, upload *string, data []byte) ([]types.CompletedPart, error) {
	chunks := slices.Collect(slices.Chunk(data, max(partSize, (len(data)+maxParts-1)/maxParts)))
	parts := make([]types.CompletedPart, len(chunks))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	for i, chunk := range chunks {
		group.Go(func() error {
			number := int32(i + 1)
			input := &s3.UploadPartInput{
				Bucket: &b.bucket, Key: &object, UploadId: upload, PartNumber: &number, Body: bytes.NewReader(chunk),
			}
			if b.summing {
				input.ChecksumAlgorithm, input.ChecksumSHA256 = types.ChecksumAlgorithmSha256, encoded(sha256.Sum256(chunk))
			}
			out, err := client.UploadPart(ctx, input)
			if err != nil {
				return err
			}
			parts[i] = types.CompletedPart{ETag: out.ETag, PartNumber: &number, ChecksumSHA256: input.ChecksumSHA256}
			return confirmed(out.ChecksumSHA256, input.ChecksumSHA256)
		})
	}
	return parts, group.Wait()
}

// abandon removes the parts of an upload that will not be completed. A part that was still on its way may arrive after the removal, so it
// is repeated until nothing is there. Where that fails too they stay, unseen, until the bucket's rule for incomplete uploads removes them.
func (b *bucket) abandon(ctx context.Context, client *s3.Client, object string, upload *string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	for try := range undoTries {
		time.Sleep(time.Duration(try) * undoPause)
		_, err := client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.bucket, Key: &object, UploadId: upload})
		if code, _ := answer(err); code == codeNoUpload {
			return
		}
		if err != nil {
			slog.Warn("parts of an unfinished upload are left in the bucket", "bucket", b.bucket, "key", object, "upload", aws.ToString(upload),
				"error", b.explain(ctx, "abort an upload to", "", err))
			return
		}
	}
}
