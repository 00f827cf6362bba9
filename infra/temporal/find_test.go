package temporal

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/durabench/durabench/infra/home"
)

func TestFindUsesTheServerOfTheEnvironment(t *testing.T) {
	b := newBench(t)
	b.cached(t, "serve")
	t.Setenv(EnvAddress, "temporal.example:7233")
	t.Setenv(EnvUI, "https://ui.example")

	s := b.find(t)
	require.Equal(t, Server{Address: "temporal.example:7233", UI: "https://ui.example", Namespace: DefaultNamespace, Origin: OriginAddress}, *s)
	stopped, err := s.Stop(t.Context())
	require.NoError(t, err)
	require.False(t, stopped)
	dir, err := home.Temporal()
	require.NoError(t, err)
	require.NoDirExists(t, dir, "nothing is kept for another's server")

	t.Setenv(EnvNamespace, "theirs")
	require.Equal(t, "theirs", b.find(t).Namespace)
	b.options.Namespace = "mine"
	require.Equal(t, "mine", b.find(t).Namespace)
}

func TestFindUsesAProfileThatIsAskedFor(t *testing.T) {
	b := newBench(t)
	b.options.NoStart = true
	file := filepath.Join(t.TempDir(), "temporal.toml")
	write(t, file, "[profile.cloud]\naddress = \"cloud.example:7233\"\nnamespace = \"n\"\napi_key = \"k\"\n")
	t.Setenv("TEMPORAL_CONFIG_FILE", file)
	t.Setenv("TEMPORAL_PROFILE", "cloud")
	s := b.find(t)
	require.Equal(t, "cloud.example:7233", s.Address)
	require.Equal(t, "n", s.Namespace)

	t.Setenv("TEMPORAL_PROFILE", "")
	_, err := Find(t.Context(), b.options)
	require.ErrorIs(t, err, ErrNotRunning, "the default profile has no address")
}

func TestFindStartsTheBuiltTemporald(t *testing.T) {
	b := newBench(t)
	b.cached(t, "serve")
	s := b.find(t)
	require.Equal(t, OriginTemporald, s.Origin)
	require.True(t, s.Started)
	require.Equal(t, "http://ui", s.UI)
	require.Equal(t, DefaultNamespace, s.Namespace)
	require.FileExists(t, s.LogFile)

	c, err := s.Dial(t.Context(), Options{})
	require.NoError(t, err)
	c.Close()
	pgid, err := unix.Getpgid(s.PID)
	require.NoError(t, err)
	require.Equal(t, s.PID, pgid, "it leads a session of its own")

	stopped, err := s.Stop(t.Context())
	require.NoError(t, err)
	require.True(t, stopped)
	require.False(t, processID{PID: s.PID}.alive())
	left, err := os.ReadDir(string(s.dir))
	require.NoError(t, err)
	for _, f := range left {
		require.NotContains(t, f.Name(), ".json")
	}
}

func TestFindPrefersABinaryThatIsNamed(t *testing.T) {
	b := newBench(t)
	b.cached(t, "fail")
	t.Setenv(EnvBinary, b.install(t, "mine", fakeScript(t, "serve")))
	s := b.find(t)
	require.Equal(t, OriginTemporald, s.Origin)
	_, err := s.Stop(t.Context())
	require.NoError(t, err)

	t.Setenv(EnvBinary, filepath.Join(t.TempDir(), "absent"))
	_, err = Find(t.Context(), b.options)
	require.ErrorContains(t, err, EnvBinary)
}

