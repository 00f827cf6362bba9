package server

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const testNamespace = "durabench"

// options are those of a small server in a directory of the test's.
func options(t *testing.T) Options {
	t.Helper()
	var log bytes.Buffer
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("server log:\n%s", log.String())
		}
	})
	return Options{
		DB:        filepath.Join(t.TempDir(), DBName()),
		Headless:  true,
		Namespace: testNamespace,
		Logger:    slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
}

func start(t *testing.T, o Options) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := Start(ctx, o)
	require.NoError(t, err)
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(t, s.Stop(ctx))
}

func dial(t *testing.T, s *Server) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: s.Address, Namespace: testNamespace, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func greet(_ workflow.Context, name string) (string, error) { return "hello " + name, nil }

func TestServerRunsAWorkflowWithOurSearchAttributes(t *testing.T) {
	s := start(t, options(t))
	c := dial(t, s)
	w := worker.New(c, "q", worker.Options{})
	w.RegisterWorkflow(greet)
	require.NoError(t, w.Start())
	defer w.Stop()

	keywords := []temporal.SearchAttributeUpdate{temporal.NewSearchAttributeKeyInt64("Rows").ValueSet(7)}
	for name, kind := range Attributes {
		if kind == enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			keywords = append(keywords, temporal.NewSearchAttributeKeyKeyword(name).ValueSet("x"))
		}
	}
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "w", TaskQueue: "q", TypedSearchAttributes: temporal.NewSearchAttributes(keywords...),
	}, greet, "you")
	require.NoError(t, err)
	var got string
	require.NoError(t, run.Get(t.Context(), &got))
	require.Equal(t, "hello you", got)

	require.Eventually(t, func() bool {
		n, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: "Rows = 7 AND Engine = 'x' AND `Commit` = 'x'"})
		return err == nil && n.GetCount() == 1
	}, 10*time.Second, 50*time.Millisecond)

	ns, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: testNamespace})
	require.NoError(t, err)
	require.Equal(t, Retention, ns.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())
}

func TestAttributesAreAddedToAFileThatLacksThem(t *testing.T) {
	o := options(t)
	older := o
	older.Attributes = map[string]enumspb.IndexedValueType{"Engine": enumspb.INDEXED_VALUE_TYPE_KEYWORD}
	s, err := Start(t.Context(), older)
	require.NoError(t, err)
	stop(t, s)

	c := dial(t, start(t, o))
	// Start has returned, so every service knows them: no retries here.
	_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "w", TaskQueue: "q",
		TypedSearchAttributes: temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyKeyword("Verdict").ValueSet("x")),
	}, "greet")
	require.NoError(t, err)
}

