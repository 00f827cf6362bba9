package temporal

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

func TestDialGivesUpAndSaysWhatItTried(t *testing.T) {
	newBench(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := l.Addr().String()
	require.NoError(t, l.Close())

	t.Setenv(EnvAddress, nobody)
	t.Setenv("TEMPORAL_API_KEY", "secret-key")
	t.Setenv("TEMPORAL_TLS", "false")
	started := time.Now()
	_, err = Dial(t.Context(), Options{Timeout: time.Second})
	require.Less(t, time.Since(started), 8*time.Second)
	for _, part := range []string{nobody, "no answer in", "attempt", "namespace durabench", "without TLS and an API key", "refused"} {
		require.ErrorContains(t, err, part)
	}
	require.NotContains(t, err.Error(), "secret-key")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Dial(ctx, Options{})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, nobody)
}

func TestDialStopsAtARefusal(t *testing.T) {
	newBench(t)
	t.Setenv(EnvAddress, startFake(t, &fakeService{refuse: []string{"GetSystemInfo"}}))
	_, err := Dial(t.Context(), Options{Timeout: time.Hour})
	require.ErrorContains(t, err, "not allowed here")
}

func TestClientOptionsFollowTheEnvironment(t *testing.T) {
	newBench(t)
	t.Setenv(EnvAddress, "cloud.example:7233")
	t.Setenv(EnvNamespace, "theirs")
	t.Setenv("TEMPORAL_API_KEY", "k")
	o, err := ClientOptions(Options{})
	require.NoError(t, err)
	require.Equal(t, "cloud.example:7233", o.HostPort)
	require.Equal(t, "theirs", o.Namespace)
	require.NotNil(t, o.Credentials)
	require.NotNil(t, o.ConnectionOptions.TLS)

	// A server of ours is spoken to in the clear, whatever the environment says.
	o, err = ClientOptions(Options{Address: "127.0.0.1:1", Namespace: "mine", Adjust: func(o *client.Options) { o.Identity = "me" }})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:1", o.HostPort)
	require.Equal(t, "mine", o.Namespace)
	require.Equal(t, "me", o.Identity)
	require.Nil(t, o.Credentials)
	require.Nil(t, o.ConnectionOptions.TLS)

	t.Setenv("TEMPORAL_TLS_CLIENT_CERT_PATH", "/absent")
	_, err = ClientOptions(Options{})
	require.ErrorContains(t, err, "environment")
}

func TestLoggerIsQuiet(t *testing.T) {
	var out bytes.Buffer
	o, err := ClientOptions(Options{Logger: slog.New(slog.NewTextHandler(&out, nil)).With("a", 1)})
	require.NoError(t, err)
	o.Logger.Info("chatter")
	o.Logger.Warn("trouble")
	require.NotContains(t, out.String(), "chatter")
	require.Contains(t, out.String(), "trouble")
}