func TestFindStartsTheTemporalCLI(t *testing.T) {
	b := newBench(t)
	t.Setenv(EnvNamespace, "theirs")
	cli := b.install(t, "temporal", "echo \"$@\" >> \"$0.args\"\n"+fakeScript(t, "serve"))
	s := b.find(t)
	require.Equal(t, OriginCLI, s.Origin)
	require.Equal(t, "1.29.1", s.Version)
	require.Equal(t, "theirs", s.Namespace)
	require.NotEmpty(t, s.UI)

	args, err := os.ReadFile(cli + ".args")
	require.NoError(t, err)
	for _, want := range []string{"server start-dev", "--namespace theirs", "--search-attribute Rows=Int", "--search-attribute Engine=Keyword", "temporal-cli-1.29.db"} {
		require.Contains(t, string(args), want)
	}

	// The program does not describe itself, so another process finds it by what
	// we wrote.
	again := b.find(t)
	require.Equal(t, OriginRunning, again.Origin)
	require.Equal(t, s.Address, again.Address)
	again.use.release()
	stopped, err := s.Stop(t.Context())
	require.NoError(t, err)
	require.True(t, stopped)
}

func TestFindPassesOverAnotherProgramNamedTemporal(t *testing.T) {
	b := newBench(t)
	b.install(t, "temporal", "echo flux capacitor")
	b.install(t, "go", "exit 1")
	_, err := Find(t.Context(), b.options)
	require.ErrorContains(t, err, "build temporald")
	require.Contains(t, strings.Join(b.said, "\n"), `is not the temporal CLI: `+"`temporal --version`"+` says "flux capacitor"`)
}

func TestFindBuildsWhenThereIsNothingElse(t *testing.T) {
	b := newBench(t)
	b.install(t, "go", `for last; do :; done
while [ "$1" != "-o" ]; do shift; done
cat > "$2" <<'END'
#!/bin/sh
`+fakeScript(t, "serve")+`
END
chmod +x "$2"`)
	s := b.find(t)
	require.Equal(t, OriginTemporald, s.Origin)
	require.Contains(t, b.said[0], "building the embedded temporal server")
	stopped, err := s.Stop(t.Context())
	require.NoError(t, err)
	require.True(t, stopped)
}

func TestFindWithoutSourcesSaysEveryWayOut(t *testing.T) {
	b := newBench(t)
	b.options.Source = ""
	t.Chdir(t.TempDir())
	_, err := Find(t.Context(), b.options)
	for _, way := range []string{"temporal CLI", EnvAddress, "clone", EnvSource} {
		require.ErrorContains(t, err, way)
	}
}

func TestFindWithoutSourcesUsesWhatWasBuiltBefore(t *testing.T) {
	b := newBench(t)
	b.cached(t, "serve")
	b.options.Source = ""
	t.Chdir(t.TempDir())
	s := b.find(t)
	require.Equal(t, OriginTemporald, s.Origin)
	_, err := s.Stop(t.Context())
	require.NoError(t, err)
}

func TestNoStartOnlyJoins(t *testing.T) {
	b := newBench(t)
	b.cached(t, "serve")
	b.options.NoStart = true
	_, err := Find(t.Context(), b.options)
	require.ErrorIs(t, err, ErrNotRunning)

	b.options.NoStart = false
	s := b.find(t)
	b.options.NoStart = true
	joined := b.find(t)
	require.Equal(t, OriginRunning, joined.Origin)
	require.False(t, joined.Started)
	joined.use.release()
	_, err = s.Stop(t.Context())
	require.NoError(t, err)
}

func TestManyAtOnceStartOneServer(t *testing.T) {
	b := newBench(t)
	b.cached(t, "serve")
	b.options.Progress = nil
	servers := make([]*Server, 5)
	var all sync.WaitGroup
	for i := range servers {
		all.Go(func() { servers[i], _ = Find(t.Context(), b.options) })
	}
	all.Wait()
	started := 0
	for _, s := range servers {
		require.NotNil(t, s)
		require.Equal(t, servers[0].PID, s.PID)
		if s.Started {
			started++
		}
	}
	require.Equal(t, 1, started)

	// The last one out puts out the light, whoever lit it.
	for i, s := range servers {
		stopped, err := s.Stop(t.Context())
		require.NoError(t, err)
		require.Equal(t, i == len(servers)-1, stopped)
	}
}

