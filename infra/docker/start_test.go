package docker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/docker"
	"github.com/durabench/durabench/infra/host"
)

func TestEngineIsDescribed(t *testing.T) {
	c, _ := engine(t)
	found, err := c.Available(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if found.Version == "" || found.API < "1.41" || !strings.HasPrefix(found.OS, "linux ") || found.Address == "" {
		t.Errorf("engine is %+v", found)
	}
}

// A server of each family starts from the driver's own description, and is what it says it is.
func TestServersStart(t *testing.T) {
	for name, options := range map[string]func(*testing.T, string) docker.Options{"redis": redis, "postgres": postgres} {
		t.Run(name, func(t *testing.T) {
			c, api := engine(t)
			run := runID(t, c, api)
			o := options(t, run)
			o.CPUs, o.MemoryBytes = "0", 512<<20
			running := start(t, c, o)
			info := inspect(t, api, running.Container)

			if running.Adopted || running.Restarted {
				t.Errorf("first start: adopted %t, restarted %t", running.Adopted, running.Restarted)
			}
			if running.PID != info.State.Pid || running.PID == 0 {
				t.Errorf("process is %d, the engine says %d", running.PID, info.State.Pid)
			}
			if !strings.HasPrefix(running.ImageDigest, "sha256:") {
				t.Errorf("image digest is %q", running.ImageDigest)
			}
			if info.HostConfig.CpusetCpus != "0" || info.HostConfig.Memory != 512<<20 || info.HostConfig.MemorySwap != 512<<20 {
				t.Errorf("limits are CPUs %q, memory %d, with swap %d", info.HostConfig.CpusetCpus, info.HostConfig.Memory, info.HostConfig.MemorySwap)
			}
			if want := map[string]int64{"redis": 64 << 20, "postgres": 256 << 20}[name]; info.HostConfig.ShmSize != want {
				t.Errorf("shared memory is %d bytes, want %d", info.HostConfig.ShmSize, want)
			}
			if info.HostConfig.RestartPolicy.Name != "no" || info.Config.Healthcheck.Test[0] != "NONE" {
				t.Errorf("restart policy %q, health check %v", info.HostConfig.RestartPolicy.Name, info.Config.Healthcheck.Test)
			}
			labels := info.Config.Labels
			if labels["durabench"] != "1" || labels["durabench.run"] != run || labels["durabench.step"] != "server/start" || labels["durabench.digest"] != running.Digest {
				t.Errorf("labels are %v", labels)
			}
			if _, err := time.Parse(time.RFC3339, labels["durabench.created"]); err != nil {
				t.Errorf("created: %v", err)
			}
			if len(running.Settings) == 0 {
				t.Error("no settings are told")
			}
			checkSecret(t, api, running)
			checkPort(t, info, running)
			checkSampled(t, running)
			checkStopped(t, c, api, run)
		})
	}
}

// checkSecret looks for the password in all that the engine tells of a container.
func checkSecret(t *testing.T, api *client.Client, running *docker.Running) {
	t.Helper()
	password := running.Credentials.Password
	if len(password) < 20 {
		t.Fatalf("password has %d characters", len(password))
	}
	_, raw, err := api.ContainerInspectWithRaw(t.Context(), running.Container, false)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), password) {
		t.Error("the engine tells the password to whoever asks")
	}
	state, err := json.Marshal(running.State)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(state), password) || strings.Contains(fmt.Sprintf("%+v", *running), password) {
		t.Error("the state holds the password")
	}
}

// checkPort sees that the port is published on loopback alone.
func checkPort(t *testing.T, info container.InspectResponse, running *docker.Running) {
	t.Helper()
	for port, bindings := range info.NetworkSettings.Ports {
		for _, binding := range bindings {
			if binding.HostIP != "127.0.0.1" || binding.HostPort != fmt.Sprint(running.PublishedPort) {
				t.Errorf("port %s is published on %s:%s, the state says %d", port, binding.HostIP, binding.HostPort, running.PublishedPort)
			}
		}
	}
	if running.PublishedPort == 0 {
		t.Fatal("no port is published")
	}
	connection, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", running.PublishedPort), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	connection.Close()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		ip := address.(*net.IPNet).IP
		if ip.IsLoopback() || ip.To4() == nil {
			continue
		}
		if connection, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", ip, running.PublishedPort), time.Second); err == nil {
			connection.Close()
			t.Errorf("port is open on %s", ip)
		}
	}
}