func TestUIServesPageAssetsAndAPI(t *testing.T) {
	o := options(t)
	o.Headless = false
	s := start(t, o)

	page, kind := get(t, s.UI)
	require.Contains(t, kind, "text/html")
	script := regexp.MustCompile(`/_app/immutable/entry/start[^"]*\.js`).FindString(page)
	require.NotEmpty(t, script)
	_, kind = get(t, s.UI+script)
	require.Contains(t, kind, "javascript")
	list, _ := get(t, s.UI+"/api/v1/namespaces")
	require.Contains(t, list, testNamespace)

	// A page of another site must not be able to act in the user's name.
	response, err := http.Post(s.UI+"/api/v1/namespaces/"+testNamespace+"/workflows/w/terminate", "application/json", nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.GreaterOrEqual(t, response.StatusCode, 400)
}

func get(t *testing.T, url string) (body, kind string) {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", url, text)
	return string(text), response.Header.Get("Content-Type")
}

func TestMetricsAreServed(t *testing.T) {
	o := options(t)
	ports, err := pickPorts(wantedPort{"metrics", loopback, 0})
	require.NoError(t, err)
	o.MetricsPort = ports[0]
	text, _ := get(t, start(t, o).Metrics)
	require.Contains(t, text, "service_requests")
}

func TestPathsWithSpecialCharacters(t *testing.T) {
	o := options(t)
	o.DB = filepath.Join(t.TempDir(), "50% of #1?", "a b.db")
	start(t, o)
	require.FileExists(t, o.DB)
}

func TestSecondServerOnTheSameFileIsRefused(t *testing.T) {
	o := options(t)
	start(t, o)
	_, err := Start(t.Context(), o)
	require.ErrorContains(t, err, o.DB+" is in use by another server")
}

func TestTakenPortsAreNamedAndNothingIsLeft(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	port := taken.Addr().(*net.TCPAddr).Port

	for what, set := range map[string]func(*Options){
		"frontend": func(o *Options) { o.Port = port },
		"web ui":   func(o *Options) { o.UIPort, o.Headless = port, false },
		"metrics":  func(o *Options) { o.MetricsPort = port },
	} {
		t.Run(what, func(t *testing.T) {
			o := options(t)
			set(&o)
			_, err := Start(t.Context(), o)
			require.ErrorContains(t, err, what+" port "+strconv.Itoa(port)+" is already in use")
			requireReleased(t, o)
		})
	}
}

// requireReleased starts a server on the same file, which needs its lock.
func requireReleased(t *testing.T, o Options) {
	t.Helper()
	lock, err := lockStore(o.DB)
	require.NoError(t, err)
	require.NoError(t, lock.Close())
}

func TestFatalErrorOfAServiceFailsTheStart(t *testing.T) {
	o := options(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()

	// The port is lost between picking and binding: the server calls Fatal.
	settled, err := o.settled()
	require.NoError(t, err)
	lock, err := lockStore(settled.DB)
	require.NoError(t, err)
	require.NoError(t, prepareStore(t.Context(), settled))
	ends, err := bindCore(settled)
	require.NoError(t, err)
	ends.matching = taken.Addr().(*net.TCPAddr).Port
	s := &Server{Address: "here", fault: newFault()}
	s.onStop(func(context.Context) error { return lock.Close() })
	err = s.startCore(settled, ends)
	require.ErrorContains(t, err, "address already in use")
	require.ErrorContains(t, s.Err(), "address already in use")
	stop(t, s)
	requireReleased(t, settled)
}

func TestInterruptedStartLeavesNothing(t *testing.T) {
	o := options(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Start(ctx, o)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	requireReleased(t, o)
	start(t, o)
}

func TestHalfMadeFilesAreMadeAnew(t *testing.T) {
	// What a kill during the first start can leave: an empty file, or one whose
	// only transaction was rolled back.
	for name, leave := range map[string]func(t *testing.T, file string){
		"empty": func(t *testing.T, file string) { require.NoError(t, os.WriteFile(file, nil, 0o600)) },
		"rolled back": func(t *testing.T, file string) {
			db, err := openOwn(file)
			require.NoError(t, err)
			_, err = db.Exec("CREATE TABLE namespaces (a); DROP TABLE namespaces")
			require.NoError(t, err)
			require.NoError(t, db.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), DBName())
			leave(t, file)
			require.NoError(t, prepareSchema(t.Context(), file))
			require.NoError(t, prepareSchema(t.Context(), file), "a second time")
		})
	}
}

func TestFilesThatAreNotOursAreRefused(t *testing.T) {
	tests := map[string]struct {
		content func(t *testing.T, file string)
		want    string
	}{
		"no database": {
			content: func(t *testing.T, file string) {
				require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte("text "), 500), 0o600))
			},
			want: "file is not a database",
		},
		"another program's": {content: execute("CREATE TABLE other (a)"), want: "tables of another program"},
		"an older server's": {
			content: execute("CREATE TABLE namespaces (a); PRAGMA user_version = 1031"),
			want:    "made by Temporal server 1.31 and this is " + minor(),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			test.content(t, o.DB)
			_, err := Start(t.Context(), o)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, o.DB)
			requireReleased(t, o)
		})
	}
}

func execute(statements string) func(*testing.T, string) {
	return func(t *testing.T, file string) {
		db, err := sql.Open("sqlite", "file:"+file)
		require.NoError(t, err)
		_, err = db.Exec(statements)
		require.NoError(t, err)
		require.NoError(t, db.Close())
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no file":      {func(o *Options) { o.DB = "" }, "required"},
		"no namespace": {func(o *Options) { o.Namespace = "" }, "required"},
		"bad port":     {func(o *Options) { o.Port = 70000 }, "70000"},
		"host name":    {func(o *Options) { o.Host = "bench.example" }, `host "bench.example" is not an IP address`},
		"a directory":  {func(o *Options) { o.DB = filepath.Dir(o.DB) }, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			test.change(&o)
			_, err := Start(t.Context(), o)
			require.ErrorContains(t, err, test.want)
		})
	}
}
