package temporal

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/durabench/durabench/infra/home"
)

// fakeMode makes the test binary behave as a server program of ours.
const fakeMode = "DURABENCH_TEST_FAKE_SERVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeMode); mode != "" {
		os.Exit(fakeProgram(mode, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// fakeProgram is temporald, or the temporal CLI, without a server inside.
func fakeProgram(mode string, args []string) int {
	if len(args) == 1 && args[0] == "--version" {
		fmt.Println("temporal version 9.9.9 (Server 1.29.1, UI 2.42.1)")
		return 0
	}
	if len(args) > 2 && args[0] == "server" && args[1] == "start-dev" {
		args = args[2:]
	}
	fs := flag.NewFlagSet("fake", flag.ContinueOnError)
	port := fs.Int("port", 0, "")
	state := fs.String("state", "", "")
	namespace := fs.String("namespace", "", "")
	for _, ignored := range []string{"db", "db-filename", "ip", "ui-port", "log-level"} {
		fs.String(ignored, "", "")
	}
	fs.Func("search-attribute", "", func(string) error { return nil })
	if err := fs.Parse(args); err != nil {
		return 2
	}
	switch mode {
	case "fail":
		for i := range 30 {
			fmt.Printf("line %d\n", i)
		}
		return 3
	case "hang":
		time.Sleep(time.Hour)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "port lost":
		if *port != 0 {
			fmt.Println("listen tcp: bind: address already in use")
			return 1
		}
	}
	l, err := net.Listen("tcp", address(*port))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	server := (&fakeService{}).serve(l)
	if *state != "" {
		err := writeJSON(*state, State{Address: l.Addr().String(), UI: "http://ui", PID: os.Getpid(), Namespace: *namespace, Version: "1.0.0"})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		defer func() { _ = os.Remove(*state) }()
	}
	if mode == "stubborn" {
		select {}
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	server.Stop()
	return 0
}

// fakeService answers as a Temporal server of the given nature.
type fakeService struct {
	workflowservice.UnimplementedWorkflowServiceServer
	operatorservice.UnimplementedOperatorServiceServer

	mu         sync.Mutex
	namespaces []string
	attributes map[string]enumspb.IndexedValueType
	retention  time.Duration
	// refuse are the methods that are not permitted.
	refuse []string
	// full refuses further attributes.
	full bool
}

func (f *fakeService) serve(l net.Listener) *grpc.Server {
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if slices.Contains(f.refuse, filepath.Base(info.FullMethod)) {
			return nil, serviceerror.ToStatus(serviceerror.NewPermissionDenied("not allowed here", "")).Err()
		}
		resp, err := handle(ctx, req)
		if err != nil {
			err = serviceerror.ToStatus(err).Err()
		}
		return resp, err
	}))
	workflowservice.RegisterWorkflowServiceServer(s, f)
	operatorservice.RegisterOperatorServiceServer(s, f)
	go func() { _ = s.Serve(l) }()
	return s
}

func (f *fakeService) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (f *fakeService) UpdateNamespace(_ context.Context, r *workflowservice.UpdateNamespaceRequest) (*workflowservice.UpdateNamespaceResponse, error) {
	return &workflowservice.UpdateNamespaceResponse{}, nil
}

func (f *fakeService) RegisterNamespace(_ context.Context, r *workflowservice.RegisterNamespaceRequest) (*workflowservice.RegisterNamespaceResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.namespaces = append(f.namespaces, r.GetNamespace())
	f.retention = r.GetWorkflowExecutionRetentionPeriod().AsDuration()
	return &workflowservice.RegisterNamespaceResponse{}, nil
}

// CountWorkflowExecutions refuses unknown namespaces and, in a query, unknown
// attributes and unquoted ones.
func (f *fakeService) CountWorkflowExecutions(_ context.Context, r *workflowservice.CountWorkflowExecutionsRequest) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.namespaces, r.GetNamespace()) {
		return nil, serviceerror.NewNamespaceNotFound(r.GetNamespace())
	}
	if r.GetQuery() != "" {
		for term := range strings.SplitSeq(r.GetQuery(), " OR ") {
			name := strings.TrimSuffix(term, " IS NULL")
			if _, ok := f.attributes[strings.Trim(name, "`")]; !ok || name[0] != '`' {
				return nil, serviceerror.NewInvalidArgument("invalid search attribute: " + name)
			}
		}
	}
	return &workflowservice.CountWorkflowExecutionsResponse{}, nil
}