func TestServerStartedByHandIsJoinedAndNeverStopped(t *testing.T) {
	b := newBench(t)
	d, err := directoryOf("")
	require.NoError(t, err)
	require.NoError(t, d.open())
	byHand := exec.Command("sh", "-c", fakeScript(t, "serve"), "sh", "--state", d.state())
	require.NoError(t, byHand.Start())
	defer func() { _ = byHand.Process.Kill(); _ = byHand.Wait() }()
	require.Eventually(t, func() bool { _, err := os.Stat(d.state()); return err == nil }, 20*time.Second, 10*time.Millisecond)

	s := b.find(t)
	require.Equal(t, OriginRunning, s.Origin)
	stopped, err := s.Stop(t.Context())
	require.NoError(t, err)
	require.False(t, stopped)
	require.True(t, processID{PID: s.PID}.alive())
}

// Whoever is first to need a killed server starts it where those look for it who used it.
func TestKilledServerIsReplaced(t *testing.T) {
	b := newBench(t)
	b.cached(t, "serve")
	preferred, err := net.Listen("tcp", address(preferredPort))
	first := b.find(t)
	require.NotEqual(t, address(preferredPort), first.Address)
	if err == nil {
		require.NoError(t, preferred.Close())
	}
	require.NoError(t, syscall.Kill(first.PID, syscall.SIGKILL))
	require.True(t, processID{PID: first.PID}.gone(t.Context()))

	second := b.find(t)
	require.True(t, second.Started)
	require.NotEqual(t, first.PID, second.PID)
	require.Equal(t, first.Address, second.Address)
	first.use.release()
	_, err = second.Stop(t.Context())
	require.NoError(t, err)
}

func TestProcessIDOfAnotherProcessIsNotTheServer(t *testing.T) {
	b := newBench(t)
	b.cached(t, "serve")
	d, err := directoryOf("")
	require.NoError(t, err)
	require.NoError(t, d.open())
	// After a reboot the numbers in the files may be those of anybody.
	bystander := exec.Command("sleep", "60")
	require.NoError(t, bystander.Start())
	defer func() { _ = bystander.Process.Kill(); _ = bystander.Wait() }()
	pid := bystander.Process.Pid
	require.NoError(t, writeJSON(d.launch(), launchRecord{processID: processID{PID: pid, Birth: "before the flood"}}))
	require.NoError(t, writeJSON(d.state(), State{Address: "127.0.0.1:1", PID: pid}))

	stopped, err := d.stop(t.Context())
	require.NoError(t, err)
	require.False(t, stopped)
	require.True(t, processID{PID: pid}.alive())

	s := b.find(t)
	require.NotEqual(t, pid, s.PID)
	_, err = s.Stop(t.Context())
	require.NoError(t, err)
}

func TestStubbornServerIsKilledWhenTheContextEnds(t *testing.T) {
	b := newBench(t)
	b.cached(t, "stubborn")
	s := b.find(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	stopped, err := s.Stop(ctx)
	require.NoError(t, err)
	require.True(t, stopped)
	require.False(t, processID{PID: s.PID}.alive())
}

func TestFailedStartShowsTheEndOfTheLog(t *testing.T) {
	b := newBench(t)
	b.cached(t, "fail")
	d, err := directoryOf("")
	require.NoError(t, err)
	write(t, d.log(), "an earlier server's line\n")
	_, err = Find(t.Context(), b.options)
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, d.log())
	require.ErrorContains(t, err, "line 10\n")
	require.ErrorContains(t, err, "line 29")
	require.NotContains(t, err.Error(), "line 9\n")
	require.NotContains(t, err.Error(), "earlier")
	requireNothingLeft(t, d)
}

