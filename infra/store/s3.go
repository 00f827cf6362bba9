package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/logging"
)

const (
	// defaultRegion is what most servers other than AWS take, and where AWS redirects from.
	defaultRegion = "us-east-1"
	// silence is how long a server may say nothing before the request is given up; it is also the time that one part may take to be
	// sent, as nothing comes back meanwhile: with 8 MiB, any line of more than 230 kbit/s will do.
	silence = 5 * time.Minute
	// digestName is the metadata in which an object carries the SHA-256 of its whole content. S3's own checksum of an object that was
	// written in parts is one of the parts' checksums, and some servers keep none.
	digestName = "durabench-sha256"
	// putRounds is how often a write starts anew when the object that was in its way is gone again.
	putRounds = 3
)

// bucket is a Store of one object per key in an S3 bucket, which must be there. Whether an object survives a crash of the server is the
// server's promise: S3 acknowledges what is durable.
type bucket struct {
	address
	silence time.Duration

	mu      sync.Mutex
	client  *s3.Client // made at the first use: the machine that names the store need not have the credentials
	chain   *credentialChain
	summing bool // whether the server is asked to verify checksums
}

var (
	_ Store   = (*bucket)(nil)
	_ Locator = (*bucket)(nil)
	_ Checker = (*bucket)(nil)
)

func newBucket(spec string) (*bucket, error) {
	at, err := parseAddress(spec)
	if err != nil {
		return nil, err
	}
	return &bucket{address: at, silence: silence}, nil
}

// Path returns the URL of the key's object, as the tools of S3 take it. The endpoint is not in it.
func (b *bucket) Path(key string) string { return "s3://" + b.bucket + "/" + b.object(key) }

// object returns the object's key in the bucket.
func (b *bucket) object(key string) string {
	if b.prefix == "" {
		return key
	}
	return b.prefix + "/" + key
}

// connect reads the standard configuration of AWS and makes the client. It does not yet speak to the server.
func (b *bucket) connect(ctx context.Context) (*s3.Client, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client != nil {
		return b.client, nil
	}
	cfg, err := config.LoadDefaultConfig(ctx,
		config.WithRegion(b.region),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithReadTimeout(b.silence)),
		config.WithLogger(logging.Nop{}), // the library would print; its errors are all returned
		config.WithAppID("durabench"),
	)
	if err != nil {
		return nil, &configError{what: "the AWS configuration cannot be read", err: err}
	}
	if cfg.Region == "" {
		cfg.Region = defaultRegion
	}
	chain := &credentialChain{provider: cfg.Credentials}
	cfg.Credentials = chain
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		if b.endpoint != "" {
			o.BaseEndpoint = &b.endpoint
		}
		o.UsePathStyle = o.BaseEndpoint != nil
		if b.pathStyle != nil {
			o.UsePathStyle = *b.pathStyle
		}
		o.DisableLogOutputChecksumValidationSkipped = true
	}, func(o *s3.Options) {
		// Beside what the SDK tries again: another writer at the same moment, and bytes that were bent on their way.
		o.Retryer = retry.AddWithErrorCodes(o.Retryer, codeConflict, codeBadDigest, codeBadPayload)
	})
	if endpoint := client.Options().BaseEndpoint; endpoint != nil {
		if err := validEndpoint(*endpoint); err != nil {
			return nil, &configError{what: "AWS_ENDPOINT_URL or the profile's endpoint_url: " + err.Error()}
		}
	}
	b.client, b.chain = client, chain
	b.summing = cfg.RequestChecksumCalculation != aws.RequestChecksumCalculationWhenRequired
	return client, nil
}

// Put writes the object on the condition that there is none, so of many writers exactly one wins.
func (b *bucket) Put(ctx context.Context, key string, data []byte) error {
	if err := b.usable(ctx, "put", key); err != nil {
		return err
	}
	client, err := b.connect(ctx)
	if err != nil {
		return b.explain(ctx, "write", key, err)
	}
	object := b.object(key)
	write := b.write
	if len(data) > largeBody {
		write = b.writeParts
		// A large body is not sent only to be refused.
		if there, err := b.read(ctx, client, object); err == nil {
			return b.same(key, there, data)
		}
	}
	for range putRounds {
		err := write(ctx, client, object, data)
		if err == nil {
			return nil
		}
		taken := isTaken(err)
		if !taken && !unanswered(err) {
			return b.explain(ctx, "write", key, err)
		}
		there, readErr := b.read(ctx, client, object)
		switch {
		case readErr == nil:
			return b.same(key, there, data)
		case taken && isMissing(readErr):
		case taken, isPresent(readErr):
			return b.explain(ctx, "read", key, readErr)
		default:
			return b.explain(ctx, "write", key, err)
		}
	}
	return b.explain(ctx, "write", key, errContended)
}