// checkSampled sees that the process is one that the sampler can read.
func checkSampled(t *testing.T, running *docker.Running) {
	t.Helper()
	sampler := host.Start(running.PID)
	time.Sleep(300 * time.Millisecond)
	usage, note := sampler.Stop()
	if usage == nil {
		t.Fatalf("nothing sampled: %s", note)
	}
	if usage.MemoryPeak == nil || *usage.MemoryPeak < 1<<20 {
		t.Errorf("memory of the server is not told (%s)", note)
	}
}

// checkStopped stops the run and sees that nothing is left of it.
func checkStopped(t *testing.T, c *docker.Client, api *client.Client, run string) {
	t.Helper()
	if err := c.Stop(t.Context(), run, false); err != nil {
		t.Fatal(err)
	}
	if containers, volumes := left(t, api, run); containers+volumes > 0 {
		t.Errorf("%d containers and %d volumes are left", containers, volumes)
	}
	if err := c.Stop(t.Context(), run, false); err != nil {
		t.Errorf("stop again: %v", err)
	}
}

// left counts what there is of a run.
func left(t *testing.T, api *client.Client, run string) (containers, volumes int) {
	t.Helper()
	match := filters.NewArgs(filters.Arg("label", "durabench.run="+run))
	c, err := api.ContainerList(t.Context(), container.ListOptions{All: true, Filters: match})
	if err != nil {
		t.Fatal(err)
	}
	v, err := api.VolumeList(t.Context(), volumeOptions(match))
	if err != nil {
		t.Fatal(err)
	}
	return len(c), len(v.Volumes)
}

func TestAStartIsAdopted(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	first := start(t, c, redis(t, run))
	other, _ := engine(t) // as after the loss of the worker
	second := start(t, other, redis(t, run))
	if !second.Adopted || second.Container != first.Container || !second.Started.Equal(first.Started) {
		t.Errorf("second start: adopted %t, container %s after %s", second.Adopted, second.Container, first.Container)
	}
	if second.Credentials != first.Credentials || second.Endpoint != first.Endpoint {
		t.Error("credentials or endpoint differ")
	}
	alive, err := other.Alive(t.Context(), run, redis(t, run).Server)
	if err != nil || alive == nil {
		t.Fatalf("alive: %v, %v", alive, err)
	}
	if alive.Credentials != first.Credentials || alive.Endpoint != first.Endpoint || alive.Container != first.Container {
		t.Errorf("alive is %+v", alive.State)
	}
	credentials, err := other.Credentials(t.Context(), run, redis(t, run).Server)
	if err != nil || credentials != first.Credentials {
		t.Errorf("credentials differ, %v", err)
	}
}

// Other settings make another digest: the server is replaced, and goes on with its data.
func TestAnotherSpecificationReplaces(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	o := redis(t, run)
	o.Tier = "process"
	o.Ready = answers(t, lookup(t, "redis"), o.Tier)
	first := start(t, c, o)
	ask(t, first, "SET", "kept", "yes")
	o.MemoryBytes = 256 << 20
	second := start(t, c, o)
	if second.Container == first.Container || second.Adopted || !second.Restarted {
		t.Errorf("second start: adopted %t, restarted %t, container %s after %s", second.Adopted, second.Restarted, second.Container, first.Container)
	}
	if got := ask(t, second, "GET", "kept"); got != "yes" {
		t.Errorf("data is %q", got)
	}
	if containers, volumes := left(t, api, run); containers != 1 || volumes != 1 {
		t.Errorf("there are %d containers and %d volumes", containers, volumes)
	}
}

// What does not decide how the server runs does not replace it.
func TestAnotherStepDoesNotReplace(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	first := start(t, c, redis(t, run))
	o := redis(t, run)
	o.Step, o.KeepOnFailure = "another", true
	if second := start(t, c, o); second.Container != first.Container {
		t.Error("the container was replaced")
	}
}

// A server that died is started again on what it left, as a server would be on a machine of its own.
func TestADeadServerIsRestarted(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	first := start(t, c, postgres(t, run))
	kill(t, first)
	second := start(t, c, postgres(t, run))
	if !second.Restarted || second.Adopted || second.Container != first.Container || !second.Started.After(first.Started) {
		t.Errorf("second start: restarted %t, adopted %t, started %s after %s", second.Restarted, second.Adopted, second.Started, first.Started)
	}
	if second.Credentials != first.Credentials {
		t.Error("the password changed")
	}
}

