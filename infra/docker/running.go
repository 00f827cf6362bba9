package docker

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/durabench/durabench/drivers"
)

// State is what is known of a server in a container. It holds no secret.
type State struct {
	RunID  string `json:"runId"`
	Engine string `json:"engine"` // its name
	// Container and Name are the container's.
	Container string `json:"container"`
	Name      string `json:"name"`
	// Started tells one start of the container from the next.
	Started time.Time `json:"started"`
	// PID is the server's main process on this machine; 0 when the engine keeps its containers elsewhere, such as in a virtual machine.
	PID int `json:"pid,omitempty"`
	// Image is the image as it was asked for, ImageDigest what it was: the digest in its repository, or its id when it came from none.
	Image       string `json:"image"`
	ImageDigest string `json:"imageDigest"`
	Volume      string `json:"volume"`
	// Host and Port are where clients connect to, and Endpoint is that in the engine's own form, without credentials; User is who they are.
	Host     string `json:"host"`
	Port     int    `json:"port"`
	Endpoint string `json:"endpoint"`
	User     string `json:"user,omitempty"`
	// Direct tells that clients connect to the container's own address, which on Linux this machine can reach. Packets to a published port go through
	// a process of the container engine's instead, which takes its time over each and CPU time that nobody accounts for.
	Direct bool `json:"direct"`
	// PublishedPort is the port on 127.0.0.1 that the server can be reached at too.
	PublishedPort int `json:"publishedPort"`
	// Command is what was started, after the image's entrypoint.
	Command []string `json:"command"`
	// CPUs, MemoryBytes and SharedMemory are the container's limits as the engine has them.
	CPUs         string `json:"cpus,omitempty"`
	MemoryBytes  int64  `json:"memoryBytes,omitempty"`
	SharedMemory int64  `json:"sharedMemory,omitempty"`
	// Limits are the resource limits that were set for it; those that are not in here are the engine's.
	Limits map[string]int64 `json:"limits,omitempty"`
	// Settings are what the profile set. Alive does not know them.
	Settings []drivers.Setting `json:"settings,omitempty"`
	// Digest names all that decides how the server runs.
	Digest string `json:"digest"`
}

// Running is a server that runs.
type Running struct {
	State
	// Credentials open the server.
	Credentials drivers.Credentials
	// Adopted tells that the server was running already, Restarted that it was started on data that an earlier one left.
	Adopted, Restarted bool
	// Warnings are what could not be had as it was asked for. Only the start that made the container knows them.
	Warnings []string
}

// Alive returns the server that runs for a run; nil when none does.
func (c *Client) Alive(ctx context.Context, runID string, server *drivers.Server) (*Running, error) {
	all, err := c.containers(ctx, ofRun(runID))
	if err != nil {
		return nil, err
	}
	for _, summary := range all {
		if summary.State != container.StateRunning {
			continue
		}
		running, err := c.describe(ctx, summary.ID, server)
		if err != nil {
			return nil, err
		}
		if running.Credentials.Password, _, err = c.get(ctx, summary.ID, passwordFile); err != nil {
			return nil, err
		}
		return running, nil
	}
	return nil, nil
}

// Credentials returns what opens the server of a run, for a process that has nothing else of it. The server need not run.
func (c *Client) Credentials(ctx context.Context, runID string, server *drivers.Server) (drivers.Credentials, error) {
	all, err := c.containers(ctx, ofRun(runID))
	if err != nil {
		return drivers.Credentials{}, err
	}
	for _, summary := range all {
		password, found, err := c.get(ctx, summary.ID, passwordFile)
		if err != nil {
			return drivers.Credentials{}, err
		}
		if found {
			return drivers.Credentials{User: server.User, Password: password}, nil
		}
	}
	return drivers.Credentials{}, fmt.Errorf("read the password of the server of run %s: %w", runID, ErrNoContainer)
}

// describe asks the engine about a container. The password is not in it.
func (c *Client) describe(ctx context.Context, id string, server *drivers.Server) (*Running, error) {
	info, err := c.api.ContainerInspect(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("look at container %s: %w", id, err)
	}
	started, err := time.Parse(time.RFC3339Nano, info.State.StartedAt)
	if err != nil {
		return nil, fmt.Errorf("look at container %s: when it was started: %w", id, err)
	}
	running := &Running{Credentials: drivers.Credentials{User: server.User}, State: State{
		RunID: info.Config.Labels[labelRun], Engine: info.Config.Labels[labelEngine], Container: info.ID, Name: strings.TrimPrefix(info.Name, "/"), Started: started,
		Volume: volumeOf(info), User: server.User, Command: info.Config.Cmd,
		CPUs: info.HostConfig.CpusetCpus, MemoryBytes: info.HostConfig.Memory, SharedMemory: info.HostConfig.ShmSize,
		Digest: info.Config.Labels[labelDigest], Image: info.Config.Labels[labelImage], ImageDigest: info.Image,
	}}
	for _, limit := range info.HostConfig.Ulimits {
		if running.Limits == nil {
			running.Limits = make(map[string]int64)
		}
		running.Limits[limit.Name] = limit.Hard
	}
	if image, err := c.api.ImageInspect(ctx, info.Image); err == nil { // it may have been removed from under the container
		running.ImageDigest = imageDigest(running.Image, image)
	}
	if holds(info.State.Pid, info.ID) {
		running.PID = info.State.Pid
	}
	for _, binding := range info.NetworkSettings.Ports[Spec{Port: server.Port}.port()] {
		if port, err := strconv.Atoi(binding.HostPort); err == nil && binding.HostIP == loopback {
			running.PublishedPort = port
		}
	}
	running.Host, running.Port = loopback, running.PublishedPort
	if address := directAddress(info); address != "" && running.PID != 0 && info.Config.Labels[labelPublished] == "" {
		running.Host, running.Port, running.Direct = address, server.Port, true
	}
	running.Endpoint = server.Endpoint(drivers.Launch{Container: true, Host: running.Host, Port: running.Port})
	return running, nil
}

func volumeOf(info container.InspectResponse) string {
	for _, m := range info.Mounts {
		if m.Destination == volumeDir {
			return m.Name
		}
	}
	return ""
}

// directAddress is the container's own address where this machine can reach it: where the bridge that the container is on is ours.
func directAddress(info container.InspectResponse) string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, network := range info.NetworkSettings.Networks {
		gateway := net.ParseIP(network.Gateway)
		if gateway == nil || network.IPAddress == "" {
			continue
		}
		for _, address := range addresses {
			if own, is := address.(*net.IPNet); is && own.IP.Equal(gateway) {
				return network.IPAddress
			}
		}
	}
	return ""
}

// holds tells whether the process pid on this machine is in the container: an engine in a virtual machine counts its own.
func holds(pid int, id string) bool {
	groups, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	return err == nil && strings.Contains(string(groups), id)
}