func (f *fakeService) ListSearchAttributes(context.Context, *operatorservice.ListSearchAttributesRequest) (*operatorservice.ListSearchAttributesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &operatorservice.ListSearchAttributesResponse{CustomAttributes: f.attributes}, nil
}

func (f *fakeService) AddSearchAttributes(_ context.Context, r *operatorservice.AddSearchAttributesRequest) (*operatorservice.AddSearchAttributesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full {
		return nil, serviceerror.NewInvalidArgument("cannot have more than 10 search attributes")
	}
	for name, kind := range r.GetSearchAttributes() {
		f.attributes[name] = kind
	}
	return &operatorservice.AddSearchAttributesResponse{}, nil
}

// startFake serves f in this process and returns its address.
func startFake(t *testing.T, f *fakeService) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := f.serve(l)
	t.Cleanup(s.Stop)
	return l.Addr().String()
}

// bench is a machine with its own home, clone of durabench and programs.
type bench struct {
	options FindOptions
	said    []string
}

// newBench isolates the test from the environment of whoever runs it.
func newBench(t *testing.T) *bench {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "TEMPORAL_") || strings.HasPrefix(name, "DURABENCH_") {
			t.Setenv(name, "")
		}
	}
	root := t.TempDir()
	t.Setenv(home.Env, filepath.Join(root, "home"))
	b := &bench{}
	b.options = FindOptions{
		Source:   filepath.Join(root, "clone"),
		Progress: func(m string) { b.said = append(b.said, m) },
	}
	write(t, filepath.Join(root, "clone", "go.mod"), "module "+modulePath+"\n\ngo 1.26.0\n")
	write(t, filepath.Join(root, "clone", "infra", "temporald", "go.mod"), "module example.org/tiny\n\ngo 1.26.0\n")
	write(t, filepath.Join(root, "clone", "infra", "temporald", "main.go"), "package main\n\nfunc main() { println(\"built\") }\n")
	// A PATH with the tools the tests need: no go, and no temporal CLI.
	bin := filepath.Join(root, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	for _, tool := range []string{"cat", "chmod", "kill", "nice", "sh", "sleep", "true"} {
		path, err := exec.LookPath(tool)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(bin, tool)))
	}
	t.Setenv("PATH", bin)
	t.Cleanup(func() {
		// Whatever a failed test left running.
		d, err := directoryOf("")
		require.NoError(t, err)
		if record, err := readJSON[launchRecord](d.launch()); err == nil && record != nil {
			_ = syscall.Kill(record.PID, syscall.SIGKILL)
		}
	})
	return b
}

// install puts a program on the PATH.
func (b *bench) install(t *testing.T, name, script string) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(b.options.Source), "bin", name)
	write(t, path, "#!/bin/sh\n"+script+"\n")
	require.NoError(t, os.Chmod(path, 0o755))
	return path
}

// fakeScript runs this test binary as a fake server.
func fakeScript(t *testing.T, mode string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return fmt.Sprintf("%s=%s\nexport %s\nexec %s \"$@\"", fakeMode, strconv.Quote(mode), fakeMode, strconv.Quote(self))
}

// cached puts a fake temporald where the built one is looked for.
func (b *bench) cached(t *testing.T, mode string) {
	t.Helper()
	cache, err := home.Cache()
	require.NoError(t, err)
	source, err := Source(b.options.Source)
	require.NoError(t, err)
	binary, err := Binary(source, cache)
	require.NoError(t, err)
	write(t, binary, "#!/bin/sh\n"+fakeScript(t, mode)+"\n")
	require.NoError(t, os.Chmod(binary, 0o755))
}

func (b *bench) find(t *testing.T) *Server {
	t.Helper()
	s, err := Find(t.Context(), b.options)
	require.NoError(t, err)
	t.Cleanup(func() { s.use.release() })
	return s
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}
