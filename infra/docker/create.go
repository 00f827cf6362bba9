package docker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/go-connections/nat"
)

const (
	// logSize and logFiles bound a container's log on disk.
	logSize, logFiles = "32m", "2"
)

// create makes the container, with its volume unless that is there, and returns its id. Its name is only free when no other start of the run is at it.
func (c *Client) create(ctx context.Context, s Spec, o *Options, digest string, from image.InspectResponse) (id string, warnings []string, err error) {
	config, host := s.config(), s.hostConfig()
	config.Image = from.ID // what was looked at, not what the name stands for by now
	config.Labels = o.labels()
	config.Labels[labelDigest] = digest
	host.Mounts = append(host.Mounts, mount.Mount{
		Type: mount.TypeVolume, Source: s.Volume, Target: volumeDir, VolumeOptions: &mount.VolumeOptions{Labels: o.volumeLabels()},
	})
	for _, path := range declaredVolumes(from) {
		// The engine makes a volume for each of these anyway. Made by us they carry our labels, so that none is left nameless.
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeVolume, Target: path, VolumeOptions: &mount.VolumeOptions{Labels: o.labels()}})
	}
	made, err := c.api.ContainerCreate(ctx, config, host, nil, nil, s.Name)
	if err != nil {
		return "", nil, fmt.Errorf("make container %s: %w", s.Name, err)
	}
	for _, warning := range made.Warnings {
		c.log.Warn("container engine warns", "container", s.Name, "warning", warning)
	}
	return made.ID, made.Warnings, nil
}

func (s Spec) config() *container.Config {
	env := make([]string, 0, len(s.Env))
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		env = append(env, name+"="+s.Env[name])
	}
	return &container.Config{
		Image: s.Image, Cmd: s.Command, Env: env, StopSignal: s.StopSignal,
		ExposedPorts: nat.PortSet{s.port(): {}},
		// An image's own health check would run in the middle of legs.
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
}

func (s Spec) hostConfig() *container.HostConfig {
	host := &container.HostConfig{
		// On loopback alone, on any port that is free: the engine chooses and we read it back.
		PortBindings: nat.PortMap{s.port(): {{HostIP: loopback, HostPort: "0"}}},
		// A server that dies is to be noticed, not to be started again behind our back.
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		// Whatever the engine's default is, its log must be readable and must not fill the disk.
		LogConfig: container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": logSize, "max-file": logFiles}},
		ShmSize:   s.SharedMemory,
	}
	host.CpusetCpus = s.CPUs
	// A limit on memory alone would let as much again be swapped, which is no memory to measure a server with.
	host.Memory, host.MemorySwap = s.MemoryBytes, s.MemoryBytes
	for _, name := range slices.Sorted(maps.Keys(s.Limits)) {
		host.Ulimits = append(host.Ulimits, &container.Ulimit{Name: name, Soft: s.Limits[name], Hard: s.Limits[name]})
	}
	return host
}

func (s Spec) port() nat.Port { return nat.Port(strconv.Itoa(s.Port) + "/tcp") }

// declaredVolumes are the paths that an image wants volumes for.
func declaredVolumes(from image.InspectResponse) []string {
	if from.Config == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(from.Config.Volumes))
}
