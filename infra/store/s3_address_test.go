package store

import (
	"strings"
	"testing"
)

func TestOpenReadsTheURLOfABucket(t *testing.T) {
	yes, no := true, false
	for _, tc := range []struct {
		spec string
		want address
	}{
		{"s3://results", address{bucket: "results"}},
		{"s3://results/", address{bucket: "results"}},
		{"s3://my.results-1/a/b/", address{bucket: "my.results-1", prefix: "a/b"}},
		{"s3://results/a b/%C3%BC%20%25%3F", address{bucket: "results", prefix: "a b/ü %?"}},
		{"s3://results?region=eu-central-1", address{bucket: "results", region: "eu-central-1"}},
		{"s3://results/p?endpoint=http://127.0.0.1:7070&path_style=true", address{bucket: "results", prefix: "p", endpoint: "http://127.0.0.1:7070", pathStyle: &yes}},
		{"s3://results/p?path_style=false&endpoint=https%3A%2F%2F[::1]:9000%2Fs3%2F&region=auto", address{bucket: "results", prefix: "p", region: "auto", endpoint: "https://[::1]:9000/s3", pathStyle: &no}},
	} {
		t.Run(tc.spec, func(t *testing.T) {
			got := open(t, tc.spec).(*bucket).address
			if style := got.pathStyle; (style == nil) != (tc.want.pathStyle == nil) || style != nil && *style != *tc.want.pathStyle {
				t.Errorf("path style %v", style)
			}
			got.pathStyle, tc.want.pathStyle = nil, nil
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
	if got := open(t, "s3://results/a%20b?endpoint=http://127.0.0.1:1").(Locator).Path("run/result.json"); got != "s3://results/a b/run/result.json" {
		t.Error(got)
	}
}

func TestOpenRefusesBadURLsOfBuckets(t *testing.T) {
	for _, tc := range []struct {
		spec string
		want []string
	}{
		{"s3://", []string{"bucket is missing", "s3://BUCKET/PREFIX"}},
		{"s3:///prefix", []string{"bucket is missing"}},
		{"s3://Results", []string{`"Results"`, "name of a bucket"}},
		{"s3://a", []string{"3 to 63"}},
		{"s3://127.0.0.1", []string{"endpoint=URL"}},
		{"s3://localhost:7070/results", []string{"name of a bucket", "endpoint=URL"}},
		{"s3://results/a//b", []string{"prefix", "empty part"}},
		{"s3://results/../b", []string{"prefix", `".."`}},
		{"s3://results/a%", []string{"is not a URL", "%XX"}},
		{"s3://results/a#b", []string{"%23"}},
		{"s3://results?regoin=x", []string{`"regoin"`, "region, endpoint and path_style"}},
		{"s3://results?region=a&region=b", []string{"region more than once"}},
		{"s3://results?region=EU!", []string{"eu-central-1"}},
		{"s3://results?path_style=yes", []string{"neither true nor false"}},
		{"s3://results?endpoint=127.0.0.1:7070", []string{"http://HOST:PORT"}},
		{"s3://results?endpoint=ftp://host", []string{"http://HOST:PORT"}},
		{"s3://results?endpoint=http://host?x=1", []string{`holds a "?"`}},
		{"s3://results?a;b", []string{"options cannot be read"}},
		// All problems at once.
		{"s3://Results/a//b?regoin=x&path_style=1", []string{"name of a bucket", "empty part", "regoin", "path_style"}},
		// Credentials do not belong here, and are not repeated.
		{"s3://AKIA123:hunter2@results/x", []string{"credentials are no part", "AWS_SECRET_ACCESS_KEY", "s3://results"}},
		{"s3://AKIA123:hunter2/more@results/x", []string{"is not a URL", "no credentials"}},
		{"s3://results?access_key=AKIA123&secret_key=hunter2", []string{"credentials are no options"}},
		{"s3://results?X-Amz-Signature=hunter2", []string{"credentials are no options"}},
		{"s3://results?AWS_SESSION_TOKEN=hunter2", []string{"credentials are no options"}},
		{"s3://results?endpoint=http://me:hunter2@host", []string{"endpoint holds credentials"}},
		{"s3://results?hunter2", []string{"not known"}},
		{"s3://results?region=hunter2%0a", []string{"name of a region"}},
		{"s3://results?endpoint=%68ttp://me:hunter2@ho st", []string{"http://HOST:PORT"}},
		{"gs://AKIA:hunter2@bucket", []string{`"gs"`, "dir:PATH"}},
	} {
		t.Run(tc.spec, func(t *testing.T) {
			_, err := Open(tc.spec)
			wantError(t, err, tc.want...)
			if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "AKIA123")) {
				t.Errorf("repeats the secret: %v", err)
			}
		})
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, seed := range []string{"s3://results/a/b?region=x&endpoint=http://h:1", "s3://a:b@c/d#e", "s3://results?secret=x", "s3://%zz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		at, err := parseAddress("s3://" + spec)
		if err != nil {
			return
		}
		// What is accepted can be used: keys below the prefix are good keys.
		if at.prefix != "" && ValidKey(at.prefix) != nil || at.bucket == "" || strings.Contains(at.endpoint, "@") {
			t.Errorf("accepted %+v", at)
		}
	})
}