// same returns nil when the object holds exactly data.
func (b *bucket) same(key string, there, data []byte) error {
	if !bytes.Equal(there, data) {
		return fmt.Errorf("write %s: %w (%d bytes are there, %d were to be written); a stored result is never replaced: choose another run id",
			b.Path(key), ErrExists, len(there), len(data))
	}
	return nil
}

// usable refuses keys that no store takes, and those that are too long below the prefix.
func (b *bucket) usable(ctx context.Context, doing, key string) error {
	if err := ValidKey(key); err != nil {
		return err
	}
	if object := b.object(key); len(object) > maxKey {
		return fmt.Errorf("key %q: has %d bytes with the prefix of the store, more than %d", key, len(object), maxKey)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s: %w", doing, key, err)
	}
	return nil
}

// write sends a body in one request. The server compares the checksum with what arrived.
func (b *bucket) write(ctx context.Context, client *s3.Client, object string, data []byte) error {
	sum := sha256.Sum256(data)
	input := &s3.PutObjectInput{
		Bucket: &b.bucket, Key: &object, Body: bytes.NewReader(data), IfNoneMatch: aws.String("*"),
		ContentType: contentType(object), Metadata: map[string]string{digestName: hex.EncodeToString(sum[:])},
	}
	if b.summing {
		input.ChecksumAlgorithm, input.ChecksumSHA256 = types.ChecksumAlgorithmSha256, encoded(sum)
	}
	out, err := client.PutObject(ctx, input)
	if err != nil {
		return err
	}
	return confirmed(out.ChecksumSHA256, input.ChecksumSHA256)
}

// confirmed compares the checksum that the server says it has stored, if it says one.
func confirmed(got, want *string) error {
	if got != nil && want != nil && *got != *want {
		return &damagedError{why: fmt.Sprintf("the server has stored the SHA-256 %s, not %s", *got, *want)}
	}
	return nil
}

// Get reads the object and verifies that it came whole.
func (b *bucket) Get(ctx context.Context, key string) ([]byte, error) {
	if err := b.usable(ctx, "get", key); err != nil {
		return nil, err
	}
	client, err := b.connect(ctx)
	if err != nil {
		return nil, b.explain(ctx, "read", key, err)
	}
	data, err := b.read(ctx, client, b.object(key))
	if isMissing(err) {
		return nil, fmt.Errorf("read %s: %w", b.Path(key), ErrNotFound)
	}
	if err != nil {
		return nil, b.explain(ctx, "read", key, err)
	}
	return data, nil
}

// List asks for page after page. Objects whose keys could not be keys of a store are someone else's.
func (b *bucket) List(ctx context.Context, prefix string) ([]string, error) {
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		if err := ValidKey(prefix[:i]); err != nil {
			return nil, fmt.Errorf("list: %w", err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	client, err := b.connect(ctx)
	if err != nil {
		return nil, b.explain(ctx, "list", prefix, err)
	}
	var keys []string
	root := b.object("")
	pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: &b.bucket, Prefix: aws.String(root + prefix)},
		func(o *s3.ListObjectsV2PaginatorOptions) { o.StopOnDuplicateToken = true })
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, b.explain(ctx, "list", prefix, err)
		}
		for _, entry := range page.Contents {
			key, below := strings.CutPrefix(aws.ToString(entry.Key), root)
			if below && strings.HasPrefix(key, prefix) && ValidKey(key) == nil {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// contentType lets a browser show what it can.
func contentType(object string) *string {
	if strings.HasSuffix(object, ".json") {
		return aws.String("application/json")
	}
	return nil
}

// encoded is a checksum as S3 writes it.
func encoded(sum [sha256.Size]byte) *string {
	return aws.String(base64.StdEncoding.EncodeToString(sum[:]))
}

// isMissing tells that nothing is stored under the key; a missing bucket is another matter.
func isMissing(err error) bool {
	code, _ := answer(err)
	return code == codeNoKey
}

// isTaken tells that a write was refused because there is an object, or because its upload in parts is over: it may have succeeded
// when the answer was lost.
func isTaken(err error) bool {
	switch code, status := answer(err); {
	case code == codeTaken, code == codeConflict, code == codeNoUpload, status == statusTaken:
		return true
	}
	return false
}

// unanswered tells that the connection broke under a write. It may have succeeded; or it was refused before its body had come, by a server that
// closes the connection then, so that the refusal is lost too.
func unanswered(err error) bool {
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	code, status := answer(err)
	return code == "" && status == 0 && brokeOff(err)
}

// isPresent tells of a failed read that there is an object.
func isPresent(err error) bool {
	cut, damaged := (*cutShortError)(nil), (*damagedError)(nil)
	return errors.As(err, &cut) || errors.As(err, &damaged)
}
