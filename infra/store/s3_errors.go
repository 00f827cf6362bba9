package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// ErrUnavailable tells that the store cannot be reached or is overloaded: the same call may succeed when it is back. Errors that are
// ErrUnavailable have a method Temporary, which returns true.
var ErrUnavailable = errors.New("store is not available")

// ErrDamaged tells that the bytes that came from a store, or arrived there, are not those that were written.
var ErrDamaged = errors.New("stored bytes are damaged")

// What an answer of S3 is told by.
const (
	codeNoKey      = "NoSuchKey"
	codeNoUpload   = "NoSuchUpload"
	codeTaken      = "PreconditionFailed"
	codeConflict   = "ConditionalRequestConflict" // two conditional writes of one key at once
	codeBadDigest  = "BadDigest"
	codeBadPayload = "XAmzContentSHA256Mismatch"
	codeDenied     = "AccessDenied"
	statusTaken    = http.StatusPreconditionFailed
)

var (
	errContended = errors.New("another writer puts and removes the same key")
	errNotS3     = errors.New("the answer is not one of S3")
	errReplaces  = errors.New("the server replaced an object although it was told not to (If-None-Match: *)")
)

// failure is a request that failed, in words for a person. It does not wrap the errors of the SDK, whose texts may end up where no
// secret may be; it is those of its kinds.
type failure struct {
	text  string
	kinds []error
}

func (f *failure) Error() string { return f.text }

// Unwrap returns the sentinels that the failure is.
func (f *failure) Unwrap() []error { return f.kinds }

// Temporary tells whether the same call may succeed later, with nothing changed on this side.
func (f *failure) Temporary() bool { return errors.Is(f, ErrUnavailable) }

// diagnosis is what came back and what to do about it.
type diagnosis struct {
	what   string
	advice string
	kind   error // a sentinel, or nil
}

// explain says what was being done, to what, what came back and what to do.
func (b *bucket) explain(ctx context.Context, doing, key string, err error) error {
	d := diagnose(err)
	kinds := []error{}
	if d.kind != nil {
		kinds = append(kinds, d.kind)
	}
	if ctx.Err() != nil { // whatever came of it, the caller gave up
		d = diagnosis{what: ctx.Err().Error()}
		kinds = []error{ctx.Err()}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			kinds = append(kinds, ErrUnavailable)
			d.what = "no answer in the time that was given: " + d.what
		}
	}
	b.mu.Lock()
	chain, client := b.chain, b.client
	b.mu.Unlock()
	text := doing + " " + b.Path(key)
	if client != nil && client.Options().BaseEndpoint != nil {
		text += " at " + shownEndpoint(*client.Options().BaseEndpoint)
	}
	text += ": " + oneLine(chain.scrub(d.what))
	if d.advice != "" {
		text += "; " + d.advice
	}
	return &failure{text: text, kinds: kinds}
}

// answer returns what S3 answered: its code and the HTTP status, or nothing when it did not answer.
func answer(err error) (code string, status int) {
	if api := smithy.APIError(nil); errors.As(err, &api) {
		code = api.ErrorCode()
	}
	if response := (*smithyhttp.ResponseError)(nil); errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	return code, status
}

func diagnose(err error) diagnosis {
	switch err := err.(type) {
	case *configError:
		return diagnoseConfig(err)
	case *cutShortError:
		return diagnosis{err.Error(), "the connection or the server broke off; try again", ErrUnavailable}
	case *damagedError:
		return diagnosis{err.Error(), "the object was changed by someone else, or something on the way changes bytes", ErrDamaged}
	}
	switch {
	case errors.Is(err, errContended):
		return diagnosis{err.Error(), "try again", ErrUnavailable}
	case errors.Is(err, errNotS3):
		return diagnosis{err.Error(), notS3, nil}
	case errors.Is(err, errReplaces):
		return diagnosis{err.Error(), "results could be lost there: use a server that knows conditional writes, or dir:PATH", nil}
	}
	if missing := (*credentialError)(nil); errors.As(err, &missing) {
		d := diagnosis{"no credentials for S3 were found, or they could not be read",
			"set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the machine a role, where the worker runs", nil}
		if brokeOff(missing.err) { // they come from a service that may be back
			d.kind = ErrUnavailable
		}
		return d
	}
	if code, status := answer(err); code != "" || status != 0 && !brokeOff(err) {
		return diagnoseAnswer(err, code, status)
	}
	return diagnoseTransport(err)
}

