package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/durabench/durabench/drivers"
)

// script makes a server out of a shell script. It is ready when the file "ready" is in its directory.
func script(t *testing.T, text string) Options {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "script-server")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return scriptOptions(filepath.Join(t.TempDir(), "server"), binary)
}

func scriptOptions(dir, binary string) Options {
	return Options{
		Engine: "Script", RunID: "run-1", Dir: dir, Binary: binary, ReadyTimeout: 20 * time.Second,
		Server: &drivers.Server{
			Install: "install nothing",
			Command: func(l drivers.Launch) []string {
				return []string{l.Binary, fmt.Sprint(l.Port), fmt.Sprint(l.Connections)}
			},
			Endpoint: func(l drivers.Launch) string { return fmt.Sprintf("script://%s:%d", l.Host, l.Port) },
			User:     "user",
		},
		Ready: func(_ context.Context, running *Running) error {
			_, err := os.Stat(filepath.Join(filepath.Dir(running.Data), "ready"))
			return err
		},
	}
}

// begin starts a server that is stopped at the end of the test at the latest.
func begin(t *testing.T, o Options) *Running {
	t.Helper()
	t.Cleanup(func() {
		if err := Stop(context.Background(), o.Dir, false); err != nil {
			t.Error(err)
		}
	})
	running, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return running
}

// refused wants Start to fail and to leave no process behind.
func refused(t *testing.T, o Options, within time.Duration, want error, texts ...string) {
	t.Helper()
	start := time.Now()
	_, err := Start(t.Context(), o)
	if took := time.Since(start); took > within {
		t.Errorf("start came back after %s, want at most %s", took, within)
	}
	if !errors.Is(err, want) {
		t.Fatalf("start: got error %v, want %v", err, want)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error does not say %q:\n%v", text, err)
		}
	}
	s := &server{paths: pathsOf(o.Dir)}
	s.Dir = o.Dir
	if family := s.family(); len(family) > 0 {
		t.Errorf("processes are left: %+v", family)
	}
	if running, err := Alive(o.Dir); running != nil {
		t.Errorf("a server is left: %+v, %v", running, err)
	}
}

func TestStartAdoptsTheServerThatRuns(t *testing.T) {
	o := script(t, "touch ready; exec sleep 1000")
	first := begin(t, o)
	if first.Adopted || first.Restarted {
		t.Errorf("a fresh server is adopted=%v restarted=%v", first.Adopted, first.Restarted)
	}
	second, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !second.Adopted || second.PID != first.PID || second.Endpoint != first.Endpoint || second.Credentials != first.Credentials {
		t.Errorf("the second start has %+v of %+v", second, first)
	}
	found, err := Alive(o.Dir)
	if err != nil || found == nil || found.PID != first.PID {
		t.Errorf("alive: %+v, %v", found, err)
	}
}

func TestStartRestartsAServerWithOtherSettings(t *testing.T) {
	o := script(t, "touch ready; exec sleep 1000")
	first := begin(t, o)
	o.Connections = 7
	second, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if second.Adopted || !second.Restarted || second.PID == first.PID || second.Port != first.Port {
		t.Errorf("the second start has %+v of %+v", second, first)
	}
	if (proc{pid: first.PID, started: first.Started}).alive() {
		t.Error("the first server still runs")
	}
}

func TestStartRestartsAServerThatDied(t *testing.T) {
	o := script(t, "touch data/kept ready; exec sleep 1000")
	first := begin(t, o)
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone(t.Context(), func() bool { return !first.alive() })
	if running, err := Alive(o.Dir); running != nil || err != nil {
		t.Errorf("alive after the kill: %+v, %v", running, err)
	}
	second, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !second.Restarted || second.Adopted || second.Port != first.Port || second.Credentials != first.Credentials {
		t.Errorf("the second start has %+v of %+v", second, first)
	}
	if _, err := os.Stat(filepath.Join(second.Data, "kept")); err != nil {
		t.Errorf("the data is gone: %v", err)
	}
}

func TestStartRestartsAServerThatDiesWhileItIsAdopted(t *testing.T) {
	o := script(t, "touch ready; exec sleep 1000")
	first := begin(t, o)
	ready, asked := o.Ready, false
	o.Ready = func(ctx context.Context, running *Running) error {
		if !asked {
			asked = true
			_ = syscall.Kill(first.PID, syscall.SIGKILL)
			return errors.New("going down")
		}
		return ready(ctx, running)
	}
	second, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !second.Restarted || second.PID == first.PID {
		t.Errorf("the second start has %+v of %+v", second, first)
	}
}

func TestStartsAtTheSameTimeMakeOneServer(t *testing.T) {
	o := script(t, "touch ready; exec sleep 1000")
	begun := make(chan *Running)
	for range 4 {
		go func() {
			running, err := Start(t.Context(), o)
			if err != nil {
				t.Error(err)
			}
			begun <- running
		}()
	}
	pids := make(map[int]int)
	for range 4 {
		if running := <-begun; running != nil {
			pids[running.PID]++
		}
	}
	if len(pids) != 1 {
		t.Errorf("servers: %v", pids)
	}
	begin(t, o)
}

func TestAServerThatExitsAtOnceShowsTheEndOfItsLog(t *testing.T) {
	o := script(t, "for i in $(seq 1 30); do echo line $i of the log; done; exit 3")
	refused(t, o, 5*time.Second, ErrNotReady, "exit status 3", "line 11 of the log\n", "line 30 of the log", "server.log")
	_, err := Start(t.Context(), o)
	if strings.Contains(fmt.Sprint(err), "line 10 of the log") {
		t.Errorf("the error has more than 20 lines of log:\n%v", err)
	}
}

