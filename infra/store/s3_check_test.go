package store

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

func TestCheckSaysWhatIsWrong(t *testing.T) {
	server := startServer(t)
	ctx := soon(t)
	all := func(t *testing.T, s *bucket, temporary bool, texts ...string) {
		t.Helper()
		wantFailure(t, s.Check(ctx), temporary, texts...)
		wantFailure(t, s.Put(ctx, "run/a", []byte("a")), temporary, texts...)
		_, err := s.Get(ctx, "run/a")
		wantFailure(t, err, temporary, texts...)
		if errors.Is(err, ErrNotFound) {
			t.Errorf("what cannot be seen is not missing: %v", err)
		}
		_, err = s.List(ctx, "run/")
		wantFailure(t, err, temporary, texts...)
	}
	t.Run("no bucket", func(t *testing.T) {
		all(t, server.open(t, "other-results", "x"), false, "s3://other-results/x", server.endpoint(), "NoSuchBucket", "create it")
	})
	t.Run("wrong secret", func(t *testing.T) {
		as(t, testAccess, "hunter2-hunter2")
		all(t, server.open(t, "results", ""), false, "SignatureDoesNotMatch", "credentials are wrong", "AWS_SECRET_ACCESS_KEY")
	})
	t.Run("unknown access key", func(t *testing.T) {
		as(t, "stranger", "hunter2-hunter2")
		all(t, server.open(t, "results", ""), false, "InvalidAccessKeyId", "credentials are wrong", "AWS_ACCESS_KEY_ID")
	})
	t.Run("no credentials", func(t *testing.T) {
		as(t, "", "")
		all(t, server.open(t, "results", ""), false, "no credentials", "AWS_ACCESS_KEY_ID", "AWS_PROFILE")
	})
	t.Run("service of credentials is away", func(t *testing.T) {
		as(t, "", "")
		t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://"+freeAddress(t)+"/hunter2")
		all(t, server.open(t, "results", ""), true, "no credentials", "AWS_PROFILE")
	})
	t.Run("bad endpoint in the environment", func(t *testing.T) {
		t.Setenv("AWS_ENDPOINT_URL", "http://me:hunter2@127.0.0.1")
		all(t, open(t, "s3://results").(*bucket), false, "AWS_ENDPOINT_URL", "holds credentials")
	})
	t.Run("program that prints the wrong thing", func(t *testing.T) {
		as(t, "", "")
		config := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(config, []byte("[default]\ncredential_process = echo secret is hunter2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("AWS_CONFIG_FILE", config)
		all(t, server.open(t, "results", ""), false, "could not be read")
	})
	t.Run("no such profile", func(t *testing.T) {
		t.Setenv("AWS_PROFILE", "benhc")
		all(t, server.open(t, "results", ""), false, "AWS configuration", `no profile "benhc"`, "AWS_PROFILE")
	})
	t.Run("https to http", func(t *testing.T) {
		all(t, openAt(t, "https://"+server.address, "results"), false, "does not speak https", "http://")
	})
	t.Run("nobody there", func(t *testing.T) {
		all(t, openAt(t, "http://"+freeAddress(t), "results"), true, "connection refused", "start it")
	})
	t.Run("no such host", func(t *testing.T) {
		all(t, openAt(t, "http://s3.invalid:9000", "results"), true, "s3.invalid", "endpoint")
	})
}

func TestCheckTellsWhatIsForbidden(t *testing.T) {
	server := startServer(t)
	ctx := soon(t)
	if out, err := exec.Command(server.program, "admin", "--access", testAccess, "--secret", testSecret, "--endpoint-url", server.endpoint(),
		"create-user", "--access", "worker", "--secret", "hunter2-worker", "--role", "user").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	root := server.root(t)
	allow := func(actions string) {
		policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":["worker"]},"Action":[` + actions +
			`],"Resource":["arn:aws:s3:::results","arn:aws:s3:::results/*"]}]}`
		if _, err := root.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: aws.String("results"), Policy: &policy}); err != nil {
			t.Fatal(err)
		}
	}
	as(t, "worker", "hunter2-worker")
	s := server.open(t, "results", "x")
	wantFailure(t, s.Check(ctx), false, "list s3://results/x", "403 AccessDenied", "s3:ListBucket", "s3:PutObject")
	allow(`"s3:ListBucket"`)
	wantFailure(t, s.Check(ctx), false, "write s3://results/x", "403 AccessDenied", "s3:PutObject")
	allow(`"s3:ListBucket","s3:PutObject"`)
	log := captureLogs(t)
	wantFailure(t, s.Check(ctx), false, "read s3://results/x", "403 AccessDenied", "s3:GetObject")
	allow(`"s3:ListBucket","s3:PutObject","s3:GetObject"`)
	// Who may write but remove nothing has a fine store.
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "stays in the bucket") {
		t.Error("nothing is said of the object that stays")
	}
	wantNoSecret(t, log.String())
	if keys, err := s.List(ctx, ""); err != nil || len(keys) != 0 {
		t.Errorf("the object of the check is listed: %v, %v", keys, err)
	}
}