func diagnoseConfig(err *configError) diagnosis {
	what := err.Error()
	if missing := (config.SharedConfigProfileNotExistError{}); errors.As(err.err, &missing) {
		what = fmt.Sprintf("%s: it has no profile %q", what, missing.Profile)
	}
	return diagnosis{what, "correct AWS_PROFILE, ~/.aws/config or ~/.aws/credentials, where the worker runs", nil}
}

// advices is what to do about S3's own errors, by code.
var advices = map[string]diagnosis{
	"NoSuchBucket":       {advice: "the bucket does not exist: create it or correct its name"},
	"InvalidAccessKeyId": {advice: "the credentials are wrong: the access key is not known there; correct AWS_ACCESS_KEY_ID or AWS_PROFILE"},
	"SignatureDoesNotMatch": {advice: "the credentials are wrong: the secret key does not belong to the access key; " +
		"correct AWS_SECRET_ACCESS_KEY or AWS_PROFILE"},
	"InvalidToken":         {advice: "the credentials are wrong: correct AWS_SESSION_TOKEN, or unset it if the access key is a lasting one"},
	"ExpiredToken":         {advice: "the credentials have expired: renew them"},
	"TokenRefreshRequired": {advice: "the credentials have expired: renew them"},
	codeDenied: {advice: "these credentials may not do this: allow them s3:ListBucket on the bucket, and s3:PutObject, s3:GetObject, " +
		"s3:DeleteObject and s3:AbortMultipartUpload on what is in it"},
	"AllAccessDisabled":            {advice: "the bucket is locked by its owner or by the provider"},
	"AccountProblem":               {advice: "the account is locked by the provider"},
	"RequestTimeTooSkewed":         {advice: "the clock of this machine and that of the server differ too much: set it (timedatectl set-ntp true)"},
	"RequestExpired":               {advice: "the clock of this machine and that of the server differ too much: set it (timedatectl set-ntp true)"},
	"NotImplemented":               {advice: "the server lacks what results need (conditional writes, checksums): use another one, or dir:PATH"},
	"QuotaExceeded":                {advice: "the quota is used up: free some space or choose another store"},
	"KeyTooLongError":              {advice: "choose a shorter prefix"},
	"EntityTooLarge":               {advice: "the server does not take objects of this size: choose another store"},
	codeBadDigest:                  {advice: "something on the way changes bytes", kind: ErrDamaged},
	codeBadPayload:                 {advice: "something on the way changes bytes", kind: ErrDamaged},
	codeConflict:                   {advice: "another writer was at the same key: try again", kind: ErrUnavailable},
	"OperationAborted":             {advice: "another writer was at the same key: try again", kind: ErrUnavailable},
	"RequestTimeout":               {advice: "try again", kind: ErrUnavailable},
	"SlowDown":                     {advice: "the server is overloaded: try again later", kind: ErrUnavailable},
	"TooManyRequests":              {advice: "the server is overloaded: try again later", kind: ErrUnavailable},
	"Throttling":                   {advice: "the server is overloaded: try again later", kind: ErrUnavailable},
	"ThrottlingException":          {advice: "the server is overloaded: try again later", kind: ErrUnavailable},
	"NoSpaceLeftOnDevice":          {advice: "the server's disk is full: free some space there", kind: ErrUnavailable},
	"XMinioStorageFull":            {advice: "the server's disk is full: free some space there", kind: ErrUnavailable},
	"InvalidBucketName":            {advice: "correct the bucket's name"},
	"MethodNotAllowed":             {advice: notS3},
	"InvalidObjectState":           {advice: "the object is archived: restore it first"},
	"KMS.DisabledException":        {advice: "the bucket's encryption key is disabled"},
	"KMS.NotFoundException":        {advice: "the bucket's encryption key does not exist"},
	"KMS.KMSInvalidStateException": {advice: "the bucket's encryption key cannot be used now"},
}

