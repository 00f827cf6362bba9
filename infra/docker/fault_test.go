package docker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/ci"
	"github.com/durabench/durabench/infra/docker"
)

func lookup(t *testing.T, name string) drivers.Engine {
	t.Helper()
	engine, found := drivers.Lookup(name)
	if !found {
		t.Fatalf("%s is not registered", name)
	}
	return engine
}

// kill kills the server as the kernel would, behind the container engine's back.
func kill(t *testing.T, running *docker.Running) {
	t.Helper()
	if os.Geteuid() != 0 {
		ci.Need(t, errors.New("only root may kill a process in a container"))
	}
	if err := syscall.Kill(running.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// with is a server that runs another command.
func with(server *drivers.Server, command ...string) *drivers.Server {
	s := *server
	s.Command = func(drivers.Launch) []string { return command }
	return &s
}

func TestAServerThatExitsAtOnceSaysWhy(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	o := redis(t, run)
	o.Server = with(o.Server, "redis-server", "--no-such-setting", "1")
	begin := time.Now()
	_, err := c.Start(t.Context(), o)
	if !errors.Is(err, docker.ErrNotReady) || !errors.Is(err, docker.ErrExited) {
		t.Fatalf("error is %v", err)
	}
	for _, part := range []string{"start Redis", "with code 1", "last lines of its log", "no-such-setting", "Bad directive"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error does not say %q: %v", part, err)
		}
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	if containers, volumes := left(t, api, run); containers+volumes > 0 {
		t.Errorf("%d containers and %d volumes are left", containers, volumes)
	}
}

// A log of many lines is cut to its end, and does not carry the password.
func TestTheLogOfAFailureIsShortAndSafe(t *testing.T) {
	c, api := engine(t)
	o := redis(t, runID(t, c, api))
	o.Server = with(o.Server, "/bin/sh", "-c", `i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo "line $i"; done; read -r password < /durabench/server/password; echo "secret $password"; exit 3`)
	server := *o.Server
	var password string
	server.Files = func(l drivers.Launch) map[string]string {
		if l.Password != "" {
			password = l.Password
		}
		return map[string]string{"password": l.Password + "\n"}
	}
	o.Server = &server
	_, err := c.Start(t.Context(), o)
	if err == nil || password == "" {
		t.Fatalf("error is %v", err)
	}
	text := err.Error()
	if strings.Contains(text, password) || !strings.Contains(text, "secret ***") {
		t.Errorf("the password is in the error: %s", strings.ReplaceAll(text, password, "<password>"))
	}
	if strings.Contains(text, "line 81\n") || !strings.Contains(text, "line 82\n") || !strings.Contains(text, "with code 3") {
		t.Errorf("error is %s", text)
	}
}

func TestAServerThatNeverAnswersIsGivenUp(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	o := redis(t, run)
	o.ReadyTimeout = time.Second
	o.Ready = func(context.Context, *docker.Running) error { return errors.New("it stammers") }
	_, err := c.Start(t.Context(), o)
	if !errors.Is(err, docker.ErrNotReady) || !strings.Contains(err.Error(), "it stammers") || !strings.Contains(err.Error(), "Ready to accept connections") {
		t.Errorf("error is %v", err)
	}
	if containers, volumes := left(t, api, run); containers+volumes > 0 {
		t.Errorf("%d containers and %d volumes are left", containers, volumes)
	}
}

func TestAFailureIsKeptWhenAsked(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	o := redis(t, run)
	o.KeepOnFailure, o.Server = true, with(o.Server, "redis-server", "--no-such-setting", "1")
	_, err := c.Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "durabench-redis-"+run) {
		t.Errorf("error does not name the container: %v", err)
	}
	log, err := c.Logs(t.Context(), run, 5)
	if err != nil || !strings.Contains(log, "Bad directive") {
		t.Errorf("log is %q, %v", log, err)
	}
	reaped, err := c.Reap(t.Context(), func(thing docker.Thing) bool { return thing.RunID != run }, false)
	if err != nil || len(reaped.Removed) != 0 || len(reaped.Kept) != 2 {
		t.Errorf("reaped %+v, %v", reaped, err)
	}
	reaped, err = c.Reap(t.Context(), func(thing docker.Thing) bool { return thing.RunID != run }, true)
	if err != nil || len(reaped.Removed) != 2 {
		t.Errorf("reaped %+v, %v", reaped, err)
	}
}

// The container of a run that was given up by a lost worker, and was to be kept, is stopped: it must not run under the next one's numbers.
func TestAKeptContainerDoesNotRunOn(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	o := redis(t, run)
	o.KeepOnFailure = true
	running := start(t, c, o)
	reaped, err := c.Reap(t.Context(), func(thing docker.Thing) bool { return thing.RunID != run }, false)
	if err != nil || len(reaped.Stopped) != 1 || len(reaped.Removed) != 0 {
		t.Errorf("reaped %+v, %v", reaped, err)
	}
	if info := inspect(t, api, running.Container); info.State.Running {
		t.Error("it runs on")
	}
}

func TestMemoryLimitIsTold(t *testing.T) {
	c, api := engine(t)
	o := redis(t, runID(t, c, api))
	o.MemoryBytes = 24 << 20
	o.Server = with(o.Server, "/bin/sh", "-c", `x=0123456789abcdef; while :; do x=$x$x; done`)
	_, err := c.Start(t.Context(), o)
	if !errors.Is(err, docker.ErrNotReady) || !strings.Contains(err.Error(), "with code 137, out of memory") {
		t.Errorf("error is %v", err)
	}
}

func TestAKillIsDetectedAndDated(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	running := start(t, c, redis(t, run))
	if end, err := c.Check(t.Context(), running.State); err != nil || end != nil {
		t.Fatalf("a server that runs: %v, %v", end, err)
	}
	ends := make(chan docker.End, 1)
	go func() {
		end, err := c.Watch(t.Context(), running.State)
		if err != nil {
			t.Error(err)
		}
		ends <- end
	}()
	time.Sleep(200 * time.Millisecond)
	before := time.Now()
	kill(t, running)
	select {
	case end := <-ends:
		if end.ExitCode != 137 || end.OOMKilled || !end.Restarted.IsZero() || end.At.Before(before.Add(-time.Second)) || end.At.After(time.Now().Add(time.Second)) {
			t.Errorf("end is %+v, killed at %s", end, before.UTC())
		}
		if !strings.Contains(end.String(), "with code 137, killed") {
			t.Errorf("end says %q", end)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("not detected")
	}
	if alive, err := c.Alive(t.Context(), run, lookup(t, "redis").Server); err != nil || alive != nil {
		t.Errorf("alive: %v, %v", alive, err)
	}
}

// A restart between two looks leaves a server that runs, but it is not the one that was measured.
func TestARestartIsDetectedAndDated(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	running := start(t, c, redis(t, run))
	before := time.Now()
	if err := api.ContainerRestart(t.Context(), running.Container, container.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	end, err := c.Check(t.Context(), running.State)
	if err != nil || end == nil {
		t.Fatalf("end is %v, %v", end, err)
	}
	if !end.Restarted.After(end.At) || end.At.Before(before.Add(-time.Second)) {
		t.Errorf("end is %+v, restarted at %s", end, before.UTC())
	}
	// The server that runs now is adopted, as another start.
	again := start(t, c, redis(t, run))
	if !again.Adopted || again.Started.Equal(running.Started) {
		t.Errorf("adopted %t, started %s", again.Adopted, again.Started)
	}
}

func TestARemovalIsDetected(t *testing.T) {
	c, api := engine(t)
	running := start(t, c, redis(t, runID(t, c, api)))
	if err := api.ContainerRemove(t.Context(), running.Container, container.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	end, err := c.Watch(t.Context(), running.State)
	if err != nil || !end.Removed {
		t.Errorf("end is %+v, %v", end, err)
	}
}

// A server that does not stop when it is asked is killed when the caller's time is up, and nothing is left.
func TestAStubbornServerIsKilled(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	o := redis(t, run)
	o.Ready = func(ctx context.Context, _ *docker.Running) error {
		log, err := c.Logs(ctx, run, 0)
		if err == nil && log != "up" {
			err = errors.New("not up")
		}
		return err
	}
	o.MemoryBytes = 64 << 20
	o.Server = with(o.Server, "/bin/sh", "-c", `trap "" TERM; echo up; while :; do :; done`)
	start(t, c, o)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	begin := time.Now()
	if err := c.Stop(ctx, run, false); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
	if containers, volumes := left(t, api, run); containers+volumes > 0 {
		t.Errorf("%d containers and %d volumes are left", containers, volumes)
	}
}

// A server that answers that it cannot do what is asked of it is not asked again until time is up.
func TestAServerThatCannotDoItIsGivenUpAtOnce(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	o := redis(t, run)
	answers, asked := o.Ready, 0
	o.Ready = func(ctx context.Context, running *docker.Running) error {
		if err := answers(ctx, running); err != nil {
			return err
		}
		asked++
		return fmt.Errorf("open: %w", drivers.Unsupported{Why: "it is of another make"})
	}
	_, err := c.Start(t.Context(), o)
	if !errors.As(err, new(drivers.Unsupported)) || errors.Is(err, docker.ErrNotReady) {
		t.Errorf("error is %v", err)
	}
	if asked != 1 {
		t.Errorf("it was asked %d times", asked)
	}
	if containers, volumes := left(t, api, run); containers+volumes > 0 {
		t.Errorf("%d containers and %d volumes are left", containers, volumes)
	}
}

// Who kills a server before it is ready says nothing of the server.
func TestAKilledServerHasNotExitedByItself(t *testing.T) {
	c, api := engine(t)
	o := redis(t, runID(t, c, api))
	var once sync.Once
	o.Ready = func(_ context.Context, running *docker.Running) error {
		once.Do(func() { kill(t, running) })
		return errors.New("not yet")
	}
	if _, err := c.Start(t.Context(), o); !errors.Is(err, docker.ErrNotReady) || errors.Is(err, docker.ErrExited) {
		t.Errorf("error is %v", err)
	}
}

func TestBadOptionsAreRefusedAllAtOnce(t *testing.T) {
	c, _ := engine(t)
	_, err := c.Start(t.Context(), docker.Options{
		Engine: "Redis", Name: "redis", RunID: "x", Server: &drivers.Server{}, CPUs: "3-1", Pull: "sometimes", MemoryBytes: -1,
	})
	if !errors.Is(err, docker.ErrOptions) {
		t.Fatalf("error is %v", err)
	}
	for _, part := range []string{"when the server is ready", "--image", "on which port", `"3-1"`, `"sometimes"`, "memory limit"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error does not say %q: %v", part, err)
		}
	}
}

// An engine that may not raise limits leaves them as they are, and the start says so.
func TestLimitsAreSetOrSaidToBeRefused(t *testing.T) {
	c, api := engine(t)
	o := redis(t, runID(t, c, api))
	server := *o.Server
	server.Limits = map[string]int64{"nofile": 1 << 20}
	o.Server = &server
	running := start(t, c, o)
	if set := running.Limits["nofile"] == 1<<20; set == (len(running.Warnings) > 0) {
		t.Errorf("limits are %v, warnings %q", running.Limits, running.Warnings)
	}
	if again := start(t, c, o); !again.Adopted || again.Container != running.Container {
		t.Error("the container was not adopted")
	}
}

func TestACPUThatIsNotThereIsRefused(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	o := redis(t, run)
	o.CPUs = "4000"
	if _, err := c.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "4000") {
		t.Errorf("error is %v", err)
	}
	if containers, volumes := left(t, api, run); containers+volumes > 0 {
		t.Errorf("%d containers and %d volumes are left", containers, volumes)
	}
}

func TestAnImageWithoutTheServerSaysSo(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	o := postgres(t, run)
	o.Image = images.Redis(t)
	_, err := c.Start(t.Context(), o)
	if !errors.Is(err, docker.ErrWrongImage) || !strings.Contains(err.Error(), "postgres") || !strings.Contains(err.Error(), "is not one of PostgreSQL") {
		t.Errorf("error is %v", err)
	}
	if containers, volumes := left(t, api, run); containers+volumes > 0 {
		t.Errorf("%d containers and %d volumes are left", containers, volumes)
	}
}

// A container of that name may be somebody's. It is left alone.
func TestAForeignContainerOfTheNameIsLeftAlone(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	o := redis(t, run)
	foreign, err := api.ContainerCreate(t.Context(), &container.Config{Image: o.Image}, nil, nil, nil, "durabench-redis-"+run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.ContainerRemove(context.Background(), foreign.ID, container.RemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
	if _, err := c.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "not of this run") {
		t.Errorf("error is %v", err)
	}
	inspect(t, api, foreign.ID)
}