// A start that was cut off before the server was ever ready left half of a data directory. Nothing of that is used.
func TestAnInterruptedFirstStartIsThrownAway(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	o := redis(t, run)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var interrupted drivers.Credentials
	o.Ready = func(_ context.Context, running *docker.Running) error {
		interrupted = running.Credentials
		cancel()
		return fmt.Errorf("not yet")
	}
	// What a lost worker leaves: the container stays, never ready, and dies.
	o.KeepOnFailure = true
	if _, err := c.Start(ctx, o); err == nil {
		t.Fatal("started")
	}
	second := start(t, c, redis(t, run))
	if second.Restarted || second.Adopted || second.Credentials == interrupted {
		t.Errorf("second start: restarted %t, adopted %t, the same password %t", second.Restarted, second.Adopted, second.Credentials == interrupted)
	}
	if containers, volumes := left(t, api, run); containers != 1 || volumes != 1 {
		t.Errorf("there are %d containers and %d volumes", containers, volumes)
	}
}

// A worker that was lost between making a container and starting it left one that never runs.
func TestAContainerThatNobodyStartsIsReplaced(t *testing.T) {
	c, api := engine(t)
	c.SetPatience(500 * time.Millisecond)
	run := runID(t, c, api)
	first := start(t, c, redis(t, run))
	labels := inspect(t, api, first.Container).Config.Labels
	if err := c.Stop(t.Context(), run, false); err != nil {
		t.Fatal(err)
	}
	made, err := api.ContainerCreate(t.Context(), &container.Config{Image: images.Redis(t), Labels: labels}, nil, nil, nil, first.Name)
	if err != nil {
		t.Fatal(err)
	}
	second := start(t, c, redis(t, run))
	if second.Container == made.ID || second.Adopted {
		t.Errorf("container is %s, adopted %t", second.Container, second.Adopted)
	}
	if containers, volumes := left(t, api, run); containers != 1 || volumes != 1 {
		t.Errorf("there are %d containers and %d volumes", containers, volumes)
	}
}

// A server that cannot be started on its data leaves the data as it is.
func TestAFailedStartOnDataKeepsIt(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	o := redis(t, run)
	o.Tier, o.KeepOnFailure = "process", true
	o.Ready = answers(t, lookup(t, "redis"), o.Tier)
	ask(t, start(t, c, o), "SET", "kept", "yes")
	bad := o
	bad.Binary = "no-such-server"
	for range 2 {
		if _, err := c.Start(t.Context(), bad); err == nil {
			t.Fatal("started")
		}
	}
	if got := ask(t, start(t, c, o), "GET", "kept"); got != "yes" {
		t.Errorf("data is %q", got)
	}
}

// Two workers may start the same run at the same time: one container comes of it, and both have it.
func TestStartsAtTheSameTimeEndInOneContainer(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	o := redis(t, run)
	const starts = 3
	var all [starts]*docker.Running
	var problems [starts]error
	var group sync.WaitGroup
	for i := range starts {
		other, _ := engine(t)
		group.Go(func() { all[i], problems[i] = other.Start(t.Context(), o) })
	}
	group.Wait()
	fresh := 0
	for i := range starts {
		if problems[i] != nil {
			t.Fatalf("start %d: %v", i, problems[i])
		}
		if all[i].Container != all[0].Container || all[i].Credentials != all[0].Credentials {
			t.Errorf("start %d has another container or password", i)
		}
		if !all[i].Adopted {
			fresh++
		}
	}
	if containers, volumes := left(t, api, run); containers != 1 || volumes != 1 || fresh != 1 {
		t.Errorf("there are %d containers and %d volumes, %d starts say that they made one", containers, volumes, fresh)
	}
}

// Clients reach the container itself where they can, and the published port where they are told to.
func TestAddressOfClients(t *testing.T) {
	c, api := engine(t)
	run := runID(t, c, api)
	direct := start(t, c, redis(t, run))
	if !direct.Direct || direct.Host == "127.0.0.1" {
		t.Errorf("clients connect to %s, direct %t", direct.Endpoint, direct.Direct)
	}
	if err := c.Stop(t.Context(), run, false); err != nil {
		t.Fatal(err)
	}
	o := redis(t, run)
	o.Published = true
	published := start(t, c, o)
	if published.Direct || published.Endpoint != fmt.Sprintf("redis://127.0.0.1:%d/0", published.PublishedPort) {
		t.Errorf("clients connect to %s, direct %t", published.Endpoint, published.Direct)
	}
	if published.Credentials == direct.Credentials {
		t.Error("two runs have one password")
	}
}