const notS3 = "the endpoint does not speak S3: correct it (host, port, http or https)"

// diagnoseAnswer is about requests that were answered, if not always by S3.
func diagnoseAnswer(err error, code string, status int) diagnosis {
	response := (*smithyhttp.ResponseError)(nil)
	errors.As(err, &response)
	what := "the server answered"
	if status != 0 {
		what += fmt.Sprintf(" %d", status)
	}
	message, fault := "", smithy.FaultUnknown
	if api := smithy.APIError(nil); errors.As(err, &api) {
		message, fault = api.ErrorMessage(), api.ErrorFault()
	}
	spoken := code != "" && code != "UnknownError" && message != http.StatusText(status) // the SDK's stand-ins for a code
	if spoken {
		what += " " + code
	} else if text := http.StatusText(status); text != "" {
		what += " " + text
	}
	if spoken && message != "" {
		what += ": " + message
	}
	if named := (interface{ ServiceRequestID() string })(nil); errors.As(err, &named) && named.ServiceRequestID() != "" {
		what += " (request " + named.ServiceRequestID() + ")"
	}
	d := advices[code]
	d.what = what
	region := ""
	if response != nil && response.Response != nil {
		region = response.Response.Header.Get("X-Amz-Bucket-Region")
	}
	switch {
	case d.advice != "":
	case code == "PermanentRedirect", code == "TemporaryRedirect", code == "AuthorizationHeaderMalformed",
		code == "IllegalLocationConstraintException", status >= 300 && status < 400:
		d.advice = "the bucket is in another region: add region=REGION to the store's URL, or set AWS_REGION"
		if regionName.MatchString(region) {
			d.advice = "the bucket is in another region: add region=" + region + " to the store's URL"
		}
	case status >= 500 && status != http.StatusNotImplemented, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout,
		status == 0 && fault == smithy.FaultServer:
		d.kind, d.advice = ErrUnavailable, "the server is in trouble: try again later"
	case status == http.StatusUnauthorized, status == http.StatusForbidden && !spoken:
		d.advice = "the credentials are not accepted there, or " + notS3
	case !spoken:
		d.advice = notS3
	}
	return d
}

// diagnoseTransport is about requests that were not answered, or with what is no answer of S3.
func diagnoseTransport(err error) diagnosis {
	what := innermost(err)
	var (
		authority   x509.UnknownAuthorityError
		hostname    x509.HostnameError
		invalid     x509.CertificateInvalidError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		undecoded   *smithy.DeserializationError
		lookup      *net.DNSError
	)
	switch {
	case errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &invalid), errors.As(err, &certificate):
		return diagnosis{what, "the server's certificate is not trusted: add its authority by AWS_CA_BUNDLE, or correct the endpoint", nil}
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return diagnosis{what, "the endpoint does not speak https: write http://", nil}
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return diagnosis{what, "the host's name is not known: correct the endpoint or the region, or try again when the network is back",
			ErrUnavailable}
	case brokeOff(err), isSendError(err):
		return diagnosis{what, "the server cannot be reached: start it, correct the endpoint (host, port, http or https), " +
			"or try again when the network is back", ErrUnavailable}
	case errors.As(err, &undecoded):
		return diagnosis{errNotS3.Error(), notS3, nil}
	}
	return diagnosis{what: what}
}

// brokeOff tells that the connection failed, maybe in the middle of an answer.
func brokeOff(err error) bool {
	network := net.Error(nil)
	return errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// isSendError tells that a request could not be sent or its answer not be received.
func isSendError(err error) bool {
	send := (*smithyhttp.RequestSendError)(nil)
	return errors.As(err, &send)
}

// innermost returns the text of the deepest error that still says where: layers around it repeat the operation, and a URL that the
// person has not written.
func innermost(err error) string {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Error()
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// oneLine makes a foreign text fit into a message.
func oneLine(text string) string {
	const most = 400 // bytes
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
