package docker

import (
	"strings"
	"testing"

	"github.com/docker/docker/api/types/image"
	"github.com/google/go-cmp/cmp"
)

// What an engine told of a pull of two layers, one of which it had.
const twoLayers = `{"status":"Pulling from library/redis","id":"8.0.3"}
{"status":"Already exists","progressDetail":{},"id":"aaaa"}
{"status":"Pulling fs layer","progressDetail":{},"id":"bbbb"}
{"status":"Downloading","progressDetail":{"current":100,"total":400},"progress":"[==> ]","id":"bbbb"}
{"status":"Downloading","progressDetail":{"current":300,"total":400},"progress":"[=====> ]","id":"bbbb"}
{"status":"Download complete","progressDetail":{},"id":"bbbb"}
{"status":"Extracting","progressDetail":{"current":32,"total":400},"id":"bbbb"}
{"status":"Pull complete","progressDetail":{},"id":"bbbb"}
{"status":"Digest: sha256:0123"}
{"status":"Status: Downloaded newer image for redis:8.0.3"}
`

func TestProgressOfAPull(t *testing.T) {
	var got []Progress
	if err := followPull(strings.NewReader(twoLayers), "redis:8.0.3", func(p Progress) { got = append(got, p) }); err != nil {
		t.Fatal(err)
	}
	want := []Progress{
		{Status: "Pulling from library/redis"},
		{Status: "Already exists", Layers: 1, Done: 1},
		{Status: "Pulling fs layer", Layers: 2, Done: 1},
		{Status: "Downloading", Layers: 2, Done: 1, Bytes: 100, Total: 400},
		{Status: "Downloading", Layers: 2, Done: 1, Bytes: 300, Total: 400},
		{Status: "Download complete", Layers: 2, Done: 1, Bytes: 400, Total: 400},
		{Status: "Extracting", Layers: 2, Done: 1, Bytes: 400, Total: 400},
		{Status: "Pull complete", Layers: 2, Done: 2, Bytes: 400, Total: 400},
		{Status: "Digest: sha256:0123", Layers: 2, Done: 2, Bytes: 400, Total: 400},
		{Status: "Status: Downloaded newer image for redis:8.0.3", Layers: 2, Done: 2, Bytes: 400, Total: 400},
	}
	for i := range want {
		want[i].Image = "redis:8.0.3"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if p := got[4].Percent(); p != 75 {
		t.Errorf("percent is %v", p)
	}
	if p := got[0].Percent(); p != 0 {
		t.Errorf("percent of nothing is %v", p)
	}
}

func TestAQuickPullHasASizeToo(t *testing.T) {
	var last Progress
	quick := `{"status":"Pulling fs layer","id":"aaaa"}{"status":"Download complete","id":"aaaa"}{"status":"Extracting","progressDetail":{"current":1,"total":50},"id":"aaaa"}`
	if err := followPull(strings.NewReader(quick), "x", func(p Progress) { last = p }); err != nil || last.Bytes != 50 || last.Total != 50 {
		t.Errorf("progress is %+v, %v", last, err)
	}
}

// Without a size nothing is complete before it is.
func TestAPullOfUnknownSizeHasNoPercentage(t *testing.T) {
	var got []float64
	unknown := `{"status":"Downloading","progressDetail":{"current":50},"id":"aaaa"}{"status":"Download complete","id":"aaaa"}`
	if err := followPull(strings.NewReader(unknown), "x", func(p Progress) { got = append(got, p.Percent()) }); err != nil || len(got) != 2 || got[0] != 0 || got[1] != 100 {
		t.Errorf("percentages are %v, %v", got, err)
	}
}

func TestAPullThatFailsOrIsCutShort(t *testing.T) {
	failed := `{"status":"Pulling fs layer","id":"aaaa"}` + "\n" + `{"errorDetail":{"message":"no space left on device"},"error":"no space left on device"}` + "\n"
	if err := followPull(strings.NewReader(failed), "x", func(Progress) {}); err == nil || err.Error() != "no space left on device" {
		t.Errorf("error is %v", err)
	}
	if err := followPull(strings.NewReader(twoLayers[:120]), "x", func(Progress) {}); err == nil {
		t.Error("a stream that is cut short is taken for a pull")
	}
}

// What ends a pull comes as a text; these are those of Docker Engine and of containerd's store in it.
func TestVerdictsOnAnImage(t *testing.T) {
	for text, verdict := range map[string]bool{
		"manifest for redis:99 not found: manifest unknown: manifest unknown":                                                                true,
		"pull access denied for nobody/x, repository does not exist or may require 'docker login': denied: requested access to the resource": true,
		`failed to resolve reference "docker.io/library/redis:99": docker.io/library/redis:99: not found`:                                    true,
		"pull access denied, repository does not exist or may require authorization: insufficient_scope: authorization failed":               true,
		"no matching manifest for linux/arm64/v8 in the manifest list entries":                                                               true,
		"unauthorized: incorrect username or password":                                                                                       true,
		"toomanyrequests: You have reached your unauthenticated pull rate limit":                                                             false,
		"received unexpected HTTP status: 503 Service Unavailable":                                                                           false,
		`Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io: no such host`:                                        false,
		`Get "https://registry-1.docker.io/v2/": net/http: TLS handshake timeout`:                                                            false,
		"write /var/lib/docker/tmp/GetImageBlob1: no space left on device":                                                                   false,
		"unexpected EOF": false,
	} {
		if got := isVerdict(&pullError{text: text}); got != verdict {
			t.Errorf("%s: taken for a verdict: %v", text, got)
		}
	}
	if !isVerdict(&pullError{code: 404, text: "nope"}) || isVerdict(&pullError{code: 502, text: "nope"}) {
		t.Error("the code is not taken for what it is")
	}
}

func TestDigestOfAnImage(t *testing.T) {
	for _, c := range []struct {
		name, image string
		digests     []string
		want        string
	}{
		{"of its repository", "redis:8.0.3", []string{"mirror.example/redis@sha256:" + hash("a"), "redis@sha256:" + hash("b")}, "redis@sha256:" + hash("b")},
		{"by its full name", "docker.io/library/redis:8.0.3", []string{"redis@sha256:" + hash("b")}, "redis@sha256:" + hash("b")},
		{"of another, when it was only renamed", "mine:1", []string{"redis@sha256:" + hash("b")}, "redis@sha256:" + hash("b")},
		{"imported", "mine:1", nil, "sha256:id"},
		{"built", "mine:1", []string{"<none>@<none>"}, "sha256:id"},
	} {
		if got := imageDigest(c.image, image.InspectResponse{ID: "sha256:id", RepoDigests: c.digests}); got != c.want {
			t.Errorf("%s: digest is %q, want %q", c.name, got, c.want)
		}
	}
}

func hash(digit string) string { return strings.Repeat(digit, 64) }