func TestAServerThatIsNeverReadyIsGoneWithItsChildren(t *testing.T) {
	o := script(t, "sleep 1001 & echo waiting for nothing; sleep 1002 & wait")
	o.ReadyTimeout = 700 * time.Millisecond
	refused(t, o, 10*time.Second, ErrNotReady, "waiting for nothing", "ready: no such file")
}

func TestWhatIsUnsupportedIsNotWaitedFor(t *testing.T) {
	o := script(t, "exec sleep 1000")
	o.Ready = func(context.Context, *Running) error {
		return fmt.Errorf("open: %w", drivers.Unsupported{Why: "no such columns"})
	}
	begin := time.Now()
	_, err := Start(t.Context(), o)
	if !errors.As(err, new(drivers.Unsupported)) || time.Since(begin) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	if running, _ := Alive(o.Dir); running != nil {
		t.Error("the server still runs")
	}
}

func TestAStartThatIsCancelledLeavesNothing(t *testing.T) {
	o := script(t, "sleep 1001 & wait")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("the user pressed a key"))
	defer cancel()
	_, err := Start(ctx, o)
	if err == nil || !strings.Contains(err.Error(), "pressed a key") {
		t.Errorf("error %v does not tell why", err)
	}
	if running, _ := Alive(o.Dir); running != nil {
		t.Error("the server still runs")
	}
}

func TestStopIsFirmWithAServerThatDoesNotListen(t *testing.T) {
	o := script(t, "trap '' TERM INT; sleep 1001 & touch ready; while :; do sleep 1; done")
	running := begin(t, o)
	s := &server{paths: pathsOf(o.Dir), state: running.State}
	s.Dir = o.Dir
	family := s.family()
	if len(family) < 2 {
		t.Fatalf("family of a server with a child: %+v", family)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := Stop(ctx, o.Dir, false); err != nil {
		t.Fatal(err)
	}
	for _, p := range family {
		if p.alive() {
			t.Errorf("process %d is left", p.pid)
		}
	}
	if _, err := os.Stat(o.Dir); !os.IsNotExist(err) {
		t.Errorf("the directory is left: %v", err)
	}
}

func TestStopIsGentleAndKeepsTheDataWhenAsked(t *testing.T) {
	o := script(t, "trap 'echo bye >data/bye; exit 0' INT; touch ready; while :; do sleep 0.05; done")
	o.Server.StopSignal = int(syscall.SIGINT)
	begin(t, o)
	for range 2 { // the second time there is nothing to stop
		if err := Stop(t.Context(), o.Dir, true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "server", "data", "bye")); err != nil {
		t.Errorf("the server was not asked: %v", err)
	}
	restarted := begin(t, o)
	if !restarted.Restarted {
		t.Error("the data was kept, but the server does not say that it was restarted")
	}
	for range 2 {
		if err := Stop(t.Context(), o.Dir, false); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAServerThatLostItsPortTriesAnother(t *testing.T) {
	counter := filepath.Join(t.TempDir(), "count")
	o := script(t, fmt.Sprintf("echo x >>%s; [ $(wc -l <%s) -lt 3 ] && { echo 'bind: Address already in use'; exit 1; }; touch ready; exec sleep 1000", counter, counter))
	begin(t, o)
	if text, _ := os.ReadFile(counter); len(text) != 6 {
		t.Errorf("started %d times, want 3", len(text)/2)
	}
}

func TestFilesAreOursAloneAndThePasswordIsInOnePlace(t *testing.T) {
	o := script(t, "touch ready; exec sleep 1000")
	var password string
	o.Server.Files = func(l drivers.Launch) map[string]string {
		password = l.Password
		return map[string]string{"secret.conf": "password " + l.Password}
	}
	running := begin(t, o)
	if len(password) < 24 || running.Credentials.Password != password {
		t.Errorf("password has %d characters", len(password))
	}
	credentials, err := Credentials(o.Dir)
	if err != nil || credentials != (drivers.Credentials{User: "user", Password: password}) {
		t.Errorf("credentials differ: %v", err)
	}
	for name, mode := range map[string]os.FileMode{
		"": 0o700, "state.json": 0o600, "password": 0o600, "server": 0o700, "server/data": 0o700, "server/secret.conf": 0o600, "server/server.log": 0o600,
	} {
		info, err := os.Stat(filepath.Join(o.Dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != mode {
			t.Errorf("%q has mode %o, want %o", name, info.Mode().Perm(), mode)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(o.Dir, "state.json")); strings.Contains(string(text), password) {
		t.Error("the password is in state.json")
	}
	if strings.Contains(fmt.Sprintf("%v %+v", running, running), password) {
		t.Error("the server prints its password")
	}
}

func TestTheEnvironmentIsNotInherited(t *testing.T) {
	t.Setenv("SOME_SECRET", "hush")
	o := script(t, "env >data/env; touch ready; exec sleep 1000")
	running := begin(t, o)
	text, err := os.ReadFile(filepath.Join(running.Data, "env"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hush") || !strings.Contains(string(text), "DURABENCH_RUN=run-1") {
		t.Errorf("environment:\n%s", text)
	}
}

func TestAnInitThatFailsShowsItsOutputAndIsTriedAfresh(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "fixed")
	o := script(t, "touch ready; exec sleep 1000")
	o.Server.Init = func(l drivers.Launch) []string {
		return []string{"/bin/sh", "-c", fmt.Sprintf("ls %s; touch %s/half; test -e %s || { echo could not write: No space left on device; exit 2; }", l.Data, l.Data, marker)}
	}
	_, err := Start(t.Context(), o)
	for _, text := range []string{"exit status 2", "could not write", "the disk that holds"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error does not say %q: %v", text, err)
		}
	}
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if running := begin(t, o); running.Restarted {
		t.Error("fresh data is called restarted")
	}
}