func connectFake(t *testing.T, f *fakeService) client.Client {
	t.Helper()
	newBench(t)
	c, err := Dial(t.Context(), Options{Address: startFake(t, f)})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestNamespaceIsCreatedWhenMissing(t *testing.T) {
	f := &fakeService{}
	c := connectFake(t, f)
	require.NoError(t, EnsureNamespace(t.Context(), c, "durabench"))
	require.NoError(t, EnsureNamespace(t.Context(), c, "durabench"))
	require.Equal(t, []string{"durabench"}, f.namespaces)
	require.Equal(t, Retention, f.retention)
}

func TestNamespaceThatMayNotBeCreated(t *testing.T) {
	c := connectFake(t, &fakeService{refuse: []string{"RegisterNamespace"}})
	err := EnsureNamespace(t.Context(), c, "durabench")
	require.ErrorContains(t, err, "namespace durabench does not exist and may not be created")
	require.ErrorContains(t, err, EnvNamespace)
}

func TestSearchAttributes(t *testing.T) {
	all := slices.Sorted(maps.Keys(Attributes()))
	tests := map[string]struct {
		service        *fakeService
		added, missing []string
		why            string
	}{
		"all there": {service: &fakeService{attributes: Attributes()}},
		"none there": {
			service: &fakeService{attributes: map[string]enumspb.IndexedValueType{}},
			added:   all,
		},
		"one of another type": {
			service: &fakeService{attributes: func() map[string]enumspb.IndexedValueType {
				a := Attributes()
				a[AttributeRows] = enumspb.INDEXED_VALUE_TYPE_TEXT
				return a
			}()},
			missing: []string{AttributeRows},
			why:     "it exists with type Text, not Int",
		},
		"may not be added": {
			service: &fakeService{refuse: []string{"AddSearchAttributes"}},
			missing: all,
			why:     "not allowed here",
		},
		"no room": {
			service: &fakeService{full: true},
			missing: all,
			why:     "more than 10",
		},
		// Temporal Cloud: nothing of the operator's may be asked, but queries tell.
		"may not be listed": {
			service: &fakeService{
				refuse:     []string{"AddSearchAttributes", "ListSearchAttributes"},
				attributes: map[string]enumspb.IndexedValueType{AttributeEngine: enumspb.INDEXED_VALUE_TYPE_KEYWORD, AttributeCommit: enumspb.INDEXED_VALUE_TYPE_KEYWORD},
			},
			missing: slices.DeleteFunc(slices.Clone(all), func(n string) bool { return n == AttributeEngine || n == AttributeCommit }),
			why:     "not allowed here",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := test.service
			f.namespaces = []string{"durabench"}
			if f.attributes == nil {
				f.attributes = map[string]enumspb.IndexedValueType{}
			}
			report, err := EnsureSearchAttributes(t.Context(), connectFake(t, f), "durabench")
			require.NoError(t, err)
			require.Equal(t, test.added, report.Added)
			require.ElementsMatch(t, test.missing, slices.Collect(maps.Keys(report.Missing)))
			for _, why := range report.Missing {
				require.Contains(t, why, test.why)
			}
		})
	}
}

func TestAttributesAreThoseOfTemporald(t *testing.T) {
	// Temporald is a module of its own that this one must not depend on, so its
	// list is read as text.
	file, err := parser.ParseFile(token.NewFileSet(), "../temporald/server/attributes.go", nil, 0)
	require.NoError(t, err)
	theirs := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "Attributes" {
			return true
		}
		for _, element := range spec.Values[0].(*ast.CompositeLit).Elts {
			pair := element.(*ast.KeyValueExpr)
			theirs[strings.Trim(pair.Key.(*ast.BasicLit).Value, `"`)] = pair.Value.(*ast.SelectorExpr).Sel.Name
		}
		return false
	})
	ours := map[string]string{}
	for name, kind := range Attributes() {
		ours[name] = "INDEXED_VALUE_TYPE_" + strings.ToUpper(kind.String())
	}
	require.Equal(t, ours, theirs)
}

func TestComposeFileAgreesWithTheEmbeddedServer(t *testing.T) {
	text, err := os.ReadFile("../../docker-compose.temporal.yml")
	require.NoError(t, err)
	compose := map[string]string{}
	for _, m := range regexp.MustCompile(`--name (\w+) +--type (\w+)`).FindAllSubmatch(text, -1) {
		compose[string(m[1])] = string(m[2])
	}
	ours := map[string]string{}
	for name, kind := range Attributes() {
		ours[name] = kind.String()
	}
	require.Equal(t, ours, compose)

	gomod, err := os.ReadFile("../temporald/go.mod")
	require.NoError(t, err)
	for _, pin := range []struct{ module, image string }{
		{"go.temporal.io/server v", "temporalio/server:"},
		{"go.temporal.io/server v", "temporalio/admin-tools:"},
		{"github.com/temporalio/ui-server/v2 v", "temporalio/ui:"},
	} {
		_, rest, found := strings.Cut(string(gomod), pin.module)
		require.True(t, found, pin.module)
		version, _, _ := strings.Cut(rest, "\n")
		require.Contains(t, string(text), pin.image+version+"\n")
	}
}

func TestRunURL(t *testing.T) {
	s := &Server{UI: "http://127.0.0.1:8233/"}
	require.Equal(t, "http://127.0.0.1:8233/namespaces/durabench/workflows/bench%2Fsqlite%2F%3F/run-1/history", RunURL(s, "durabench", "bench/sqlite/?", "run-1"))
	require.Equal(t, "http://127.0.0.1:8233/namespaces/durabench/workflows/w", RunURL(s, "durabench", "w", ""))
	require.Empty(t, RunURL(&Server{}, "durabench", "w", ""))
	require.Empty(t, RunURL(nil, "durabench", "w", ""))
}
