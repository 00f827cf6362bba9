package temporal

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sources returns the directory of the bench's tiny temporald.
func (b *bench) sources(t *testing.T) string {
	t.Helper()
	source, err := Source(b.options.Source)
	require.NoError(t, err)
	return source
}

func TestBinaryIsKeyedByWhatDecidesIt(t *testing.T) {
	b := newBench(t)
	source := b.sources(t)
	key := func() string {
		binary, err := Binary(source, "/cache")
		require.NoError(t, err)
		require.Equal(t, "/cache/temporald", filepath.Dir(binary))
		return binary
	}
	first := key()
	require.Equal(t, first, key())
	write(t, filepath.Join(source, "main_test.go"), "package main\n")
	write(t, filepath.Join(source, "README.md"), "text\n")
	require.Equal(t, first, key(), "tests and texts do not go into the program")

	seen := map[string]bool{first: true}
	for _, name := range []string{"server/x.go", "go.sum", "main.go"} {
		write(t, filepath.Join(source, name), "package main // changed\n")
		require.False(t, seen[key()], name)
		seen[key()] = true
	}
}

func TestBuildCompilesOnceForSeveral(t *testing.T) {
	goroot, err := exec.LookPath("go")
	require.NoError(t, err)
	b := newBench(t)
	t.Setenv("PATH", filepath.Dir(goroot)+":"+os.Getenv("PATH"))
	binary, err := Binary(b.sources(t), t.TempDir())
	require.NoError(t, err)

	var all sync.WaitGroup
	var mu sync.Mutex
	built := 0
	errs := make([]error, 3)
	for i := range errs {
		all.Go(func() {
			errs[i] = Build(t.Context(), b.sources(t), binary, func(m string) {
				mu.Lock()
				defer mu.Unlock()
				if strings.HasPrefix(m, "built") {
					built++
				}
			})
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, 1, built)
	out, err := exec.Command(binary).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "built\n", string(out))
	left, err := os.ReadDir(filepath.Dir(binary))
	require.NoError(t, err)
	require.Len(t, left, 2, "the program and the lock")
}

func TestFailedBuildShowsTheCompiler(t *testing.T) {
	b := newBench(t)
	b.install(t, "go", "echo '# tiny' >&2; echo './main.go:3:1: syntax error' >&2; exit 1")
	binary := filepath.Join(t.TempDir(), "temporald", "temporald-x")
	err := Build(t.Context(), b.sources(t), binary, nil)
	require.ErrorContains(t, err, "build temporald: go build in "+b.sources(t))
	require.ErrorContains(t, err, "./main.go:3:1: syntax error")
	require.NoFileExists(t, binary)
}

func TestCancelledBuildEndsItsCompilers(t *testing.T) {
	b := newBench(t)
	pids := filepath.Join(t.TempDir(), "pids")
	b.install(t, "go", `while [ "$1" != "-o" ]; do shift; done
echo half > "$2"
sleep 60 &
echo $$ $! > `+pids+`
wait`)
	binary := filepath.Join(t.TempDir(), "temporald", "temporald-x")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for range 1000 {
			if text, _ := os.ReadFile(pids); len(text) > 0 {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	started := time.Now()
	err := Build(ctx, b.sources(t), binary, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(started), 30*time.Second)
	require.NoFileExists(t, binary)
	require.NoFileExists(t, binary+".new")

	text, err := os.ReadFile(pids)
	require.NoError(t, err)
	for _, pid := range strings.Fields(string(text)) {
		require.Eventually(t, func() bool { return exec.Command("kill", "-0", pid).Run() != nil }, 10*time.Second, 20*time.Millisecond)
	}
}

func TestBuildWithoutGoSaysEveryWayOut(t *testing.T) {
	b := newBench(t)
	t.Setenv("PATH", t.TempDir())
	err := Build(t.Context(), b.sources(t), filepath.Join(t.TempDir(), "temporald", "temporald-x"), nil)
	for _, way := range []string{"no go command", "temporal CLI", EnvAddress} {
		require.ErrorContains(t, err, way)
	}
}

func TestCompilationIsReported(t *testing.T) {
	c := &compilation{started: time.Now()}
	require.Equal(t, "building the embedded temporal server: 0s", c.status())
	for _, chunk := range []string{"go: downloading a.example/b v1.0.0\n", "inter", "nal/cpu\ngo.temporal.io/server/temporal\n", "# x\nx.go:1:2: oops\n"} {
		n, err := c.Write([]byte(chunk))
		require.NoError(t, err)
		require.Equal(t, len(chunk), n)
		if strings.Contains(chunk, "downloading") {
			require.Contains(t, c.status(), "1 modules fetched, downloading a.example/b v1.0.0")
		}
	}
	require.Contains(t, c.status(), "package 2 of at most 1800, go.temporal.io/server/temporal")
	require.Contains(t, c.tail(), "x.go:1:2: oops")
}

func TestOldBinariesArePruned(t *testing.T) {
	cache := t.TempDir()
	var paths []string
	for i, name := range []string{"c", "b", "a", "d"} {
		path := filepath.Join(binaries(cache), binaryPrefix+name)
		write(t, path, "")
		require.NoError(t, os.Chmod(path, 0o755))
		age := time.Now().Add(-time.Duration(i) * time.Hour)
		require.NoError(t, os.Chtimes(path, age, age))
		paths = append(paths, path)
	}
	prune(paths[3])
	require.FileExists(t, paths[0])
	require.FileExists(t, paths[1])
	require.NoFileExists(t, paths[2])
	require.FileExists(t, paths[3], "just built, whatever its age")
	require.Equal(t, paths[0], newest(cache))
}

func TestSourceIsFoundFromBelow(t *testing.T) {
	b := newBench(t)
	clone, err := filepath.EvalSymlinks(b.options.Source)
	require.NoError(t, err)
	below := filepath.Join(clone, "deep", "down")
	require.NoError(t, os.MkdirAll(below, 0o755))
	t.Chdir(below)
	source, err := Source("")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(clone, "infra", "temporald"), source)

	t.Setenv(EnvSource, t.TempDir())
	_, err = Source("")
	require.ErrorContains(t, err, EnvSource)
}