func TestCheckRefusesServersThatReplace(t *testing.T) {
	cleanEnvironment(t)
	as(t, testAccess, testSecret)
	empty := `<ListBucketResult><Name>results</Name><KeyCount>0</KeyCount></ListBucketResult>`
	wantFailure(t, openAt(t, stub(t, 200, nil, empty), "results").Check(soon(t)), false, "replaced an object", "If-None-Match", "conditional writes")
}

// Answers that the real server cannot be made to give.
func TestAnswersArePlainWords(t *testing.T) {
	cleanEnvironment(t)
	as(t, testAccess, testSecret)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	code := func(code, message string) string {
		return "<Error><Code>" + code + "</Code><Message>" + message + "</Message><RequestId>R1</RequestId></Error>"
	}
	for _, tc := range []struct {
		name      string
		status    int
		header    map[string]string
		body      string
		temporary bool
		want      []string
	}{
		{"clock", 403, nil, code("RequestTimeTooSkewed", "The difference is too large."), false, []string{"403 RequestTimeTooSkewed", "clock", "request R1"}},
		{"expired", 400, nil, code("ExpiredToken", "The provided token has expired."), false, []string{"expired", "renew"}},
		{"elsewhere", 301, map[string]string{"X-Amz-Bucket-Region": "eu-west-1"}, code("PermanentRedirect", "Use another endpoint."), false, []string{"another region", "region=eu-west-1"}},
		{"elsewhere, but where", 400, nil, code("AuthorizationHeaderMalformed", "expecting another region"), false, []string{"another region", "region=REGION"}},
		{"overloaded", 503, nil, code("SlowDown", "Reduce your request rate."), true, []string{"503 SlowDown", "overloaded"}},
		{"broken", 500, nil, code("InternalError", "We encountered an internal error."), true, []string{"500 InternalError", "try again later"}},
		{"balancer without servers", 502, nil, "<html>Bad Gateway</html>", true, []string{"502", "try again later"}},
		{"old server", 501, nil, code("NotImplemented", "A header is not implemented."), false, []string{"conditional writes"}},
		{"web site", 404, nil, "<html>Not Found</html>", false, []string{"404 Not Found", "does not speak S3"}},
		{"web site that takes everything", 200, nil, "<!doctype html><title>Hello</title>", false, []string{"does not speak S3"}},
		{"proxy that wants a login", 403, nil, "go away", false, []string{"403 Forbidden", "does not speak S3"}},
		{"quota", 403, nil, code("QuotaExceeded", "full"), false, []string{"quota", "free some space"}},
		{"unknown code", 400, nil, code("Whatever", "line one\nline two"), false, []string{"400 Whatever: line one line two"}},
		{"quotes the secret", 400, nil, code("Whatever", "you sent "+testSecret), false, []string{"you sent [secret]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := openAt(t, stub(t, tc.status, tc.header, tc.body), "results")
			wantFailure(t, s.Check(soon(t)), tc.temporary, append(tc.want, "list s3://results/")...)
			if _, err := s.Get(soon(t), "run/a"); tc.status != 200 && errors.Is(err, ErrNotFound) {
				t.Errorf("what cannot be seen is not missing: %v", err)
			}
		})
	}
}

func TestBucketOverTLS(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := certificate(t, dir)
	server := startServer(t, "--cert", certFile, "--key", keyFile)
	ctx := soon(t)
	endpoint := "https://" + server.address
	wantFailure(t, openAt(t, endpoint, "results").Check(ctx), false, "not trusted", "AWS_CA_BUNDLE")
	wantFailure(t, openAt(t, "http://"+server.address, "results").Check(ctx), true, "correct the endpoint", "http or https")
	t.Setenv("AWS_CA_BUNDLE", certFile)
	s := openAt(t, endpoint, "results/tls")
	client, err := s.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("results")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(ctx); err != nil {
		t.Fatal(err)
	}
	for key, size := range map[string]int{"small": 1000, "large": largeBody + 1} {
		if err := s.Put(ctx, key, content(9, size)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(ctx, key); err != nil || len(got) != size {
			t.Errorf("get %s: %d bytes, %v", key, len(got), err)
		}
		if err := s.Put(ctx, key, []byte("other")); !errors.Is(err, ErrExists) {
			t.Error(err)
		}
	}
}

// certificate writes a certificate that vouches for itself.
func certificate(t *testing.T, dir string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "durabench test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}