func TestInterruptedStartLeavesNoProcess(t *testing.T) {
	b := newBench(t)
	b.cached(t, "hang")
	d, err := directoryOf("")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var pid int
	go func() {
		defer cancel()
		for range 1000 {
			if record, _ := readJSON[launchRecord](d.launch()); record != nil {
				pid = record.PID
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	_, err = Find(ctx, b.options)
	require.ErrorIs(t, err, context.Canceled)
	require.NotZero(t, pid)
	require.False(t, processID{PID: pid}.alive())
	requireNothingLeft(t, d)
}

// A server whose start cannot be written down is not left behind: nobody would know of it.
func TestStartThatCannotBeRememberedLeavesNoProcess(t *testing.T) {
	b := newBench(t)
	b.cached(t, "serve")
	d, err := directoryOf("")
	require.NoError(t, err)
	require.NoError(t, d.open())
	write(t, filepath.Join(d.last(), "in the way"), "") // a directory, which no file replaces
	pids := make(chan int, 1)
	go func() {
		for range 1000 {
			if record, _ := readJSON[launchRecord](d.launch()); record != nil {
				pids <- record.PID
				return
			}
			time.Sleep(time.Millisecond)
		}
		close(pids)
	}()
	_, err = Find(t.Context(), b.options)
	require.ErrorContains(t, err, d.last())
	pid := <-pids
	require.NotZero(t, pid)
	require.False(t, processID{PID: pid}.alive())
	requireNothingLeft(t, d)
}

func requireNothingLeft(t *testing.T, d directory) {
	t.Helper()
	require.NoFileExists(t, d.state())
	require.NoFileExists(t, d.launch())
	users, err := tryLock(d.usersLock(), unix.LOCK_EX)
	require.NoError(t, err)
	users.release()
}

func TestPortLostWhileStartingIsReplaced(t *testing.T) {
	// Others on this machine may have the usual ones.
	port, uiPort := preferredPort, preferredUIPort
	t.Cleanup(func() { preferredPort, preferredUIPort = port, uiPort })
	for _, preferred := range []*int{&preferredPort, &preferredUIPort} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		*preferred = l.Addr().(*net.TCPAddr).Port
		require.NoError(t, l.Close())
	}
	b := newBench(t)
	b.cached(t, "port lost")
	s := b.find(t)
	require.Contains(t, strings.Join(b.said, "\n"), "a port was taken")
	_, err := s.Stop(t.Context())
	require.NoError(t, err)
}

func TestPortsInUseAreSaidAndReplaced(t *testing.T) {
	// Whoever holds it, the preferred port is not to be had.
	if l, err := net.Listen("tcp", address(preferredPort)); err == nil {
		defer func() { _ = l.Close() }()
	}
	b := newBench(t)
	b.cached(t, "serve")
	s := b.find(t)
	require.NotEqual(t, address(preferredPort), s.Address)
	require.Contains(t, strings.Join(b.said, "\n"), "port 7233 is in use by another program")
	_, err := s.Stop(t.Context())
	require.NoError(t, err)
}

func TestDirectoryThatCannotBeWrittenIsNamed(t *testing.T) {
	b := newBench(t)
	b.cached(t, "serve")
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	b.options.Dir = filepath.Join(file, "temporal")
	_, err := Find(t.Context(), b.options)
	require.ErrorContains(t, err, file)
	require.ErrorContains(t, err, home.Env)
}

func TestDamagedStateFileIsNamed(t *testing.T) {
	b := newBench(t)
	b.cached(t, "serve")
	d, err := directoryOf("")
	require.NoError(t, err)
	write(t, d.state(), "{")
	_, err = Find(t.Context(), b.options)
	require.ErrorContains(t, err, d.state())
}

func TestZombieIsNotAlive(t *testing.T) {
	cmd := exec.Command("true")
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	require.Eventually(t, func() bool { return !processID{PID: cmd.Process.Pid}.alive() }, 10*time.Second, 5*time.Millisecond)
}

func TestLockWaitsAndReports(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := tryLock(path, unix.LOCK_EX)
	require.NoError(t, err)
	waited := make(chan struct{}, 100)
	go func() {
		<-waited
		held.release()
	}()
	l, err := waitLock(t.Context(), path, unix.LOCK_EX, func(time.Duration) { waited <- struct{}{} })
	require.NoError(t, err)
	defer l.release()

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = waitLock(ctx, path, unix.LOCK_SH, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
